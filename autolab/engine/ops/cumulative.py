"""Running totals along a dimension: cumsum and cumprod."""

from __future__ import annotations

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..exact.dtypes import as_dtype
from .functions import composite, internal
from .indexing import written
from .reduction import differentiable_dtype
from .shape import row_major
from ..exact.refusals import check_dim


# -- cumsum, cumprod ---------------------------------------------------------------------------------------------------
def _running(ufunc):
    def forward(xp, self, dim, dtype):
        d = (
            as_dtype(dtype).np
            if dtype is not None
            else np.dtype("int64")
            if self.dtype.kind in "biu"
            else self.dtype
        )
        if d.kind == "b":
            raise not_implemented(f"cum{'sum' if ufunc == 'add' else 'prod'}_out_cpu", d)
        self = self.astype(d, copy=False)
        if self.ndim == 0:
            return self.copy()
        self = row_major(xp, self)
        # torch's CPU kernel accumulates floats in double
        wide = np.dtype("float64") if d.kind == "f" else d
        function = xp.cumsum if ufunc == "add" else xp.cumprod
        return function(self, axis=dim, dtype=wide).astype(d, copy=False)

    return forward


def reversed_cumsum(m, x, dim):
    """At each place the sum of what comes from there on."""
    return m.flip(m.cumsum(m.flip(x, (dim,)), dim), (dim,)) if len(x.shape) else x


cumsum_op = internal(
    "cumsum(Tensor self, int dim, *, dtype? dtype=None)",
    forward=_running("add"),
    vjp={"self": lambda m, g, dim: reversed_cumsum(m, g, dim)},
    latex=r"\sum_{j \le i} {self}_j",
    vjp_latex={"self": r"\sum_{j \ge i} {g}_j"},
    samples=lambda s: [(s.randn(4), 0), (s.randn(2, 3), 1), (s.randn(2, 3), -2)],
)


def _places(m, x, dim):
    """1, 2, 3 … along `dim`."""
    return m.cumsum(m.ones_like(x), dim)


def _cumprod_rule(m, g, self, dim, result):
    ndim = len(self.shape)
    if ndim == 0:
        return g
    if not bool(m.any(self == 0)):
        return reversed_cumsum(m, g * result, dim) / self
    dim = dim % ndim
    if not m.traced:
        return _cumprod_with_zeros(m, g, self, dim, result)
    # every product without one factor: a matrix of them, which stays differentiable at zeros
    place = _places(m, self, dim)
    one, factor = m.unsqueeze(place, dim + 1), m.unsqueeze(place, dim)
    products = m.cumprod(m.where(factor == one, 1.0, m.unsqueeze(self, dim)), dim + 1)
    return m.sum(m.where(factor >= one, products * m.unsqueeze(g, dim), 0.0), (dim + 1,), False)


def _cumprod_with_zeros(m, g, self, dim, result):
    zero = self == 0
    zeros = m.cumsum(zero, dim)
    first = m.logical_and(zero, zeros == 1)
    before, between = zeros == 0, m.logical_and(zeros == 1, m.logical_not(zero))
    earlier = reversed_cumsum(m, m.where(before, g * result, 0.0), dim) / m.where(zero, 1.0, self)
    later = m.sum(
        m.where(zeros == 1, g, 0.0) * m.cumprod(m.where(between, self, 1.0), dim), (dim,), True
    )
    at_first = later * m.cumprod(m.where(before, self, 1.0), dim)
    return m.where(before, earlier, m.where(first, at_first, 0.0))


cumprod_op = internal(
    "cumprod(Tensor self, int dim, *, dtype? dtype=None)",
    forward=_running("multiply"),
    vjp={"self": _cumprod_rule},
    latex=r"\prod_{j \le i} {self}_j",
    vjp_latex={"self": r"\sum_{k \ge i} {g}_k \cdot \prod_{j \le k, j \ne i} {self}_j"},
    samples=lambda s: [
        (s.away_from_zero(4), 0),
        (s.away_from_zero(2, 3), 1),
        (np.array([2.0, 0.0, 3.0, 0.0, 1.5]), 0),
        (np.array([[0.0, 2.0, 3.0], [1.5, 2.0, 0.5]]), -1),
    ],
)


def _in_place(op):
    name = op.name + "_"

    @composite(name, method=True, function=False)
    def call(self, dim, *, dtype=None):
        check_dim(dim, self._array.ndim)
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        if wanted is not self.dtype:
            kinds = [d.cpp_name for d in (self.dtype, wanted)]
            message = "Bad in-place call: input tensor dtype {} and output tensor dtype {} should match".format(
                *kinds
            )
            raise fail(
                RuntimeError,
                message,
                "A tensor keeps its dtype when it is changed in place: convert it first.",
            )
        return written(op, (self, dim, self.dtype if not self.dtype.is_inexact else dtype))

    call.__doc__ = f"`{op.name}` in place; the dtype stays. Source: torch.Tensor.{name}."


def _along(op, name, doc):
    @composite(name, method=True)
    def call(input, dim, *, dtype=None):
        check_dim(dim, input._array.ndim)
        differentiable_dtype(input, dtype)
        return op.call(input, dim, dtype)

    call.__doc__ = f"{doc} along `dim`. dtype: converts first. Source: torch.{name}"


_along(cumsum_op, "cumsum", "The running sum")
_along(cumprod_op, "cumprod", "The running product")
_in_place(cumsum_op)
_in_place(cumprod_op)


# -- logcumsumexp ------------------------------------------------------------------------------------------------------


# -- running extremes --------------------------------------------------------------------------------------------------
