"""Activation functions. `sigmoid` and `tanh` are with the other pointwise functions.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.grad_mode import per_thread
from ..core.record import OPS
from ..exact.dtype_errors import not_implemented
from ..exact.error_function import erf
from ..kernels import elementwise
from .checks import refuse_if
from .functions import composite, internal, register
from .shape import row_major
from .with_backward import flat, rule, with_backward

# Klambauer et al., "Self-Normalizing Neural Networks" (2017)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
# Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016)
_GELU_SLOPE, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


def floating(torch_name, kernel):
    """Return `kernel` for floating-point arrays only. float16 is computed in float32, as in PyTorch.

    For other dtypes it raises NotImplementedError in PyTorch's words, which name the kernel."""

    def forward(xp, x, *rest):
        d = x.dtype
        if d.kind != "f":
            raise not_implemented(torch_name, d)
        if d.itemsize > 2:
            return kernel(xp, x, *rest)
        wide = (a.astype(np.float32) if getattr(a, "dtype", None) == d else a for a in (x, *rest))
        result = kernel(xp, *wide)
        return tuple(r.astype(d) for r in result) if result.__class__ is tuple else result.astype(d)

    return forward


def select(xp, mask, values):
    """Return `values` where `mask` is true, else zero."""
    return xp.where(mask, values, values.dtype.type(0))[()]


def _where(xp, condition, a, b):
    return xp.where(condition, a, b)[()]


def logistic(xp, x):
    """Return sigmoid(x) of an array."""
    return OPS["sigmoid"].forward(xp, x)


# -- piecewise linear functions --------------------------------------------------------------------------------------
def _relu(x):
    return np.maximum(x, x.dtype.type(0)) if x.size < elementwise.BIG else elementwise.relu(x)


def _relu_forward(xp, self):
    note = "relu needs numbers. Convert the mask with .float()."
    refuse_if(self.dtype == bool, "Boolean inputs not supported for relu", note)
    return _relu(self) if xp is np else xp.maximum(self, 0)


def _threshold_backward(xp, g, x, threshold):
    if xp is np and g.size >= elementwise.BIG and g.shape == x.shape:
        return elementwise.pass_above(g, x, threshold)
    return select(xp, xp.logical_not(x <= threshold), g)


register(
    "relu(Tensor self)",
    forward=_relu_forward,
    vjp={"self": lambda m, g, result: m.threshold_backward(g, result, 0)},
    fast=_relu,
    inplace=True,
    latex=r"\max(0, {self})",
    vjp_latex={"self": r"{g} \cdot [{self} > 0]"},
    doc="Return max(0, x) for each element x. The gradient at 0 is 0. Source: torch.relu",
)

internal(
    "threshold_backward(Tensor grad_output, Tensor self, Number threshold)",
    forward=_threshold_backward,
    vjp={"grad_output": rule("threshold_backward", "self", "threshold"), "self": flat},
    node="ThresholdBackwardBackward0",
)

with_backward(
    "leaky_relu(Tensor self, Number negative_slope=0.01)",
    inplace=True,
    inplace_fields={"node": "LeakyReluBackward1"},
    forward=floating("leaky_relu_cpu", lambda xp, x, slope: _where(xp, x > 0, x, x * slope)),
    backward=lambda xp, g, x, slope: _where(xp, x > 0, g, g * slope),
    latex=r"\begin{cases} {self} & {self} > 0 \\ {negative_slope} \cdot {self} & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 1 & {self} > 0 \\ {negative_slope} & \text{else} \end{cases}"
    },
    samples=lambda s: [(s.randn(2, 3), 0.2)],
)

_prelu_op = internal(
    "_prelu_kernel(Tensor self, Tensor weight)",
    dtype="promote",
    node="PreluKernelBackward0",
    forward=floating("prelu_cpu", lambda xp, x, weight: _where(xp, x > 0, x, weight * x)),
    vjp={
        "self": lambda m, g, self, weight: m.where(self > 0, g, weight * g),
        "weight": lambda m, g, self: m.where(self > 0, 0.0, self * g),
    },
    latex=r"\begin{cases} {self} & {self} > 0 \\ {weight} \cdot {self} & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 1 & {self} > 0 \\ {weight} & \text{else} \end{cases}",
        "weight": r"\sum {g} \cdot \min({self}, 0)",
    },
    samples=lambda s: [(s.randn(2, 3), s.randn(1, 3))],
)


