"""Functions of two or three tensors, element by element: xlogy, lerp, addcmul, addcdiv."""

from __future__ import annotations

import math

from typing import Any

import numpy as np

from ..exact import precise
from ..inplace.changes import apply_inplace
from ..core.errors import fail
from ..exact.dtype_errors import no_kernel, not_implemented
from .functions import NAMESPACES, composite, internal, register
from ..core.tensor import Tensor
from .overloading import overloaded


# noqa: E731


# -- x log y -----------------------------------------------------------------------------------------------------------
_log = precise.unary("log")


def _xlogy(xp, self, other):
    if not hasattr(other, "dtype"):
        other = self.dtype.type(other)
    logs = _log(other) if xp is np else xp.log(other)
    return xp.where((self == 0) & ~xp.isnan(other), 0, self * logs).astype(logs.dtype)[()]


def _xlogy_rule(m, g, self, other):
    # 0 log(y) is 0 by definition, also for y <= 0 where the logarithm is not a number
    return m.masked_fill(m.xlogy(g, other), m.logical_and(self == 0, other <= 0), 0)


def _xlogy_number_rule(m, g, self, other):
    return (
        g * math.log(other) if other > 0 else m.masked_fill(m.xlogy_number(g, other), self == 0, 0)
    )


_XLOGY: dict[str, Any] = {
    "forward": _xlogy,
    "dtype": "float",
    "operands": ("self", "other"),
    "latex": r"{self} \cdot \ln {other}",
}
xlogy_op = internal(
    "xlogy(Tensor self, Tensor other)",
    vjp={"self": _xlogy_rule, "other": lambda m, g, self, other: g * self / other},
    vjp_latex={"self": r"{g} \cdot \ln {other}", "other": r"{g} \cdot \frac{{self}}{{other}}"},
    samples=lambda s: [(s.randn(3), s.positive(3)), (s.randn(2, 3), s.positive(3))],
    **_XLOGY,
)
xlogy_of_number = internal(
    "xlogy_of_number(operand self, Tensor other)",
    vjp={"other": lambda m, g, self, other: g * self / other},
    node="XlogyBackward1",
    vjp_latex={"other": r"{g} \cdot \frac{{self}}{{other}}"},
    samples=lambda s: [(1.5, s.positive(3))],
    **_XLOGY,
)
xlogy_number = internal(
    "xlogy_number(Tensor self, Number other)",
    vjp={"self": _xlogy_number_rule},
    node="XlogyBackward2",
    vjp_latex={"self": r"{g} \cdot \ln {other}"},
    samples=lambda s: [(s.randn(3), 1.5)],
    **_XLOGY | {"operands": ("self",)},
)


overloaded(
    "xlogy",
    xlogy_op,
    xlogy_number,
    xlogy_of_number,
    inplace=False,
    doc="input * log(other), and 0 where input is 0; one may be a number.",
)


@composite(method=True)
def xlogy_(input, other):
    """In-place `xlogy`. Source: torch.Tensor.xlogy_."""
    return apply_inplace(xlogy_op if isinstance(other, Tensor) else xlogy_number, (input, other))


NAMESPACES["special"]["xlogy"] = NAMESPACES[""]["xlogy"]


# -- sign of another, step ---------------------------------------------------------------------------------------------


# -- powers of two, neighbours among floats ----------------------------------------------------------------------------


# torch's rule for `self` has a whole 2**other: 0 for a negative exponent


# -- fused formulas ----------------------------------------------------------------------------------------------------
def _lerp(xp, self, end, weight):
    if self.dtype.kind != "f":
        raise not_implemented("lerp_kernel_scalar", self.dtype)
    from ..core.dtype import FROM_NUMPY

    for name, other in (("end", end), ("weight", weight)):
        if getattr(other, "dtype", self.dtype) != self.dtype:
            raise fail(
                RuntimeError,
                f"expected dtype {FROM_NUMPY[self.dtype].cpp_name} for `{name}` but got dtype {FROM_NUMPY[other.dtype].cpp_name}",
                f"lerp mixes tensors of one dtype: convert with .to({FROM_NUMPY[self.dtype]!r}).",
            )
    weight = weight if hasattr(weight, "dtype") else self.dtype.type(weight)
    gap = end - self
    # from the nearer end, as torch does, so that weight 1 gives `end` exactly
    return xp.where(
        abs(weight) < 0.5, precise.fma(weight, gap, self), precise.fma(-gap, 1 - weight, end)
    )[()]


_LERP: dict[str, Any] = {
    "forward": _lerp,
    "operands": ("self", "end", "weight"),
    "latex": r"{self} + {weight} \cdot ({end} - {self})",
}
_LERP_TEX = {"self": r"{g} \cdot (1 - {weight})", "end": r"{g} \cdot {weight}"}
lerp_scalar = internal(
    "lerp_scalar(Tensor self, Tensor end, Number weight)",
    node="LerpBackward0",
    **_LERP | {"operands": ("self", "end")},
    vjp_latex=_LERP_TEX,
    vjp={"self": lambda m, g, weight: g * (1 - weight), "end": lambda m, g, weight: g * weight},
    samples=lambda s: [(s.randn(3), s.randn(3), 0.3), (s.randn(2, 3), s.randn(3), 0.8)],
)
lerp_tensor = internal(
    "lerp_tensor(Tensor self, Tensor end, Tensor weight)",
    node="LerpBackward1",
    **_LERP,
    vjp={
        "self": lambda m, g, weight: g * (1 - weight),
        "end": lambda m, g, weight: g * weight,
        "weight": lambda m, g, self, end: g * (end - self),
    },
    vjp_latex={**_LERP_TEX, "weight": r"{g} \cdot ({end} - {self})"},
    samples=lambda s: [(s.randn(3), s.randn(3), s.uniform(0.1, 0.4, 3))],
)


