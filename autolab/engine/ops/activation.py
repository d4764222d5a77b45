"""Activations: what a layer does to its scores. `sigmoid` and `tanh` are with the other pointwise functions.

Every function has an op for its backward formula too, as PyTorch has, so that the gradient of a gradient carries
PyTorch's names (`LeakyReluBackwardBackward0`) and a backward pass is one kernel. Sources:
https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import no_complex, not_implemented
from ..kernels import elementwise
from ..core.record import OPS
from .functions import composite, internal, register
from ..exact.error_function import erf
from .shape import row_major

# Klambauer et al., "Self-Normalizing Neural Networks" (2017)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_GELU_SLOPE, _GELU_CUBE = (
    math.sqrt(2 / math.pi),
    0.044715,
)  # Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016)
_FEW = 512


def floating(torch_name, kernel):
    """`kernel` for floating-point arrays only; float16 is computed in float32, as PyTorch does.

    Raises NotImplementedError in PyTorch's words, which name the kernel, for other dtypes."""

    def forward(xp, x, *rest):
        d = x.dtype
        if d.kind != "f":
            raise not_implemented(torch_name, d)
        if d.itemsize > 2:
            return kernel(xp, x, *rest)
        result = kernel(
            xp, *(a.astype(np.float32) if getattr(a, "dtype", None) == d else a for a in (x, *rest))
        )
        return tuple(r.astype(d) for r in result) if result.__class__ is tuple else result.astype(d)

    return forward


def select(xp, mask, values):
    """`values` where `mask`, else zero. On big arrays by bits: on a random mask `where` is 15 times slower."""
    if values.size < _FEW or xp is not np or values.shape != mask.shape or values.dtype.kind != "f":
        return xp.where(mask, values, values.dtype.type(0))[()]
    word = np.dtype(f"i{values.dtype.itemsize}")
    bits = np.negative(mask.view(np.int8)).astype(word)
    return np.bitwise_and(
        bits, values.view(word), out=bits if bits.strides == values.strides else None
    ).view(values.dtype)


def _where(xp, condition, a, b):
    return xp.where(condition, a, b)[()]


def logistic(xp, x):
    """The kernel of `sigmoid`."""
    return OPS["sigmoid"].forward(xp, x)


# -- bent lines ------------------------------------------------------------------------------------------------------
def _relu(x):
    return np.maximum(x, x.dtype.type(0)) if x.size < elementwise.BIG else elementwise.relu(x)


def _relu_forward(xp, self):
    no_complex(self, "clamp is not supported for complex types")
    if self.dtype == bool:
        raise fail(
            RuntimeError,
            "Boolean inputs not supported for relu",
            "A mask has no negative part to cut off.",
        )
    return _relu(self) if xp is np else xp.maximum(self, 0)


def _threshold_backward(xp, g, x, threshold):
    if xp is not np or g.size < elementwise.BIG or g.dtype.kind != "f" or g.shape != x.shape:
        return select(xp, xp.logical_not(x <= threshold), g)
    return elementwise.pass_above(g, x, threshold)


def _flat(m, g):
    """The rule of a slope that is constant in pieces: no gradient, but a place in the graph, as in PyTorch."""
    return m.zeros_like(g)


register(
    "relu(Tensor self)",
    forward=_relu_forward,
    vjp={"self": lambda m, g, result: m.threshold_backward(g, result, 0)},
    fast=_relu,
    inplace=True,
    latex=r"\max(0, {self})",
    vjp_latex={"self": r"{g} \cdot [{self} > 0]"},
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="Each element, but at least 0. The gradient at 0 is 0. Source: torch.relu",
)

internal(
    "threshold(Tensor self, Number threshold, Number value)",
    inplace=True,
    inplace_fields={"node": "ThresholdBackward1"},
    forward=lambda xp, self, threshold, value: _where(
        xp, self <= threshold, self.dtype.type(value), self
    ),
    vjp={"self": lambda m, g, self, threshold: m.threshold_backward(g, self, threshold)},
    latex=r"\begin{cases} {self} & {self} > {threshold} \\ {value} & \text{else} \end{cases}",
    vjp_latex={"self": r"{g} \cdot [{self} > {threshold}]"},
    samples=lambda s: [(s.randn(3), 0.1, 20.0)],
)

