"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`; per thread, as in torch.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation"""
from __future__ import annotations

import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .guard import shared


class State:
    """What one thread's ops consult: `grad` (is history recorded), `inference`, `run` (calls a kernel without NumPy's
    float warnings), `special` (inference mode or saved-tensor hooks are on, so ops take the general lane),
    `saved_hooks` (the active pack and unpack functions, or None), `hooks_disabled` (the message that forbids them, or
    None), `backward_pass` (the pass that is running, or None), `silence` (how the backward pass silences NumPy's
    warnings), `module` (the nn.Module whose forward is running, or None), `scope` (where that is; see `Node.scope`)."""

    __slots__ = (
        "grad",
        "inference",
        "run",
        "special",
        "saved_hooks",
        "hooks_disabled",
        "backward_pass",
        "module",
        "scope",
        "silence",
    )

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.special = False
        self.saved_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self.hooks_disabled: str | None = None
        self.backward_pass: Any = None
        self.module: Any = None
        self.scope: Any = None
        # torch never warns on 1/0 or log(0). np.errstate around each kernel costs 1.2 µs; running it in a context of
        # its own 20 ns.
        quiet = contextvars.copy_context()
        quiet.run(np.seterr, all="ignore")
        self.run = quiet.run
        self.silence = _what_seterr_changed(quiet)

    def update(self) -> None:
        """Says whether anything is on that the fast lanes do not know."""
        self.special = self.inference or self.saved_hooks is not None


def _what_seterr_changed(quiet: contextvars.Context) -> tuple[contextvars.ContextVar[Any], Any] | None:
    """(variable, value) of the context variable in which NumPy keeps its error state, by which it is silenced in 0.1
    µs; None if there is none. It has no public name: it is what `np.seterr` changed."""
    here = contextvars.copy_context()
    changed = [(variable, value) for variable, value in quiet.items() if here.get(variable) is not value]
    return changed[0] if len(changed) == 1 else None


class _PerThread(threading.local):
    def __init__(self) -> None:
        shared.enter()
        self.state = State()


per_thread = _PerThread()


def is_grad_enabled() -> bool:
    """Whether ops record history in this thread. Source: torch.is_grad_enabled.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return per_thread.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread. Source: torch.is_inference_mode_enabled."""
    return per_thread.state.inference


class _Mode:
    """A context manager that is also a decorator for functions and generators."""

    __slots__ = ()

    def __call__(self, function: Callable[..., Any]) -> Any:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)
        if inspect.isclass(function):
            raise TypeError("Decorating classes with a grad mode is not supported; decorate its methods.")

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._clone():
                return function(*args, **kwargs)
        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A generator in the mode while it runs; not while its consumer does."""
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self._clone():
                    value = generator.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self._clone():
                            generator.close()
                        raise
                    except BaseException as error:  # thrown in by the consumer: the generator may handle it
                        with self._clone():
                            value = generator.throw(error)
                    else:
                        with self._clone():
                            value = generator.send(sent)
            except StopIteration as stop:
                return stop.value
        return wrapped

    def _clone(self) -> Any:
        return self.__class__()


class no_grad(_Mode):
    """`with no_grad():` or `@no_grad` / `@no_grad()`: ops record no history inside. Source: torch.no_grad.

    Example:

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


class set_grad_enabled(_Mode):
    """Sets the mode at once; as a context manager or decorator only for the block. Source: torch.set_grad_enabled.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        state = per_thread.state
        self._before, self.mode = state.grad, bool(mode)
        state.grad = self.mode

    def __call__(self, function: Callable[..., Any]) -> Any:
        per_thread.state.grad = self._before
        return super().__call__(function)

    def __enter__(self) -> None:
        per_thread.state.grad = self.mode

    def __exit__(self, *exc: object) -> None:
        per_thread.state.grad = self._before

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def _clone(self) -> Any:
        return self.__class__(self.mode)


for _cls in (no_grad, enable_grad, set_grad_enabled):
    _cls.__module__ = "torch.autograd.grad_mode"  # shown by repr, as torch shows it
