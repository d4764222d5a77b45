"""Replacements for code that the core runs under `guard`; they skip the lock while the program has only one thread."""

from __future__ import annotations

import threading
import time
import weakref

from ..core import grad_mode, node, tensor
from ..core.node import AccumulateGrad


class _Shared:
    """Whether several threads use the engine. A lock takes 50 to 250 ns, and a step of linear regression would need
    five. A single thread therefore takes no lock: it sets `inside` while it runs lines that need the guard, and reads
    `several`. A second thread sets `several`, and waits until the first is not `inside`, so one of the two always
    notices the other."""

    __slots__ = ("several", "inside", "first")

    def __init__(self):
        self.inside = False
        self.several = grad_mode.per_thread.known > 1
        self.first = threading.get_ident()

    def enter(self):
        """Register a thread before it uses the engine for the first time."""
        if threading.get_ident() != self.first:
            self.several = True
            while self.inside:
                time.sleep(0)


shared = _Shared()
grad_mode.THREAD_INIT.append(shared.enter)
_grad_as_tensor = tensor.grad_as_tensor


def grad_as_tensor(t):
    """Return the gradient of a tensor as a Tensor, as `core.tensor.grad_as_tensor` does."""
    _ = grad_mode.per_thread.state  # registers this thread
    shared.inside = True
    try:
        if not shared.several:
            g = t._grad = tensor.wrap(t._grad, t.dtype)
            return g
    finally:
        shared.inside = False
    return _grad_as_tensor(t)


def accumulator(leaf):
    """Return the AccumulateGrad of a leaf that has none yet, as `core.node.accumulator` does; the thread must be
    registered."""
    if shared.several or leaf._acc is tensor.no_accumulator:
        return node.accumulator(leaf)
    end = AccumulateGrad()
    end.variable, end.hooks = leaf, None
    end.version = 0 if leaf._memory is None else leaf._memory.version
    leaf._acc = weakref.ref(end)
    return end