internal(
    "threshold_backward(Tensor grad_output, Tensor self, Number threshold)",
    forward=_threshold_backward,
    vjp={
        "grad_output": lambda m, g, self, threshold: m.threshold_backward(g, self, threshold),
        "self": _flat,
    },
    node="ThresholdBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), 0.1)],
)

internal(
    "leaky_relu(Tensor self, Number negative_slope=0.01)",
    inplace=True,
    inplace_fields={"node": "LeakyReluBackward1"},
    forward=floating("leaky_relu_cpu", lambda xp, x, slope: _where(xp, x > 0, x, x * slope)),
    vjp={"self": lambda m, g, self, negative_slope: m.leaky_relu_backward(g, self, negative_slope)},
    latex=r"\begin{cases} {self} & {self} > 0 \\ {negative_slope} \cdot {self} & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 1 & {self} > 0 \\ {negative_slope} & \text{else} \end{cases}"
    },
    samples=lambda s: [s.randn(3), (s.randn(2, 3), 0.2)],
)

internal(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Number negative_slope)",
    forward=lambda xp, g, x, slope: _where(xp, x > 0, g, g * slope),
    vjp={
        "grad_output": lambda m, g, self, negative_slope: m.leaky_relu_backward(
            g, self, negative_slope
        ),
        "self": _flat,
    },
    node="LeakyReluBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), 0.2)],
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
    samples=lambda s: [(s.randn(2, 3), s.randn(1, 3)), (s.randn(4), s.randn(1))],
)


def _hardtanh(xp, self, low, high):
    if self.dtype.kind in "bu":
        message = (
            "Bool inputs not supported for hardtanh"
            if self.dtype == bool
            else "cannot do hardtanh on an unsigned type with negative limits"
        )
        if self.dtype == bool or low < 0 or high < 0:
            raise fail(RuntimeError, message, "Convert the numbers with .float() first.")
    return xp.minimum(xp.maximum(self, self.dtype.type(low)), self.dtype.type(high))


internal(
    "hardtanh(Tensor self, Number min_val=-1.0, Number max_val=1.0)",
    inplace=True,
    forward=_hardtanh,
    vjp={
        "self": lambda m, g, self, min_val, max_val: m.hardtanh_backward(g, self, min_val, max_val)
    },
    latex=r"\min(\max({self}, {min_val}), {max_val})",
    vjp_latex={"self": r"{g} \cdot [{min_val} < {self} < {max_val}]"},
    samples=lambda s: [s.randn(3), (s.randn(2, 3), -0.5, 0.7)],
)

internal(
    "hardtanh_backward(Tensor grad_output, Tensor self, Number min_val, Number max_val)",
    forward=lambda xp, g, x, low, high: select(xp, xp.logical_not((x <= low) | (x >= high)), g),
    vjp={
        "grad_output": lambda m, g, self, min_val, max_val: m.hardtanh_backward(
            g, self, min_val, max_val
        ),
        "self": _flat,
    },
    node="HardtanhBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), -0.5, 0.7)],
)

internal(
    "hardswish(Tensor self)",
    inplace=True,
    forward=floating("hardswish_cpu", lambda xp, x: x * xp.minimum(xp.maximum(x + 3, 0), 6) / 6),
    vjp={"self": lambda m, g, self: m.hardswish_backward(g, self)},
    latex=r"{self} \cdot \min(\max({self} + 3, 0), 6) / 6",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 0 & {self} \le -3 \\ 1 & {self} \ge 3 \\ {self} / 3 + 1/2 & \text{else} "
        r"\end{cases}"
    },
    samples=lambda s: [s.randn(3)],
)

internal(
    "hardswish_backward(Tensor grad_output, Tensor self)",
    forward=lambda xp, g, x: _where(xp, x <= -3, g * 0, _where(xp, x < 3, g * (x / 3 + 0.5), g)),
    vjp={
        "grad_output": lambda m, g, self: m.hardswish_backward(g, self),
        "self": lambda m, g, grad_output, self: m.hardtanh_backward(
            g * grad_output / 3, self, -3, 3
        ),
    },
    node="HardswishBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3))],
)

