"""Arithmetic rounded exactly as compiled PyTorch rounds it: fused multiply-add, float32 steps, the C library's
functions."""

import numpy as np

f32, f64 = np.float32, np.float64


def to_float32(x):
    """Round float64 values to float32, but store them as float64, where the product of two such values is exact."""
    return x.astype(f32).astype(f64)


def fma(a, b, c):
    """Return `a * b + c` in float64, rounded once: Dekker's exact product and Knuth's exact sum, with their error
    terms.

    If an operand is inf or NaN, the error terms are NaN, and the result is NumPy's, rounded twice. Source: T. J.
    Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18, 1971.
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
    """Apply `function` of Python's `math` to every element. NumPy's own float64 kernels differ from the C library in
    the last bit."""
    return np.fromiter(map(function, array.ravel().tolist()), f64, array.size).reshape(array.shape)


def cast(x, dtype):
    """Convert float64 values to the NumPy dtype `dtype`; to float16 by way of float32, as PyTorch converts a C
    double."""
    return x.astype(f32).astype(dtype) if dtype == np.float16 else x.astype(dtype, copy=False)
