"""Activations along a dimension: softmax and its logarithm, and the gated linear unit.

As in `activation.py`, backward formulas are ops of their own. Sources:
https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..exact.refusals import check_dim
from ..exact.dtype_errors import not_implemented
from ..kernels.reduce import reduce
from .functions import composite, internal
from .activation import floating, logistic
from .shape import row_major


def _halves(x, dim):
    """The two halves of an array or Tensor along `dim`."""
    dim = check_dim(dim, x.ndim)
    size = x.shape[dim]
    if size % 2:
        raise fail(
            RuntimeError,
            f"Halving dimension must be even, but dimension {dim} is size {size}",
            "One half gates the other.",
        )
    before = (slice(None),) * dim
    return x[(*before, slice(0, size // 2))], x[(*before, slice(size // 2, size))]


def _glu(xp, x, dim):
    a, b = _halves(x, dim)
    return a * logistic(xp, b)


def _glu_backward(xp, g, x, dim):
    a, b = _halves(x, dim)
    s = logistic(xp, b)
    return xp.concatenate([g * s, g * a * s * (1 - s)], axis=dim)


def _glu_curvature(m, g, grad_output, x, dim):
    (ga, gb), (a, b) = _halves(g, dim), _halves(x, dim)
    s = m.sigmoid(b)
    slope = s * (1 - s) * grad_output
    return m.cat([gb * slope, ga * slope + gb * a * slope * (1 - 2 * s)], dim)


def _glu_transposed(m, g, x, dim):
    (ga, gb), (a, b) = _halves(g, dim), _halves(x, dim)
    s = m.sigmoid(b)
    return ga * s + gb * a * s * (1 - s)


internal(
    "glu(Tensor self, int dim=-1)",
    forward=floating("glu_cpu", _glu),
    vjp={"self": lambda m, g, self, dim: m.glu_backward(g, self, dim)},
    latex=r"a \cdot \sigma(b)",
    vjp_latex={"self": r"({g} \cdot \sigma(b), {g} \cdot a \cdot \sigma(b) \cdot (1 - \sigma(b)))"},
    samples=lambda s: [s.randn(4), (s.randn(2, 3), 0)],
)

internal(
    "glu_backward(Tensor grad_output, Tensor self, int dim)",
    forward=_glu_backward,
    vjp={
        "grad_output": lambda m, g, self, dim: _glu_transposed(m, g, self, dim),
        "self": lambda m, g, grad_output, self, dim: _glu_curvature(m, g, grad_output, self, dim),
    },
    node="GluBackwardBackward0",
    samples=lambda s: [(s.randn(2), s.randn(4), -1)],
)


def _along(dim, x, torch_name):
    """`dim` counted from the front, after the checks that softmax and log_softmax share."""
    dim = check_dim(dim, x.ndim)
    if x.dtype.kind != "f" and x.size:  # of no numbers PyTorch makes a copy, whatever their dtype
        raise not_implemented(
            f"{torch_name}_lastdim_kernel_impl"
            if dim == max(x.ndim, 1) - 1
            else f"{torch_name}_kernel_impl",
            x.dtype,
        )
    return dim if x.ndim else None


def _softmax(xp, x, dim):
    dim, x = _along(dim, x, "softmax"), row_major(xp, x)
    if not x.size:
        return xp.array(x)
    e = xp.exp(_below_maximum(xp, x, dim))
    total = xp.add.reduce(e, axis=dim, keepdims=True)
    if e.dtype == x.dtype:
        return e / total
    columns = math.prod(x.shape[dim + 1 :]) if x.ndim else 1
    if columns > 1 and columns % _LANES:  # there PyTorch keeps what it adds up in float16
        alone = e.reshape(*x.shape[: dim + 1], columns)[..., columns - columns % _LANES :]
        alone[...] = alone.astype(x.dtype)
    return (e / total).astype(x.dtype)


_LANES = 32
"""How many numbers of float16 PyTorch takes side by side where it does not go along the last dimension (AVX-512, one
thread)."""


def _log_softmax(xp, x, dim):
    dim, x = _along(dim, x, "log_softmax"), row_major(xp, x)
    if not x.size:
        return xp.array(x)
    z = _below_maximum(xp, x, dim)
    total = xp.add.reduce(xp.exp(z), axis=dim, keepdims=True)
    if z.dtype == x.dtype:
        return z - xp.log(total)
    if x.ndim and math.prod(x.shape[dim + 1 :]) > 1:
        return (z - xp.log(total)).astype(x.dtype)
    # along the last dimension PyTorch keeps both in float16
    total = xp.log(total.astype(x.dtype).astype(z.dtype)).astype(x.dtype)
    return (z - total.astype(z.dtype)).astype(x.dtype)


def _below_maximum(xp, x, dim):
    if x.dtype.itemsize == 2:
        x = xp.asarray(x, np.float32)
    return x - (
        np.maximum.reduce(x, dim, None, None, True)
        if xp is np
        else reduce(xp, "maximum", x, dim, True)
    )


def _widened(kernel):
    """`kernel(xp, g, y, dim)` with float16 computed in float32."""

    def forward(xp, g, y, dim):
        if g.dtype.itemsize > 2:
            return kernel(xp, g, y, dim)
        return kernel(xp, xp.asarray(g, np.float32), xp.asarray(y, np.float32), dim).astype(g.dtype)

    return forward


def _total(xp, x, dim):
    return xp.add.reduce(x, axis=dim if x.ndim else None, keepdims=True)


_softmax_op = internal(
    "_softmax(Tensor self, int dim)",
    node="SoftmaxBackward0",
    forward=_softmax,
    vjp={"self": lambda m, g, result, dim: m._softmax_backward_data(g, result, dim)},
    latex=r"\frac{e^{{self}}}{\sum_{{dim}} e^{{self}}}",
    vjp_latex={"self": r"{result} \cdot ({g} - \sum_{{dim}} {g} \cdot {result})"},
    samples=lambda s: [(s.randn(3), 0), (s.randn(2, 3), 1), (s.randn(2, 3), -2)],
)

internal(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
    node="SoftmaxBackwardDataBackward0",
    forward=_widened(lambda xp, g, y, dim: y * (g - _total(xp, g * y, dim))),
    vjp={
        "grad_output": lambda m, g, output, dim: m._softmax_backward_data(g, output, dim),
        "output": lambda m, g, grad_output, output, dim: (
            g * (grad_output - m.sum(grad_output * output, dim, True))
            - grad_output * m.sum(g * output, dim, True)
        ),
    },
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 3), 1)],
)

_log_softmax_op = internal(
    "_log_softmax(Tensor self, int dim)",
    node="LogSoftmaxBackward0",
    forward=_log_softmax,
    vjp={"self": lambda m, g, result, dim: m._log_softmax_backward_data(g, result, dim)},
    latex=r"{self} - \ln \sum_{{dim}} e^{{self}}",
    vjp_latex={"self": r"{g} - e^{{result}} \cdot \sum_{{dim}} {g}"},
    samples=lambda s: [(s.randn(3), 0), (s.randn(2, 3), 1), (s.randn(2, 3), -2)],
)

internal(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
    node="LogSoftmaxBackwardDataBackward0",
    forward=_widened(lambda xp, g, y, dim: g - xp.exp(y) * _total(xp, g, dim)),
    vjp={
        "grad_output": lambda m, g, output, dim: g - m.sum(g * m.exp(output), dim, True),
        "output": lambda m, g, grad_output, output, dim: (
            -(g * m.exp(output)) * m.sum(grad_output, dim, True)
        ),
    },
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 3), 1)],
)


def _as(x, dtype):
    return x if dtype is None else x.to(dtype)


@composite(method=True)
def softmax(input, dim, dtype=None):
    """exp(x_i) / sum_j exp(x_j) along `dim`; the input is converted to `dtype` first. Source: torch.softmax."""
    return _softmax_op.call(_as(input, dtype), dim)


@composite(method=True)
def log_softmax(input, dim, dtype=None):
    """log(softmax(input, dim)), computed without overflow. Source: torch.log_softmax."""
    return _log_softmax_op.call(_as(input, dtype), dim)


def _in_special(name, function):
    """`function` as `torch.special.<name>`, where `dtype` is given by keyword only."""

    @composite(name, namespace="special")
    def call(input, dim, *, dtype=None):
        return function(input, dim, dtype)

    call.__doc__ = f"{function.__doc__.split(' Source:')[0]} Source: torch.special.{name}."


_in_special("softmax", softmax)
_in_special("log_softmax", log_softmax)
