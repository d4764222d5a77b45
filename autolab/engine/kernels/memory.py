"""Arrays whose memory is used again.

The C library gives big blocks back to the operating system when they are freed, and a fresh block costs a page fault for every 4 kB: a
quarter to a half of a small network's training step. Blocks from here go back to a list instead, when the last array that looks into
them is gone. Nothing outside this module changes, and at most `KEPT` bytes lie on the list.
"""

from __future__ import annotations

import math
from collections import deque
from functools import lru_cache

import numpy as np

SMALLEST = 1 << 16  # bytes: the C library itself reuses smaller blocks
LARGEST = 1 << 25
KEPT = 1 << 26

LINE = 64  # bytes: NumPy's loops take up to twice as long when what they write begins within a line of the cache

_free: dict[int, deque] = {}
_kept = 0


def aligned(size):
    """An uninitialised block of so many bytes that begins with a line of the cache."""
    block = np.empty(size + LINE, np.uint8)
    start = -block.__array_interface__["data"][0] % LINE
    return block[start : start + size]


class _Lease:
    """Owns a block while arrays look into it; they hold the lease, and its end puts the block back."""

    __slots__ = ("block", "__array_interface__")

    def __init__(self, block, count, dtype):
        self.block = block
        self.__array_interface__ = {
            "data": (block.__array_interface__["data"][0], False),
            "shape": (count,),
            "typestr": dtype.str,
            "version": 3,
        }

    def __del__(self):
        _put_back(self.block)


def _put_back(block):
    global _kept
    size = block.nbytes
    if _kept + size <= KEPT:
        _kept += size
        _free.setdefault(size, deque()).append(block)


def _block(size):
    global _kept
    try:
        block = _free[size].pop()
    except (KeyError, IndexError):
        return aligned(size)
    _kept -= size
    return block


def empty(shape, dtype):
    """An uninitialised array in C order."""
    count = math.prod(shape)
    size = count * dtype.itemsize
    if not SMALLEST <= size <= LARGEST:
        return np.empty(shape, dtype)
    size = -(-size // 4096) * 4096
    return np.asarray(_Lease(_block(size), count, dtype)).reshape(shape)


def zeros(shape, dtype):
    """An array of zeros in C order."""
    if not SMALLEST <= math.prod(shape) * dtype.itemsize <= LARGEST:
        return np.zeros(shape, dtype)
    array = empty(shape, dtype)
    array.fill(0)
    return array


def empty_like(x, dtype=None, shape=None):
    """An uninitialised array with the shape and the order in memory of `x` (or another shape of as many dimensions)."""
    dtype, shape = dtype or x.dtype, x.shape if shape is None else shape
    if not SMALLEST <= math.prod(shape) * dtype.itemsize <= LARGEST or x.__class__ is not np.ndarray:
        return np.empty_like(x, dtype, shape=shape)
    if x.flags.c_contiguous:
        return empty(shape, dtype)
    order, back = _orders(x.strides)
    return empty([shape[d] for d in order], dtype).transpose(back)


@lru_cache(1024)
def _orders(strides):
    """The dimensions from the outermost in memory to the innermost, and the way back. Sorting costs as much as a small kernel."""
    order = sorted(range(len(strides)), key=lambda d: -abs(strides[d]))
    return order, sorted(range(len(strides)), key=order.__getitem__)


def zeros_like(x, shape=None):
    """`empty_like`, filled with zeros."""
    array = empty_like(x, shape=shape)
    array.fill(0)
    return array


def flat(x):
    """The elements of `x` as they lie in memory, a view; None when they do not fill it without gaps."""
    if x.flags.c_contiguous:
        return x.reshape(-1)
    x = x.transpose(_orders(x.strides)[0])
    return x.reshape(-1) if x.flags.c_contiguous else None
