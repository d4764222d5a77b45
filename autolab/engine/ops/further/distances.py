"""Distances of every point of one set to every point of another: cdist.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.cdist.html
"""

from __future__ import annotations

import math

import numpy as np

from ...exact.arguments import as_number, check_tensors
from ...core.dtype import float16
from ...core.errors import bad_argument, fail
from ...exact.broadcasting import broadcast_error
from ...exact.dtype_errors import not_implemented
from ..functions import METHODS, composite, internal
from ..norm import vector_norm_op


def _gaps(xp, x1, x2):
    """x1[…, n, 1, d] - x2[…, 1, m, d]."""
    return x1[..., :, None, :] - x2[..., None, :, :]


def _distances(xp, x1, x2, p):
    gaps = abs(_gaps(xp, x1, x2))
    if p == 0:
        return (gaps != 0).sum(-1).astype(x1.dtype)
    if p == 1:
        return gaps.sum(-1)
    if p == 2:
        return xp.sqrt((gaps * gaps).sum(-1))
    if p == math.inf:
        # NaN is passed over, as in torch
        return xp.where(xp.isnan(gaps), 0, gaps).max(-1) if gaps.shape[-1] else gaps.sum(-1)
    return ((gaps**p).sum(-1) ** (1 / p)).astype(x1.dtype, copy=False)


def _slope(m, x1, x2, p, result):
    """The derivative of each distance by each coordinate of x1; by those of x2 it is the opposite."""
    return _slope_of(m, m.unsqueeze(x1, -2) - m.unsqueeze(x2, -3), p, m.unsqueeze(result, -1))


def _slope_of(m, gaps, p, result):
    """The derivative of the distances `result` by the differences `gaps`. 0 for points that coincide."""
    if p == 0:
        return m.zeros_like(gaps)
    if p == 1:
        return _sign(m, gaps)
    if p == 2:
        return m.masked_fill(gaps / result, result == 0, 0)
    if p == math.inf:
        return m.masked_fill(
            m.sign(gaps) * (m.abs(gaps) == result), m.isnan(m.abs(gaps) - result), math.nan
        )
    slope = _sign(m, gaps) * m.pow_scalar(m.abs(gaps), p - 1) / m.pow_scalar(result, p - 1)
    apart = result == 0 if p > 1 else m.logical_or(result == 0, gaps == 0)
    return m.masked_fill(slope, apart, 0)


def _sign(m, x):
    """The sign; of NaN it is NaN, unlike torch.sign's."""
    return m.masked_fill(m.sign(x), m.isnan(x), math.nan)


def _coordinates(m, g, dim):
    """The sum over the points of the other set."""
    return m.sum(g, (dim,), False)


cdist_op = internal(
    "cdist(Tensor x1, Tensor x2, float p)",
    operands=(),
    forward=_distances,
    vjp={
        "x1": lambda m, g, x1, x2, p, result: _coordinates(
            m, m.unsqueeze(g, -1) * _slope(m, x1, x2, p, result), -2
        ),
        "x2": lambda m, g, x1, x2, p, result: _coordinates(
            m, -(m.unsqueeze(g, -1) * _slope(m, x1, x2, p, result)), -3
        ),
    },
    latex=r"\left\| {x1} - {x2} \right\|_{{p}}",
    vjp_latex={
        "x1": r"\sum_j {g} \cdot \mathrm{sgn}({x1} - {x2}) \cdot |{x1} - {x2}|^{{p} - 1} / {result}^{{p} - 1}",
        "x2": r"-\sum_i {g} \cdot \mathrm{sgn}({x1} - {x2}) \cdot |{x1} - {x2}|^{{p} - 1} / {result}^{{p} - 1}",
    },
    samples=lambda s: [
        (s.distinct(2, 3), s.distinct(4, 3) + 0.35, p) for p in (2.0, 1.0, 3.0, math.inf)
    ],
)


