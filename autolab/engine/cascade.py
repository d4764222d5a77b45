"""Sums, products and lengths added up in PyTorch's order, so that their last digit is PyTorch's too.

Floating-point addition is not associative: `torch.tensor([.1] * 10).sum()` is 1.0000001, NumPy's pairwise sum gives
1.0. PyTorch's CPU kernels keep eight float32 (four float64) running sums side by side, four times over, and add them
at the end; long columns are added in blocks of sixteen. Up to `FEW` elements that order is followed here. Above,
PyTorch splits the work between threads, so its last digit depends on the machine, and NumPy's faster sums are used.

Source of the order: PyTorch's aten/src/ATen/native/cpu/SumKernel.cpp and Reduce.h, "cascade sum".
"""
from __future__ import annotations

import numpy as np

FEW = 1 << 15
"""Below this many elements PyTorch reduces on one thread."""

_F32, _F64 = np.dtype("float32"), np.dtype("float64")
_LANES = {_F32: 8, _F64: 4}
_INTERLEAVED = 4  # independent chains of additions, for the processor's pipeline
_BLOCK = 16       # additions before a running sum is passed on to the next level
_SHORT = [None, *(np.array([0, *range(4, n), 1, 2, 3][:n]) for n in range(1, 8))]
_in_order, _reduce = np.add.accumulate, np.add.reduce


def add(x, axis=None, keepdims=False):
    """`np.add.reduce(x, axis, keepdims=keepdims)` in PyTorch's order; `axis` is None, an int or a tuple."""
    dtype, size = x.dtype, x.size
    if not (dtype is _F32 or dtype is _F64) or not 1 < size < FEW:
        return _reduce(x, axis=axis, keepdims=keepdims)
    lanes = 8 if dtype is _F32 else 4
    if (axis is None or x.ndim == 1) and x.flags.c_contiguous:
        total = _row(x if x.ndim == 1 else x.reshape(-1), lanes)
        return total.reshape((1,) * x.ndim) if keepdims else total
    if x.ndim == 2 and axis is not None and x.flags.c_contiguous and 1 not in x.shape:
        only = axis if axis.__class__ is int else axis[0] if len(axis) == 1 else None
        if only is not None:
            total = _rows(x, lanes) if only in (1, -1) else _columns(x[None], lanes)[0]
            return np.expand_dims(total, only) if keepdims else total
    form = _groups(x, axis)
    if form is None:
        return _reduce(x, axis=axis, keepdims=keepdims)
    grouped, kinds, place = form
    return _placed(_KINDS[kinds](grouped, lanes), x, axis, keepdims, place)


def _reduced(x, axis):
    return range(x.ndim) if axis is None else {a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)}


def _groups(x, axis):
    """(`x` with neighbouring dimensions of one kind merged, those kinds, the memory order of the dimensions), or None
    for forms not handled.

    kinds: 'r' for a reduced group, 'k' for a kept one."""
    axes, order = _reduced(x, axis), None
    if not x.flags.c_contiguous:
        order = sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))
        x = x.transpose(order)
        if not x.flags.c_contiguous:
            return None
        axes = [i for i, d in enumerate(order) if d in axes]
    shape, kinds = [], ""
    for d, n in enumerate(x.shape):
        if n != 1:
            kind = "r" if d in axes else "k"
            if kinds.endswith(kind):
                shape[-1] *= n
            else:
                shape.append(n)
                kinds += kind
    return (x.reshape(shape), kinds, order) if kinds in _KINDS else None


def _placed(result, x, axis, keepdims, order):
    """The flat `result` in the shape of the reduction of `x`, whose dimensions lie in memory in the given order."""
    axes = _reduced(x, axis)
    if order is None:
        return result.reshape([1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes])[()]
    whole = result.reshape([1 if d in axes else x.shape[d] for d in order]).transpose(sorted(range(len(order)),
                                                                                             key=order.__getitem__))
    return whole if keepdims else whole.reshape([n for d, n in enumerate(x.shape) if d not in axes])[()]


# -- contiguous rows ---------------------------------------------------------------------------------------------------
def _row(x, lanes):
    """The sum of a contiguous 1-d array of more than one element.

    Losses and gradients of biases come this way, so it is written for few calls of NumPy (3 µs for 100 elements)."""
    n = len(x)
    if n < lanes:
        return _in_order(x if n < 4 else x[_SHORT[n]])[-1] + 0
    full, quarter = n // lanes, n // (_INTERLEAVED * lanes)
    if quarter >= _BLOCK:
        return _rows(x.reshape(1, n), lanes)[0]
    sums = x[:full * lanes]
    if quarter:
        main = quarter * _INTERLEAVED * lanes
        rest = sums[main:]
        sums = x[:main] if quarter == 1 else _reduce(x[:main].reshape(quarter, -1), 0)
        if len(rest):
            sums = np.concatenate((sums[:lanes], rest, sums[lanes:]))
    if full > 1:
        sums = _reduce(sums.reshape(-1, lanes), 0)
    tail = n - full * lanes
    if not tail:
        return _in_order(sums)[-1] + 0
    last = np.empty(tail + lanes, x.dtype)
    last[:tail] = x[n - tail:]
    last[tail:] = sums
    return _in_order(last)[-1] + 0


def _rows(x, lanes):
    """The sums of the rows of a 2-d array: (K, R) -> (K,)."""
    k, n = x.shape
    if n < lanes:
        return _in_order(x if n < 4 else x[:, _SHORT[n]], axis=1)[:, -1]
    full = n // lanes
    sums = _interleaved(x[:, :full * lanes].reshape(k, full, lanes))
    return _in_order(np.concatenate((x[:, full * lanes:], sums), axis=1), axis=1)[:, -1]


