"""Softmax along a dimension, and its logarithm.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exact.dtype_errors import not_implemented
from ..exact.refusals import check_dim
from ..kernels.reduce import reduce
from .functions import composite, internal
from .shape import row_major
from .with_backward import rule


# -- softmax ---------------------------------------------------------------------------------------------------------
def _normalised(name, kernel):
    """Return the forward kernel for `kernel(xp, z, dim)`, where z is the input minus its maximum; float16 is computed
    in float32."""

    def forward(xp, x, dim):
        dim, d = check_dim(dim, x.ndim), x.dtype
        if d.kind != "f":
            last = "_lastdim" * (dim == max(x.ndim, 1) - 1)
            raise not_implemented(f"{name}{last}_kernel_impl", d)
        x = row_major(xp, x)
        if not x.size:
            return xp.array(x)
        dim = dim if x.ndim else None
        x = xp.asarray(x, np.float32) if d.itemsize == 2 else x
        return kernel(xp, x - reduce(xp, "maximum", x, dim, True), dim).astype(d, copy=False)

    return forward


def _softmax(xp, z, dim):
    e = xp.exp(z)
    return e / xp.add.reduce(e, axis=dim, keepdims=True)


def _log_softmax(xp, z, dim):
    return z - xp.log(xp.add.reduce(xp.exp(z), axis=dim, keepdims=True))


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
