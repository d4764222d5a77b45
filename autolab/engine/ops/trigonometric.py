"""Trigonometric and hyperbolic functions: sin, cos, tan, their inverses, sinh, cosh."""

from __future__ import annotations

from .pointwise import elementwise


def _inside(s):
    return [s.uniform(-0.9, 0.9, 3)]


elementwise(
    "sin",
    lambda m, g, self: g * m.cos(self),
    r"\sin {self}",
    r"{g} \cdot \cos {self}",
    "Return the sine (of radians).",
)
elementwise(
    "cos",
    lambda m, g, self: g * -m.sin(self),
    r"\cos {self}",
    r"-{g} \cdot \sin {self}",
    "Return the cosine (of radians).",
)
elementwise(
    "tan",
    lambda m, g, result: g * (1 + result * result),
    r"\tan {self}",
    r"{g} \cdot (1 + {result}^{2})",
    "Return the tangent (of radians).",
    lambda s: [s.uniform(-1, 1, 3)],
)
elementwise(
    "asin",
    lambda m, g, self: g * m.rsqrt(-self * self + 1),
    r"\arcsin {self}",
    r"\frac{{g}}{\sqrt{1 - {self}^{2}}}",
    "Return the angle in [-pi/2, pi/2] whose sine is x; nan outside [-1, 1].",
    _inside,
    numpy="arcsin",
)
elementwise(
    "acos",
    lambda m, g, self: g * -m.rsqrt(-self * self + 1),
    r"\arccos {self}",
    r"-\frac{{g}}{\sqrt{1 - {self}^{2}}}",
    "Return the angle in [0, pi] whose cosine is x; nan outside [-1, 1].",
    _inside,
    numpy="arccos",
)
elementwise(
    "atan",
    lambda m, g, self: g / (self * self + 1),
    r"\arctan {self}",
    r"\frac{{g}}{{self}^{2} + 1}",
    "Return the angle in (-pi/2, pi/2) whose tangent is x.",
    numpy="arctan",
)
elementwise(
    "sinh",
    lambda m, g, self: g * m.cosh(self),
    r"\sinh {self}",
    r"{g} \cdot \cosh {self}",
    "Return the hyperbolic sine.",
)
elementwise(
    "cosh",
    lambda m, g, self: g * m.sinh(self),
    r"\cosh {self}",
    r"{g} \cdot \sinh {self}",
    "Return the hyperbolic cosine.",
)
