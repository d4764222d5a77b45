"""Arithmetic rounded exactly as compiled PyTorch rounds it: fused multiply-add, float32 steps, C's functions."""

import numpy as np

f32, f64 = np.float32, np.float64


def to_float32(x):
    """Round float64 values to float32 and keep them in float64, where the next product of two of them is exact."""
    return x.astype(f32).astype(f64)


def fma(a, b, c):
    """Return `a * b + c` rounded once, in float64: Dekker's exact product and Knuth's exact sum, then their errors.

    If an operand is inf or NaN, the errors are NaN, and the result is that of NumPy: rounded twice.
    Source: T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18, 1971.
    """
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    total = product + c
    back = total - product
    result = total + (((product - (total - back)) + (c - back)) + error)
    return np.where(np.isfinite(result), result, a * b + c)[()]


def _upper_half(a):
    """Return the upper 26 of the 53 bits of a float64."""
    scaled = a * 134217729.0  # 2**27 + 1
    return scaled - (scaled - a)


def each(function, array):
    """Return `function` of Python's `math` on every element; NumPy's own float64 kernels differ from C's in the last
    bit."""
    return np.fromiter(map(function, array.ravel().tolist()), f64, array.size).reshape(array.shape)


def cast(x, dtype):
    """Return float64 values in the NumPy dtype `dtype`; float16 by way of float32, as PyTorch converts a C double."""
    return x.astype(f32).astype(dtype) if dtype == np.float16 else x.astype(dtype, copy=False)
