"""float32 functions computed in float64 and rounded once, for arrays small enough to be read digit by digit.

PyTorch's float32 `exp`, `log`, `tanh` … are correctly rounded for 99 of 100 arguments. NumPy's SIMD versions are off by
one unit in the last place for up to 40 of 100, and the difference shows when a loss is printed with `.item()`. Rounding
a float64 result once gives PyTorch's digits. Larger arrays use NumPy's own float32 kernels, which are 3 to 30 times
faster there.
"""

from __future__ import annotations

import numpy as np

FEW = 1 << 12
"""The largest number of elements for which a float32 result is computed in float64 and rounded once."""

F32, F64 = np.dtype("float32"), np.dtype("float64")
_float32 = np.float32


def unary(name: str):
    """Return a kernel for the NumPy function `name`: `kernel(x)` for NumPy arrays and scalars of a float dtype."""
    function = getattr(np, name)

    def kernel(x):
        if x.__class__ is _float32:
            return _float32(function(float(x)))
        if x.__class__ is np.ndarray and x.dtype == F32 and x.size <= FEW:
            return function(x, dtype=F64).astype(F32)
        return function(x)

    kernel.__name__ = name
    return kernel
