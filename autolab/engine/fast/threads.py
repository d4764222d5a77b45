"""Without a lock, while there is only one thread: what the core does under `guard`."""

from __future__ import annotations

import threading
import time
import weakref

from ..core import grad_mode, node, tensor
from ..core.node import AccumulateGrad


class _Shared:
    """A lock costs 50 to 150 ns, and a step of linear regression would take five. So the only thread there is does
    without: it says by `inside` that it is amid lines that need the guard, and looks at `several`. A second thread sets
    `several` and waits until the first is not `inside`: one of the two sees the other."""

    __slots__ = ("several", "inside", "first")

    def __init__(self):
        self.inside = False
        self.several = grad_mode.per_thread.known > 1
        self.first = threading.get_ident()

    def enter(self):
        """Called in each thread before it uses the engine for the first time."""
        if threading.get_ident() != self.first:
            self.several = True
            while self.inside:
                time.sleep(0)


shared = _Shared()
grad_mode.ENTRANCES.append(shared.enter)
_first_look = tensor.first_look


def first_look(t):
    """The same as `core.tensor.first_look`."""
    _ = grad_mode.per_thread.state  # this thread is known from now on
    shared.inside = True
    try:
        if not shared.several:
            g = t._grad = tensor.wrap(t._grad, t.dtype)
            return g
    finally:
        shared.inside = False
    return _first_look(t)


def new_accumulator(leaf):
    """The same as `core.node.new_accumulator`, for a thread that is known."""
    if shared.several or leaf._acc is tensor.nowhere:
        return node.new_accumulator(leaf)
    end = AccumulateGrad()
    end.variable, end.hooks = leaf, None
    end.version = 0 if leaf._memory is None else leaf._memory.version
    leaf._acc = weakref.ref(end)
    return end
