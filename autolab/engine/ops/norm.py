"""Lengths: norm, linalg.norm, linalg.vector_norm, linalg.matrix_norm, dist."""

from __future__ import annotations

import math

import numpy as np

from ..exact import sums as cascade
from ..core.apply import result_dtype
from ..exact.dtypes import as_dtype
from ..core.errors import fail, type_name
from ..core.tensor import Tensor
from ..exact.refusals import check_dim
from ..kernels.reduce import reduce
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal
from .arithmetic import _no_bool as no_masks
from .reduction import axes, dtype_of, restored, the_dims


# -- vector norm -------------------------------------------------------------------------------------------------------
def _check_norm(x, dtype=None):
    """Raise PyTorch's error for the norm of whole numbers, or as whole numbers."""
    name, note = "linalg.vector_norm:", "A length is seldom a whole number: convert with .float()."
    message = f"{name} Expected a floating point or complex tensor as input. Got {x.dtype.short}"
    refuse_if(not x.dtype.is_inexact, message, note)
    if dtype is not None:
        d = as_dtype(dtype)
        message = f"{name} dtype should be floating point or complex, but got {d.short}"
        refuse_if(not d.is_inexact, message, note)


def _check_not_empty(shape, ord, dim):
    """Raise torch's error for a norm that is a largest or smallest element, where there are none to choose from."""
    empty = "an empty tensor "
    if dim:
        places = [d % max(len(shape), 1) for d in dim]
        along = next((d for d in places if shape[d] == 0), None)
        if along is None:
            return
        empty = f"the dimension {along}because this dimension is empty and "
    reason = "the operation does not have an identity"
    raise fail(
        RuntimeError,
        f"linalg.vector_norm cannot compute the {ord:g} norm on {empty}{reason if dim else 'because ' + reason}",
        "There is no largest or smallest of no numbers.",
    )


def _vector_norm(xp, self, ord, dim, keepdim, dtype):
    if dtype is not None:
        self = self.astype(as_dtype(dtype).np)
    if self.size == 0 and (ord < 0 or ord == math.inf):
        _check_not_empty(self.shape, ord, dim)
    if self.dtype.kind == "c":
        self = xp.abs(self)
    axis, d = axes(self, dim), self.dtype
    wide = self.astype(np.float32) if d == np.float16 else self
    return _reduce_norm(xp, wide, ord, axis, keepdim).astype(d, copy=False)[()]


def _reduce_norm(xp, x, ord, axis, keepdim):
    if ord == 2:
        if xp is np:
            return cascade.length(x, axis, keepdim)
        return xp.sqrt(xp.add.reduce(x * x, axis=axis, keepdims=keepdim))
    size = xp.abs(x)
    if ord in (math.inf, -math.inf):
        return reduce(xp, "maximum" if ord > 0 else "minimum", size, axis, keepdim)
    if ord == 0:
        return xp.add.reduce(size != 0, axis=axis, keepdims=keepdim, dtype=x.dtype)
    if ord == 1:
        return xp.add.reduce(size, axis=axis, keepdims=keepdim)
    return xp.add.reduce(size**ord, axis=axis, keepdims=keepdim) ** (1.0 / ord)


def _norm_gradient(m, g, x, ord, result, dim):
    """g and result with their reduced dimensions in place. The gradient where the norm is 0 is 0, a choice torch
    makes."""
    if ord == 0:
        return None  # counting has no gradient
    if ord == 1:
        return m.sgn(x) * g
    if ord == 2:
        return g * m.masked_fill(x / result, result == 0, 0)
    if ord in (math.inf, -math.inf):
        largest = (m.abs(x) == result) | (m.isnan(x) & m.isnan(result))
        return m.sgn(x) * largest * (g / m.sum(largest, dim, True, dtype_of(g)))
    if ord < 1:
        slope = m.masked_fill(m.sgn(x) * m.pow_scalar(m.abs(x), ord - 1), x == 0, 0)
        return slope * g * m.pow_scalar(result, 1 - ord)
    scale = m.masked_fill(g / m.pow_scalar(result, ord - 1), result == 0, 0)
    if ord < 2:
        return m.sgn(x) * m.pow_scalar(m.abs(x), ord - 1) * scale
    return x * m.pow_scalar(m.abs(x), ord - 2) * scale


def _vector_norm_rule(m, g, self, ord, result, dim, keepdim):
    ndim = len(self.shape)
    return _norm_gradient(
        m,
        restored(m, g, dim, keepdim, ndim),
        self,
        ord,
        restored(m, result, dim, keepdim, ndim),
        None if dim == () else dim,
    )


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
        (s.distinct(4), math.inf),
        (s.distinct(2, 3), -math.inf, (1,)),
    ],
)


