"""`inference_mode`: no history, and tensors that may never enter a graph. Source: torch.inference_mode."""

from __future__ import annotations

from typing import Any

from ..core.grad_mode import _Mode, per_thread


class _Guard:
    """What was on before an `inference_mode` block. It dies, and puts that back, if the block's manager goes without
    having left in order: an interrupt may come before the first line of `__exit__`. PyTorch's modes end so, too. Guards
    that did their work are used again: an interrupt amid a `__del__` would be lost."""

    __slots__ = ("state", "grad", "inference", "special")

    def restore(self):
        state = getattr(self, "state", None)
        if state is not None:
            state.grad, state.inference, state.special = self.grad, self.inference, self.special
            self.state = None

    __del__ = restore


_spare: list[_Guard] = []


class inference_mode(_Mode):
    """Like `no_grad`, and tensors made inside may never enter a graph. Source: torch.inference_mode.

    With `mode=False` history is recorded inside, whatever is on around it."""

    _guard = None
    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            self.mode = True
            return self(mode)
        self.mode = bool(mode)
        return self

    def __init__(self, mode: Any = True) -> None:
        pass

    def __enter__(self):
        state = per_thread.state
        try:
            guard = _spare.pop()
        except IndexError:
            guard = _Guard()
        guard.grad, guard.inference, guard.special, guard.state = state.grad, state.inference, state.special, state
        self._guard = guard
        state.grad, state.inference, state.special = not self.mode, self.mode, self.mode or state.saved_hooks is not None

    def __exit__(self, *exc):
        guard = self._guard
        if guard is not None:
            guard.restore()
            _spare.append(guard)
            self._guard = None

    def _clone(self):
        return self.__class__(self.mode)


inference_mode.__module__ = "torch.autograd.grad_mode"  # shown by repr, as torch shows it
