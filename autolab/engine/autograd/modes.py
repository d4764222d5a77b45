"""Grad modes for a block, a function or a generator: `no_grad`, `enable_grad`, `inference_mode`,
`set_grad_enabled`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..core.errors import fail
from ..core.grad_mode import per_thread, set_grad_enabled
from ..core.tensor import attach


def is_grad_enabled() -> bool:
    """Return whether ops record history in this thread. Source: torch.is_grad_enabled.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return per_thread.state.grad


class Mode:
    """A context manager that also works as a decorator."""

    __slots__ = ()

    def __call__(self, function):
        if inspect.isclass(function) or inspect.isgeneratorfunction(function):
            message = "a grad mode decorates functions, not classes or generator functions"
            note = "Decorate the methods, or write `with torch.no_grad():` inside the function."
            raise fail(TypeError, message, note)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        return wrapped

    def _clone(self):
        return self.__class__()


class no_grad(Mode):
    """`with no_grad():` or `@no_grad` / `@no_grad()`: ops record no history inside. Source: torch.no_grad.

    >>> x = torch.tensor(2., requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    __slots__ = ("_before",)
    _before: bool
    _value = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = object.__new__(cls)
        return self if function is None else self(function)

    def __enter__(self) -> None:
        state = per_thread.state
        self._before = state.grad
        state.grad = self._value

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        per_thread.state.grad = self._before


class enable_grad(no_grad):
    """`with enable_grad():` records history again inside a `no_grad` block. Source: torch.enable_grad.

    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """

    __slots__ = ()
    _value = True


class inference_mode(no_grad):
    """Like `no_grad`; with `mode=False`, operations are recorded inside the block. Source: torch.inference_mode.

    In PyTorch, tensors made in such a block may never enter a graph; here they are ordinary tensors."""

    __slots__ = ("mode", "_inference")
    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        self.mode = not isinstance(mode, int) or bool(mode)
        return self if isinstance(mode, int) else self(mode)

    def __enter__(self) -> None:
        state = per_thread.state
        self._before, self._inference = state.grad, state.inference
        state.grad, state.inference = not self.mode, self.mode

    def __exit__(self, *error: object) -> None:
        per_thread.state.grad, per_thread.state.inference = self._before, self._inference

    def _clone(self):
        return self.__class__(self.mode)


@functools.partial(attach, to=set_grad_enabled)
class _Setting:
    """Make `set_grad_enabled`, which sets the mode at once, also work as a decorator."""

    def __call__(self, function):
        per_thread.state.grad = self._before
        return Mode.__call__(self, function)

    def __repr__(self):
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def _clone(self):
        return self.__class__(self.mode)


for _cls in (no_grad, enable_grad, inference_mode, set_grad_enabled):
    _cls.__module__ = "torch.autograd.grad_mode"  # `repr` shows the module's name, as in torch
