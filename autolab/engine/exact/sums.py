"""Sums, products and lengths added up in PyTorch's order, so that their last digit is PyTorch's too.

Floating-point addition is not associative: `torch.tensor([.1] * 10).sum()` is 1.0000001, NumPy's pairwise sum gives
1.0. PyTorch's CPU kernels keep eight float32 (four float64) running sums side by side, four times over, and add them
at the end; long columns are added in blocks of sixteen. Up to `FEW` elements that order is followed here. Above,
PyTorch splits the work between threads, so its last digit depends on the machine, and NumPy's faster sums are used.

Source of the order: PyTorch's aten/src/ATen/native/cpu/SumKernel.cpp and Reduce.h, "cascade sum".
"""

from __future__ import annotations

import functools
import math

import numpy as np

from . import rounding

FEW = 1 << 15
"""Below this many elements PyTorch reduces on one thread."""

_LANES = {"f": 8, "d": 4}  # running sums side by side
INTERLEAVED = 4  # independent chains of additions, for the processor's pipeline
BLOCK = 16  # additions before a running sum is passed on to the next level
_SHORT = [None, *(np.array([0, *range(4, n), 1, 2, 3][:n]) for n in range(1, 8))]
_in_order, _reduce = np.add.accumulate, np.add.reduce
_plans: dict[int, dict] = {
    8: {},
    4: {},
}  # for sums of all elements: by lanes and shape, those not in use
_MOST_PLANS = 128
planner = None
"""A function that makes a plan, `planner(dtype, shape, lanes)`: the plan takes a row-major array of `shape` and returns
an array whose last number is the sum. None: every sum is `_rows`, in the same order."""


def plan_with(maker):
    """Set `planner`, and forget the plans of the last one."""
    global planner
    planner = maker
    for plans in _plans.values():
        plans.clear()


def add(x, axis=None, keepdims=False):
    """Return `np.add.reduce(x, axis, keepdims=keepdims)` in PyTorch's order; `axis` is None, an int or a tuple."""
    if axis is None or x.ndim == 1:
        return alone(total(x), (1,) * x.ndim) if keepdims else total(x)
    lanes = _LANES.get(x.dtype.char)
    if lanes is None or not 1 < x.size < FEW:
        return _reduce(x, axis=axis, keepdims=keepdims)
    if x.ndim == 2 and x.flags.c_contiguous and 1 not in x.shape:
        only = axis if axis.__class__ is int else axis[0] if len(axis) == 1 else None
        if only in (1, -1):
            sums = _rows(x, lanes)
            return sums[:, None] if keepdims else sums
        if only is not None:
            sums = _columns_of_matrix(x, _width(x.shape[1], lanes))
            return sums[None] if keepdims else sums
    return _placed(_any_layout(x, axis, lanes), x, axis, keepdims)


def alone(number, shape):
    """Return an array of `shape` that has no element but `number`, and memory of its own."""
    made = np.empty(shape, number.dtype)  # np.full takes three times as long
    made.fill(number)
    return made


def sum_to(x, shape):
    """Return `x` summed over the dimensions that broadcasting from `shape`, a tuple, made; `x` itself if there are
    none."""
    if math.prod(shape) == 1:
        return alone(total(x), shape)
    axes = broadcast_axes(x.shape, shape)
    return add(x, axes).reshape(shape) if axes else x