@composite(namespace="linalg")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """(sum |x|^ord)^(1/ord) along `dim` or of all elements; ord 0 counts nonzeros, inf and -inf take the largest and
    smallest size.

    Raises RuntimeError for whole numbers. Source: torch.linalg.vector_norm."""
    _check_norm(x, dtype)
    dim = None if dim is None else the_dims(dim, x._array.ndim)
    return vector_norm_op.call(x, ord, dim, keepdim, dtype)


# -- matrix norm -------------------------------------------------------------------------------------------------------
@composite(namespace="linalg")
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """Return the norm of matrices lying in the two dimensions `dim`: 'fro', 'nuc', or 1, -1, 2, -2, inf, -inf.

    Raises RuntimeError for another order or fewer than two dimensions. Source: torch.linalg.matrix_norm."""
    ndim = A._array.ndim
    message, note = (
        f"linalg.matrix_norm: Order {ord} not supported.",
        "Take 'fro', 'nuc', or 1, -1, 2, -2, inf, -inf.",
    )
    known = ord in ("fro", "nuc") if isinstance(ord, str) else abs(ord) in (1, 2, math.inf)
    refuse_if(not known, message, note)
    message = "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
    refuse_if(ndim < 2, message, "A vector has a vector_norm.")
    _check_norm(A)
    dims = tuple(check_dim(d, ndim) for d in the_dims(dim, ndim))
    A = A if dtype is None else METHODS["to"](A, dtype)
    if ord == "fro":
        return vector_norm_op.call(A, 2, dims, keepdim, None)
    extreme = METHODS["sum" if ord == "nuc" else "amax" if ord > 0 else "amin"]
    if ord == "nuc" or abs(ord) == 2:
        values = NAMESPACES["linalg"]["svdvals"](METHODS["movedim"](A, dims, (-2, -1)))
        found, shape = (
            extreme(values, (-1,)),
            [1 if d in dims else n for d, n in enumerate(A.shape)],
        )
        return METHODS["reshape"](found, shape) if keepdim else found
    along, across = dims if abs(ord) == 1 else dims[::-1]
    across -= 0 if keepdim or across < along else 1
    return extreme(vector_norm_op.call(A, 1, (along,), keepdim, None), (across,), keepdim)


# -- norm of anything --------------------------------------------------------------------------------------------------
@composite("norm", namespace="linalg")
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector or matrix, by the number of dimensions; without `ord` the 2-norm of all elements. Source:
    torch.linalg.norm."""
    if ord is None:
        return vector_norm(A, 2.0, dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    ndim = A._array.ndim
    message = (
        f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D."
    )
    note = "Name the dimensions: one for vectors, two for matrices."
    refuse_if(dim is None and ndim not in (1, 2), message, note)
    if (ndim if dim is None else 1 if isinstance(dim, int) else len(dim)) == 2:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@composite(method=True)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm of all elements or along `dim`. Source: torch.norm."""
    if not isinstance(input, Tensor):
        message = f"'{type_name(input)}' object has no attribute 'layout'"
        raise fail(AttributeError, message, "torch.norm takes a tensor: torch.tensor(...).")
    if isinstance(p, str) and p != "fro":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return NAMESPACES["linalg"]["vector_norm"](
        input, 2 if p == "fro" else 2.0 if p is None else p, dim, keepdim, dtype=dtype
    )


# -- distance ----------------------------------------------------------------------------------------------------------
def _dist_rule(m, g, self, other, p, result):
    return _norm_gradient(m, g, self - other, p, result, None)


dist_op = internal(
    "dist(Tensor self, Tensor other, Number p=2)",
    forward=lambda xp, self, other, p: _vector_norm(
        xp, xp.subtract(self, other), p, None, False, None
    ),
    dtype="promote",
    operands=("self", "other"),
    vjp={
        "self": _dist_rule,
        "other": lambda m, g, self, other, p, result: -_dist_rule(m, g, self, other, p, result),
    },
    latex=r"\left\| {self} - {other} \right\|_{{p}}",
    vjp_latex={
        "self": r"{g} \cdot \frac{{self} - {other}}{{result}}",
        "other": r"-{g} \cdot \frac{{self} - "
        r"{other}}{{result}}",
    },
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(2, 3), 3)],
    doc="The p-norm of the difference. Source: torch.dist",
)


@composite(method=True)
def dist(input, other, p=2):
    """The p-norm of input - other. Raises RuntimeError for masks and whole numbers. Source: torch.dist."""
    kind = result_dtype(dist_op, (input, other, p))
    no_masks([input.dtype, other.dtype], kind)
    message = (
        f"norm(): input dtype should be either floating point or complex. Got {kind.short} instead."
    )
    note = "A distance is seldom a whole number: write x.float() first."
    refuse_if(not kind.is_inexact, message, note)
    return dist_op.call(input, other, p)
