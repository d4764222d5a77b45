"""Distances of every point of one set to every point of another: cdist.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.cdist.html
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dtype import float16
from ...exact.arguments import check_tensors
from ...exact.broadcasting import broadcast_error
from ...exact.dtype_errors import not_implemented
from ..checks import refuse_if
from ..functions import METHODS, composite, internal


def _distances(xp, x1, x2, p):
    gaps = abs(x1[..., :, None, :] - x2[..., None, :, :])
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
    """Return the derivative of each distance with respect to each coordinate of x1, 0 for points that coincide; with
    respect to those of x2 it is the opposite."""
    gaps, result = m.unsqueeze(x1, -2) - m.unsqueeze(x2, -3), m.unsqueeze(result, -1)
    if p == 0:
        return m.zeros_like(gaps)
    if p == 1:
        return _sign(m, gaps)
    if p == 2:
        return m.masked_fill(gaps / result, result == 0, 0)
    if p == math.inf:
        largest = m.sign(gaps) * (m.abs(gaps) == result)
        return m.masked_fill(largest, m.isnan(m.abs(gaps) - result), math.nan)
    slope = _sign(m, gaps) * m.pow_scalar(m.abs(gaps), p - 1) / m.pow_scalar(result, p - 1)
    apart = result == 0 if p > 1 else m.logical_or(result == 0, gaps == 0)
    return m.masked_fill(slope, apart, 0)


def _sign(m, x):
    """The sign; of NaN it is NaN, unlike torch.sign's."""
    return m.masked_fill(m.sign(x), m.isnan(x), math.nan)


def _first(m, g, x1, x2, p, result):
    return m.sum(m.unsqueeze(g, -1) * _slope(m, x1, x2, p, result), (-2,), False)


def _second(m, g, x1, x2, p, result):
    return m.sum(-(m.unsqueeze(g, -1) * _slope(m, x1, x2, p, result)), (-3,), False)


cdist_op = internal(
    "cdist(Tensor x1, Tensor x2, float p)",
    operands=(),
    forward=_distances,
    vjp={"x1": _first, "x2": _second},
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
    message = f"{compute_mode} is not a valid value for compute_mode"
    refuse_if(compute_mode not in modes, message, f"It is one of {', '.join(modes)}.", ValueError)
    check_tensors("cdist", x1=x1, x2=x2)
    both = {"X1": x1, "X2": x2}
    for name, x in both.items():
        message = f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D"
        refuse_if(x._array.ndim < 2, message, "One row is one point.")
    columns = x1.shape[-1], x2.shape[-1]
    refuse_if(
        columns[0] != columns[1],
        f"X1 and X2 must have the same number of columns. X1: {columns[0]} X2: {columns[1]}",
        "A distance is between points of one space.",
    )
    for name, x in both.items():
        message = f"cdist only supports floating-point dtypes, {name} got: {x.dtype.short}"
        problem = not x.dtype.is_floating_point
        refuse_if(problem, message, "Convert the points with .float().")
    message = "cdist only supports non-negative p values"
    refuse_if(p < 0, message, "p is the order of a norm.")
    if not x1.numel() or not x2.numel():  # PyTorch asks for one dtype where it computes something
        x2 = x2.to(x1.dtype)
    if x1.dtype is float16 and x1.numel():
        raise not_implemented("cdist", x1._array.dtype)
    message = f"expected scalar type {x1.dtype.short} but found {x2.dtype.short}"
    refuse_if(x1.dtype is not x2.dtype, message, "Convert one of them: x2.to(x1.dtype).")
    try:
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    except ValueError:
        raise broadcast_error([x1.shape[:-2], x2.shape[:-2]]) from None
    x1, x2 = (
        x if x.shape[:-2] == batch else METHODS["expand"](x, (*batch, *x.shape[-2:]))
        for x in (x1, x2)
    )
    return cdist_op.call(x1, x2, float(p))
