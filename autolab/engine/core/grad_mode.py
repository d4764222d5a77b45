"""What threads share, and what each has of its own: its grad mode. `no_grad`, `enable_grad`, `set_grad_enabled`.

Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html#locally-disabling-gradient-computation"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

# -- what threads share ----------------------------------------------------------------------------------------------
guard = threading.RLock()
"""Held by whoever reads a leaf's `.grad`, its one node or a tensor's one storage, to write it again: for an addition,
never for a kernel or a function of the user's. A finalizer may run meanwhile, so the thread may enter again."""


class _Shared:
    """A lock costs 50 to 100 ns, and a step of linear regression would take five. So the only thread there is does
    without: it says by `inside` that it is amid lines that need the guard, and looks at `several`. A second thread sets
    `several` and waits until the first is not `inside`: one of the two sees the other."""

    __slots__ = ("several", "inside", "first")

    def __init__(self) -> None:
        self.several = self.inside = False
        self.first: int | None = None

    def enter(self) -> None:
        """Called in each thread before it uses the engine for the first time."""
        here = threading.get_ident()
        if self.first is None:
            self.first = here
        if here != self.first:
            self.several = True
            while self.inside:
                time.sleep(0)


shared = _Shared()

if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release)


# -- what each thread has --------------------------------------------------------------------------------------------
class State:
    """What one thread's ops consult: `grad` (is history recorded), `inference`, `run` (calls a kernel without NumPy's
    float warnings), `special` (inference mode or saved-tensor hooks are on, so no shortcut is taken), `saved_hooks`
    (the active pack and unpack functions, or None), `hooks_disabled` (the message that forbids them, or None),
    `backward_pass` (the pass that is running, or None), `module` (the nn.Module whose forward is running, or None),
    `scope` (where that is, see `Node.scope`), `silence` (of `fast/straight.py`).

    >>> state = State()
    >>> state.grad, state.run(np.log, 0.0)  # torch warns of no division by zero
    (True, np.float64(-inf))
    """

    __slots__ = "grad inference run special saved_hooks hooks_disabled backward_pass module scope silence".split()

    def __init__(self) -> None:
        self.grad = True
        self.inference = self.special = False
        self.saved_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self.hooks_disabled: str | None = None
        self.backward_pass: Any = None
        self.module: Any = None
        self.scope: Any = None
        self.silence: Any = None
        # np.errstate around each kernel costs 1.2 µs; running it in a context of its own 20 ns
        quiet = contextvars.copy_context()
        quiet.run(np.seterr, all="ignore")
        self.run = quiet.run


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


# -- modes -----------------------------------------------------------------------------------------------------------
class _Mode:
    """A context manager; `autograd/decorators.py` makes of it a decorator, too."""

    __slots__ = ()
    if TYPE_CHECKING:

        def __call__(self, function: Callable[..., Any]) -> Any: ...


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

    def __enter__(self) -> None:
        per_thread.state.grad = self.mode

    def __exit__(self, *exc: object) -> None:
        per_thread.state.grad = self._before


for _cls in (no_grad, enable_grad, set_grad_enabled):
    _cls.__module__ = "torch.autograd.grad_mode"  # shown by repr, as torch shows it
