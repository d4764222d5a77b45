"""What threads share, and what each has of its own: whether history is recorded.

Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html#locally-disabling-gradient-computation"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .errors import bad_argument

# -- what threads share ----------------------------------------------------------------------------------------------
guard = threading.RLock()
"""Held by whoever reads a leaf's `.grad`, its one node or a tensor's one storage, to write it again: for an addition,
never for a kernel or a function of the user's. A finalizer may run meanwhile, so the thread may enter again."""

ENTRANCES: list[Callable[[], None]] = []
"""Called in each thread before it uses the engine for the first time (`fast/threads.py`)."""

if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
    os.register_at_fork(
        before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release
    )


# -- what each thread has --------------------------------------------------------------------------------------------
def _quiet() -> Callable[..., Any]:
    """Calls a function without NumPy's float warnings."""
    context = (
        contextvars.copy_context()
    )  # np.errstate around each kernel costs 1.2 µs, a context of its own 20 ns
    context.run(np.seterr, all="ignore")
    return context.run


@dataclass(eq=False, slots=True)
class State:
    """What one thread's ops consult.

    >>> state = State()
    >>> state.grad, state.run(np.log, 0.0)  # torch warns of no division by zero
    (True, np.float64(-inf))
    """

    run: Callable[..., Any] = field(default_factory=_quiet)  # calls a kernel
    grad: bool = True  # is history recorded
    inference: bool = False
    saves_inference: bool = False  # may a node save what was made in inference mode
    special: bool = False  # inference mode or saved-tensor hooks are on, so no shortcut is taken
    saved_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = (
        None  # the active pack and unpack functions
    )
    backward_pass: Any = None  # the one that is running
    module: Any = None  # the nn.Module whose forward is running
    scope: Any = None  # where that is, see `Node.scope`
    silence: Any = None  # of `fast/straight.py`


class _PerThread(threading.local):
    known = 0  # how many threads have come here

    def __init__(self) -> None:
        _PerThread.known += 1
        for enter in ENTRANCES:
            enter()
        self.state = State()


per_thread = _PerThread()


class set_grad_enabled:
    """Sets the mode at once; as a context manager or decorator only for the block. Source: torch.set_grad_enabled.

    `no_grad` and `enable_grad` do it for one mode each (`autograd/modes.py`).

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    __call__: ClassVar[Any]

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise bad_argument("set_grad_enabled", "enabled", 1, "bool", mode)
        state = per_thread.state
        self._before, self.mode = state.grad, mode
        state.grad = self.mode

    def __enter__(self) -> None:
        per_thread.state.grad = self.mode

    def __exit__(self, *exc: object) -> None:
        per_thread.state.grad = self._before
