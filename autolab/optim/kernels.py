"""The arithmetic of optimizer steps on raw arrays, in place, rounded as PyTorch's CPU kernels round.

Those kernels fuse a multiplication with the addition after it: one rounding instead of two. For float32 the product
is exact in float64, so computing there and rounding once gives the same bits; float64 has no wider type in NumPy and is
rounded twice.
"""

import numpy as np

from autolab.engine.kernels import reuse as memory, threads
from autolab.engine.core.dtype import FROM_NUMPY
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import materialise

BIG = (
    1 << 15
)  # elements from which a float32 array is taken in pieces: the float64 ones between fit the cache then
_F64 = np.dtype(np.float64)
_OPERATIONS = 100  # per element, times the cost of memory: for `threads.split`


def array_of(tensor):
    """The array of a tensor, to be changed in place; its version goes up by one."""
    tensor._storage.version += 1
    return materialise(tensor)


def scaled_sum(a, b, factor):
    """a + factor * b, as a new array."""
    if a.dtype != np.float32:
        return a + b * a.dtype.type(factor)
    total = np.multiply(b, float(np.float32(factor)), dtype=np.float64)
    total += a
    return total.astype(np.float32)


def add_scaled(a, b, factor):
    """a += factor * b."""
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
    """`add_scaled` of big float32 vectors, over threads; half the time of one piece. No operation mixes dtypes, which
    NumPy would do in a buffer."""

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
    """a += factor * b * c, the product taken from the left."""
    scaled = b * b.dtype.type(factor) if factor != 1.0 else b
    if a.dtype != np.float32:
        a += scaled * c
        return
    total = np.multiply(scaled, c, dtype=np.float64)
    np.add(total, a, out=a, casting="unsafe")


def add_quotient(a, b, c, factor=1.0):
    """a += factor * b / c, from the left."""
    quotient = b * b.dtype.type(factor) if factor != 1.0 else b / c
    if factor != 1.0:
        quotient /= c
    a += quotient


def move_towards(a, b, weight):
    """a += weight * (b - a), computed from the nearer end.

    Raises PyTorch's error for arrays of two dtypes: the model was converted after its optimizer's first step."""
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
    """a *= factor."""
    a *= a.dtype.type(factor)
