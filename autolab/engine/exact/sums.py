"""Sums computed in PyTorch's order, so that the last digit equals PyTorch's.

Floating-point addition is not associative: `torch.tensor([.1] * 10).sum()` is 1.0000001, while NumPy's pairwise sum
gives 1.0. PyTorch's CPU kernels keep eight float32 (four float64) running sums side by side, in four independent
chains, and add them at the end; they add long columns in blocks of sixteen. This file follows that order up to `FEW`
elements, for arrays that are row-major in memory. Above, PyTorch splits the work between threads and its last digit
depends on the machine, so NumPy's faster sums are used.

Source of the order: PyTorch's aten/src/ATen/native/cpu/SumKernel.cpp and Reduce.h, "cascade sum".
"""

from __future__ import annotations

import functools
import math

import numpy as np

FEW = 1 << 15
"""Below this many elements PyTorch reduces on one thread."""

_LANES = {"f": 8, "d": 4}  # running sums side by side
INTERLEAVED = 4  # independent chains of additions keep the processor's pipeline busy
BLOCK = 16  # additions before a running sum is passed on to the next level
_SHORT = [None, *(np.array([0, *range(4, n), 1, 2, 3][:n]) for n in range(1, 8))]
_in_order, _reduce = np.add.accumulate, np.add.reduce
_plans: dict[int, dict] = {
    8: {},
    4: {},
}  # for sums of all elements: unused plans by lanes and shape
_MOST_PLANS = 128
planner = None
"""A function `planner(dtype, shape, lanes)` that makes a plan. A plan takes a row-major array of `shape` and returns an
array whose last number is the sum. If it is None, `_rows` computes every sum, in the same order."""


def plan_with(maker):
    """Set `planner`, and discard the plans of the previous planner."""
    global planner
    planner = maker
    for plans in _plans.values():
        plans.clear()


def add(x, axis=None, keepdims=False):
    """Return `np.add.reduce(x, axis, keepdims=keepdims)` in PyTorch's order; `axis` is None, an int or a tuple.

    The order is PyTorch's for contiguous arrays whose reduced dimensions are adjacent, else NumPy's."""
    if axis is None or x.ndim == 1:
        return alone(total(x), (1,) * x.ndim) if keepdims else total(x)
    lanes = _LANES.get(x.dtype.char)
    axes = sorted(a % x.ndim for a in ((axis,) if axis.__class__ is int else axis))
    adjacent = axes and axes[-1] - axes[0] < len(axes)
    if lanes is None or not (1 < x.size < FEW and x.flags.c_contiguous and adjacent):
        return _reduce(x, axis=axis, keepdims=keepdims)
    before, after = x.shape[: axes[0]], x.shape[axes[-1] + 1 :]
    x = x.reshape(math.prod(before), -1, columns := math.prod(after))
    sums = _rows(x[:, :, 0], lanes) if columns == 1 else _columns(x, _width(columns, lanes))
    return sums.reshape(before + (1,) * len(axes) * keepdims + after)[()]


def alone(number, shape):
    """Return a new array of `shape`, which has one element, filled with `number`."""
    made = np.empty(shape, number.dtype)  # np.full takes three times as long
    made.fill(number)
    return made


def sum_to(x, shape):
    """Return `x` summed over the dimensions that were broadcast from `shape`, a tuple; `x` itself if there are none."""
    if math.prod(shape) == 1:
        return alone(total(x), shape)
    axes = broadcast_axes(x.shape, shape)
    return add(x, axes).reshape(shape) if axes else x


def fitted(g, target):
    """Return a gradient in host memory, summed over broadcast dimensions and converted to its input's dtype; see
    `node.apply_fix`."""
    if g is None or target is None:
        return g
    shape, dtype = target
    if shape is not None and g.shape != shape:
        g = sum_to(g, shape)
    if g.dtype is dtype.np or g.dtype == dtype.np:
        return g
    return g.astype(dtype.np)


@functools.lru_cache(maxsize=1024)
def broadcast_axes(shape, target):
    """Return the dimensions of `shape` that were broadcast from `target`."""
    extra = len(shape) - len(target)
    return (
        *range(extra),
        *(i + extra for i, n in enumerate(target) if n == 1 and shape[i + extra] != 1),
    )


