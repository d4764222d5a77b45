"""The error function, vectorised over arrays of any shape, because NumPy lacks it.

Functions take the array module first (`xp`: numpy or cupy) and compute in float64 for every input dtype. The result is
rounded once to the input's dtype, so float32 results are correctly rounded almost everywhere.

The rational approximations come from the Cephes Mathematical Library by Stephen L. Moshier (see THIRD_PARTY_NOTICES),
rearranged for whole arrays.
"""

import contextlib

import numpy as np

# The number of elements per block: the dozens of temporary arrays of a rational approximation then fit in the cache.
BLOCK = 1 << 14


# erf(x) = x T(x^2) / U(x^2) for |x| <= 1
ERF_T = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
ERF_U = (
    1.0,
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
# erfc(x) = exp(-x^2) P(x) / Q(x) for 1 <= x < 8, R / S beyond
ERFC_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
ERFC_Q = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
ERFC_R = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
ERFC_S = (
    1.0,
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)


def _polynomial(coefficients, x):
    """Evaluate a polynomial by Horner's scheme, highest power first."""
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _erfc_tail(xp, x):
    """Return erfc(x) for x >= 1."""
    # exp(-x*x) multiplies the rounding error of x*x by x*x. So square a shortened x exactly, and correct for the rest.
    short = x.astype(xp.float32).astype(xp.float64)
    decay = xp.exp(-short * short) * xp.exp((short - x) * (short + x))
    near = _polynomial(ERFC_P, x) / _polynomial(ERFC_Q, x)
    far = _polynomial(ERFC_R, x) / _polynomial(ERFC_S, x)
    return decay * xp.where(x < 8, near, far)


def _erf_core(xp, x):
    """Return erf(x) for |x| <= 1."""
    square = x * x
    return x * _polynomial(ERF_T, square) / _polynomial(ERF_U, square)


def _erf_array(xp, x):
    """Return erf(x), the integral of 2/sqrt(pi) exp(-t^2) from 0 to x."""
    size = xp.abs(x)
    out = _erf_core(xp, x)
    large = size > 1
    if xp is not np:  # compute both branches: testing for large numbers would make the host wait
        return xp.where(large, xp.copysign(1 - _erfc_tail(xp, xp.clip(size, 1.0, 10.0)), x), out)
    if large.any():
        tail = 1 - _erfc_tail(xp, xp.minimum(size[large], 10.0))
        out[large] = xp.copysign(tail, x[large])
    return out


def erf(xp, x):
    """Return the error function of an array of any shape and float dtype, computed block by block."""
    x = xp.asarray(x)
    flat = x.reshape(-1)
    out = xp.empty(flat.shape, x.dtype)
    # Overflow is expected here. CuPy has no floating-point warnings.
    with xp.errstate(all="ignore") if hasattr(xp, "errstate") else contextlib.nullcontext():
        for start in range(0, flat.size, BLOCK):
            piece = slice(start, start + BLOCK)
            out[piece] = _erf_array(xp, flat[piece].astype(xp.float64))
    out = out.reshape(x.shape)
    if x.flags.c_contiguous:
        return out
    same = xp.empty_like(x)  # keeps the memory order of `x`
    same[...] = out
    return same
