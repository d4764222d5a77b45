"""add sub mul div neg: the four operations, as functions and operators. Powers are in `powers.py`."""

from __future__ import annotations

import operator
from typing import Any


from ..core.dtype import NUMBERS, bool_
from ..exact.arguments import scalar_tensor
from ..core.apply import result_dtype
from ..inplace.changes import apply_inplace
from ..core.errors import fail
from .functions import METHODS, binary_operator, composite, internal, register
from ..core.record import OPS
from .overloading import operators


def _no_bool(dtypes, promoted):
    """Raise torch's errors for `-` on masks, of which some look like a forgotten `~`."""
    if all(d is bool_ for d in dtypes):
        raise fail(
            RuntimeError,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
            "instead.",
            "True - True has no agreed meaning; convert to integers first, or use ^.",
        )
    if bool_ in dtypes:
        raise fail(
            RuntimeError,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead.",
            "A mask is inverted with ~mask; to count with it, convert it: mask.float().",
        )


add = internal(
    "add(Tensor self, operand other)",
    forward=lambda xp, self, other: xp.add(self, other),
    fast=operator.add,
    dtype="promote",
    constants={"alpha": 1},
    vjp={"self": lambda m, g: g, "other": lambda m, g: g},
    latex=r"{self} + {other}",
    vjp_latex={"self": r"{g}", "other": r"{g}"},
    samples=lambda s: [
        (s.randn(3), s.randn(3)),
        (s.randn(2, 3), s.randn(3)),
        (s.randn(2, 1), s.randn(1, 3)),
        (s.randn(3), 2.5),
    ],
)

sub = internal(
    "sub(Tensor self, operand other)",
    forward=lambda xp, self, other: xp.subtract(self, other),
    fast=operator.sub,
    dtype="promote",
    check=_no_bool,
    constants={"alpha": 1},
    vjp={"self": lambda m, g: g, "other": lambda m, g: -g},
    latex=r"{self} - {other}",
    vjp_latex={"self": r"{g}", "other": r"-{g}"},
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3)), (s.randn(3), 2.5)],
)

mul = register(
    "mul(Tensor self, operand other)",
    forward=lambda xp, self, other: xp.multiply(self, other),
    fast=operator.mul,
    dtype="promote",
    inplace=True,
    vjp={"self": lambda m, g, other: g * other, "other": lambda m, g, self: g * self},
    latex=r"{self} \cdot {other}",
    vjp_latex={"self": r"{g} \cdot {other}", "other": r"{g} \cdot {self}"},
    samples=lambda s: [
        (s.randn(3), s.randn(3)),
        (s.randn(2, 3), s.randn(3)),
        (s.randn(2, 1), s.randn(1, 3)),
        (s.randn(3), 2.5),
    ],
    doc="Return the product, element by element, with broadcasting. Source: torch.mul",
)

div = internal(
    "div(Tensor self, operand other)",
    forward=lambda xp, self, other: xp.true_divide(self, other),
    fast=operator.truediv,
    dtype="float",
    vjp={
        "self": lambda m, g, other: g / other,
        "other": lambda m, g, self, other: -g * ((self / other) / other),
    },
    latex=r"\frac{{self}}{{other}}",
    vjp_latex={"self": r"\frac{{g}}{{other}}", "other": r"-{g} \cdot \frac{{self}}{{other}^{2}}"},
    samples=lambda s: [
        (s.randn(3), s.away_from_zero(3)),
        (s.randn(2, 3), s.away_from_zero(3)),
        (s.randn(3), 2.5),
    ],
)


def _negative(xp, self):
    if self.dtype == bool:
        raise fail(
            RuntimeError,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead.",
            "A mask is inverted with ~mask.",
        )
    return xp.negative(self)


neg = register(
    "neg(Tensor self)",
    forward=_negative,
    fast=operator.neg,
    inplace=True,
    vjp={"self": lambda m, g: -g},
    latex=r"-{self}",
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [s.randn(3)],
    doc="Return minus each element. Source: torch.neg",
)

_RSUB: dict[str, Any] = {
    "forward": lambda xp, self, other: xp.subtract(other, self),
    "dtype": "promote",
    "check": _no_bool,
    "constants": {"alpha": 1},
    "latex": r"{other} - {self}",
}
rsub = internal(
    "rsub(Tensor self, operand other)",
    vjp={"self": lambda m, g: -g},
    node="RsubBackward1",
    also_saves=("other",),
    hidden=("other",),
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [(s.randn(3), 1.5)],
    **_RSUB,
)

rsub_tensor = internal(
    "rsub_tensor(Tensor self, Tensor other)",
    vjp={"self": lambda m, g: -g, "other": lambda m, g: g},
    node="RsubBackward0",
    vjp_latex={"self": r"-{g}", "other": r"{g}"},
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
    **_RSUB,
)


