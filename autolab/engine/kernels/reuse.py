"""Reusable memory for arrays.

The C library returns big blocks to the operating system when they are freed, and a fresh block costs a page fault for
every 4 kB: a quarter to a half of a small network's training step. Blocks from this module go to a free list instead,
when the last array that uses them is gone. Nothing outside this module changes, and the list holds at most `KEPT`
bytes.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from functools import lru_cache

import numpy as np

from ..core.errors import fail

SMALLEST = 1 << 16  # bytes: the C library itself reuses smaller blocks
LARGEST = 1 << 25
# Enough for the memory that a ResNet-9 frees and requests again in each step. With a third of it, 70 MB per step were
# fresh, filled with zeros. Machines shared by many learners use less for each (deploy/hub).
_asked = os.environ.get("AUTOLAB_KEPT_MB") or "192"
if not _asked.isdecimal():
    note = "It says how much memory the kit keeps for its next arrays; without it these are 192 MB."
    raise fail(
        ValueError,
        f"AUTOLAB_KEPT_MB should be a whole number of megabytes, but is {_asked!r}",
        note,
    )
KEPT = int(_asked) << 20
# The bytes of a cache line. NumPy's loops and OpenBLAS take up to twice as long if their vectors cross two lines.
LINE = 64

_free: dict[int, deque] = {}
_kept = 0
# Never wait for this lock: a block may be returned at any time, in any thread, even while this thread holds the lock.
_counting = threading.Lock()


class _Block(np.ndarray):
    """Memory that one array uses after the other. It needs its own class: otherwise NumPy would make a view of a view
    refer to the base array directly, and drop the lease."""

    __slots__ = ()


class Lease(np.ndarray):
    """A block in use. Arrays in the block hold the lease; when the lease is deleted, the block returns to the list."""

    __slots__ = ()

    def __del__(self):
        if self.base.__class__ is _Block:  # not for a lease that a user took from an array's `base`
            _put_back(self.base)


def _put_back(block):
    global _kept
    size = block.nbytes
    if _kept + size <= KEPT and _counting.acquire(False):
        try:
            _kept += size
            _free.setdefault(size, deque()).append(block)
        finally:
            _counting.release()


def _block(size):
    global _kept
    if _free.get(size) and _counting.acquire(False):
        try:
            block = _free[size].pop()
            _kept -= size
            return block
        except IndexError:  # another thread took the last block
            pass
        finally:
            _counting.release()
    return aligned(size).view(_Block)


def aligned(size):
    """Return `size` uninitialised bytes that begin at the start of a cache line."""
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.__array_interface__["data"][0] % LINE
    return raw[start : start + size]


def _lease(size):
    """Return a lease for at least `size` bytes, or None if the C library is as fast for this size."""
    if SMALLEST <= size <= LARGEST:
        size = -(-size // 4096) * 4096
        return Lease((size,), np.uint8, _block(size))
    return None


def empty(shape, dtype):
    """Return an uninitialised array in C order."""
    lease = _lease(math.prod(shape) * dtype.itemsize)
    return np.empty(shape, dtype) if lease is None else np.ndarray(shape, dtype, lease)


def zeros(shape, dtype):
    """Return an array of zeros in C order."""
    lease = _lease(math.prod(shape) * dtype.itemsize)
    if lease is None:
        return np.zeros(shape, dtype)
    array = np.ndarray(shape, dtype, lease)
    array.fill(0)
    return array


def empty_like(x, dtype=None, shape=None):
    """Return an uninitialised array with the shape and memory order of `x` (or another shape with as many
    dimensions)."""
    dtype, shape = dtype or x.dtype, x.shape if shape is None else shape
    lease = _lease(math.prod(shape) * dtype.itemsize) if x.__class__ is np.ndarray else None
    if lease is None:
        return np.empty_like(x, dtype, shape=shape)
    return np.ndarray(
        shape,
        dtype,
        lease,
        0,
        None if x.flags.c_contiguous else strides_like(x.strides, shape, dtype.itemsize),
    )


@lru_cache(1024)
def orders(strides):
    """Return the dimensions from the outermost in memory to the innermost, and the inverse order. Cached, because
    sorting costs as much as a small kernel."""
    order = sorted(range(len(strides)), key=lambda d: -abs(strides[d]))
    return order, sorted(range(len(strides)), key=order.__getitem__)


@lru_cache(1024)
def strides_like(strides, shape, item):
    """Return the strides of an array without gaps whose dimensions have the same memory order as `strides`."""
    found, step = [0] * len(shape), item
    for d in reversed(orders(strides)[0]):
        found[d] = step
        step *= shape[d]
    return tuple(found)


def flat(x):
    """Return the elements of `x` in memory order, as a view; None if there are gaps between them."""
    if x.flags.c_contiguous:
        return x.reshape(-1)
    x = x.transpose(orders(x.strides)[0])
    return x.reshape(-1) if x.flags.c_contiguous else None
