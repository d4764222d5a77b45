"""The arithmetic of optimizer steps on raw arrays, in place, rounded as PyTorch's CPU kernels round.

Those kernels fuse a multiplication with the addition after it: one rounding instead of two. For float32 the product
is exact in float64, so computing there and rounding once gives the same bits; float64 has no wider type in NumPy and is
rounded twice.
"""

import numpy as np

from autolab.engine.core.dtype import FROM_NUMPY
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import materialise


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
    total = np.multiply(b, float(np.float32(factor)), dtype=np.float64)
    np.add(total, a, out=a, casting="unsafe")


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