def _by_number(name, function, rule, node, tex):
    """Register an op of a tensor and a number. torch's own rules use these; users see their names in graphs of
    gradients."""
    return internal(
        f"{name}(Tensor self, Number other)",
        forward=lambda xp, self, other: function(self, other),
        node=node,
        vjp={"self": rule},
        latex=tex,
        vjp_latex={"self": tex.replace("{self}", "{g}") if name != "add_scalar" else "{g}"},
        samples=lambda s: [(s.randn(3), 2.5)],
    )


add_scalar = _by_number(
    "add_scalar", operator.add, lambda m, g: g, "AddBackward1", r"{self} + {other}"
)
mul_scalar = _by_number(
    "mul_scalar",
    operator.mul,
    lambda m, g, other: m.mul_scalar(g, other),
    "MulBackward1",
    r"{self} \cdot {other}",
)
div_scalar = _by_number(
    "div_scalar",
    operator.truediv,
    lambda m, g, other: m.div_scalar(g, other),
    "DivBackward1",
    r"\frac{{self}}{{other}}",
)


# -- public functions: alpha, overloads, operators ---------------------------------------------------------------------
def _scaled(op, self, other, alpha):
    """Return `other * alpha`. Raises RuntimeError for a factor that the result's dtype cannot hold."""
    if alpha.__class__ is int and alpha == 1:
        return other
    kind = result_dtype(op, (self, other))
    if isinstance(alpha, bool) and kind is not bool_:
        raise fail(
            RuntimeError,
            "Boolean alpha only supported for Boolean results.",
            "Give the number: alpha=1.",
        )
    if isinstance(alpha, float) and not kind.is_inexact:
        raise fail(
            RuntimeError,
            "For integral input tensors, argument alpha must not be a floating point number.",
            "Whole numbers stay whole; convert them with .float() first.",
        )
    return other * alpha


def _first_operand(input, other):
    """Return `input` as the operations take it: of two numbers the first as a tensor."""
    numbers = isinstance(input, NUMBERS) and isinstance(other, NUMBERS)
    return scalar_tensor(input) if numbers else input


def _with_alpha(op, sign):
    """Make the sum or difference public, and in place; `other` is multiplied by alpha first. Return the in-place
    form."""

    def call(input, other, *, alpha=1):
        input = _first_operand(input, other)
        return op.call(input, _scaled(op, input, other, alpha))

    def in_place(self, other, *, alpha=1):
        return op.change(self, _scaled(op, self, other, alpha))

    call.__doc__ = (
        f"Return `input {sign} alpha * other`, with broadcasting. Source: torch.{op.name}."
    )
    in_place.__doc__ = f"Do `x {sign}= alpha * other` in place. Source: torch.Tensor.{op.name}_."
    composite(op.name, method=True)(call)
    return composite(f"{op.name}_", method=True, function=False)(in_place)


add_, sub_ = _with_alpha(add, "+"), _with_alpha(sub, "-")
METHODS["subtract"], METHODS["subtract_"] = METHODS["sub"], sub_
METHODS["multiply"] = METHODS["mul"]
METHODS["negative"] = METHODS["neg"]
METHODS["multiply_"] = METHODS["mul_"]


@composite("div", method=True)
def div_function(input, other, *, rounding_mode=None):
    """Return `input / other`, with broadcasting; integers give the default float dtype. Source: torch.div."""
    input = _first_operand(input, other)
    if rounding_mode is None:
        return div.call(input, other)
    if rounding_mode in ("floor", "trunc"):
        return OPS["div_mode"].call(input, other, rounding_mode)  # in remainder.py
    raise fail(
        RuntimeError,
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
        "Leave rounding_mode out for ordinary division.",
    )


METHODS["divide"] = METHODS["true_divide"] = div_function


def div_(self, other, *, rounding_mode=None):
    """Divide in place. Source: torch.Tensor.div_."""
    if rounding_mode is not None:
        return apply_inplace(OPS["div_mode"], (self, other, rounding_mode))
    return div.change(self, other)


METHODS["div_"] = METHODS["divide_"] = METHODS["true_divide_"] = div_


# -- operators ---------------------------------------------------------------------------------------------------------
for _name, _op in {
    "__add__": add,
    "__radd__": add,
    "__mul__": mul,
    "__rmul__": mul,
    "__sub__": sub,
    "__truediv__": div,
}.items():
    binary_operator(_name, _op)

operators(
    rsub=lambda self, other: rsub.call(self, other),
    rtruediv=lambda self, other: self.reciprocal() * other,
    iadd=add_,
    isub=sub_,
    imul=lambda self, other: mul.change(self, other),
    itruediv=div_,
)
METHODS["__neg__"] = METHODS["neg"]
METHODS["__pos__"] = lambda self: self
