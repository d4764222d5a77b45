"""Functions of one number, applied to each element: exponentials, logarithms, roots, absolute value, sigmoid, special
functions.

Trigonometric functions, rounding, selection (clamp, where …) and functions of two tensors have files of their own.
Sources: https://docs.pytorch.org/docs/2.13/torch.html#pointwise-ops
"""

from __future__ import annotations

import math

import numpy as np

from ..exact import precise
from ..exact.error_function import erf
from ..core.errors import fail
from ..exact.dtype_errors import no_complex, not_implemented
from .functions import METHODS, NAMESPACES, composite, internal, register

_SPECIAL = NAMESPACES["special"]


def elementwise(schema, fast, rule, *, latex, gradient, samples, doc, **fields):
    """Register a differentiable function of one float number. Ints become the default float, and there is an in-place
    variant.

    fast: the kernel for NumPy arrays and scalars. Other array modules use their function of the same name; a lambda is
    made of operators, so it works on any array. Where neither fits, pass `forward`."""
    name = fast.__name__

    def same_name(xp, self):
        return fast(self) if xp is np or name == "<lambda>" else getattr(xp, name)(self)

    forward = fields.pop("forward", same_name)
    return register(
        schema,
        forward=forward,
        fast=fast,
        dtype="float",
        inplace=True,
        vjp={"self": rule},
        latex=latex,
        vjp_latex={"self": gradient},
        samples=samples,
        doc=f"{doc} Source: torch.{schema.split('(')[0]}",
        **fields,
    )


# -- exponentials and logarithms ---------------------------------------------------------------------------------------
elementwise(
    "exp(Tensor self)",
    precise.unary("exp"),
    lambda m, g, result: g * result,
    latex=r"e^{{self}}",
    gradient=r"{g} \cdot {result}",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="e to the power of each element.",
)
elementwise(
    "exp2(Tensor self)",
    precise.unary("exp2"),
    lambda m, g, result: m.mul_scalar(g * result, math.log(2)),
    latex=r"2^{{self}}",
    gradient=r"{g} \cdot {result} \cdot \ln 2",
    samples=lambda s: [s.randn(3)],
    doc="2 to the power of each element.",
)
elementwise(
    "expm1(Tensor self)",
    precise.unary("expm1"),
    lambda m, g, result: g * (result + 1),
    latex=r"e^{{self}} - 1",
    gradient=r"{g} \cdot ({result} + 1)",
    samples=lambda s: [s.randn(3)],
    doc="exp(x) - 1, without losing digits at small x.",
)
elementwise(
    "log(Tensor self)",
    precise.unary("log"),
    lambda m, g, self: g / self,
    latex=r"\ln {self}",
    gradient=r"\frac{{g}}{{self}}",
    samples=lambda s: [s.positive(3), s.positive(2, 3)],
    doc="The natural logarithm of each element: -inf at 0, nan below.",
)
elementwise(
    "log2(Tensor self)",
    precise.unary("log2"),
    lambda m, g, self: g / (self * math.log(2)),
    latex=r"\log_2 {self}",
    gradient=r"\frac{{g}}{{self} \cdot \ln 2}",
    samples=lambda s: [s.positive(3)],
    doc="The logarithm to base 2 of each element.",
)
elementwise(
    "log10(Tensor self)",
    precise.unary("log10"),
    lambda m, g, self: g / (self * math.log(10)),
    latex=r"\log_{10} {self}",
    gradient=r"\frac{{g}}{{self} \cdot \ln 10}",
    samples=lambda s: [s.positive(3)],
    doc="The logarithm to base 10 of each element.",
)
elementwise(
    "log1p(Tensor self)",
    precise.unary("log1p"),
    lambda m, g, self: g / (self + 1),
    node="Log1PBackward0",
    latex=r"\ln (1 + {self})",
    gradient=r"\frac{{g}}{{self} + 1}",
    samples=lambda s: [s.positive(3)],
    doc="log(1 + x), without losing digits at small x.",
)


# -- powers and roots --------------------------------------------------------------------------------------------------
elementwise(
    "sqrt(Tensor self)",
    np.sqrt,
    lambda m, g, result: g / m.mul_scalar(result, 2),
    latex=r"\sqrt{{self}}",
    gradient=r"\frac{{g}}{2 \cdot {result}}",
    samples=lambda s: [s.positive(3), s.positive(2, 3)],
    doc="The square root of each element; nan below 0. The gradient at 0 is infinite.",
)


def _rsqrt(x):
    return 1 / np.sqrt(x)


def _reciprocal(x):
    return 1 / x


elementwise(
    "rsqrt(Tensor self)",
    _rsqrt,
    lambda m, g, result: -0.5 * g * (result * result * result),
    forward=lambda xp, self: 1 / xp.sqrt(self),
    latex=r"\frac{1}{\sqrt{{self}}}",
    gradient=r"-\frac{1}{2} \cdot {g} \cdot {result}^{3}",
    samples=lambda s: [s.positive(3)],
    doc="One over the square root of each element.",
)
elementwise(
    "reciprocal(Tensor self)",
    _reciprocal,
    lambda m, g, result: -g * (result * result),
    forward=lambda xp, self: 1 / self,
    latex=r"\frac{1}{{self}}",
    gradient=r"-{g} \cdot {result}^{2}",
    samples=lambda s: [s.away_from_zero(3)],
    doc="One over each element.",
)


# -- size and sign -----------------------------------------------------------------------------------------------------
def _abs(xp, self):
    if self.dtype == bool:
        raise not_implemented("abs_cpu", self.dtype)
    return xp.abs(self)


