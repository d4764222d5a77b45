"""Maps along an axis of which every output reads a few neighbours, weighted: resizing, means of windows that share the axis out; and their adjoints.

A matrix product would read all positions, most of them times 0: one inf or NaN would reach every output, where it has to reach those alone
that read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .scatter import add_at


class Tap(NamedTuple):
    """One of the neighbours that every output reads. All are arrays of one number per output."""

    index: Any  # which position it is; it rises
    weight: Any = None  # None: 1
    there: Any = None  # whether the output reads it, None: all do


def tap(xp, index, weight=None, there=None):
    """A `Tap`; on the host one that all outputs read needs no `there`."""
    return Tap(index, weight, None if there is None or xp is np and there.all() else there)


def _along(array, axis):
    """An array of one number per position of `axis`, to multiply arrays by; axis: -1 or -2."""
    return array if axis == -1 else array[:, None]


def _weighted(xp, x, tap, axis):
    if tap.weight is not None:
        x = x * _along(tap.weight, axis)
    return x if tap.there is None else xp.where(_along(tap.there, axis), x, x.dtype.type(0))


def gathered(xp, x, taps, axis):
    """What the outputs read of `x` along `axis`, -1 or -2."""
    total = None
    for each in taps:
        part = _weighted(xp, xp.take(x, each.index, axis), each, axis)
        if total is None:
            total = part
        else:
            total += part
    return total


def spread(xp, g, taps, n, axis):
    """The adjoint of `gathered`: each gradient goes to what its output read, of `n` positions."""
    before = slice(None) if axis == -2 else None
    shape = (*g.shape[:-1], n) if axis == -1 else (*g.shape[:-2], n, g.shape[-1])
    total = xp.zeros(shape, g.dtype)
    for each in taps:
        part = _weighted(xp, g, each, axis)
        if xp is np:
            starts = np.flatnonzero(np.diff(each.index, prepend=-1))
            key = each.index[starts]
            total[(..., key) if before is None else (..., key, before)] += np.add.reduceat(part, starts, axis)
        else:
            add_at(xp, total, (..., each.index) if before is None else (..., each.index, before), part)
    return total