internal(
    "softshrink(Tensor self, Number lambd=0.5)",
    forward=floating(
        "softshrink_check",
        lambda xp, x, limit: _where(
            xp, x > limit, x - limit, _where(xp, x < -limit, x + limit, x * 0)
        ),
    ),
    vjp={"self": lambda m, g, self, lambd: m.softshrink_backward(g, self, lambd)},
    latex=r"\begin{cases} {self} - {lambd} & {self} > {lambd} \\ {self} + {lambd} & {self} < -{lambd} \\ "
    r"0 & \text{else} \end{cases}",
    vjp_latex={"self": r"{g} \cdot [|{self}| > {lambd}]"},
    samples=lambda s: [s.randn(3), (s.randn(2, 3), 0.2)],
)

register(
    "hardshrink(Tensor self, Number lambd=0.5)",
    forward=floating(
        "hardshrink_cpu",
        lambda xp, x, limit: select(xp, xp.logical_not((x >= -limit) & (x <= limit)), x),
    ),
    vjp={"self": lambda m, g, self, lambd: m.hardshrink_backward(g, self, lambd)},
    latex=r"{self} \cdot [|{self}| > {lambd}]",
    vjp_latex={"self": r"{g} \cdot [|{self}| > {lambd}]"},
    samples=lambda s: [s.randn(3), (s.randn(2, 3), 0.2)],
    doc="Each element, and 0 where its size is at most lambd. Source: torch.nn.functional.hardshrink",
)

for _name in ("softshrink", "hardshrink"):
    internal(
        f"{_name}_backward(Tensor grad_output, Tensor self, Number lambd)",
        forward=lambda xp, g, x, limit: select(xp, xp.logical_not((x >= -limit) & (x <= limit)), g),
        vjp={
            "grad_output": lambda m, g, self, lambd: m.hardshrink_backward(g, self, lambd),
            "self": _flat,
        },
        node=f"{_name.capitalize()}BackwardBackward0",
        samples=lambda s: [(s.randn(3), s.randn(3), 0.2)],
    )

# -- exponential ones ------------------------------------------------------------------------------------------------
_ELU = (
    r"\begin{cases} {scale} \cdot {self} & {self} > 0 \\ "
    r"{alpha} \cdot {scale} \cdot (e^{{input_scale} \cdot {self}} - 1) & \text{else} \end{cases}"
)

internal(
    "elu(Tensor self, Number alpha=1.0, Number scale=1, Number input_scale=1)",
    inplace=True,
    inplace_fields={"node": "EluBackward1"},
    forward=floating(
        "elu_cpu",
        lambda xp, x, alpha, scale, input_scale: _where(
            xp, x > 0, x * scale, xp.expm1(xp.minimum(x, 0) * input_scale) * (alpha * scale)
        ),
    ),
    vjp={
        "self": lambda m, g, self, alpha, scale, input_scale: m.elu_backward(
            g, self, alpha, scale, input_scale
        )
    },
    latex=_ELU,
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} {scale} & {self} > 0 \\ {alpha} \cdot {scale} \cdot {input_scale} \cdot "
        r"e^{{input_scale} \cdot {self}} & \text{else} \end{cases}"
    },
    samples=lambda s: [s.randn(3), (s.randn(2, 3), SELU_ALPHA, SELU_SCALE, 0.5)],
)

internal(
    "elu_backward(Tensor grad_output, Tensor self, Number alpha, Number scale, Number input_scale)",
    forward=lambda xp, g, x, alpha, scale, input_scale: _where(
        xp,
        x <= 0,
        g * (input_scale * alpha * scale) * xp.exp(xp.minimum(x, 0) * input_scale),
        g * scale,
    ),
    vjp={
        "grad_output": lambda m, g, self, alpha, scale, input_scale: m.elu_backward(
            g, self, alpha, scale, input_scale
        ),
        "self": lambda m, g, grad_output, self, alpha, scale, input_scale: (
            m.elu_backward(g * grad_output * input_scale, self, alpha, scale, input_scale)
            - m.threshold_backward(g * grad_output * (scale * input_scale), self, 0)
        ),
    },
    node="EluBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), SELU_ALPHA, SELU_SCALE, 0.5)],
)

