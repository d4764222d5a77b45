"""`inference_mode`: no history, and tensors that may never enter a graph. Source: torch.inference_mode."""

from __future__ import annotations

import functools
from typing import Any

from ..core.errors import fail
from ..autograd.modes import Mode
from ..core.grad_mode import per_thread
from ..core.tensor import InferenceStorage, attach


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in this thread. Source: torch.is_inference_mode_enabled.

    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """
    return per_thread.state.inference


class _Guard:
    """The modes before an `inference_mode` block. It restores them when it is deleted with the block's manager, for an
    interrupt may come before the first line of `__exit__`, as in PyTorch. Guards that did their work are used again,
    because an interrupt amid a `__del__` would be lost."""

    __slots__ = ("state", "grad", "inference", "special")

    def restore(self):
        state = getattr(self, "state", None)
        if state is not None:
            state.grad, state.inference, state.special = self.grad, self.inference, self.special
            self.state = None

    __del__ = restore


_spare: list[_Guard] = []


class inference_mode(Mode):
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
        guard.grad, guard.inference, guard.special, guard.state = (
            state.grad,
            state.inference,
            state.special,
            state,
        )
        self._guard = guard
        state.grad, state.inference, state.special = (
            not self.mode,
            self.mode,
            self.mode or state.saved_hooks is not None,
        )

    def __exit__(self, *exc):
        guard = self._guard
        if guard is not None:
            guard.restore()
            _spare.append(guard)
            self._guard = None

    def _clone(self):
        return self.__class__(self.mode)


inference_mode.__module__ = "torch.autograd.grad_mode"  # shown by repr, as torch shows it


@functools.partial(attach, to=InferenceStorage)
class _Refusals:
    """The errors about memory that was made under `inference_mode`."""

    def uncounted(self):
        """Return the error for a question about its version."""
        return fail(
            RuntimeError,
            "Inference tensors do not track version counter.",
            "Make the tensor outside inference_mode.",
        )

    def unsaved(self):
        """Return the error for a node that would have to save it."""
        return fail(
            RuntimeError,
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
            "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
            "`torch.no_grad()` instead of `torch.inference_mode()`.",
            "Inference mode keeps no version counter, so the graph could not notice later changes.",
        )
