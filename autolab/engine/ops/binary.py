"""Elementwise functions of two or three tensors: lerp, addcmul, addcdiv."""

from __future__ import annotations


from ..exact.dtype_errors import no_kernel, not_implemented
from .checks import refuse_if
from .functions import register


def _lerp(xp, self, end, weight):
    if self.dtype.kind != "f":
        raise not_implemented("lerp_kernel_scalar", self.dtype)
    weight = weight if hasattr(weight, "dtype") else self.dtype.type(weight)
    gap = end - self
    # As in torch, compute from the nearer end, so that weight 1 gives `end` exactly.
    return xp.where(abs(weight) < 0.5, weight * gap + self, end - gap * (1 - weight))[()]


register(
    "lerp(Tensor self, Tensor end, operand weight)",
    forward=_lerp,
    inplace="method",
    operands=("self", "end", "weight"),
    vjp={
        "self": lambda m, g, weight: g * (1 - weight),
        "end": lambda m, g, weight: g * weight,
        "weight": lambda m, g, self, end: g * (end - self),
    },
    latex=r"{self} + {weight} \cdot ({end} - {self})",
    vjp_latex={
        "self": r"{g} \cdot (1 - {weight})",
        "end": r"{g} \cdot {weight}",
        "weight": r"{g} \cdot ({end} - {self})",
    },
    samples=lambda s: [
        (s.randn(2, 3), s.randn(3), 0.8),
        (s.randn(3), s.randn(3), s.uniform(0.1, 0.4, 3)),
    ],
    doc="Interpolate linearly from `input` (weight 0) to `end` (weight 1); weight is a number or a tensor. "
    "Source: torch.lerp.",
)


def _scaled(value, a):
    return a if value == 1 else value * a


def _addcmul(xp, self, tensor1, tensor2, value):
    if self.dtype.kind in "iu":  # the factor is converted to an integer, too
        value = int(value)
    return _scaled(value, tensor1) * tensor2 + self


def _no_whole_quotient(dtypes, promoted):
    """Refuse to divide integers by integers, because older versions of PyTorch rounded the quotient."""
    refuse_if(
        not any(d.is_floating_point for d in dtypes[1:]),
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
        "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
        "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
        "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
        "tensor2), for all dtypes.",
        "Convert the tensors to float first.",
    )


def _register_sum(name, forward, check, tex, doc, samples, **rules):
    """Register an operation that adds a function of two tensors and a number to `self`; rules: (rule, formula) of the
    tensors."""
    register(
        f"{name}(Tensor self, Tensor tensor1, Tensor tensor2, *, Number value=1)",
        forward=forward,
        inplace=True,
        dtype="promote",
        operands=("self", "tensor1", "tensor2"),
        check=check,
        vjp={"self": lambda m, g: g} | {p: rule for p, (rule, _) in rules.items()},
        latex="{self} + " + tex,
        vjp_latex={"self": "{g}"} | {p: formula for p, (_, formula) in rules.items()},
        samples=samples,
        doc=f"Return input + {doc}. Source: torch.{name}",
    )


_register_sum(
    "addcmul",
    _addcmul,
    no_kernel("addcmul_cpu_out", "Bool"),
    r"{value} \cdot {tensor1} \cdot {tensor2}",
    "value * tensor1 * tensor2",
    lambda s: [(s.randn(2, 3), s.randn(3), s.randn(2, 1), 0.5)],
    tensor1=(
        lambda m, g, tensor2, value: g * _scaled(value, tensor2),
        r"{g} \cdot {value} \cdot {tensor2}",
    ),
    tensor2=(
        lambda m, g, tensor1, value: g * _scaled(value, tensor1),
        r"{g} \cdot {value} \cdot {tensor1}",
    ),
)
_register_sum(
    "addcdiv",
    lambda xp, self, tensor1, tensor2, value: self + _scaled(value, tensor1) / tensor2,
    _no_whole_quotient,
    r"{value} \cdot \frac{{tensor1}}{{tensor2}}",
    "value * tensor1 / tensor2",
    lambda s: [(s.randn(2, 3), s.randn(3), s.away_from_zero(2, 1), 0.5)],
    tensor1=(
        lambda m, g, tensor2, value: g * (value / tensor2),
        r"{g} \cdot \frac{{value}}{{tensor2}}",
    ),
    tensor2=(
        lambda m, g, tensor1, tensor2, value: -g * (_scaled(value, tensor1) / (tensor2 * tensor2)),
        r"-{g} \cdot \frac{{value} \cdot {tensor1}}{{tensor2}^{2}}",
    ),
)
