"""Run a kernel on several threads, while BLAS is limited to one thread.

NumPy releases the interpreter lock in copies, ufuncs and matrix products, so blocks of a convolution run in parallel.
If BLAS used its own threads, it would split each product, and one core would write the windows that another core must
read. The number of threads is BLAS's number: OPENBLAS_NUM_THREADS=1 gives one. If NumPy's BLAS is not OpenBLAS,
everything runs in the calling thread.
"""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import cache, partial

import numpy as np

from ..core.errors import fail
from ..exact.refusals import unsupported
from . import blas, reuse as memory
from .products import matmul

WORTH_IT = 2e7  # floating-point operations below which a second thread costs more than it saves
TINY = 5e5  # floating-point operations below which BLAS itself uses one thread
_lock = threading.Lock()
_holders = [
    0,
    1,
]  # [kernels that limit BLAS to one thread now, number of threads to restore after them]


_blas = cache(blas.thread_functions)
_own = threading.local()  # `alone`: whether code in this thread must not use other threads


def available() -> int:
    """Return the number of threads that a kernel may use: as many as BLAS uses. Source: torch.get_num_threads."""
    found = None if getattr(_own, "alone", False) else _blas()
    if found is None:
        return 1
    return _holders[1] if _holders[0] else found[0]()


def use(number) -> None:
    """Set the number of threads that kernels and BLAS use from now on, in the whole process.

    Raise RuntimeError unless it is a positive int, NotImplementedError if NumPy's BLAS is not OpenBLAS. Source:
    torch.set_num_threads."""
    if isinstance(number, bool) or not isinstance(number, int):
        message = f"set_num_threads expects an int, but got {type(number).__name__}"
        raise fail(RuntimeError, message, "Pass the number of threads as an int.")
    if number < 1:
        raise fail(RuntimeError, "set_num_threads expects a positive integer", "Pass at least 1.")
    found = _blas()
    if found is None:
        if number == 1:
            return
        note = (
            "NumPy's BLAS is not OpenBLAS here, so that everything runs in one thread of its own."
        )
        raise unsupported("set_num_threads", "number", note)
    with _lock:
        if _holders[0]:
            _holders[1] = number
        else:
            found[1](number)


class one_blas_thread:
    """Limit BLAS to one thread inside the block. If several kernels overlap, the last to leave restores BLAS's
    threads."""

    def __enter__(self):
        get, put = _blas()
        with _lock:
            if not _holders[0]:
                _holders[1] = get()
                put(1)
            _holders[0] += 1

    def __exit__(self, *error):
        with _lock:
            _holders[0] -= 1
            if not _holders[0]:
                _blas()[1](_holders[1])


@cache
def _workers(process):
    """Return a pool of threads. It belongs to one process: a forked child makes its own."""
    quiet = partial(np.seterr, all="ignore")
    return ThreadPoolExecutor(64, "autolab-kernel", initializer=quiet)


def split(function, flops, most):
    """Call `function(k, n)` for k = 0 … n - 1 in parallel; n is 1 for little work, and at most `most`.

    BLAS uses one thread even if n is 1: its threads wait for each other in busy loops, which costs more than small
    products gain."""
    threads = available() if flops > TINY else 1
    n = min(threads, most) if flops > WORTH_IT else 1
    if n <= 1:
        with one_blas_thread() if threads > 1 else nullcontext():
            return function(0, 1)
    with one_blas_thread():
        others = [_workers(os.getpid()).submit(function, k, n) for k in range(1, n)]
        try:
            function(0, n)
        finally:
            wait(others)
    for other in others:
        other.result()


def shares(first, last, parts):
    """Return the range first … last, cut into `parts` pieces of nearly equal length."""
    ends = [first + (last - first) * k // parts for k in range(parts + 1)]
    return zip(ends, ends[1:])


def share(part, parts, count):
    """Return the slice of `count` items for thread number `part` of `parts` threads."""
    return slice(part * count // parts, (part + 1) * count // parts)


def both(first, second, flops):
    """Return (first(), second()), of about `flops` operations each. Two threads run one function each, because two
    kernels at different stages seldom need the interpreter lock at once. Otherwise the functions run in order, and each
    may split its own work."""
    if available() != 2 or flops <= WORTH_IT:
        return first(), second()
    results = [None, None]

    def work(k, n):
        _own.alone = True
        try:
            for i in range(k, 2, n):
                results[i] = (first, second)[i]()
        finally:
            _own.alone = False

    split(work, flops, 2)
    return results


def hand_out(work, pieces, flops):
    """Call `work(*piece)` for each of a list of pieces in parallel. Each thread takes the next piece when it is done
    with one, so that no thread waits long for another that started late or waited for the interpreter lock."""
    remaining = iter(pieces)

    def part(k, n):
        for piece in remaining:
            work(*piece)

    split(part, flops, len(pieces))


def in_blocks(work, count, size, flops):
    """Call `work(start, stop)` in parallel for pieces of `count` items; `size` items fit in a core's cache.

    With several threads the pieces are longer, for fewer calls. A thread that returns from NumPy while another holds
    the interpreter lock goes to sleep, and waking up takes as long as reading 1 MB (max pooling's gradient: 2.6 ms in
    pieces of 1 MB, 1.8 of 4 MB; one thread 2.5)."""
    if count <= size and flops <= TINY:
        return work(0, count) if count else None
    threads = available() if flops > WORTH_IT else 1
    if count:
        pieces = -(-count // size) if threads == 1 else max(threads, -(-count // (4 * size)))
        hand_out(work, list(shares(0, count, min(count, pieces))), flops)


def product(a, b):
    """Return a @ b for a matrix and a matrix or vector, with one thread unless the product is big."""
    if a.ndim == 2 and a.__class__ is np.ndarray:
        flops = 2.0 * a.size * (b.shape[1] if b.ndim == 2 else 1)
        if flops > TINY and (flops < WORTH_IT or b.ndim == 1) and available() > 1:
            with one_blas_thread():
                return a @ b
        return matmul(a, b)
    return a @ b


_scratch = threading.local()  # name -> this thread's reusable buffer
_KEPT = 1 << 25  # bytes: bigger buffers are not kept between calls


def scratch(name, shape, dtype, strides=None):
    """Return an uninitialised array that this thread reuses: the page faults of fresh big blocks cost more than filling
    them.

    It is valid until the same thread asks for `name` again."""
    size = math.prod(shape) * dtype.itemsize
    buffer = _scratch.__dict__.get(name)
    if buffer is None or buffer.nbytes < size:
        buffer = memory.aligned(size)
        if size <= _KEPT:
            _scratch.__dict__[name] = buffer
    return np.ndarray(shape, dtype, buffer, 0, strides)


def scratch_like(name, x, shape, dtype=None):
    """Return `scratch` of another shape with as many dimensions as `x`, and with the memory order of `x`."""
    dtype = dtype or x.dtype
    return scratch(name, shape, dtype, memory.strides_like(x.strides, shape, dtype.itemsize))
