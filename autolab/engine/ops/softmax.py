"""Activations along a dimension: softmax and its logarithm, and the gated linear unit.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import check_dim
from ..kernels.reduce import reduce
from .activation import floating, logistic
from .functions import composite, internal
from .shape import row_major
from .with_backward import rule, with_backward

_LANES = 32
"""How many numbers of float16 PyTorch takes side by side where it does not go along the last dimension (AVX-512, one
thread)."""


# -- the gated linear unit -------------------------------------------------------------------------------------------
def _halves(x, dim):
    """Return the two halves of an array or Tensor along `dim`."""
    dim = check_dim(dim, x.ndim)
    size = x.shape[dim]
    if size % 2:
        message = f"Halving dimension must be even, but dimension {dim} is size {size}"
        raise fail(RuntimeError, message, "One half gates the other.")
    before = (slice(None),) * dim
    return x[(*before, slice(0, size // 2))], x[(*before, slice(size // 2, size))]


def _glu(xp, x, dim):
    a, b = _halves(x, dim)
    return a * logistic(xp, b)


def _glu_backward(xp, g, x, dim):
    a, b = _halves(x, dim)
    s = logistic(xp, b)
    return xp.concatenate([g * s, g * a * s * (1 - s)], axis=dim)


def _glu_curvature(m, g, grad_output, self, dim):
    (ga, gb), (a, b) = _halves(g, dim), _halves(self, dim)
    s = m.sigmoid(b)
    slope = s * (1 - s) * grad_output
    return m.cat([gb * slope, ga * slope + gb * a * slope * (1 - 2 * s)], dim)


def _glu_transposed(m, g, self, dim):
    (ga, gb), (a, b) = _halves(g, dim), _halves(self, dim)
    s = m.sigmoid(b)
    return ga * s + gb * a * s * (1 - s)


with_backward(
    "glu(Tensor self, int dim=-1)",
    forward=floating("glu_cpu", _glu),
    backward=_glu_backward,
    curvature={"grad_output": _glu_transposed, "self": _glu_curvature},
    latex=r"a \cdot \sigma(b)",
    vjp_latex={"self": r"({g} \cdot \sigma(b), {g} \cdot a \cdot \sigma(b) \cdot (1 - \sigma(b)))"},
    samples=lambda s: [s.randn(4), (s.randn(2, 3), 0)],
)


# -- softmax ---------------------------------------------------------------------------------------------------------
def _normalised(name, kernel):
    """Return the forward kernel of `kernel(xp, z, dim, d)`, which gets numbers of dtype d below their maximum."""

    def forward(xp, x, dim):
        dim, d = check_dim(dim, x.ndim), x.dtype
        if d.kind != "f" and x.size:  # of no numbers PyTorch makes a copy, whatever their dtype
            last = "_lastdim" * (dim == max(x.ndim, 1) - 1)
            raise not_implemented(f"{name}{last}_kernel_impl", d)
        x = row_major(xp, x)
        if not x.size:
            return xp.array(x)
        dim = dim if x.ndim else None
        wide = xp.asarray(x, np.float32) if d.itemsize == 2 else x
        if xp is np:
            return kernel(xp, wide - np.maximum.reduce(wide, dim, None, None, True), dim, d)
        return kernel(xp, wide - reduce(xp, "maximum", wide, dim, True), dim, d)

    return forward


def _softmax(xp, z, dim, d):
    e = xp.exp(z)
    total = xp.add.reduce(e, axis=dim, keepdims=True)
    if e.dtype == d:
        return e / total
    columns = math.prod(z.shape[dim + 1 :]) if z.ndim else 1
    if columns > 1 and columns % _LANES:  # there PyTorch keeps what it adds up in float16
        alone = e.reshape(*z.shape[: dim + 1], columns)[..., columns - columns % _LANES :]
        alone[...] = alone.astype(d)
    return (e / total).astype(d)


def _log_softmax(xp, z, dim, d):
    total = xp.add.reduce(xp.exp(z), axis=dim, keepdims=True)
    if z.dtype == d:
        return z - xp.log(total)
    if z.ndim and math.prod(z.shape[dim + 1 :]) > 1:
        return (z - xp.log(total)).astype(d)
    # along the last dimension PyTorch keeps both in float16
    total = xp.log(total.astype(d).astype(z.dtype)).astype(d)
    return (z - total.astype(z.dtype)).astype(d)


def _widened(kernel):
    """Return `kernel(xp, g, y, dim)` with float16 computed in float32."""

    def forward(xp, g, y, dim):
        if g.dtype.itemsize > 2:
            return kernel(xp, g, y, dim)
        return kernel(xp, xp.asarray(g, np.float32), xp.asarray(y, np.float32), dim).astype(g.dtype)

    return forward


def _total(xp, x, dim):
    return xp.add.reduce(x, axis=dim if x.ndim else None, keepdims=True)


def _softmax_output(m, g, grad_output, output, dim):
    return g * (grad_output - m.sum(grad_output * output, dim, True)) - grad_output * m.sum(
        g * output, dim, True
    )


def _log_softmax_output(m, g, grad_output, output, dim):
    return -(g * m.exp(output)) * m.sum(grad_output, dim, True)


_SAMPLES: dict[str, Any] = {
    "samples": lambda s: [(s.randn(3), 0), (s.randn(2, 3), 1), (s.randn(2, 3), -2)]
}
_BACK_SAMPLES: dict[str, Any] = {"samples": lambda s: [(s.randn(2, 3), s.randn(2, 3), 1)]}

_softmax_op = internal(
    "_softmax(Tensor self, int dim)",
    node="SoftmaxBackward0",
    forward=_normalised("softmax", _softmax),
    vjp={"self": rule("_softmax_backward_data", "result", "dim")},
    latex=r"\frac{e^{{self}}}{\sum_{{dim}} e^{{self}}}",
    vjp_latex={"self": r"{result} \cdot ({g} - \sum_{{dim}} {g} \cdot {result})"},
    **_SAMPLES,
)

internal(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
    node="SoftmaxBackwardDataBackward0",
    forward=_widened(lambda xp, g, y, dim: y * (g - _total(xp, g * y, dim))),
    vjp={
        "grad_output": rule("_softmax_backward_data", "output", "dim"),
        "output": _softmax_output,
    },
    **_BACK_SAMPLES,
)

_log_softmax_op = internal(
    "_log_softmax(Tensor self, int dim)",
    node="LogSoftmaxBackward0",
    forward=_normalised("log_softmax", _log_softmax),
    vjp={"self": rule("_log_softmax_backward_data", "result", "dim")},
    latex=r"{self} - \ln \sum_{{dim}} e^{{self}}",
    vjp_latex={"self": r"{g} - e^{{result}} \cdot \sum_{{dim}} {g}"},
    **_SAMPLES,
)

internal(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
    node="LogSoftmaxBackwardDataBackward0",
    forward=_widened(lambda xp, g, y, dim: g - xp.exp(y) * _total(xp, g, dim)),
    vjp={
        "grad_output": lambda m, g, output, dim: g - m.sum(g * m.exp(output), dim, True),
        "output": _log_softmax_output,
    },
    **_BACK_SAMPLES,
)


@composite(method=True)
def softmax(input, dim, dtype=None):
    """Return exp(x_i) / sum_j exp(x_j) along `dim`; the input is converted to `dtype` first. Source: torch.softmax."""
    return _softmax_op.call(input if dtype is None else input.to(dtype), dim)


@composite(method=True)
def log_softmax(input, dim, dtype=None):
    """Return log(softmax(input, dim)), computed without overflow. Source: torch.log_softmax."""
    return _log_softmax_op.call(input if dtype is None else input.to(dtype), dim)
