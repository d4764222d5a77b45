"""Maps along an axis of which every output reads a few neighbours, weighted: resizing, means of windows that share the
axis out; and their adjoints.

A matrix product would read all positions, most of them times 0: one inf or NaN would reach every output, where it has
to reach those alone that read it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..exact.dtypes import as_indices
from . import reuse as memory
from .scatter import add_at


class Tap(NamedTuple):
    """One of the neighbours that every output reads. All are arrays of one number per output."""

    index: Any  # which position it is
    weight: Any = None  # None: 1
    there: Any = None  # whether the output reads it, None: all do


class Reading:
    """What the outputs along one axis read of its `n` positions."""

    def __init__(self, xp, n, taps):
        self.xp, self.n = xp, n
        self.taps = [
            t._replace(there=None) if t.there is not None and xp is np and t.there.all() else t
            for t in taps
        ]

    def of(self, x, axis):
        """What is read of `x`; axis: -1 or -2."""
        return (_gathered if self.xp is np else self._gathered_away)(x, self.taps, axis)

    def back(self, g, axis):
        """The adjoint of `of`: each gradient goes to what its output read."""
        return _gathered(g, self._turned, axis) if self.xp is np else self._scattered_away(g, axis)

    @cached_property
    def _turned(self):
        """Taps of the adjoint: which outputs read each position, in their order."""
        reads = [
            np.arange(t.index.size) if t.there is None else np.flatnonzero(t.there)
            for t in self.taps
        ]
        position, output = (
            np.concatenate([t.index[r] for t, r in zip(self.taps, reads)]),
            np.concatenate(reads),
        )
        order = np.lexsort((output, position))
        position, output = position[order], output[order]
        count = np.bincount(as_indices(position), minlength=self.n)
        number = np.arange(position.size) - (np.cumsum(count) - count)[position]
        index = np.zeros((max(1, int(count.max(initial=0))), self.n), np.int64)
        index[number, position] = output
        weight = None
        if self.taps[0].weight is not None:
            weight = np.zeros(index.shape, self.taps[0].weight.dtype)
            weight[number, position] = np.concatenate(
                [t.weight[r] for t, r in zip(self.taps, reads)]
            )[order]
        made = (
            Tap(i, None if weight is None else weight[k], k < count) for k, i in enumerate(index)
        )
        return Reading(np, 0, made).taps

    # -- on a GPU: whole arrays, nothing in place
    def _weighted(self, x, tap, axis):
        if tap.weight is not None:
            x = x * _along(tap.weight, axis)
        return (
            x if tap.there is None else self.xp.where(_along(tap.there, axis), x, x.dtype.type(0))
        )

    def _gathered_away(self, x, taps, axis):
        return sum(
            self._weighted(self.xp.take(x, as_indices(t.index), axis), t, axis) for t in taps
        )

    def _scattered_away(self, g, axis):
        shape = (*g.shape[:-1], self.n) if axis == -1 else (*g.shape[:-2], self.n, g.shape[-1])
        total = self.xp.zeros(shape, g.dtype)
        for t in self.taps:
            add_at(
                self.xp,
                total,
                (..., t.index) if axis == -1 else (..., t.index, slice(None)),
                self._weighted(g, t, axis),
            )
        return total


def _along(array, axis):
    """An array of one number per position of `axis`, to multiply arrays by."""
    return array if axis == -1 else array[:, None]


def _gathered(x, taps, axis):
    total = None
    for tap in taps:
        n = tap.index.size
        part = memory.empty(
            x.shape[:-1] + (n,) if axis == -1 else (*x.shape[:-2], n, x.shape[-1]), x.dtype
        )
        np.take(x, as_indices(tap.index), axis, out=part, mode="clip")
        if tap.weight is not None:
            part *= _along(tap.weight, axis)
        if tap.there is not None:
            gone = np.flatnonzero(~tap.there)
            part[(..., gone) if axis == -1 else (..., gone, slice(None))] = 0
        total = part if total is None else np.add(total, part, out=total)
    return total


def sums(x, start, stop, axis):
    """The sums of `x` between neighbouring positions, which may share some; on the host, and where all but the last end
    before the end of x."""
    edges = np.stack((start, stop), 1).reshape(-1)[:-1]
    found = np.add.reduceat(x, as_indices(edges), axis)
    return found[..., ::2] if axis == -1 else found[..., ::2, :]
