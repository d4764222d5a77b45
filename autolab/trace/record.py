"""`with autolab.record() as recording:` keeps what the code inside does, forward and backward, as a trace."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Self

from ..engine.core.errors import fail
from .errors import failures, expressions
from .model import Trace
from .reader import reader_for
from .recorder import Recorder
from .captions.text import render


def record() -> Recording:
    """Record the code inside a `with` block: every operation (also in place, and under no_grad), every backward pass,
    every error. `print(recording)` tells all. An error inside ends the block as usual; what happened before it is kept.
    The code may be autolab's or, where `torch` has been imported before the block, PyTorch's.

    Each number is the one that a tensor had when its operation ran. A change through NumPy is not a step of the
    recording, and formulas of up to 64 such numbers leave them out.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> with torch.record() as recording:
        ...     y = x * x
        ...     y.backward()
        >>> for frame in recording.trace().frames[:3]:
        ...     print(frame.text)
        y = x * x = 9
        backward starts: the gradient of y with respect to itself is 1
        y sends 3 to x (contribution 1 of 2, so far 3)
    """
    return Recording()


class Recording(Recorder):
    """The object that `record()` returns. Read it with `print(recording)` or `recording.trace()`, or view it with
    `autolab.explore(recording)`."""

    _torch: Recorder | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        self._torch = self._of_torch()
        if self._torch is not None:
            self._torch.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._torch is not None:
            theirs = error is not None and self._is_of_torch(error)
            self._torch.__exit__(kind, error if theirs else None, traceback)
            error = None if theirs else error
        super().__exit__(kind, error, traceback)

    def _is_of_torch(self, error: BaseException) -> bool:
        """Return whether an error belongs to PyTorch's recording: PyTorch reported it, or its tensors are in the
        failing line, or only it ran."""
        assert self._torch is not None
        for link in failures.chain(error):
            if (seen := link.__dict__.get("_autolab_seen")) is not None:
                return seen[0] is self._torch
        at = failures.learners(error.__traceback__)
        expression = None if at is None else expressions.at(at)
        for tensor in expression.operands.values() if expression is not None else ():
            return reader_for(tensor).library == "torch"
        return self._torch.has_nodes and not self.has_nodes

    def _of_torch(self) -> Recorder | None:
        """Return the recording of PyTorch; None if PyTorch has not been imported, or cannot be watched in this
        version."""
        if sys.modules.get("torch") is None:
            return None
        from . import torch_names

        try:
            torch_names.check()
        except ImportError as error:
            warnings.warn(f"operations of PyTorch are not recorded: {error}", stacklevel=3)
            return None
        from .torch_record import TorchRecording

        return TorchRecording()

    def trace(self, library: str = "") -> Trace:
        """Return the recording as data; inside the block, of what happened so far.

        library: "autolab" or "torch", needed where operations of both ran. Raises RuntimeError before the block, and
        where it is not said."""
        if library not in ("", "autolab", "torch"):
            raise ValueError(f"library must be 'autolab' or 'torch', not {library!r}")
        if self._torch is None or library == "autolab":
            return super().trace()
        if not library and self.has_nodes and self._torch.has_nodes:
            raise fail(
                RuntimeError,
                "operations of autolab and of PyTorch were recorded in one block",
                'Each library has a graph of its own: ask for one with recording.trace("torch") or recording.trace("autolab").',
            )
        return self._torch.trace() if library or self._torch.has_nodes else super().trace()

    def _summary(self, trace: Trace) -> str:
        if self._torch is None or not self._torch.has_nodes:
            return super()._summary(trace)
        theirs = super()._summary(self._torch.trace())
        return (
            f"{super()._summary(trace)} of autolab; {theirs} of PyTorch"
            if self.has_nodes
            else theirs
        )

    def text(self) -> str:
        if self._torch is None or not (self.has_nodes and self._torch.has_nodes):
            return super().text()
        return f"autolab\n\n{render(super().trace())}\n\nPyTorch\n\n{self._torch.text()}"