def _hardtanh(xp, self, low, high):
    if self.dtype.kind in "bu":
        raise not_implemented("hardtanh_cpu", self.dtype)
    return xp.minimum(xp.maximum(self, self.dtype.type(low)), self.dtype.type(high))


with_backward(
    "hardtanh(Tensor self, Number min_val=-1.0, Number max_val=1.0)",
    inplace=True,
    forward=_hardtanh,
    backward=lambda xp, g, x, low, high: select(xp, xp.logical_not((x <= low) | (x >= high)), g),
    latex=r"\min(\max({self}, {min_val}), {max_val})",
    vjp_latex={"self": r"{g} \cdot [{min_val} < {self} < {max_val}]"},
    samples=lambda s: [(s.randn(2, 3), -0.5, 0.7)],
)


def _keep_beyond(xp, values, x, limit):
    """Return `values` where abs(x) > `limit`, else zero."""
    return select(xp, xp.logical_not((x >= -limit) & (x <= limit)), values)


def _softshrink(xp, x, limit):
    return _where(xp, x > limit, x - limit, _where(xp, x < -limit, x + limit, x * 0))


_SHRINKING: dict[str, Any] = {
    "backward": _keep_beyond,
    "again": ("hardshrink_backward", "self", "lambd"),
    "vjp_latex": {"self": r"{g} \cdot [|{self}| > {lambd}]"},
    "samples": lambda s: [(s.randn(2, 3), 0.2)],
}
with_backward(
    "softshrink(Tensor self, Number lambd=0.5)",
    forward=floating("softshrink_check", _softshrink),
    latex=r"\begin{cases} {self} - {lambd} & {self} > {lambd} \\ {self} + {lambd} & {self} < -{lambd} \\ "
    r"0 & \text{else} \end{cases}",
    **_SHRINKING,
)
with_backward(
    "hardshrink(Tensor self, Number lambd=0.5)",
    forward=floating("hardshrink_cpu", lambda xp, x, limit: _keep_beyond(xp, x, x, limit)),
    latex=r"{self} \cdot [|{self}| > {lambd}]",
    **_SHRINKING,
)


# -- exponential functions -------------------------------------------------------------------------------------------
def _elu(xp, x, alpha, scale, input_scale):
    below = xp.expm1(xp.minimum(x, 0) * input_scale) * (alpha * scale)
    return _where(xp, x > 0, x * scale, below)


def _elu_rule(m, g, self, alpha, scale, input_scale):
    below = g * (input_scale * alpha * scale) * m.exp(m.clamp(self, None, 0) * input_scale)
    return m.where(self <= 0, below, g * scale)


internal(
    "elu(Tensor self, Number alpha=1.0, Number scale=1, Number input_scale=1)",
    inplace=True,
    inplace_fields={"node": "EluBackward1"},
    forward=floating("elu_cpu", _elu),
    vjp={"self": _elu_rule},
    latex=r"\begin{cases} {scale} \cdot {self} & {self} > 0 \\ "
    r"{alpha} \cdot {scale} \cdot (e^{{input_scale} \cdot {self}} - 1) & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} {scale} & {self} > 0 \\ {alpha} \cdot {scale} \cdot {input_scale} \cdot "
        r"e^{{input_scale} \cdot {self}} & \text{else} \end{cases}"
    },
    samples=lambda s: [(s.randn(2, 3), SELU_ALPHA, SELU_SCALE, 0.5)],
)


def _silu_rule(m, g, self):
    sigmoid = m.sigmoid(self)
    return g * (sigmoid * (1 + self * (1 - sigmoid)))