@composite(method=True)
def lerp(input, end, weight):
    """From `input` (weight 0) to `end` (weight 1) in a straight line; weight is a number or a tensor. Source:
    torch.lerp."""
    return (lerp_tensor if isinstance(weight, Tensor) else lerp_scalar).call(input, end, weight)


@composite(method=True, function=False)
def lerp_(self, end, weight):
    """In-place `lerp`. Source: torch.Tensor.lerp_."""
    return apply_inplace(
        lerp_tensor if isinstance(weight, Tensor) else lerp_scalar, (self, end, weight)
    )


def _three(name, self, tensor1, tensor2):
    for position, (argument, value) in enumerate(
        (("input", self), ("tensor1", tensor1), ("tensor2", tensor2)), 1
    ):
        if not hasattr(value, "dtype"):
            raise fail(
                TypeError,
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not "
                f"{type(value).__name__}",
                "PyTorch takes tensors only here; `value` is the place for a number.",
            )


def _scaled(value, a):
    return a if value == 1 else value * a


def _addcmul(xp, self, tensor1, tensor2, value):
    _three("addcmul", self, tensor1, tensor2)
    if self.dtype.kind in "iu":  # the factor becomes a whole number, too
        value = int(value)
    return precise.fma(_scaled(value, tensor1), tensor2, self)


def _addcdiv(xp, self, tensor1, tensor2, value):
    _three("addcdiv", self, tensor1, tensor2)
    return self + _scaled(value, tensor1) / tensor2


def _no_whole_quotient(tensor1, tensor2):
    """Raises torch's error for two tensors of whole numbers: once their quotient was rounded, now it would not be."""
    if all(isinstance(t, Tensor) and not t.dtype.is_inexact for t in (tensor1, tensor2)):
        raise fail(
            RuntimeError,
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + "
            "value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float "
            "inputs. The future addcdiv "
            "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.",
            "Convert the tensors to float first.",
        )


_THREE: dict[str, Any] = {"dtype": "promote", "operands": ("self", "tensor1", "tensor2")}
register(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Number value=1)",
    forward=_addcmul,
    inplace=True,
    **_THREE,
    check=no_kernel("addcmul_cpu_out", "Bool"),
    vjp={
        "self": lambda m, g: g,
        "tensor1": lambda m, g, tensor2, value: g * _scaled(value, tensor2),
        "tensor2": lambda m, g, tensor1, value: g * _scaled(value, tensor1),
    },
    latex=r"{self} + {value} \cdot {tensor1} \cdot {tensor2}",
    vjp_latex={
        "self": "{g}",
        "tensor1": r"{g} \cdot {value} \cdot {tensor2}",
        "tensor2": r"{g} \cdot {value} \cdot {tensor1}",
    },
    samples=lambda s: [
        (s.randn(3), s.randn(3), s.randn(3)),
        (s.randn(2, 3), s.randn(3), s.randn(2, 1), 0.5),
    ],
    doc="input + value * tensor1 * tensor2. Source: torch.addcmul",
)
addcdiv_op = internal(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Number value=1)",
    forward=_addcdiv,
    **_THREE,
    vjp={
        "self": lambda m, g: g,
        "tensor1": lambda m, g, tensor2, value: g * (value / tensor2),
        "tensor2": lambda m, g, tensor1, tensor2, value: (
            -g * (_scaled(value, tensor1) / (tensor2 * tensor2))
        ),
    },
    latex=r"{self} + {value} \cdot \frac{{tensor1}}{{tensor2}}",
    vjp_latex={
        "self": "{g}",
        "tensor1": r"{g} \cdot \frac{{value}}{{tensor2}}",
        "tensor2": r"-{g} \cdot \frac{{value} \cdot {tensor1}}{{tensor2}^{2}}",
    },
    samples=lambda s: [
        (s.randn(3), s.randn(3), s.away_from_zero(3)),
        (s.randn(2, 3), s.randn(3), s.away_from_zero(2, 1), 0.5),
    ],
)


@composite(method=True)
def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2. Raises RuntimeError where both are whole numbers. Source: torch.addcdiv."""
    _no_whole_quotient(tensor1, tensor2)
    return addcdiv_op.call(input, tensor1, tensor2, value)


@composite(method=True, function=False)
def addcdiv_(self, tensor1, tensor2, *, value=1):
    """In-place `addcdiv`. Source: torch.Tensor.addcdiv_."""
    _no_whole_quotient(tensor1, tensor2)
    return apply_inplace(addcdiv_op, (self, tensor1, tensor2, value))
