"""What threads share, and what each thread has of its own: whether history is recorded.

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
"""Held while a thread reads a leaf's `.grad`, its one node or a tensor's one storage in order to write it again: during
an addition, never during a kernel or a function of the user's. A finalizer may run meanwhile, so a thread may enter
twice."""

if hasattr(
    os, "register_at_fork"
):  # a child process must not wait for a thread that it does not have
    os.register_at_fork(
        before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release
    )


def _quiet() -> Callable[..., Any]:
    """Return a function that calls another one without NumPy's float warnings."""
    # np.errstate around each kernel takes 1.2 µs, a context of its own 20 ns.
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    return context.run


@dataclass(eq=False, slots=True)
class State:
    """What the operations of one thread look up.

    >>> state = State()
    >>> state.grad, state.run(np.log, 0.0)  # torch warns of no division by zero
    (True, np.float64(-inf))
    """

    run: Callable[..., Any] = field(default_factory=_quiet)  # calls a kernel
    grad: bool = True  # is history recorded
    inference: bool = False  # `inference_mode` turned it off, which the explorer tells
    saved_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None  # pack and unpack
    backward_pass: Any = None  # the one that is running
    autocast: Any = None  # the dtypes of the `autocast` blocks around, see `Casting`
    module: Any = None  # the nn.Module whose forward is running
    scope: Any = None  # which call of it that is, see `Node.scope`


THREAD_INIT: list[Callable[[], None]] = []
"""Functions that are called in each thread before it uses the engine for the first time (`fast/threads.py`)."""


class _PerThread(threading.local):
    known = 0  # how many threads have used the engine

    def __init__(self) -> None:
        _PerThread.known += 1
        for enter in THREAD_INIT:
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
