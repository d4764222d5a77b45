"""State that threads share, and the state of each thread: for example, whether it records history.

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

guard = threading.RLock()
"""A lock, held while a thread reads and rewrites a leaf's `.grad`, its one node or a tensor's one storage: during an
addition, never during a kernel or a user function. It is reentrant, because a finalizer may run meanwhile in the same
thread."""

if hasattr(os, "register_at_fork"):  # a forked child has no thread that would release the lock
    os.register_at_fork(
        before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release
    )


def _quiet() -> Callable[..., Any]:
    """Return a function that calls another function without NumPy's float warnings."""
    # `np.errstate` around each kernel takes 1.2 µs; running it in its own context takes 20 ns.
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    return context.run


@dataclass(eq=False, slots=True)
class State:
    """The state of one thread, which its operations read.

    >>> state = State()
    >>> state.grad, state.run(np.log, 0.0)  # torch warns of no division by zero
    (True, np.float64(-inf))
    """

    run: Callable[..., Any] = field(default_factory=_quiet)  # calls a kernel
    grad: bool = True  # is history recorded
    inference: bool = False  # `inference_mode` turned recording off (for the explorer)
    saved_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None  # pack and unpack
    backward_pass: Any = None  # the running backward pass
    autocast: Any = None  # the dtypes of the active `autocast` blocks, see `Casting`
    module: Any = None  # the nn.Module whose forward runs now
    scope: Any = None  # the number of its call, see `Node.scope`


THREAD_INIT: list[Callable[[], None]] = []
"""Functions that each thread calls before it first uses the engine (`fast/threads.py`)."""


class _PerThread(threading.local):
    known = 0  # the number of threads that have used the engine

    def __init__(self) -> None:
        _PerThread.known += 1
        for enter in THREAD_INIT:
            enter()
        self.state = State()


per_thread = _PerThread()


class set_grad_enabled:
    """Set the grad mode at once; as a context manager or decorator, only for the block. Source: torch.set_grad_enabled.

    `no_grad` and `enable_grad` each set one mode (`autograd/modes.py`).

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
