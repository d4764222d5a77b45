"""Samples of PyTorch's own OpInfo database as programs, to be run with and without `record()`:

PYTHONPATH=.:tests/trace python -m torch_opinfo [part of a name] [--strict]

With --strict, what the recorder could not follow is raised.
"""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any

import torch

from autolab.trace import guard

from record_compare import compared

SAMPLES = 1
"""Of each operation and each of its forms so many samples are run."""


def operations() -> Iterator[Any]:
    """Yield every entry of the database that can run on the CPU in float32 or int64."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # only the name is needed
        stand_in: Any = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    yield from sorted(op_db, key=lambda op: op.full_name)


class Sample:
    """One sample of an operation: its result, and all gradients that it has."""

    def __init__(self, op: Any, place: int) -> None:
        self.op, self.place = op, place

    def _input(self) -> Any:
        dtype = torch.float32 if torch.float32 in self.op.dtypes else torch.int64
        wants = dtype.is_floating_point and self.op.supports_autograd
        samples = self.op.sample_inputs("cpu", dtype, requires_grad=wants)
        return next((s for i, s in enumerate(samples) if i == self.place), None)

    def __call__(self) -> dict[str, Any]:
        sample = self._input()
        if sample is None:
            return {}
        given = sample.input, sample.args, sample.kwargs
        result = self.op(sample.input, *sample.args, **sample.kwargs)
        wanted = [t for t in _tensors(result) if t.requires_grad and not t.is_complex()]
        if wanted:
            sum(t.sum() for t in wanted).backward()
        return {"result": result, "given": given}


def _tensors(item: Any) -> list[torch.Tensor]:
    if isinstance(item, torch.Tensor):
        return [item]
    return [t for part in item for t in _tensors(part)] if isinstance(item, (list, tuple)) else []


def main(part: str = "") -> None:
    """Print the differences, and the counts."""
    counts: dict[str, int] = {}
    for op in operations():
        if part in op.full_name:
            print(f"... {op.full_name}", end="\r", file=sys.stderr, flush=True)
            for place in range(SAMPLES):
                verdict, said = compared(Sample(op, place))
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict == "differs":
                    print(f"{op.full_name} {place}", *said, sep="\n        ", flush=True)
    print(counts)


if __name__ == "__main__":
    guard.strict = "--strict" in sys.argv
    main(*[a for a in sys.argv[1:2] if a != "--strict"])
