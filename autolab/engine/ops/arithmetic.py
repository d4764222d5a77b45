"""add sub mul div neg: the four operations, as functions and operators. Powers are in `powers.py`."""

from __future__ import annotations

import operator


from ..core.dtype import NUMBERS, bool_
from ..exact.arguments import scalar_tensor
from ..core.apply import result_dtype
from ..inplace.changes import apply_inplace
from ..core.errors import fail
from .functions import METHODS, binary_operator, composite, internal, register
from ..core.record import OPS
from .overloading import operators


def _add(xp, self, other):
    return xp.add(self, other)


def _subtract(xp, self, other):
    return xp.subtract(self, other)


def _subtract_from(xp, self, other):
    return _subtract(xp, other, self)


def _no_bool(dtypes, promoted):
    """Raises torch's errors for `-` on masks, of which some look like a forgotten `~`."""
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
    forward=_add,
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
    forward=_subtract,
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
    doc="Product, element by element, with broadcasting. Source: torch.mul",
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
    doc="Minus each element. Source: torch.neg",
)

rsub = internal(
    "rsub(Tensor self, operand other)",
    forward=_subtract_from,
    dtype="promote",
    check=_no_bool,
    vjp={"self": lambda m, g: -g},
    node="RsubBackward1",
    also_saves=("other",),
    hidden=("other",),
    constants={"alpha": 1},
    latex=r"{other} - {self}",
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [(s.randn(3), 1.5)],
)

rsub_tensor = internal(
    "rsub_tensor(Tensor self, Tensor other)",
    forward=_subtract_from,
    dtype="promote",
    check=_no_bool,
    vjp={"self": lambda m, g: -g, "other": lambda m, g: g},
    node="RsubBackward0",
    constants={"alpha": 1},
    latex=r"{other} - {self}",
    vjp_latex={"self": r"-{g}", "other": r"{g}"},
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
)


# torch's own rules multiply by plain numbers with these; users never call them, but see the names in graphs of
# gradients
add_scalar = internal(
    "add_scalar(Tensor self, Number other)",
    forward=lambda xp, self, other: self + other,
    node="AddBackward1",
    vjp={"self": lambda m, g: g},
    latex=r"{self} + {other}",
    vjp_latex={"self": r"{g}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)
mul_scalar = internal(
    "mul_scalar(Tensor self, Number other)",
    forward=lambda xp, self, other: self * other,
    node="MulBackward1",
    vjp={"self": lambda m, g, other: m.mul_scalar(g, other)},
    latex=r"{self} \cdot {other}",
    vjp_latex={"self": r"{g} \cdot {other}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)
div_scalar = internal(
    "div_scalar(Tensor self, Number other)",
    forward=lambda xp, self, other: self / other,
    node="DivBackward1",
    vjp={"self": lambda m, g, other: m.div_scalar(g, other)},
    latex=r"\frac{{self}}{{other}}",
    vjp_latex={"self": r"\frac{{g}}{{other}}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)


# -- public functions: alpha, overloads, operators ---------------------------------------------------------------------
def _scaled(op, self, other, alpha):
    """`other * alpha`. Raises RuntimeError for a factor that the result's dtype cannot hold."""
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
    """`input` as the operations take it: of two numbers the first as a tensor."""
    numbers = isinstance(input, NUMBERS) and isinstance(other, NUMBERS)
    return scalar_tensor(input) if numbers else input


@composite("add", method=True)
def add_function(input, other, *, alpha=1):
    """`input + alpha * other`, with broadcasting. Source: torch.add."""
    input = _first_operand(input, other)
    return add.call(input, _scaled(add, input, other, alpha))


@composite("sub", method=True)
def sub_function(input, other, *, alpha=1):
    """`input - alpha * other`, with broadcasting. Source: torch.sub."""
    input = _first_operand(input, other)
    return sub.call(input, _scaled(sub, input, other, alpha))


METHODS["subtract"] = sub_function
METHODS["multiply"] = METHODS["mul"]
METHODS["negative"] = METHODS["neg"]


@composite("div", method=True)
def div_function(input, other, *, rounding_mode=None):
    """`input / other`, with broadcasting; integers give the default float dtype. Source: torch.div."""
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


def _inplace_scaled(name, op):

    def method(self, other, *, alpha=1):
        return op.change(self, _scaled(op, self, other, alpha))

    method.__name__ = name
    method.__doc__ = (
        f"In-place `{op.name}`; `other` is multiplied by alpha first. Source: torch.Tensor.{name}"
    )
    METHODS[name] = method
    return method


METHODS["subtract_"] = sub_ = _inplace_scaled("sub_", sub)
add_ = _inplace_scaled("add_", add)
METHODS["multiply_"] = METHODS["mul_"]


def div_(self, other, *, rounding_mode=None):
    """In-place `div`. Source: torch.Tensor.div_."""
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