internal(
    "silu(Tensor self)",
    inplace=True,
    forward=floating("silu_cpu", lambda xp, x: x / (1 + xp.exp(-x))),
    vjp={"self": _silu_rule},
    latex=r"\frac{{self}}{1 + e^{-{self}}}",
    vjp_latex={
        "self": r"{g} \cdot \frac{1 + e^{-{self}} + {self} \cdot e^{-{self}}}{(1 + e^{-{self}})^{2}}"
    },
)


def _softplus(xp, x, beta, threshold):
    z = x * beta
    return _where(xp, z > threshold, x, xp.log1p(xp.exp(xp.minimum(z, threshold))) / beta)


def _softplus_rule(m, g, self, beta, threshold):
    return m.where(self * beta > threshold, g, g * m.sigmoid(self * beta))


internal(
    "softplus(Tensor self, Number beta=1, Number threshold=20)",
    forward=floating("softplus_cpu", _softplus),
    vjp={"self": _softplus_rule},
    latex=r"\ln(1 + e^{{beta} \cdot {self}}) / {beta}",
    vjp_latex={"self": r"\frac{{g}}{1 + e^{-{beta} \cdot {self}}}"},
    samples=lambda s: [(s.randn(2, 3), 2.0, 0.3)],
)


def _gelu_tanh(m, x):
    """Return the tanh in gelu's approximation, and the derivative of the tanh's argument."""
    inner = _GELU_SLOPE * (x + _GELU_CUBE * x * x * x)
    return m.tanh(inner), _GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x)


def _gelu(xp, x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + _gelu_tanh(xp, x)[0])
    message = "approximate argument must be either none or tanh."
    refuse_if(approximate != "none", message, "Only these two formulas exist.")
    return x * (0.5 * (1 + erf(xp, x * math.sqrt(0.5))))


def _gelu_rule(m, g, self, approximate):
    if approximate == "tanh":
        x = m.clamp(self, -16, 16)  # tanh is 1 beyond these limits, and x * x would overflow
        t, slope = _gelu_tanh(m, x)
        return g * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * slope)
    density = m.exp(-0.5 * self * self) / math.sqrt(2 * math.pi)
    return g * (0.5 * (1 + m.erf(self * math.sqrt(0.5))) + self * density)


internal(
    "gelu(Tensor self, *, str approximate='none')",
    forward=floating("GeluKernelImpl", _gelu),
    vjp={"self": _gelu_rule},
    latex=r"{self} \cdot \Phi({self})",
    vjp_latex={"self": r"{g} \cdot (\Phi({self}) + {self} \cdot \varphi({self}))"},
    samples=lambda s: [(s.randn(3), "none"), (s.randn(2, 3), "tanh")],
)


def _log_sigmoid(xp, x):
    x = row_major(xp, x) if x.ndim else x
    return xp.minimum(x, 0) - xp.log1p(xp.exp(-abs(x)))


internal(
    "log_sigmoid(Tensor self)",
    forward=floating("log_sigmoid_cpu", _log_sigmoid),
    vjp={"self": lambda m, g, self: g * m.sigmoid(-self)},
    latex=r"-\ln(1 + e^{-{self}})",
    vjp_latex={"self": r"\frac{{g}}{1 + e^{{self}}}"},
)


# -- functions with a weight per channel -----------------------------------------------------------------------------
@composite(method=True)
def prelu(input, weight):
    """Return input where it is positive, else weight * input. There is one weight, or one for each channel (dimension
    1).

    Raise RuntimeError if the number of weights or the dtype does not match. Source: torch.prelu."""
    if (casting := per_thread.state.autocast) is not None:
        input, weight = casting.lowered(input, weight)
    count, channels = weight.numel(), input.shape[1] if input.ndim >= 2 else 1
    refuse_if(
        input.dtype is not weight.dtype,
        f"prelu: Type promoting not supported. Got {input.dtype.short} and {weight.dtype.short}",
        "Convert the input or the module: both need one dtype.",
    )
    refuse_if(
        count not in (1, channels),
        f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and "
        f"channel size = {channels}.",
        "One weight for each channel, which are dimension 1, or one for all.",
    )
    if input.ndim > 1:
        weight = weight.reshape([1, count] + [1] * (input.ndim - 2))
    return _prelu_op.call(input, weight)
