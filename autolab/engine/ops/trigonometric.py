"""Trigonometric and hyperbolic functions: sin, cos, tan, their inverses, sinh, cosh."""

from __future__ import annotations


from ..exact import precise
from .functions import METHODS, NAMESPACES
from .pointwise import elementwise


def _renamed(numpy_name, name):
    kernel = precise.unary(numpy_name)
    kernel.__name__ = numpy_name
    for suffix in ("", "_"):
        NAMESPACES[""][f"arc{name[1:]}{suffix}"] = METHODS[f"arc{name[1:]}{suffix}"] = _other_name(
            name + suffix
        )
    return kernel


def _other_name(name):
    """The function that stands for `name`, which is registered later."""

    def call(input):
        return METHODS[name](input)

    call.__doc__ = f"`{name}` under NumPy's name. Source: torch.{name}."
    return call


elementwise(
    "sin(Tensor self)",
    precise.unary("sin"),
    lambda m, g, self: g * m.cos(self),
    latex=r"\sin {self}",
    gradient=r"{g} \cdot \cos {self}",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="The sine (of radians).",
)
elementwise(
    "cos(Tensor self)",
    precise.unary("cos"),
    lambda m, g, self: g * -m.sin(self),
    latex=r"\cos {self}",
    gradient=r"-{g} \cdot \sin {self}",
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="The cosine (of radians).",
)
elementwise(
    "tan(Tensor self)",
    precise.unary("tan"),
    lambda m, g, result: g * (1 + result * result),
    latex=r"\tan {self}",
    gradient=r"{g} \cdot (1 + {result}^{2})",
    samples=lambda s: [s.uniform(-1, 1, 3)],
    doc="The tangent (of radians).",
)
elementwise(
    "asin(Tensor self)",
    _renamed("arcsin", "asin"),
    lambda m, g, self: g * m.rsqrt(-self * self + 1),
    latex=r"\arcsin {self}",
    gradient=r"\frac{{g}}{\sqrt{1 - {self}^{2}}}",
    samples=lambda s: [s.uniform(-0.9, 0.9, 3)],
    doc="The angle in [-pi/2, pi/2] whose sine is x; nan outside [-1, 1].",
)
elementwise(
    "acos(Tensor self)",
    _renamed("arccos", "acos"),
    lambda m, g, self: g * -m.rsqrt(-self * self + 1),
    latex=r"\arccos {self}",
    gradient=r"-\frac{{g}}{\sqrt{1 - {self}^{2}}}",
    samples=lambda s: [s.uniform(-0.9, 0.9, 3)],
    doc="The angle in [0, pi] whose cosine is x; nan outside [-1, 1].",
)
elementwise(
    "atan(Tensor self)",
    _renamed("arctan", "atan"),
    lambda m, g, self: g / (self * self + 1),
    latex=r"\arctan {self}",
    gradient=r"\frac{{g}}{{self}^{2} + 1}",
    samples=lambda s: [s.randn(3)],
    doc="The angle in (-pi/2, pi/2) whose tangent is x.",
)
elementwise(
    "sinh(Tensor self)",
    precise.unary("sinh"),
    lambda m, g, self: g * m.cosh(self),
    latex=r"\sinh {self}",
    gradient=r"{g} \cdot \cosh {self}",
    samples=lambda s: [s.randn(3)],
    doc="The hyperbolic sine.",
)
elementwise(
    "cosh(Tensor self)",
    precise.unary("cosh"),
    lambda m, g, self: g * m.sinh(self),
    latex=r"\cosh {self}",
    gradient=r"{g} \cdot \sinh {self}",
    samples=lambda s: [s.randn(3)],
    doc="The hyperbolic cosine.",
)
