"""Names that PyTorch 2.13 has and autolab lacks, with the error for each of them.

`absent.txt`, written by `tools/absent.py`, lists the names, one module per line. Below them it gives a replacement for
each name that programs ask for most often.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEFAULT = "Write it with the operations that autolab has, or run this part in PyTorch"


@functools.cache
def _lines() -> list[str]:
    return Path(__file__).with_name("absent.txt").read_text(encoding="utf-8").splitlines()


@functools.cache
def names() -> dict[str, frozenset[str]]:
    """Return the absent names by module ("torch", "torch.nn", "torch.Tensor" …)."""
    table = (line.partition(": ") for line in _lines() if line[:1] not in "#=")
    return {module.rstrip(":"): frozenset(listed.split()) for module, _, listed in table}


@functools.cache
def instead() -> dict[str, str]:
    """Return the replacements by full name: {"torch.fmax": "Use torch.maximum"}."""
    table = (line[2:].partition(": ") for line in _lines() if line.startswith("= "))
    return {name: advice for name, _, advice in table}


def error(module: str, name: str, kind: str = "module") -> AttributeError:
    """Return the error for a name that `module` does not have; its message says if PyTorch has the name.

    >>> print(error("torch", "hann_window"))
    module 'torch' has no attribute 'hann_window': it exists in PyTorch 2.13, but autolab keeps what courses use. Use \
numpy.hanning and torch.from_numpy.
    >>> print(error("torch", "tenser"))
    module 'torch' has no attribute 'tenser'
    """
    owner = module.rpartition(".")[2] if kind == "object" else module
    message = f"'{owner}' object" if kind == "object" else f"module '{owner}'"
    message += f" has no attribute '{name}'"
    if name in names().get(module, ()):
        full = f"{module.removesuffix('.Tensor')}.{name.removesuffix('_')}"
        advice = instead().get(f"{module}.{name}") or instead().get(full, DEFAULT)
        message += f": it exists in PyTorch 2.13, but autolab keeps what courses use. {advice}."
    return AttributeError(message)


def getattr_of(module: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for `module`: Python calls it for names that the module does not have."""

    def __getattr__(name: str) -> Any:
        raise error(module, name)

    return __getattr__


class AbsentMethod:
    """A placeholder for a method that only PyTorch's Tensor has; reading it raises the error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise error("torch.Tensor", self.name, "object")


def mark_methods(tensor: type) -> None:
    """Put an AbsentMethod into the class Tensor for each method that only PyTorch has."""
    for name in names()["torch.Tensor"]:
        if not hasattr(tensor, name):
            setattr(tensor, name, AbsentMethod(name))