def fitted(g, target):
    """Return a gradient in host memory summed over broadcast dimensions and with the dtype of its input; see
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
    """Return the dimensions of `shape` that broadcasting from `target` made."""
    extra = len(shape) - len(target)
    return (
        *range(extra),
        *(i + extra for i, n in enumerate(target) if n == 1 and shape[i + extra] != 1),
    )


def _reduced(x, axis):
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return {a % x.ndim for a in axes}


def _placed(result, x, axis, keepdims):
    """Return the flat `result` in the shape of the reduction of `x`."""
    axes = _reduced(x, axis)
    if not result.flags.c_contiguous:
        result = result.copy()
    return result.reshape(
        [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes]
    )[()]


def _merged(x, dims):
    """Return the (size, stride) of `dims`, given from the fastest on, where neighbours that lie as one in memory are
    merged."""
    groups = []
    for d in dims:
        n, step = x.shape[d], x.strides[d]
        if groups and step == groups[-1][0] * groups[-1][1]:
            groups[-1] = groups[-1][0] * n, groups[-1][1]
        else:
            groups.append((n, step))
    return groups


def _fastest_first(x, dims):
    """Return `dims` by rising stride; a repeated dimension (stride 0) compares with none and is skipped. An insertion
    sort, as in PyTorch, because the order of what does not compare depends on it."""
    for i in range(1, len(dims)):
        at = i
        for before in range(i - 1, -1, -1):
            a, b = abs(x.strides[dims[before]]), abs(x.strides[dims[at]])
            if not (a and b):
                continue
            if a < b or (a == b and x.shape[dims[before]] <= x.shape[dims[at]]):
                break
            dims[before], dims[at] = dims[at], dims[before]
            at = before
    return dims


def _loops(x, axis):
    """Return the loops of PyTorch through `x`: (x as rows (A, n1, n0), whether n1 is reduced too, stride of n0, stride
    of n1).

    The reduced dimensions come first, the fastest in memory innermost; then the kept ones, the last innermost. The two
    innermost loops are one call of the kernel. The leading A counts the kept elements, and inside them what is left of
    the reduced ones."""
    axes = _reduced(x, axis)
    reduced = _fastest_first(
        x, [d for d in reversed(range(x.ndim)) if d in axes and x.shape[d] > 1]
    )
    kept = [d for d in reversed(range(x.ndim)) if d not in axes and x.shape[d] > 1]
    inner, outer = _merged(x, reduced) or [(1, 0)], _merged(x, kept)
    second = inner[1] if len(inner) > 1 else outer[0] if outer else (1, 0)
    ones = [d for d in range(x.ndim) if x.shape[d] == 1]
    rows = x.transpose([*ones, *reversed(kept), *reversed(reduced)]).reshape(
        -1, second[0], inner[0][0]
    )
    return rows, len(inner) > 1, inner[0][1], second[1]


def _any_layout(x, axis, lanes):
    """Return the sums of `x`, flat."""
    rows, both, step, second = _loops(x, axis)
    a, n1, n0 = rows.shape
    if step == x.itemsize and n0 >= lanes:
        total = _rows(rows.reshape(-1, n0), lanes)
    elif (second == x.itemsize and n1 >= lanes) or step >= second:
        width = INTERLEAVED * (lanes if second == x.itemsize and n1 >= lanes else 1)
        total = _columns(np.ascontiguousarray(rows.transpose(0, 2, 1)), width)
    else:
        total = _interleaved(rows.reshape(-1, n0, 1))
    return _accumulated(total, x, axis) if both else total


def _accumulated(parts, x, axis):
    """Return parts of the same result, added one after the other."""
    results = 1
    for d in set(range(x.ndim)) - set(_reduced(x, axis)):
        results *= x.shape[d]
    return _in_turn(parts.reshape(results, -1, 1))


# -- contiguous rows ---------------------------------------------------------------------------------------------------
def total(x):
    """Return the sum of all elements of `x`, as a NumPy scalar of its dtype.

    Losses and gradients of biases come this way. A few additions of pieces of a buffer that is cut once per length take
    half the time of slicing, `np.add.reduce` and `np.concatenate`: 2 µs for 100 elements (`fast/sums.py`). A plan is
    taken off its list while it is in use, so that no other thread writes into its buffer."""
    lanes = _LANES.get(x.dtype.char)
    if lanes is None:
        return _reduce(x, axis=None)
    unused = _plans[lanes].get(x.shape)
    if unused is None or not x.flags.c_contiguous:
        return _unplanned(x, lanes)
    try:
        plan = unused.pop()
    except IndexError:  # another thread has it
        plan = planner(x.dtype, x.shape, lanes)
    result = plan(x)[-1]
    unused.append(plan)
    return result


def _unplanned(x, lanes):
    """Return the sum of an array whose shape has no plan yet."""
    n, plans = x.size, _plans[lanes]
    if not 1 < n < FEW:
        return _reduce(x, axis=None)
    if not x.flags.c_contiguous:
        return _placed(_any_layout(x, None, lanes), x, None, False)
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
    # no view of all running sums
    return _in_order(np.concatenate((x[:, full * lanes :], sums), axis=1), axis=1)[:, -1].copy()


def _interleaved(x):
    """(K, n, C) -> (K, C): four running sums over every fourth row, the rest to the first, then the four in order."""
    k, n, c = x.shape
    if n < INTERLEAVED:
        return _in_turn(x)
    quarter = n // INTERLEAVED
    main = quarter * INTERLEAVED
    sums = _cascade(x[:, :main].reshape(k, quarter, INTERLEAVED * c)).reshape(k, INTERLEAVED, c)
    return _in_turn(np.concatenate((sums[:, :1], x[:, main:], sums[:, 1:]), axis=1))


def _in_turn(x):
    """(K, n, C) -> (K, C), one row after the other."""
    if x.shape[2] == 1:  # np.add.reduce would take such a column for a row and sum it in pairs
        return _in_order(x, axis=1)[:, -1]
    return _reduce(x, axis=1)


def _cascade(x):
    """(K, n, C) -> (K, C) with a running sum per level: blocks of 16 rows, of 256, of 4096."""
    if x.shape[1] < BLOCK:
        return _in_turn(x)
    total = None
    for level in range(4):
        n = x.shape[1]
        blocks = n // BLOCK if level < 3 else 0
        rest = (
            _in_turn(x[:, blocks * BLOCK :])
            if n > blocks * BLOCK
            else np.zeros((x.shape[0], x.shape[2]), x.dtype)
        )
        total = rest if total is None else total + rest
        if not blocks:
            return total
        x = _in_turn(x[:, : blocks * BLOCK].reshape(x.shape[0] * blocks, BLOCK, -1)).reshape(
            x.shape[0], blocks, -1
        )
    return total


# -- columns -----------------------------------------------------------------------------------------------------------
def _width(columns, lanes):
    return INTERLEAVED * (lanes if columns >= lanes else 1)


def _columns(x, width):
    """Return the sums of the columns, for each leading index: (A, R, K) -> (A, K). `width` columns are added side by
    side."""
    whole = x.shape[2] // width * width
    if whole == x.shape[2]:
        return _cascade(x)
    edge = _interleaved(x[:, :, whole:])
    return np.concatenate((_cascade(x[:, :, :whole]), edge), axis=1) if whole else edge


def _columns_of_matrix(x, width):
    """`_columns` of one matrix, (R, K) -> (K,): gradients of biases come this way. Without the levels that only long
    columns have it takes half the time, 2-3 µs."""
    r, k = x.shape
    edge = k % width
    if r >= BLOCK * BLOCK or edge == 1:
        return _columns(x[None], width)[0]
    if not edge:
        return _blocks(x)
    if r < INTERLEAVED:
        return _reduce(x, 0)
    rest = x[:, k - edge :]
    main = r // INTERLEAVED * INTERLEAVED
    sums = rest[:main]
    if main > INTERLEAVED:
        sums = _blocks(sums.reshape(-1, INTERLEAVED * edge)).reshape(INTERLEAVED, edge)
    if main < r:
        sums = np.concatenate((sums[:1], rest[main:], sums[1:]))
    total = _reduce(sums, 0)
    return total if edge == k else np.concatenate((_blocks(x[:, : k - edge]), total))


def _blocks(x):
    """`_cascade` of a matrix of less than 256 rows: (R, K) -> (K,)."""
    r, k = x.shape
    if r < BLOCK:
        return _reduce(x, 0)
    blocks = r // BLOCK
    sums = _reduce(x[: blocks * BLOCK].reshape(blocks, BLOCK, k), 1)
    total = sums[0] if blocks == 1 else _reduce(sums, 0)
    return total + (_reduce(x[blocks * BLOCK :], 0) if r > blocks * BLOCK else 0)


# -- products and lengths ----------------------------------------------------------------------------------------------
def multiply(x, axis=None, keepdims=False):
    """Return `np.multiply.reduce` in PyTorch's order, for one contiguous row; NumPy's order is the same for shorter
    ones and columns."""
    lanes = _LANES.get(x.dtype.char)
    if (
        lanes is None
        or x.size >= FEW
        or x.size < 4 * lanes
        or not x.flags.c_contiguous
        or not (axis is None or x.ndim == 1)
    ):
        return np.multiply.reduce(x, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    count = len(flat) // (4 * lanes)
    a, b, c, d = np.multiply.reduce(flat[: count * 4 * lanes].reshape(count, 4, lanes), axis=0)
    product = np.multiply.accumulate(
        np.concatenate(((a * b) * (c * d), flat[count * 4 * lanes :]))
    )[-1]
    return product.reshape((1,) * x.ndim) if keepdims else product


def length(x, axis=None, keepdims=False):
    """Return the square root of the sum of squares, in PyTorch's order."""
    lanes = _LANES.get(x.dtype.char)
    if lanes is None or not 1 < x.size < FEW:
        return np.sqrt(_reduce(x * x, axis=axis, keepdims=keepdims))
    if x.ndim == 1 and not keepdims and x.flags.c_contiguous:
        return np.sqrt(_squares(x[None], lanes)[0])
    rows, both, step, _ = _loops(x, axis)
    if both:
        return np.sqrt(_reduce(x * x, axis=axis, keepdims=keepdims))
    rows = rows.reshape(-1, rows.shape[-1])
    squares = (
        _squares(rows, lanes) if step == x.itemsize else _in_turn((rows * rows)[:, :, None])[:, 0]
    )
    return _placed(np.sqrt(squares), x, axis, keepdims)


def _squares(x, lanes):
    """Return the sums of squares of the rows of a 2-d array."""
    k, n = x.shape
    main = n // lanes * lanes
    tail = x[:, main:]
    whole = tail.shape[1] // 4 * 4
    sums = np.empty((k, 0), x.dtype)
    if main:
        rows = x[:, :main].reshape(k, -1, lanes)
        sums = _in_turn(rows * rows)
    total = np.add.accumulate(
        np.concatenate(
            (sums, tail[:, :whole] * tail[:, :whole], np.zeros((k, 1), x.dtype)), axis=1
        ),
        axis=1,
    )[:, -1]
    for j in range(
        whole, tail.shape[1]
    ):  # the compiler fuses multiplication and addition for the last few
        total = _fused(tail[:, j], total)
    return total


def _fused(x, total):
    if x.dtype == np.float32:
        return (x.astype(np.float64) * x + total).astype(np.float32)
    return rounding.fma(x, x, total)
