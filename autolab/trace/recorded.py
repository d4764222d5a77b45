"""What recordings share: a block that is watched once, and read as data or as text, in the block or after it."""

from __future__ import annotations

from types import FrameType
from typing import Generic, TypeVar

from ..engine.core import observe
from . import names

Data = TypeVar("Data")


class Recorded(observe.Observer, Generic[Data]):
    """The part of a recording that does not depend on what it watches. `_call` names the function that makes one."""

    _call: str
    _running = False
    _trace: Data | None = None

    def trace(self) -> Data:
        """The recording as data; inside the block, of what happened so far. Raises RuntimeError before the block."""
        if self._trace is not None:
            return self._trace
        if not self._running:
            raise RuntimeError(f"nothing is recorded yet: use `with autolab.{self._call}() as recording:`")
        return self._so_far(names.caller())

    def text(self) -> str:
        """The recording as text, one line per step."""
        return self._render(self.trace())

    def __str__(self) -> str:
        return self.text() if self._trace is not None or self._running else repr(self)

    def __repr__(self) -> str:
        if self._trace is None:
            state = "running" if self._running else "empty; use it with `with`"
        else:
            state = self._summary(self._trace)
        return f"<{type(self).__name__}: {state}>"

    def _check_new(self) -> None:
        if self._running or self._trace is not None:
            raise RuntimeError(f"a recording can be made only once; call {self._call}() again for another one")

    def _so_far(self, frame: FrameType | None) -> Data:
        """What happened up to now; `frame` is the user's, whose variables give names."""
        raise NotImplementedError

    def _render(self, trace: Data) -> str:
        raise NotImplementedError

    def _summary(self, trace: Data) -> str:
        raise NotImplementedError
