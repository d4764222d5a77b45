"""PyTorch's docstring examples as programs, to be run with and without `record()`:

PYTHONPATH=.:tests/trace python -m torch_docstrings [part of a name] [--strict]

With --strict, what the recorder could not follow is raised.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from autolab.trace import guard

from record_compare import compared

MODULES = """
torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize
torch.nn.utils.parametrizations torch.nn.utils.prune torch.nn.attention torch.linalg torch.fft torch.special torch.func
torch.autograd torch.autograd.function torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph torch.optim
torch.optim.lr_scheduler torch.optim.swa_utils torch.distributions torch.utils.data torch.utils.checkpoint torch.sparse
torch.nested torch.masked torch.signal.windows torch.jit torch.overrides torch.amp torch.testing torch.Tensor
""".split()
SKIPPED = (
    *"torch.hub torch.distributed torch.cuda torch.compile torch._dynamo torch.jit.fork torch.set_".split(),
    *"torch.seed torch.initial_seed DistributedDataParallel".split(),
)


def docstrings() -> dict[str, str]:
    """Return name -> docstring of every public object that has an example."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    for name, item in _items():
        text = getattr(item, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and id(item) not in seen:
            seen.add(id(item))
            if not name.startswith(SKIPPED) and not any(s in name for s in SKIPPED):
                found[name] = text
    return found


def _items() -> Iterator[tuple[str, Any]]:
    for path in MODULES:
        if path == "torch.Tensor":
            owner: Any = torch.Tensor
        else:
            owner = importlib.import_module(path)
            yield path, owner
        for name in sorted(vars(owner)):
            item = inspect.getattr_static(owner, name)
            if name.startswith("_") or inspect.ismodule(item):
                continue
            yield f"{path}.{name}", item
            if inspect.isclass(item) and path != "torch.Tensor" and not name.endswith("Tensor"):
                for part, method in sorted(vars(item).items()):
                    if not part.startswith("_"):
                        yield f"{path}.{name}.{part}", getattr(method, "__func__", method)


class Docstring:
    """The examples of one docstring as a program; a failing example does not stop the others."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        try:
            self.examples = doctest.DocTestParser().get_examples(text)
        except ValueError:  # not quite doctest's format: each line separately
            lines = [line.strip()[3:].strip() for line in text.splitlines() if ">>>" in line]
            self.examples = [doctest.Example(line, "") for line in lines if line]

    def __call__(self) -> dict[str, Any]:
        space: dict[str, Any] = {
            "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math, "np": np, "__name__": "__main__",
            "Tensor": torch.Tensor, "autograd": torch.autograd, "fwAD": torch.autograd.forward_ad,
        }  # fmt: skip
        before = dict(space)
        for nr, example in enumerate(self.examples):
            try:
                code = compile(example.source, f"<{self.name} {nr}>", "single")
                with _results(space, f"result {nr}"):
                    exec(code, space)
            except Exception as error:
                space[f"error {nr}"] = f"{type(error).__name__}: {error}"
        return {
            name: item
            for name, item in space.items()
            if before.get(name) is not item and not name.startswith("__")
        }


@contextlib.contextmanager
def _results(space: dict[str, Any], name: str) -> Iterator[None]:
    """Store the value of a line under `name` instead of printing it."""

    def keep(item: Any) -> None:
        if item is not None:
            space[name] = item

    before, sys.displayhook = sys.displayhook, keep
    try:
        yield
    finally:
        sys.displayhook = before


def main(part: str = "") -> None:
    """Print the differences, and the counts."""
    counts: dict[str, int] = {}
    out = sys.stdout
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in docstrings().items():
            if part in name:
                print(f"... {name}", end="\r", file=sys.stderr, flush=True)
                verdict, said = compared(Docstring(name, text))
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict != "alike":
                    print(f"{verdict:8}{name}", *said, sep="\n        ", file=out, flush=True)
    print(counts)


if __name__ == "__main__":
    guard.strict = "--strict" in sys.argv
    main(*[a for a in sys.argv[1:2] if a != "--strict"])
