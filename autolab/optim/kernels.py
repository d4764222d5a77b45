"""The arithmetic of optimizer steps on raw arrays, in place, rounded as PyTorch's CPU kernels do it.

Those kernels fuse a multiplication with the following addition, so they round once instead of twice. For float32, the
product is exact in float64, so computing in float64 and rounding once gives the same bits. NumPy has no type wider than
float64, so float64 is rounded twice.
"""

import numpy as np

from autolab.engine.kernels import reuse as memory, threads
from autolab.engine.core.dtype import FROM_NUMPY
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import materialise

BIG = (
    1 << 15
)  # larger float32 arrays are processed in pieces, whose float64 temporaries fit in the cache
_F64 = np.dtype(np.float64)
_OPERATIONS = 100  # operations per element, weighted by memory cost: for `threads.split`


def array_of(tensor):
    """Return the array of a tensor, and increase the tensor's version by one, because the caller changes it in
    place."""
    tensor._storage.version += 1
    return materialise(tensor)


def scaled_sum(a, b, factor):
    """Return a + factor * b as a new array."""
    if a.dtype != np.float32:
        return a + b * a.dtype.type(factor)
    total = np.multiply(b, float(np.float32(factor)), dtype=np.float64)
    total += a
    return total.astype(np.float32)


def add_scaled(a, b, factor):
    """Compute a += factor * b."""
    if a.dtype != np.float32:
        a += b * a.dtype.type(factor)
        return
    if (
        a.size > BIG
        and a.__class__ is np.ndarray
        and a.strides == b.strides
        and (flat := memory.flat(a)) is not None
    ):
        return _add_scaled_in_pieces(flat, memory.flat(b), float(np.float32(factor)))
    total = np.multiply(b, float(np.float32(factor)), dtype=np.float64)
    np.add(total, a, out=a, casting="unsafe")


def _add_scaled_in_pieces(a, b, factor):
    """Do `add_scaled` for big float32 vectors with several threads, in half the time of a single piece. No operation
    mixes dtypes, because NumPy would need a buffer for that."""

    def work(start, stop):
        product, number = (
            threads.scratch(name, (stop - start,), _F64) for name in ("product", "number")
        )
        np.copyto(product, b[start:stop])
        np.multiply(product, factor, out=product)
        np.copyto(number, a[start:stop])
        np.add(product, number, out=product)
        np.copyto(a[start:stop], product, casting="same_kind")

    threads.in_blocks(work, a.size, BIG, _OPERATIONS * a.size)


def add_product(a, b, c, factor=1.0):
    """Compute a += factor * b * c, multiplying from left to right."""
    scaled = b * b.dtype.type(factor) if factor != 1.0 else b
    if a.dtype != np.float32:
        a += scaled * c
        return
    total = np.multiply(scaled, c, dtype=np.float64)
    np.add(total, a, out=a, casting="unsafe")


def add_quotient(a, b, c, factor=1.0):
    """Compute a += factor * b / c, from left to right."""
    quotient = b * b.dtype.type(factor) if factor != 1.0 else b / c
    if factor != 1.0:
        quotient /= c
    a += quotient


def move_towards(a, b, weight):
    """Compute a += weight * (b - a), from the nearer end.

    Raise PyTorch's error if the dtypes differ, because the model was converted after its optimizer's first step."""
    if a.dtype != b.dtype:
        raise fail(
            RuntimeError,
            f"expected dtype {FROM_NUMPY[a.dtype].cpp_name} for `end` but got dtype {FROM_NUMPY[b.dtype].cpp_name}",
            "The optimizer keeps averages in the old dtype: convert the model first, then make the optimizer.",
        )
    w = a.dtype.type(weight)
    if w < 0.5:
        add_scaled(a, b - a, w)
    else:
        a[...] = scaled_sum(b, a - b, a.dtype.type(1) - w)


def scale(a, factor):
    """Compute a *= factor."""
    a *= a.dtype.type(factor)
