"""Addition, subtraction, multiplication, division and negation, as functions and operators. Powers are in
`powers.py`."""

from __future__ import annotations

import operator


from ..core.dtype import bool_
from .checks import refuse_if
from .functions import METHODS, binary_operator, composite, internal, register
from ..core.record import OPS
from ..core.tensor import Tensor
from .outputs import write_out
from .overloading import operators


def _no_bool(dtypes, promoted):
    """Raise torch's errors for `-` on bool tensors; one error suggests `~` instead."""
    refuse_if(
        all(d is bool_ for d in dtypes),
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
        "instead.",
        "True - True has no agreed meaning; convert to integers first, or use ^.",
    )
    refuse_if(
        bool_ in dtypes,
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
    samples=lambda s: [(s.randn(2, 1), s.away_from_zero(3)), (s.randn(3), 2.5)],
)


def _negative(xp, self):
    refuse_if(
        self.dtype == bool,
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
    doc="Return minus each element. Source: torch.neg",
)

rsub = internal(
    "rsub(Tensor self, operand other)",
    forward=lambda xp, self, other: xp.subtract(other, self),
    dtype="promote",
    check=_no_bool,
    constants={"alpha": 1},
    vjp={"self": lambda m, g: -g},
    node="RsubBackward1",
    also_saves=("other",),
    hidden=("other",),
    latex=r"{other} - {self}",
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [(s.randn(3), 1.5)],
)


def _register_by_number(name, function, rule, node, tex):
    """Register an op of a tensor and a number. torch uses it in its own rules, so users see its name in graphs of
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


add_scalar = _register_by_number(
    "add_scalar", operator.add, lambda m, g: g, "AddBackward1", r"{self} + {other}"
)
mul_scalar = _register_by_number(
    "mul_scalar",
    operator.mul,
    lambda m, g, other: m.mul_scalar(g, other),
    "MulBackward1",
    r"{self} \cdot {other}",
)
div_scalar = _register_by_number(
    "div_scalar",
    operator.truediv,
    lambda m, g, other: m.div_scalar(g, other),
    "DivBackward1",
    r"\frac{{self}}{{other}}",
)


# -- public functions: alpha, overloads, operators ---------------------------------------------------------------------
def _scaled(other, alpha):
    """Return `other * alpha`. Raise RuntimeError if integers cannot be multiplied by this factor."""
    if alpha.__class__ is int and alpha == 1:
        return other
    whole = (
        isinstance(other, int) or isinstance(other, Tensor) and not other.dtype.is_floating_point
    )
    refuse_if(
        whole and not isinstance(alpha, int),
        "For integral input tensors, argument alpha must not be a floating point number.",
        "Whole numbers stay whole; convert them with .float() first.",
    )
    return other * alpha


def _register_with_alpha(op, sign):
    """Make the sum or difference public, also in place; `other` is multiplied by alpha first. Return the in-place
    form."""

    def call(input, other, *, alpha=1, out=None):
        result = op.call(input, _scaled(other, alpha))
        return result if out is None else write_out(op.name, out, (input, other), result)

    def in_place(self, other, *, alpha=1):
        return op.change(self, _scaled(other, alpha))

    call.__doc__ = (
        f"Return `input {sign} alpha * other`, with broadcasting. Source: torch.{op.name}."
    )
    in_place.__doc__ = f"Do `x {sign}= alpha * other` in place. Source: torch.Tensor.{op.name}_."
    composite(op.name, method=True)(call)
    return composite(f"{op.name}_", method=True, function=False)(in_place)


add_, sub_ = _register_with_alpha(add, "+"), _register_with_alpha(sub, "-")


@composite("div", method=True)
def div_function(input, other, *, rounding_mode=None, out=None):
    """Return `input / other` with broadcasting; integers become the default float dtype. Source: torch.div."""
    if rounding_mode is None:
        result = div.call(input, other)
    else:
        result = _rounding(rounding_mode).call(input, other, rounding_mode)
    return result if out is None else write_out("div", out, (input, other), result)


@composite("mul")
def mul_function(input, other, *, out=None):
    """Return `input * other`, with broadcasting. Source: torch.mul."""
    result = mul.call(input, other)
    return result if out is None else write_out("mul", out, (input, other), result)


def _rounding(mode):
    """Return the op that divides and rounds in the given mode. Raise RuntimeError for an unknown mode."""
    refuse_if(
        mode not in ("floor", "trunc"),
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'",
        "Leave rounding_mode out for ordinary division.",
    )
    return OPS["div_mode"]  # in remainder.py


@composite(method=True, function=False)
def div_(self, other, *, rounding_mode=None):
    """Divide in place. Source: torch.Tensor.div_."""
    if rounding_mode is None:
        return div.change(self, other)
    return _rounding(rounding_mode).change(self, other, rounding_mode)


for _alias, _name in (
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("negative", "neg"),
):
    METHODS[_alias], METHODS[f"{_alias}_"] = METHODS[_name], METHODS[f"{_name}_"]


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
