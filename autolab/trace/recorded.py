"""The shared part of recordings: a block is watched once, and read as data or as text, during the block or after it."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Generic, TypeVar

from ..engine.core import observe
from . import names

Data = TypeVar("Data")


class Recorded(observe.Observer, Generic[Data]):
    """The part of a recording that is independent of what it watches. `_call` names the function that creates it."""

    _call: str
    _running = False
    _trace: Data | None = None
    _write_out: Callable[[], Data] | None = (
        None  # makes the trace from the collected data when it is first requested
    )

    def trace(self) -> Data:
        """Return the recording as data; inside the block, of what happened so far. Raises RuntimeError before the
        block."""
        if self._write_out is not None:
            self._trace, self._write_out = self._write_out(), None
        if self._trace is not None:
            return self._trace
        if not self._running:
            raise RuntimeError(
                f"nothing is recorded yet: use `with autolab.{self._call}() as recording:`"
            )
        return self._so_far(names.caller())

    def text(self) -> str:
        """Return the recording as text, one line per step."""
        return self._render(self.trace())

    def __str__(self) -> str:
        return self.text() if self._is_over or self._running else repr(self)

    def __repr__(self) -> str:
        state = (
            self._summary(Recorded.trace(self))
            if self._is_over
            else "running"
            if self._running
            else "empty; use it with `with`"
        )
        return f"<{type(self).__name__}: {state}>"

    @property
    def _is_over(self) -> bool:
        return self._trace is not None or self._write_out is not None

    def _check_new(self) -> None:
        if self._running or self._is_over:
            raise RuntimeError(
                f"a recording can be made only once; call {self._call}() again for another one"
            )

    def _so_far(self, frame: FrameType | None) -> Data:
        """Return the trace up to now; the variables of `frame`, the user's frame, give the names."""
        raise NotImplementedError

    def _render(self, trace: Data) -> str:
        raise NotImplementedError

    def _summary(self, trace: Data) -> str:
        raise NotImplementedError