# -- contiguous rows ---------------------------------------------------------------------------------------------------
def total(x):
    """Return the sum of all elements of `x`, as a NumPy scalar of its dtype.

    Losses and bias gradients use this sum. A plan divides a buffer into pieces once per shape, and then needs only a
    few additions. That takes half the time of slicing, `np.add.reduce` and `np.concatenate`: 2 µs for 100 elements
    (`fast/sums.py`). While a plan is in use it is off its list, so that no other thread writes into its buffer."""
    lanes = _LANES.get(x.dtype.char)
    if lanes is None:
        return _reduce(x, axis=None)
    unused = _plans[lanes].get(x.shape)
    if unused is None or not x.flags.c_contiguous:
        return _unplanned(x, lanes)
    try:
        plan = unused.pop()
    except IndexError:  # another thread uses it
        plan = planner(x.dtype, x.shape, lanes)
    result = plan(x)[-1]
    unused.append(plan)
    return result


def _unplanned(x, lanes):
    """Return the sum of an array whose shape has no plan yet."""
    n, plans = x.size, _plans[lanes]
    if not 1 < n < FEW or not x.flags.c_contiguous:
        return _reduce(x, axis=None)
    if planner is None or n < lanes or n >= BLOCK * BLOCK * INTERLEAVED * lanes:
        return (_rows(x.reshape(1, n), lanes) + 0)[-1]
    if len(plans) >= _MOST_PLANS:
        plans.clear()
    plans[x.shape] = [planner(x.dtype, x.shape, lanes)]
    return total(x)


def _rows(x, lanes):
    """Return the sums of the rows of a 2-d array: (K, R) -> (K,)."""
    k, n = x.shape
    if n < lanes:
        return _in_order(x if n < 4 else x[:, _SHORT[n]], axis=1)[:, -1].copy()
    full = n // lanes
    sums = (
        x[:, :lanes] + 0
        if full == 1
        else _interleaved(x[:, : full * lanes].reshape(k, full, lanes))
    )
    # Copy the result, so that it is not a view that keeps all running sums.
    return _in_order(np.concatenate((x[:, full * lanes :], sums), axis=1), axis=1)[:, -1].copy()


def _interleaved(x):
    """Sum (K, n, C) -> (K, C): four running sums over every fourth row, the remaining rows into the first one, then the
    four in order."""
    k, n, c = x.shape
    if n < INTERLEAVED:
        return _sum_in_turn(x)
    quarter = n // INTERLEAVED
    main = quarter * INTERLEAVED
    sums = _cascade(x[:, :main].reshape(k, quarter, INTERLEAVED * c)).reshape(k, INTERLEAVED, c)
    return _sum_in_turn(np.concatenate((sums[:, :1], x[:, main:], sums[:, 1:]), axis=1))


def _sum_in_turn(x):
    """Sum (K, n, C) -> (K, C), one row after the other."""
    if x.shape[2] == 1:  # np.add.reduce would sum such a column in pairs, as a row
        return _in_order(x, axis=1)[:, -1]
    return _reduce(x, axis=1)


def _cascade(x):
    """Sum (K, n, C) -> (K, C) with a running sum per level: blocks of 16 rows, of 256, of 4096."""
    if x.shape[1] < BLOCK:
        return _sum_in_turn(x)
    total = None
    for level in range(4):
        n = x.shape[1]
        blocks = n // BLOCK if level < 3 else 0
        rest = (
            _sum_in_turn(x[:, blocks * BLOCK :])
            if n > blocks * BLOCK
            else np.zeros((x.shape[0], x.shape[2]), x.dtype)
        )
        total = rest if total is None else total + rest
        if not blocks:
            return total
        x = _sum_in_turn(x[:, : blocks * BLOCK].reshape(x.shape[0] * blocks, BLOCK, -1)).reshape(
            x.shape[0], blocks, -1
        )
    return total


# -- columns -----------------------------------------------------------------------------------------------------------
def _width(columns, lanes):
    return INTERLEAVED * (lanes if columns >= lanes else 1)


def _columns(x, width):
    """Return the sums of the columns for each leading index: (A, R, K) -> (A, K). `width` columns are added side by
    side."""
    whole = x.shape[2] // width * width
    if whole == x.shape[2]:
        return _cascade(x)
    edge = _interleaved(x[:, :, whole:])
    return np.concatenate((_cascade(x[:, :, :whole]), edge), axis=1) if whole else edge