@composite()
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of every row of x1 (…, n, d) to every row of x2 (…, m, d): (…, n, m). Source: torch.cdist.

    compute_mode: how PyTorch saves time; here the differences are always taken. Raises RuntimeError for other widths,
    for whole numbers and for two dtypes."""
    modes = (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    )
    if compute_mode not in modes:
        message = f"{compute_mode} is not a valid value for compute_mode"
        raise fail(ValueError, message, f"It is one of {', '.join(modes)}.")
    check_tensors("cdist", x1=x1, x2=x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.ndim < 2:
            message = f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D"
            raise fail(RuntimeError, message, "One row is one point.")
    if x1.shape[-1] != x2.shape[-1]:
        message = (
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
        raise fail(RuntimeError, message, "A distance is between points of one space.")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.dtype.is_floating_point:
            message = f"cdist only supports floating-point dtypes, {name} got: {x.dtype.short}"
            raise fail(RuntimeError, message, "Convert the points with .float().")
    if p < 0:
        raise fail(
            RuntimeError, "cdist only supports non-negative p values", "p is the order of a norm."
        )
    if not x1.numel() or not x2.numel():  # PyTorch asks for one dtype where it computes something
        x2 = x2.to(x1.dtype)
    if x1.dtype is float16 and x1.numel():
        raise not_implemented("cdist", x1._array.dtype)
    if x1.dtype is not x2.dtype:
        message = f"expected scalar type {x1.dtype.short} but found {x2.dtype.short}"
        raise fail(RuntimeError, message, "Convert one of them: x2.to(x1.dtype).")
    try:
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    except ValueError:
        raise broadcast_error([x1.shape[:-2], x2.shape[:-2]]) from None
    x1, x2 = (
        x if x.shape[:-2] == batch else METHODS["expand"](x, (*batch, *x.shape[-2:]))
        for x in (x1, x2)
    )
    return cdist_op.call(x1, x2, float(p))


# Of two points each: what pairwise_distance ends in. The numbers and the rule are those of linalg.vector_norm; PyTorch
# calls its older norm here, whose node has another name and whose order is saved as `p`.
_distance_op = internal(
    "norm_along(Tensor self, float p, int[] dim, bool keepdim)",
    forward=lambda xp, self, p, dim, keepdim: vector_norm_op.forward(
        xp, self, p, dim, keepdim, None
    ),
    vjp={
        "self": lambda m, g, self, p, dim, keepdim, result: vector_norm_op.vjp["self"](
            m, g, self, p, result, dim, keepdim
        )
    },
    node="NormBackward1",
    latex=r"\left\| {self} \right\|_{{p}}",
    vjp_latex={"self": r"{g} \cdot \mathrm{sgn}({self}) \cdot (|{self}| / {result})^{{p} - 1}"},
    samples=lambda s: [
        (s.randn(2, 3), 2.0, (1,), False),
        (s.randn(4), 1.0, (0,), True),
        (s.randn(2, 3), 3.0, (1,), True),
    ],
)


def distance_norm(gaps, p, keepdim):
    """The p-norms of a Tensor of differences over its last dimension. Source: torch.nn.functional.pairwise_distance."""
    number = as_number(p)
    if number is None:
        raise bad_argument("pairwise_distance", "p", 3, "float", p)
    return _distance_op.call(gaps, float(number), (max(gaps.ndim, 1) - 1,), keepdim)


# -- every two points of one set ---------------------------------------------------------------------------------------
def _pairs(xp, n):
    """Positions i < j of all pairs, in the order of a triangle's rows."""
    return xp.triu_indices(n, 1)


def _norms(xp, gaps, p):
    size = abs(gaps)
    if p == 0:
        return (size != 0).sum(-1).astype(gaps.dtype)
    if p == 1:
        return size.sum(-1)
    if p == math.inf:
        return size.max(-1) if size.size else xp.zeros(size.shape[:-1], gaps.dtype)
    if p == 2:
        return xp.sqrt((size * size).sum(-1))
    return ((size**p).sum(-1) ** (1 / p)).astype(gaps.dtype, copy=False)
