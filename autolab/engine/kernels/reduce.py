"""Reductions and cumulative results of ufuncs that CuPy lacks: its `reduce` and `accumulate` support only sums and
products."""

from __future__ import annotations

import numpy as np

_FUNCTIONS = {"maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def reduce(xp, ufunc, x, axis=None, keepdims=False):
    """Return `xp.<ufunc>.reduce(x, axis, keepdims=keepdims)` for maximum, minimum, logical_and and logical_or."""
    if xp is np:  # the named function costs 1 µs more
        return getattr(np, ufunc).reduce(x, axis=axis, keepdims=keepdims)
    return getattr(xp, _FUNCTIONS[ufunc])(x, axis=axis, keepdims=keepdims)


def accumulate(xp, ufunc, x, axis):
    """Return `xp.<ufunc>.accumulate(x, axis)`. On a GPU it takes log2(n) steps, each of which doubles the number of
    elements combined in a result (Hillis and Steele, "Data parallel algorithms", 1986)."""
    function = getattr(xp, ufunc)
    if xp is np:
        return function.accumulate(x, axis=axis)
    x, reach = xp.moveaxis(x, axis, 0), 1
    while reach < x.shape[0]:
        x = xp.concatenate((x[:reach], function(x[reach:], x[:-reach])))
        reach *= 2
    return xp.ascontiguousarray(xp.moveaxis(x, 0, axis))