internal(
    "celu(Tensor self, Number alpha=1.0)",
    inplace=True,
    inplace_fields={"node": "CeluBackward1"},
    forward=floating(
        "elu_cpu",
        lambda xp, x, alpha: _where(
            xp, x > 0, x, xp.expm1(xp.minimum(x, 0) * (1.0 / alpha)) * alpha
        ),
    ),
    vjp={"self": lambda m, g, self, alpha: m.elu_backward(g, self, alpha, 1, 1.0 / alpha)},
    latex=r"\begin{cases} {self} & {self} > 0 \\ {alpha} \cdot (e^{{self} / {alpha}} - 1) & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 1 & {self} > 0 \\ e^{{self} / {alpha}} & \text{else} \end{cases}"
    },
    samples=lambda s: [s.randn(3), (s.randn(2, 3), 0.5)],
)

internal(
    "silu(Tensor self)",
    inplace=True,
    forward=floating("silu_cpu", lambda xp, x: x / (1 + xp.exp(-x))),
    vjp={"self": lambda m, g, self: _silu_rule(m, g, self, m.sigmoid(self))},
    latex=r"\frac{{self}}{1 + e^{-{self}}}",
    vjp_latex={
        "self": r"{g} \cdot \frac{1 + e^{-{self}} + {self} \cdot e^{-{self}}}{(1 + e^{-{self}})^{2}}"
    },
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
)


def _silu_rule(m, g, x, sigmoid):
    return g * (sigmoid * (1 + x * (1 - sigmoid)))


def _softplus(xp, x, beta, threshold):
    z = x * beta
    return _where(xp, z > threshold, x, xp.log1p(xp.exp(xp.minimum(z, threshold))) / beta)


def _softplus_backward(xp, g, x, beta, threshold):
    z = xp.exp(xp.minimum(x * beta, threshold))
    return _where(xp, x * beta > threshold, g, g * z / (z + 1))


internal(
    "softplus(Tensor self, Number beta=1, Number threshold=20)",
    forward=floating("softplus_cpu", _softplus),
    vjp={"self": lambda m, g, self, beta, threshold: m.softplus_backward(g, self, beta, threshold)},
    latex=r"\ln(1 + e^{{beta} \cdot {self}}) / {beta}",
    vjp_latex={"self": r"\frac{{g}}{1 + e^{-{beta} \cdot {self}}}"},
    samples=lambda s: [s.randn(3), (s.randn(2, 3), 2.0, 20.0), (s.randn(3), 1, 0.3)],
)

internal(
    "softplus_backward(Tensor grad_output, Tensor self, Number beta, Number threshold)",
    forward=_softplus_backward,
    vjp={
        "grad_output": lambda m, g, self, beta, threshold: m.softplus_backward(
            g, self, beta, threshold
        ),
        "self": lambda m, g, grad_output, self, beta, threshold: _softplus_curvature(
            m, g * grad_output, self, beta, threshold
        ),
    },
    node="SoftplusBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), 2.0, 20.0), (s.randn(3), s.randn(3), 1, 0.3)],
)


def _softplus_curvature(m, g, x, beta, threshold):
    s = m.sigmoid(x * beta)
    return m.threshold_backward(g * s * (1 - s) * beta, x * -beta, -threshold)


def _gelu(xp, x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + xp.tanh(_GELU_SLOPE * (x + _GELU_CUBE * x * x * x)))
    if approximate != "none":
        raise fail(
            RuntimeError,
            "approximate argument must be either none or tanh.",
            "Only these two formulas exist.",
        )
    return x * (0.5 * (1 + erf(xp, x * math.sqrt(0.5))))


def _gelu_backward(xp, g, x, approximate):
    if approximate == "tanh":
        t = xp.tanh(_GELU_SLOPE * (x + _GELU_CUBE * x * x * x))
        slope = _GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x)
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    return g * (
        0.5 * (1 + erf(xp, x * math.sqrt(0.5))) + x * xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    )


