"""Functions of two or three tensors, element by element: xlogy, lerp, addcmul, addcdiv."""

from __future__ import annotations

import numpy as np

from ..exact import precise
from ..inplace.changes import apply_inplace
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..exact.dtype_errors import no_kernel, not_implemented
from ..exact.refusals import unsupported
from .functions import composite, internal, register
from ..core.tensor import Tensor

_log = precise.unary("log")


def _xlogy(xp, self, other):
    logs = _log(other) if xp is np else xp.log(other)
    return xp.where((self == 0) & ~xp.isnan(other), 0, self * logs).astype(logs.dtype)[()]


def _xlogy_rule(m, g, self, other):
    # 0 log(y) is 0 by definition, also for y <= 0 where the logarithm is not a number
    return m.masked_fill(m.xlogy(g, other), m.logical_and(self == 0, other <= 0), 0)


xlogy_op = internal(
    "xlogy(Tensor self, Tensor other)",
    forward=_xlogy,
    dtype="float",
    operands=("self", "other"),
    vjp={"self": _xlogy_rule, "other": lambda m, g, self, other: g * self / other},
    latex=r"{self} \cdot \ln {other}",
    vjp_latex={"self": r"{g} \cdot \ln {other}", "other": r"{g} \cdot \frac{{self}}{{other}}"},
    samples=lambda s: [(s.randn(3), s.positive(3)), (s.randn(2, 3), s.positive(3))],
)


@composite(method=True)
def xlogy(input, other):
    """Return input * log(other), and 0 where input is 0. Source: torch.xlogy."""
    for name, given in (("input", input), ("other", other)):
        if not isinstance(given, Tensor):
            raise unsupported("xlogy", name, "Make a tensor of the number: torch.tensor(2.).")
    return xlogy_op.call(input, other)


def _lerp(xp, self, end, weight):
    if self.dtype.kind != "f":
        raise not_implemented("lerp_kernel_scalar", self.dtype)
    for name, other in (("end", end), ("weight", weight)):
        if getattr(other, "dtype", self.dtype) != self.dtype:
            wanted, got = FROM_NUMPY[self.dtype], FROM_NUMPY[other.dtype]
            raise fail(
                RuntimeError,
                f"expected dtype {wanted.cpp_name} for `{name}` but got dtype {got.cpp_name}",
                f"lerp mixes tensors of one dtype: convert with .to({wanted!r}).",
            )
    weight = weight if hasattr(weight, "dtype") else self.dtype.type(weight)
    gap = end - self
    # from the nearer end, as torch does, so that weight 1 gives `end` exactly
    return xp.where(
        abs(weight) < 0.5, precise.fma(weight, gap, self), precise.fma(-gap, 1 - weight, end)
    )[()]


def _lerp_op(name, kind, node, rules, tex, samples):
    return internal(
        f"{name}(Tensor self, Tensor end, {kind} weight)",
        node=node,
        forward=_lerp,
        operands=("self", "end", "weight") if kind == "Tensor" else ("self", "end"),
        latex=r"{self} + {weight} \cdot ({end} - {self})",
        vjp={
            "self": lambda m, g, weight: g * (1 - weight),
            "end": lambda m, g, weight: g * weight,
            **rules,
        },
        vjp_latex={"self": r"{g} \cdot (1 - {weight})", "end": r"{g} \cdot {weight}", **tex},
        samples=samples,
    )


lerp_scalar = _lerp_op(
    "lerp_scalar",
    "Number",
    "LerpBackward0",
    {},
    {},
    lambda s: [(s.randn(3), s.randn(3), 0.3), (s.randn(2, 3), s.randn(3), 0.8)],
)
lerp_tensor = _lerp_op(
    "lerp_tensor",
    "Tensor",
    "LerpBackward1",
    {"weight": lambda m, g, self, end: g * (end - self)},
    {"weight": r"{g} \cdot ({end} - {self})"},
    lambda s: [(s.randn(3), s.randn(3), s.uniform(0.1, 0.4, 3))],
)


@composite(method=True)
def lerp(input, end, weight):
    """Return numbers from `input` (weight 0) to `end` (weight 1) in a straight line; weight is a number or a tensor.
    Source: torch.lerp."""
    return (lerp_tensor if isinstance(weight, Tensor) else lerp_scalar).call(input, end, weight)


@composite(method=True, function=False)
def lerp_(self, end, weight):
    """Move the numbers towards `end` in place. Source: torch.Tensor.lerp_."""
    op = lerp_tensor if isinstance(weight, Tensor) else lerp_scalar
    return apply_inplace(op, (self, end, weight))


def _scaled(value, a):
    return a if value == 1 else value * a


def _addcmul(xp, self, tensor1, tensor2, value):
    if self.dtype.kind in "iu":  # the factor becomes a whole number, too
        value = int(value)
    return precise.fma(_scaled(value, tensor1), tensor2, self)


register(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Number value=1)",
    forward=_addcmul,
    inplace=True,
    dtype="promote",
    operands=("self", "tensor1", "tensor2"),
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
    doc="Return input + value * tensor1 * tensor2. Source: torch.addcmul",
)


def _no_whole_quotient(dtypes, promoted):
    """Refuse to divide whole numbers by whole numbers: PyTorch once rounded the quotient."""
    if not any(d.is_inexact for d in dtypes[1:]):
        raise fail(
            RuntimeError,
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
            "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes.",
            "Convert the tensors to float first.",
        )


register(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Number value=1)",
    forward=lambda xp, self, tensor1, tensor2, value: self + _scaled(value, tensor1) / tensor2,
    inplace=True,
    dtype="promote",
    operands=("self", "tensor1", "tensor2"),
    check=_no_whole_quotient,
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
    doc="Return input + value * tensor1 / tensor2. Source: torch.addcdiv",
)
