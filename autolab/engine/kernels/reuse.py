"""Arrays whose memory is used again.

The C library gives big blocks back to the operating system when they are freed, and a fresh block costs a page fault
for every 4 kB: a quarter to a half of a small network's training step. Blocks from here go back to a list instead, when
the last array that looks into them is gone. Nothing outside this module changes, and at most `KEPT` bytes lie on the
list.
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
# what a ResNet-9 gives back in a step and asks for again; with a third of that 70 MB were new in each, filled with
# zeros. Where many learners share a machine, less is kept for each (deploy/hub)
_asked = os.environ.get("AUTOLAB_KEPT_MB") or "192"
if not _asked.isdecimal():
    note = "It says how much memory the kit keeps for its next arrays; without it these are 192 MB."
    raise fail(
        ValueError,
        f"AUTOLAB_KEPT_MB should be a whole number of megabytes, but is {_asked!r}",
        note,
    )
KEPT = int(_asked) << 20
# bytes of a line of the cache: NumPy's loops and OpenBLAS take up to twice as long where their vectors lie across two
# of them
LINE = 64

_free: dict[int, deque] = {}
_kept = 0
# nobody waits for it: a block may come back at any time, in any thread, and also amid the lines that hold it
_counting = threading.Lock()


class _Block(np.ndarray):
    """Bytes that belong to one array after the other. NumPy takes a view of a view of an array for a view of that
    array, and would drop the lease in between, if this were no class of its own."""

    __slots__ = ()


class Lease(np.ndarray):
    """A block while arrays look into it: they hold the lease, and its end puts the block back."""

    __slots__ = ()

    def __del__(self):
        if (
            self.base.__class__ is _Block
        ):  # not so for what a user made of a lease, the `base` of an array
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
        except IndexError:  # another thread took the last one
            pass
        finally:
            _counting.release()
    return aligned(size).view(_Block)


def aligned(size):
    """So many uninitialised bytes, the first of them in the first place of a cache line."""
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.__array_interface__["data"][0] % LINE
    return raw[start : start + size]


def _leased(size):
    """A lease for at least `size` bytes, or None for a size that the C library serves as well."""
    if SMALLEST <= size <= LARGEST:
        size = -(-size // 4096) * 4096
        return Lease((size,), np.uint8, _block(size))
    return None


def empty(shape, dtype):
    """An uninitialised array in C order."""
    lease = _leased(math.prod(shape) * dtype.itemsize)
    return np.empty(shape, dtype) if lease is None else np.ndarray(shape, dtype, lease)


def zeros(shape, dtype):
    """An array of zeros in C order."""
    lease = _leased(math.prod(shape) * dtype.itemsize)
    if lease is None:
        return np.zeros(shape, dtype)
    array = np.ndarray(shape, dtype, lease)
    array.fill(0)
    return array


def empty_like(x, dtype=None, shape=None):
    """An uninitialised array with the shape and the order in memory of `x` (or another shape of as many dimensions)."""
    dtype, shape = dtype or x.dtype, x.shape if shape is None else shape
    lease = _leased(math.prod(shape) * dtype.itemsize) if x.__class__ is np.ndarray else None
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
    """The dimensions from the outermost in memory to the innermost, and the way back. Sorting costs as much as a small
    kernel."""
    order = sorted(range(len(strides)), key=lambda d: -abs(strides[d]))
    return order, sorted(range(len(strides)), key=order.__getitem__)


@lru_cache(1024)
def strides_like(strides, shape, item):
    """The strides of an array without gaps whose dimensions have the order in memory of `strides`."""
    found, step = [0] * len(shape), item
    for d in reversed(orders(strides)[0]):
        found[d] = step
        step *= shape[d]
    return tuple(found)


def flat(x):
    """The elements of `x` as they lie in memory, a view; None when they do not fill it without gaps."""
    if x.flags.c_contiguous:
        return x.reshape(-1)
    x = x.transpose(orders(x.strides)[0])
    return x.reshape(-1) if x.flags.c_contiguous else None