def _gelu_curvature(m, g, x, approximate):
    if approximate == "none":
        density = m.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        return g * (
            density + (density - x * x * density)
        )  # in this order far from 0 it is 0., not -0.
    t = m.tanh(_GELU_SLOPE * (x + _GELU_CUBE * x * x * x))
    slope = _GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x)
    bend = 1 - t * t
    rise = bend * slope
    return g * (rise - x * t * rise * slope + x * x * bend * (3 * _GELU_SLOPE * _GELU_CUBE))


internal(
    "gelu(Tensor self, *, str approximate='none')",
    forward=floating("GeluKernelImpl", _gelu),
    vjp={"self": lambda m, g, self, approximate: m.gelu_backward(g, self, approximate)},
    latex=r"{self} \cdot \Phi({self})",
    vjp_latex={"self": r"{g} \cdot (\Phi({self}) + {self} \cdot \varphi({self}))"},
    samples=lambda s: [(s.randn(3), "none"), (s.randn(2, 3), "tanh")],
)

internal(
    "gelu_backward(Tensor grad_output, Tensor self, str approximate)",
    forward=floating("GeluBackwardKernelImpl", _gelu_backward),
    vjp={
        "grad_output": lambda m, g, self, approximate: m.gelu_backward(g, self, approximate),
        "self": lambda m, g, grad_output, self, approximate: _gelu_curvature(
            m, g * grad_output, self, approximate
        ),
    },
    node="GeluBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3), "none"), (s.randn(3), s.randn(3), "tanh")],
)


def _log_sigmoid(xp, x):
    x = row_major(xp, x) if x.ndim else x
    z = xp.exp(-abs(x))
    return xp.minimum(x, 0) - xp.log1p(z), z


internal(
    "log_sigmoid(Tensor self)",
    forward=floating("log_sigmoid_cpu", _log_sigmoid),
    outputs=("output", "buffer"),
    nondiff=("buffer",),
    vjp={"self": lambda m, g, self: m.log_sigmoid_backward(g[0], self)},
    also_saves=("buffer",),
    latex=r"-\ln(1 + e^{-{self}})",
    vjp_latex={"self": r"\frac{{g}}{1 + e^{{self}}}"},
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
)

internal(
    "log_sigmoid_backward(Tensor grad_output, Tensor self)",
    forward=lambda xp, g, x: g * logistic(xp, -x),
    vjp={
        "grad_output": lambda m, g, self: m.log_sigmoid_backward(g, self),
        "self": lambda m, g, grad_output, self: (
            g * grad_output * (m.sigmoid(self) * (m.sigmoid(self) - 1))
        ),
    },
    node="LogSigmoidBackwardBackward0",
    samples=lambda s: [(s.randn(3), s.randn(3))],
)


# -- per channel -----------------------------------------------------------------------------------------------------
@composite(method=True)
def prelu(input, weight):
    """input where it is positive, else weight * input; one weight, or one for each channel (dimension 1).

    Raises RuntimeError when the number of weights or the dtype does not fit. Source: torch.prelu."""
    if input.dtype is not weight.dtype:
        raise fail(
            RuntimeError,
            f"prelu: Type promoting not supported. Got {input.dtype.short} and {weight.dtype.short}",
            "Convert the input or the module: both need one dtype.",
        )
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim >= 2 else 1
        if input.ndim == 0:
            raise fail(
                RuntimeError, "Not allow zero-dim input tensor.", "Channels are dimension 1."
            )
        if channels != weight.numel():
            raise fail(
                RuntimeError,
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
                f"channel size = {channels}.",
                "PReLU(num_parameters) is the number of channels, or 1.",
            )
    if weight.ndim > 1:
        raise fail(
            RuntimeError,
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}",
            "One weight for each channel.",
        )
    if input.ndim == 0:
        weight = weight.reshape(()) if weight.ndim else weight
    elif input.ndim != 1 or weight.ndim != 1:
        shape = [1] * input.ndim
        if input.ndim >= 2:
            shape[1] = weight.numel()
        weight = weight.reshape(shape)
    return _prelu_op.call(input, weight)
