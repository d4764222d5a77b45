"""Norms: norm, linalg.norm, linalg.vector_norm."""

from __future__ import annotations

import math

import numpy as np

from ..exact import sums as cascade
from ..exact.dtypes import as_dtype
from ..exact.refusals import unsupported
from ..kernels.reduce import reduce
from .checks import refuse_if
from .functions import composite, internal
from .reduction import axes, dtype_of, restored, the_dims


# -- kernels and gradients ---------------------------------------------------------------------------------------------
def _vector_norm(xp, self, ord, dim, keepdim, dtype):
    if dtype is not None:
        self = self.astype(as_dtype(dtype).np)
    message = f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not have an identity"
    nothing = not self.size and (ord < 0 or ord == math.inf)
    refuse_if(nothing, message, "An empty tensor has no largest or smallest element.")
    wide = self.astype(np.float32) if self.dtype == np.float16 else self
    length = _reduce_norm(xp, wide, ord, axes(self, dim), keepdim)
    return length.astype(self.real.dtype, copy=False)[()]


def _reduce_norm(xp, x, ord, axis, keepdim):
    """Return (sum |x|^ord)^(1/ord) along `axis` of an array; see `vector_norm`."""
    size = xp.abs(x) if ord != 2 else x
    if ord == 2:
        if xp is np:
            return np.sqrt(cascade.add(x * x, axis, keepdim))
        return xp.sqrt(xp.add.reduce(x * x, axis=axis, keepdims=keepdim))
    if ord in (math.inf, -math.inf):
        return reduce(xp, "maximum" if ord > 0 else "minimum", size, axis, keepdim)
    if ord == 0:
        return xp.add.reduce(size != 0, axis=axis, keepdims=keepdim, dtype=x.dtype)
    if ord == 1:
        return xp.add.reduce(size, axis=axis, keepdims=keepdim)
    return xp.add.reduce(size**ord, axis=axis, keepdims=keepdim) ** (1.0 / ord)


def _vector_norm_rule(m, g, self, ord, result, dim, keepdim):
    """Return the gradient of a norm with respect to its argument. Where the norm is 0, the gradient is 0, as in
    torch."""
    x = self
    g, result = (restored(m, t, dim, keepdim, len(x.shape)) for t in (g, result))
    if ord == 0:
        return m.zeros_like(x)
    if ord == 1:
        return m.sgn(x) * g
    if ord == 2:
        return g * m.masked_fill(x / result, result == 0, 0)
    if ord in (math.inf, -math.inf):
        largest = (m.abs(x) == result) | (m.isnan(x) & m.isnan(result))
        return m.sgn(x) * largest * (g / m.sum(largest, dim or None, True, dtype_of(g)))
    scale = m.masked_fill(g / m.pow_scalar(result, ord - 1), result == 0, 0)
    slope = m.sgn(x) * m.pow_scalar(m.abs(x), ord - 1)
    return (m.masked_fill(slope, x == 0, 0) if ord < 1 else slope) * scale


vector_norm_op = internal(
    "linalg_vector_norm(Tensor self, Number ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
    forward=_vector_norm,
    vjp={"self": _vector_norm_rule},
    latex=r"\left\| {self} \right\|_{{ord}}",
    vjp_latex={"self": r"{g} \cdot \frac{{self}}{{result}}"},
    samples=lambda s: [
        s.randn(3),
        (s.randn(2, 3), 2, (1,), True),
        (s.randn(2, 3), 1, (0,)),
        (s.randn(4), 3),
        (s.randn(4), 1.5),
        (s.away_from_zero(4), 0.5),
        (s.distinct(2, 3), -math.inf, (1,)),
    ],
)


# -- public functions --------------------------------------------------------------------------------------------------
_WHOLE = "A length is seldom a whole number: convert with .float()."


@composite(namespace="linalg")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """Return (sum |x|^ord)^(1/ord) along `dim`, or of all elements. ord 0 counts nonzero elements; inf and -inf give
    the largest and smallest absolute value.

    Raise RuntimeError for integers. Source: torch.linalg.vector_norm."""
    refuse_if(
        not x.dtype.is_floating_point,
        f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.short}",
        _WHOLE,
    )
    kind = x.dtype if dtype is None else as_dtype(dtype)
    refuse_if(
        not kind.is_floating_point,
        f"linalg.vector_norm: dtype should be floating point or complex, but got {kind.short}",
        _WHOLE,
    )
    return vector_norm_op.call(x, ord, the_dims(dim, x._array.ndim), keepdim, dtype)


@composite("norm", namespace="linalg")
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """Return the norm of a vector, or of a matrix: the Frobenius norm, 'fro', which is also the default.

    Raise NotImplementedError for other matrix norms. Source: torch.linalg.norm."""
    dims = A.ndim if dim is None else 1 if isinstance(dim, int) else len(dim)
    if ord not in (None, "fro") and dims != 1:
        raise unsupported(
            "linalg.norm", "ord", "For matrices autolab supports only the Frobenius norm."
        )
    return vector_norm(A, 2.0 if ord in (None, "fro") else ord, dim, keepdim, dtype=dtype)


@composite(method=True)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """Return the p-norm of all elements or along `dim`. Source: torch.norm."""
    if isinstance(p, str) and p != "fro":
        raise unsupported("norm", "p", "Sum the singular values: torch.linalg.svd(x).S.sum().")
    return vector_norm(
        input, 2 if p == "fro" else 2.0 if p is None else p, dim, keepdim, dtype=dtype
    )
