"""pow and square: a tensor to the power of a number or a tensor, a number to the power of a tensor."""

from __future__ import annotations

import math

import numpy as np

from ..inplace.changes import apply_inplace
from ..core.errors import fail
from ..exact.dtype_errors import no_kernel
from .copies import in_dtype_of
from .functions import METHODS, binary_operator, composite, internal
from .overloading import operators, overloaded


def _pow_scalar(xp, self, exponent):
    if exponent == 2:
        return self * self
    if self.dtype.kind == "f" and exponent in _EXACT_POWERS:
        return _EXACT_POWERS[exponent](xp, self)
    if self.dtype.kind in "iu" and not isinstance(exponent, float) and exponent < 0:
        message = "Integers to negative integer powers are not allowed."
        raise fail(RuntimeError, message, "Make the tensor floating point first: x.float() ** -1.")
    result = xp.power(self, exponent)
    # NumPy's result for bool is int8
    return result.astype(self.dtype) if self.dtype.kind == "b" else result


# torch computes these without its power function, so the last digit differs from xp.power's.
_EXACT_POWERS = {
    3: lambda xp, x: x * x * x,
    0.5: lambda xp, x: xp.sqrt(x),
    -0.5: lambda xp, x: 1 / xp.sqrt(x),
    -1: lambda xp, x: 1 / x,
    -2: lambda xp, x: 1 / (x * x),
}


def _pow_rule(m, g, self, exponent):
    if exponent == 0:
        return m.zeros_like(g)
    if exponent == 2 and not m.traced:  # torch's x ** 1 would cost a copy here
        return g * (self + self)
    return g * m.mul_scalar(m.pow_scalar(self, exponent - 1), exponent)


pow_scalar = internal(
    "pow_scalar(Tensor self, operand exponent)",
    forward=_pow_scalar,
    dtype="promote",
    operands=("self", "exponent"),
    node="PowBackward0",
    fast=lambda x, exponent: x * x if exponent == 2 else _pow_scalar(np, x, exponent),
    vjp={"self": _pow_rule},
    latex=r"{self}^{{exponent}}",
    vjp_latex={"self": r"{g} \cdot {exponent} \cdot {self}^{{exponent} - 1}"},
    samples=lambda s: [
        (s.randn(3), 2),
        (s.randn(2, 3), 3),
        (s.positive(3), 0.5),
        (s.positive(3), -1.5),
        (s.randn(3), 0),
    ],
)


def _power(xp, self, exponent):
    if exponent.dtype.kind != "i" or self.dtype.kind not in "biu":
        return xp.power(self, exponent)
    # Integer division of 1 by b ** n gives 0, except for 1 and -1. NumPy raises an error here.
    whole = xp.power(self, abs(exponent))
    return xp.where((exponent < 0) & (abs(self) != 1), 0, whole).astype(exponent.dtype)


def _pow_tensor_rule(m, g, self, exponent):
    self, exponent = in_dtype_of(m, g, self), in_dtype_of(m, g, exponent)
    return m.where(
        exponent == 0, m.zeros_like(g), g * (exponent * m.pow_tensor(self, exponent - 1))
    )


pow_tensor = internal(
    "pow_tensor(Tensor self, Tensor exponent)",
    forward=_power,
    dtype="promote",
    check=no_kernel("pow", "Bool"),
    operands=("self", "exponent"),
    node="PowBackward1",
    vjp={
        "self": _pow_tensor_rule,
        "exponent": lambda m, g, self, exponent, result: m.where(
            m.logical_and(self == 0, exponent >= 0), m.zeros_like(g), g * (result * m.log(self))
        ),
    },
    also_saves=("result",),
    latex=r"{self}^{{exponent}}",
    vjp_latex={
        "self": r"{g} \cdot {exponent} \cdot {self}^{{exponent} - 1}",
        "exponent": r"{g} \cdot {result} \cdot \ln {self}",
    },
    samples=lambda s: [(s.positive(3), s.randn(3)), (s.positive(2, 3), s.randn(3))],
)

pow_base = internal(
    "pow_base(operand self, Tensor exponent)",
    forward=lambda xp, self, exponent: _power(xp, exponent.dtype.type(self), exponent),
    dtype="promote",
    check=no_kernel("pow", "Bool"),
    operands=("self", "exponent"),
    node="PowBackward2",
    vjp={
        "exponent": lambda m, g, self, exponent, result: (
            m.where(exponent >= 0, m.zeros_like(g), g * (result * -math.inf))
            if self == 0
            else g * (result * (math.log(self) if self > 0 else math.nan))
        )
    },
    latex=r"{self}^{{exponent}}",
    vjp_latex={"exponent": r"{g} \cdot {result} \cdot \ln {self}"},
    samples=lambda s: [(2.5, s.randn(3))],
)


# -- public functions and operators ------------------------------------------------------------------------------------
overloaded(
    "pow", pow_tensor, pow_scalar, pow_base, doc="`input ** exponent`; either may be a number."
)


@composite(method=True)
def square(input):
    """Return the square of each element. Source: torch.square."""
    return pow_scalar.call(input, 2)


@composite(method=True)
def square_(input):
    """Square each element in place. Source: torch.Tensor.square_."""
    return apply_inplace(pow_scalar, (input, 2))


binary_operator("__pow__", pow_scalar, of_tensors=pow_tensor.call)
operators(rpow=lambda self, other: pow_base.call(other, self), ipow=METHODS["pow_"])
