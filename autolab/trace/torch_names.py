"""The private names of PyTorch that autolab uses because there is no public one. They are listed here, and in
docs/pytorch.md with the reason. A PyTorch without one of them gives a clear message instead of an AttributeError."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import torch

from ..engine.core.errors import fail

USED = {
    "torch.Tensor": ("_version", "_base"),
    "torch.autograd.graph.Node": ("_sequence_nr", "_input_metadata"),
    "torch.ops.aten.mul.Tensor": ("_schema",),
    "torch.utils._python_dispatch": ("TorchDispatchMode",),
    "torch.compiler": ("_is_compiling_flag",),
    "torch._C": (
        "DisableTorchFunction",
        "_is_tracing",
        "_len_torch_dispatch_stack",
        "_len_torch_function_stack",
        "_pop_torch_dispatch_stack",
        "_push_on_torch_dispatch_stack",
    ),
    "torch._C._autograd": ("_top_saved_tensors_default_hooks",),
    "the grad_fn of x * x": ("_saved_self", "_raw_saved_self"),
}
"""Where -> the names."""


def missing() -> Iterator[str]:
    """Return the listed names that this PyTorch does not have."""
    for where, names in USED.items():
        item = _found(where)
        lacking = [name for name in names if not hasattr(item, name)]
        yield from (f"{where}.{name}" if "." in where else f"{name} of {where}" for name in lacking)


def _found(where: str) -> Any:
    try:
        if where == "torch.utils._python_dispatch":
            return importlib.import_module(where)
        if "." not in where:
            x = torch.ones((), requires_grad=True)
            with torch.enable_grad():
                return (x * x).grad_fn
        return functools.reduce(getattr, where.split(".")[1:], torch)
    except (AttributeError, ImportError):
        return None


def compiler_not_loaded() -> bool:
    """Return whether PyTorch's compiler exists and is not imported yet. If a PyTorch version has no such module, return
    False; the caller then loads the compiler, which takes about a second."""
    return (
        "torch._dynamo" not in sys.modules and importlib.util.find_spec("torch._dynamo") is not None
    )


@functools.cache
def check() -> None:
    """Raise ImportError that names what is missing."""
    if lacking := ", ".join(missing()):
        raise fail(
            ImportError,
            f"PyTorch {torch.__version__} has no {lacking}, which autolab needs to look at its tensors",
            "These names are not PyTorch's public ones, and it may change them. Install a PyTorch that autolab was tested with, such as 2.13, or a "
            "newer autolab-kit.",
        )
