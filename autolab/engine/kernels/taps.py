"""Weighted sums of a few neighbours along an axis, such as resizing, and their adjoints.

A matrix product would read all positions, most of them times 0, so one inf or NaN would reach every output instead of
only the outputs that read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..exact.dtypes import as_indices
from .scatter import add_at


class Tap(NamedTuple):
    """One of the neighbours that every output reads. Each field is an array with one number per output."""

    index: Any  # the position to read; never decreases
    weight: Any = None  # None: all weights are 1
    there: Any = None  # whether the output reads it; None: all do


class Reading:
    """The taps of the outputs along one axis with `n` positions."""

    def __init__(self, xp, n, taps):
        self.xp, self.n, self.taps = xp, n, taps

    def of(self, x, axis):
        """Return the interpolated values along an axis; axis: -1 or -2."""
        parts = (
            self._weighted(self.xp.take(x, as_indices(t.index), axis), t, axis) for t in self.taps
        )
        total = next(parts)
        for part in parts:
            total = total + part
        return total

    def back(self, g, axis):
        """Return the adjoint of `of`: add each gradient to the elements from which its output was interpolated."""
        shape = list(g.shape)
        shape[axis] = self.n
        total, behind = self.xp.zeros(shape, g.dtype), (slice(None),) * (-1 - axis)
        for t in self.taps:
            index, part = t.index, self._weighted(g, t, axis)
            if self.xp is np:  # in runs of the same index, which is faster than `np.add.at`
                starts = np.flatnonzero(np.diff(index, prepend=-1))
                total[(..., index[starts], *behind)] += np.add.reduceat(
                    part, as_indices(starts), axis
                )
            else:
                add_at(self.xp, total, (..., index, *behind), part)
        return total

    def _weighted(self, x, tap, axis):
        along = (..., None) if axis == -2 else ...
        if tap.weight is not None:
            x = x * tap.weight[along]
        return x if tap.there is None else self.xp.where(tap.there[along], x, x.dtype.type(0))