def _sign(xp, self):
    """-1, 0 or 1; 0 for nan, as in torch."""
    if self.dtype == bool:
        return self.copy("K")
    return ((self > 0).astype(self.dtype) - (self < 0))[()]


absolute = register(
    "abs(Tensor self)",
    forward=_abs,
    fast=np.abs,
    inplace=True,
    vjp={"self": lambda m, g, self: g * m.sgn(self)},
    dtype=None,
    latex=r"\left| {self} \right|",
    vjp_latex={"self": r"{g} \cdot \mathrm{sgn}({self})"},
    samples=lambda s: [s.away_from_zero(3), s.away_from_zero(2, 3)],
    doc="The absolute value of each element. The gradient at 0 is 0. Source: torch.abs",
)
METHODS["__abs__"] = METHODS["absolute"] = METHODS["abs"]
METHODS["absolute_"] = METHODS["abs_"]
NAMESPACES[""]["absolute"] = NAMESPACES[""]["abs"]


def _real_sign(xp, self):
    no_complex(
        self,
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
        "instead.",
    )
    return _sign(xp, self)


for _name, _kernel, _saved in (("sign", _real_sign, ()), ("sgn", _sign, ("result", "self"))):
    register(
        f"{_name}(Tensor self)",
        forward=_kernel,
        inplace=True,
        vjp={"self": lambda m, g: m.zeros_like(g)},
        also_saves=_saved,
        latex=r"\mathrm{sgn}({self})",
        vjp_latex={"self": "0"},
        samples=lambda s: [s.away_from_zero(3)],
        doc=f"-1, 0 or 1: the sign of each element. Its gradient is 0. Source: torch.{_name}",
    )


@composite(method=True)
def positive(input):
    """The tensor itself. Raises RuntimeError for bool tensors. Source: torch.positive."""
    if input.dtype.name == "bool":
        raise fail(
            RuntimeError,
            "The `+` operator, on a bool tensor is not supported.",
            "Convert the mask to numbers first: mask.int().",
        )
    return input


# -- sigmoid, tanh -----------------------------------------------------------------------------------------------------
_exp = precise.unary("exp")


def _sigmoid(x):
    return 1 / (1 + _exp(-x))


elementwise(
    "sigmoid(Tensor self)",
    _sigmoid,
    lambda m, g, result: m.sigmoid_backward(g, result),
    forward=lambda xp, self: _sigmoid(self) if xp is np else 1 / (1 + xp.exp(-self)),
    latex=r"\sigma({self})",
    gradient=r"{g} \cdot (1 - {result}) \cdot {result}",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="1 / (1 + exp(-x)): squeezes each element between 0 and 1.",
)
elementwise(
    "tanh(Tensor self)",
    precise.unary("tanh"),
    lambda m, g, result: m.tanh_backward(g, result),
    latex=r"\tanh {self}",
    gradient=r"{g} \cdot (1 - {result}^{2})",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="The hyperbolic tangent: squeezes each element between -1 and 1.",
)

# ops of their own, as in torch, so that a backward pass costs one kernel and its graph carries torch's names
internal(
    "sigmoid_backward(Tensor grad_output, Tensor output)",
    forward=lambda xp, grad_output, output: grad_output * (1 - output) * output,
    vjp={
        "grad_output": lambda m, g, output: m.sigmoid_backward(g, output),
        "output": lambda m, g, grad_output, output: g * grad_output * (-2 * output + 1),
    },
    node="SigmoidBackwardBackward0",
    latex=r"{grad_output} \cdot (1 - {output}) \cdot {output}",
    vjp_latex={
        "grad_output": r"{g} \cdot (1 - {output}) \cdot {output}",
        "output": r"{g} \cdot {grad_output} \cdot (1 - 2 \cdot {output})",
    },
    samples=lambda s: [(s.randn(3), s.randn(3))],
)
internal(
    "tanh_backward(Tensor grad_output, Tensor output)",
    forward=lambda xp, grad_output, output: grad_output * (1 - output * output),
    vjp={
        "grad_output": lambda m, g, output: m.tanh_backward(g, output),
        "output": lambda m, g, grad_output, output: g * (-2 * output * grad_output),
    },
    node="TanhBackwardBackward0",
    latex=r"{grad_output} \cdot (1 - {output}^{2})",
    vjp_latex={
        "grad_output": r"{g} \cdot (1 - {output}^{2})",
        "output": r"-2 \cdot {g} \cdot {output} \cdot {grad_output}",
    },
    samples=lambda s: [(s.randn(3), s.randn(3))],
)


_log = precise.unary("log")


# -- the error function ----------------------------------------------------------------------------------------------
elementwise(
    "erf(Tensor self)",
    lambda x: erf(np, x)[()],
    lambda m, g, self: 2 / math.sqrt(math.pi) * m.exp(-(self * self)) * g,
    forward=lambda xp, self: erf(xp, self)[()],
    latex=r"\mathrm{erf}({self})",
    gradient=r"\frac{2}{\sqrt{\pi}} \cdot e^{-{self}^{2}} \cdot {g}",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="The error function: the probability that a bell curve gives to [-x, x].",
)


# -- names of torch.special --------------------------------------------------------------------------------------------
for _name, _same in {
    "erf": "erf",
    "exp2": "exp2",
    "expm1": "expm1",
    "log1p": "log1p",
    "expit": "sigmoid",
}.items():
    _SPECIAL[_name] = NAMESPACES[""][_same]