def _interleaved(x):
    """(K, n, C) -> (K, C): four running sums over every fourth row, the rest to the first, then the four in order."""
    k, n, c = x.shape
    if n < _INTERLEAVED:
        return _in_turn(x)
    quarter = n // _INTERLEAVED
    main = quarter * _INTERLEAVED
    sums = _cascade(x[:, :main].reshape(k, quarter, _INTERLEAVED * c)).reshape(k, _INTERLEAVED, c)
    return _in_turn(np.concatenate((sums[:, :1], x[:, main:], sums[:, 1:]), axis=1))


def _in_turn(x):
    """(K, n, C) -> (K, C), one row after the other."""
    if x.shape[2] == 1:  # np.add.reduce would take such a column for a row and sum it in pairs
        return _in_order(x, axis=1)[:, -1]
    return _reduce(x, axis=1)


def _cascade(x):
    """(K, n, C) -> (K, C) with a running sum per level: blocks of 16 rows, of 256, of 4096."""
    if x.shape[1] < _BLOCK:
        return _in_turn(x)
    total = None
    for level in range(4):
        n = x.shape[1]
        blocks = n // _BLOCK if level < 3 else 0
        rest = _in_turn(x[:, blocks * _BLOCK:]) if n > blocks * _BLOCK else np.zeros((x.shape[0], x.shape[2]), x.dtype)
        total = rest if total is None else total + rest
        if not blocks:
            return total
        x = _in_turn(x[:, :blocks * _BLOCK].reshape(x.shape[0] * blocks, _BLOCK, -1)).reshape(x.shape[0], blocks, -1)
    return total


# -- columns -----------------------------------------------------------------------------------------------------------
def _columns(x, lanes):
    """The sums of the columns, for each leading index: (A, R, K) -> (A, K)."""
    a, r, k = x.shape
    width = _INTERLEAVED * (lanes if k >= lanes else 1)
    whole = k // width * width
    if whole == k:
        return _cascade(x)
    edge = _interleaved(x[:, :, whole:])
    return np.concatenate((_cascade(x[:, :, :whole]), edge), axis=1) if whole else edge


def _rows_in_turn(x, lanes):
    """Rows summed, and those sums added in turn over the leading dimension: (R, K, R) -> (K,)."""
    a, k, r = x.shape
    return _in_turn(_rows(x.reshape(a * k, r), lanes).reshape(1, a, k))[0]


_KINDS = {
    "r": lambda x, lanes: _rows(x[None], lanes)[0],
    "kr": _rows,
    "rk": lambda x, lanes: _columns(x[None], lanes)[0],
    "krk": _columns,
    "rkr": _rows_in_turn,
    "k": lambda x, lanes: x + 0,
}


# -- products and lengths ----------------------------------------------------------------------------------------------
def multiply(x, axis=None, keepdims=False):
    """`np.multiply.reduce` in PyTorch's order, for one contiguous row; NumPy's order is the same for shorter ones and
    columns."""
    lanes = _LANES.get(x.dtype)
    if lanes is None or x.size >= FEW or x.size < 4 * lanes or not x.flags.c_contiguous or not (axis is None
                                                                                                or x.ndim == 1):
        return np.multiply.reduce(x, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    count = len(flat) // (4 * lanes)
    a, b, c, d = np.multiply.reduce(flat[:count * 4 * lanes].reshape(count, 4, lanes), axis=0)
    product = np.multiply.accumulate(np.concatenate(((a * b) * (c * d), flat[count * 4 * lanes:])))[-1]
    return product.reshape((1,) * x.ndim) if keepdims else product


def length(x, axis=None, keepdims=False):
    """The square root of the sum of squares, in PyTorch's order."""
    lanes = _LANES.get(x.dtype)
    form = _groups(x, axis) if lanes is not None and 1 < x.size < FEW else None
    if form is None or form[1] not in ("r", "kr", "rk", "krk"):
        return np.sqrt(_reduce(x * x, axis=axis, keepdims=keepdims))
    grouped, kinds, order = form
    if kinds.endswith("k"):
        squares = _in_turn((grouped * grouped).reshape(1 if len(kinds) == 2 else len(grouped), *grouped.shape[-2:]))
    else:
        squares = _squares(grouped.reshape(-1, grouped.shape[-1]), lanes)
    return _placed(np.sqrt(squares), x, axis, keepdims, order)


def _squares(x, lanes):
    """The sums of squares of the rows of a 2-d array."""
    k, n = x.shape
    main = n // lanes * lanes
    tail = x[:, main:]
    whole = tail.shape[1] // 4 * 4
    sums = np.empty((k, 0), x.dtype)
    if main:
        rows = x[:, :main].reshape(k, -1, lanes)
        sums = _in_turn(rows * rows)
    total = np.add.accumulate(np.concatenate((sums, tail[:, :whole] * tail[:, :whole], np.zeros((k, 1), x.dtype)),
                                             axis=1), axis=1)[:, -1]
    for j in range(whole, tail.shape[1]):  # the compiler fuses multiplication and addition for the last few
        total = _fused(tail[:, j], total)
    return total


def _fused(x, total):
    from . import rounding
    if x.dtype == np.float32:
        return (x.astype(np.float64) * x + total).astype(np.float32)
    return rounding.fma(x, x, total)
