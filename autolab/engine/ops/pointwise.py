"""Elementwise functions of one number: exponentials, logarithms, roots, absolute value, sigmoid, special functions.

Trigonometric functions, rounding, selection (clamp, where …) and functions of two tensors have their own files.
Sources: https://docs.pytorch.org/docs/2.13/torch.html#pointwise-ops
"""

from __future__ import annotations

import math

import numpy as np

from ..exact import precise
from ..exact.error_function import erf
from ..exact.dtype_errors import not_implemented
from .functions import METHODS, NAMESPACES, internal, register


def elementwise(name, rule, tex, gradient, doc, samples=None, numpy="", kernel=None, **fields):
    """Register a differentiable elementwise function of floats, with its in-place form; ints become the default float.

    numpy: NumPy's name of the function if it differs; it becomes public, too. kernel: a function of NumPy arrays and
    scalars, if NumPy has none; a lambda of operators works on any array. If neither works for other array modules, pass
    `forward`. samples: normal numbers by default."""
    kernel = kernel or precise.unary(numpy or name)

    def same_name(xp, self):
        any_array = xp is np or kernel.__name__ == "<lambda>"
        return kernel(self) if any_array else getattr(xp, numpy or name)(self)

    fields.setdefault("forward", same_name)
    register(
        f"{name}(Tensor self)",
        fast=kernel,
        dtype="float",
        inplace=True,
        vjp={"self": rule},
        latex=tex,
        vjp_latex={"self": gradient},
        samples=samples or (lambda s: [s.randn(3)]),
        doc=f"{doc} Source: torch.{name}",
        **fields,
    )
    for table in (METHODS, NAMESPACES[""]) if numpy else ():
        for end in ("", "_"):
            table[numpy + end] = table[name + end]


def _any(s):
    return [s.randn(3), s.randn(2, 3)]


def _positive(s):
    return [s.positive(3)]


# -- exponentials and logarithms ---------------------------------------------------------------------------------------
elementwise(
    "exp",
    lambda m, g, result: g * result,
    r"e^{{self}}",
    r"{g} \cdot {result}",
    "Return e to the power of each element.",
    _any,
)
elementwise(
    "exp2",
    lambda m, g, result: m.mul_scalar(g * result, math.log(2)),
    r"2^{{self}}",
    r"{g} \cdot {result} \cdot \ln 2",
    "Return 2 to the power of each element.",
)
elementwise(
    "log",
    lambda m, g, self: g / self,
    r"\ln {self}",
    r"\frac{{g}}{{self}}",
    "Return the natural logarithm of each element: -inf at 0, nan below.",
    lambda s: [s.positive(3), s.positive(2, 3)],
)
elementwise(
    "log2",
    lambda m, g, self: g / (self * math.log(2)),
    r"\log_2 {self}",
    r"\frac{{g}}{{self} \cdot \ln 2}",
    "Return the logarithm to base 2 of each element.",
    _positive,
)
elementwise(
    "log10",
    lambda m, g, self: g / (self * math.log(10)),
    r"\log_{10} {self}",
    r"\frac{{g}}{{self} \cdot \ln 10}",
    "Return the logarithm to base 10 of each element.",
    _positive,
)
elementwise(
    "log1p",
    lambda m, g, self: g / (self + 1),
    r"\ln (1 + {self})",
    r"\frac{{g}}{{self} + 1}",
    "Return log(1 + x), without losing digits at small x.",
    _positive,
    node="Log1PBackward0",
)

