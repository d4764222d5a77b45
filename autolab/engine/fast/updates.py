"""The fast path of `+=`, `-=`, `*=` and `/=` for common updates: plain floats of one dtype without history."""

from __future__ import annotations

import operator

import numpy as np

from ..core import observe
from ..core.grad_mode import per_thread
from ..core.tensor import Tensor

_IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
}
_ONE = (1,)


def make(op, slow):
    """Return the fast path of `op`, which calls `slow` for unusual arguments; return `slow` itself for other
    operations."""
    if op.fast not in _IN_PLACE:
        return slow
    fast, change = op.fast, _IN_PLACE[op.fast]

    def update(target, other):
        state = per_thread.state
        dtype = target._dtype
        if (
            state.grad
            or state.saved_hooks
            or observe.observer is not None
            or target._view is not None
            or target._node is not None
            or not dtype.is_floating_point
        ):
            return slow(target, other)
        d = target._array
        if type(other) is float:
            y = other
        elif type(other) is Tensor and other._dtype is dtype and other._view is None:
            y = other._array
        else:
            return slow(target, other)
        try:
            if type(d) is not np.ndarray:  # a 0-d scalar
                if type(y) is np.ndarray and y.ndim:
                    return slow(target, other)
                target._array = state.run(fast, d, y)
            # Update one element as a scalar: it takes 0.2 µs, arrays of one element 0.7.
            elif d.shape == _ONE and (y is other or y.shape == _ONE):
                d[0] = state.run(fast, d[0], y if y is other else y[0])
            else:
                target._array = state.run(change, d, y)
        except ValueError:  # shapes do not match: the general path raises torch's error
            return slow(target, other)
        (target._memory or target._storage).version += 1
        return target

    return update