# -- powers and roots --------------------------------------------------------------------------------------------------
elementwise(
    "sqrt",
    lambda m, g, result: g / m.mul_scalar(result, 2),
    r"\sqrt{{self}}",
    r"\frac{{g}}{2 \cdot {result}}",
    "Return the square root of each element; nan below 0. The gradient at 0 is infinite.",
    lambda s: [s.positive(3), s.positive(2, 3)],
    kernel=np.sqrt,
)
elementwise(
    "rsqrt",
    lambda m, g, result: -0.5 * g * (result * result * result),
    r"\frac{1}{\sqrt{{self}}}",
    r"-\frac{1}{2} \cdot {g} \cdot {result}^{3}",
    "Return one over the square root of each element.",
    _positive,
    kernel=lambda x: 1 / np.sqrt(x),
    forward=lambda xp, self: 1 / xp.sqrt(self),
)
elementwise(
    "reciprocal",
    lambda m, g, result: -g * (result * result),
    r"\frac{1}{{self}}",
    r"-{g} \cdot {result}^{2}",
    "Return one over each element.",
    lambda s: [s.away_from_zero(3)],
    kernel=lambda x: 1 / x,
)


# -- absolute value and sign -------------------------------------------------------------------------------------------
def _abs(xp, self):
    if self.dtype == bool:
        raise not_implemented("abs_cpu", self.dtype)
    return xp.abs(self)


def _sign(xp, self):
    """Return -1, 0 or 1; 0 for nan, as in torch."""
    if self.dtype == bool:
        return self.copy("K")
    return ((self > 0).astype(self.dtype) - (self < 0))[()]


absolute = register(
    "abs(Tensor self)",
    forward=_abs,
    fast=np.abs,
    inplace=True,
    vjp={"self": lambda m, g, self: g * m.sgn(self)},
    latex=r"\left| {self} \right|",
    vjp_latex={"self": r"{g} \cdot \mathrm{sgn}({self})"},
    samples=lambda s: [s.away_from_zero(3), s.away_from_zero(2, 3)],
    doc="Return the absolute value of each element. The gradient at 0 is 0. Source: torch.abs",
)
METHODS["__abs__"] = METHODS["absolute"] = METHODS["abs"]
METHODS["absolute_"] = METHODS["abs_"]
NAMESPACES[""]["absolute"] = NAMESPACES[""]["abs"]


for _name, _saved in (("sign", ()), ("sgn", ("result", "self"))):
    register(
        f"{_name}(Tensor self)",
        forward=_sign,
        inplace=True,
        vjp={"self": lambda m, g: m.zeros_like(g)},
        also_saves=_saved,
        latex=r"\mathrm{sgn}({self})",
        vjp_latex={"self": "0"},
        samples=lambda s: [s.away_from_zero(3)],
        doc=f"Return -1, 0 or 1: the sign of each element. Its gradient is 0. Source: torch.{_name}",
    )


# -- sigmoid, tanh, the error function ---------------------------------------------------------------------------------
_exp = precise.unary("exp")


def _sigmoid(x):
    return 1 / (1 + _exp(-x))


elementwise(
    "sigmoid",
    lambda m, g, result: m.sigmoid_backward(g, result),
    r"\sigma({self})",
    r"{g} \cdot (1 - {result}) \cdot {result}",
    "Return 1 / (1 + exp(-x)): squeezes each element between 0 and 1.",
    _any,
    kernel=_sigmoid,
    forward=lambda xp, self: _sigmoid(self) if xp is np else 1 / (1 + xp.exp(-self)),
)
elementwise(
    "tanh",
    lambda m, g, result: m.tanh_backward(g, result),
    r"\tanh {self}",
    r"{g} \cdot (1 - {result}^{2})",
    "Return the hyperbolic tangent: squeezes each element between -1 and 1.",
    _any,
)
elementwise(
    "erf",
    lambda m, g, self: 2 / math.sqrt(math.pi) * m.exp(-(self * self)) * g,
    r"\mathrm{erf}({self})",
    r"\frac{2}{\sqrt{\pi}} \cdot e^{-{self}^{2}} \cdot {g}",
    "Return the error function: the probability that a bell curve gives to [-x, x].",
    _any,
    kernel=lambda x: erf(np, x)[()],
    forward=lambda xp, self: erf(xp, self)[()],
)

# These are separate ops, as in torch, so that a backward pass costs one kernel and its graph has torch's names.
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
