"""add sub mul div neg: the four operations, as functions and operators. Powers are in `powers.py`."""

from __future__ import annotations

import operator


from ..core.dtype import NUMBERS
from ..core.apply import result_dtype
from ..inplace.changes import apply_inplace
from ..core.dtype import bool_
from ..core.errors import fail
from .functions import METHODS, binary_operator, composite, register
from ..core.record import OPS
from ..core.tensor import Tensor



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


add = register(
    "add(self, other)",
    forward=_add,
    fast=operator.add,
    dtype="promote",
    method=False,
    function=False,
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

sub = register(
    "sub(self, other)",
    forward=_subtract,
    fast=operator.sub,
    dtype="promote",
    check=_no_bool,
    method=False,
    function=False,
    constants={"alpha": 1},
    vjp={"self": lambda m, g: g, "other": lambda m, g: -g},
    latex=r"{self} - {other}",
    vjp_latex={"self": r"{g}", "other": r"-{g}"},
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3)), (s.randn(3), 2.5)],
)

mul = register(
    "mul(self, other)",
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

div = register(
    "div(self, other)",
    forward=lambda xp, self, other: xp.true_divide(self, other),
    fast=operator.truediv,
    dtype="float",
    method=False,
    function=False,
    vjp={"self": lambda m, g, other: g / other, "other": lambda m, g, self, other: -g * ((self / other) / other)},
    latex=r"\frac{{self}}{{other}}",
    vjp_latex={"self": r"\frac{{g}}{{other}}", "other": r"-{g} \cdot \frac{{self}}{{other}^{2}}"},
    samples=lambda s: [(s.randn(3), s.away_from_zero(3)), (s.randn(2, 3), s.away_from_zero(3)), (s.randn(3), 2.5)],
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
    "neg(self)",
    forward=_negative,
    fast=operator.neg,
    inplace=True,
    vjp={"self": lambda m, g: -g},
    latex=r"-{self}",
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [s.randn(3)],
    doc="Minus each element. Source: torch.neg",
)

rsub = register(
    "rsub(self, other)",
    forward=_subtract_from,
    dtype="promote",
    check=_no_bool,
    method=False,
    function=False,
    vjp={"self": lambda m, g: -g},
    node="RsubBackward1",
    also_saves=("other",),
    hidden=("other",),
    constants={"alpha": 1},
    latex=r"{other} - {self}",
    vjp_latex={"self": r"-{g}"},
    samples=lambda s: [(s.randn(3), 1.5)],
)

rsub_tensor = register(
    "rsub_tensor(self, other)",
    forward=_subtract_from,
    dtype="promote",
    check=_no_bool,
    method=False,
    function=False,
    vjp={"self": lambda m, g: -g, "other": lambda m, g: g},
    node="RsubBackward0",
    constants={"alpha": 1},
    latex=r"{other} - {self}",
    vjp_latex={"self": r"-{g}", "other": r"{g}"},
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
)


# torch's own rules multiply by plain numbers with these; users never call them, but see the names in graphs of
# gradients
add_scalar = register(
    "add_scalar(self, other)",
    forward=lambda xp, self, other: self + other,
    node="AddBackward1",
    method=False,
    function=False,
    vjp={"self": lambda m, g: g},
    latex=r"{self} + {other}",
    vjp_latex={"self": r"{g}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)
mul_scalar = register(
    "mul_scalar(self, other)",
    forward=lambda xp, self, other: self * other,
    node="MulBackward1",
    method=False,
    function=False,
    vjp={"self": lambda m, g, other: m.mul_scalar(g, other)},
    latex=r"{self} \cdot {other}",
    vjp_latex={"self": r"{g} \cdot {other}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)
div_scalar = register(
    "div_scalar(self, other)",
    forward=lambda xp, self, other: self / other,
    node="DivBackward1",
    method=False,
    function=False,
    vjp={"self": lambda m, g, other: m.div_scalar(g, other)},
    latex=r"\frac{{self}}{{other}}",
    vjp_latex={"self": r"\frac{{g}}{{other}}"},
    samples=lambda s: [(s.randn(3), 2.5)],
)


# -- public functions: alpha, overloads, operators -------------------------------------------------------------------------
def _scaled(op, self, other, alpha):
    """`other * alpha`. Raises RuntimeError for a factor that the result's dtype cannot hold."""
    if alpha.__class__ is int and alpha == 1:
        return other
    kind = result_dtype(op, (self, other))
    if isinstance(alpha, bool) and kind is not bool_:
        raise fail(RuntimeError, "Boolean alpha only supported for Boolean results.", "Give the number: alpha=1.")
    if isinstance(alpha, float) and not kind.is_inexact:
        raise fail(
            RuntimeError,
            "For integral input tensors, argument alpha must not be a floating point number.",
            "Whole numbers stay whole; convert them with .float() first.",
        )
    return other * alpha


def _tensor_or_number(name, x):
    if not isinstance(x, (Tensor, *NUMBERS)):
        raise fail(
            TypeError,
            f"{name}(): argument 'other' (position 1) must be Tensor, not {type(x).__name__}",
            "Arithmetic works between tensors and numbers; make a tensor of it first.",
        )


@composite(method=True, function=False, name="add")
def add_method(self, other, *, alpha=1):
    """`self + alpha * other`. Source: torch.add."""
    _tensor_or_number("add", other)
    return add.call(self, _scaled(add, self, other, alpha))


@composite(name="add")
def add_function(input, other, *, alpha=1):
    """`input + alpha * other`, with broadcasting. Source: torch.add."""
    return add_method(input, other, alpha=alpha)


@composite(method=True, function=False, name="sub")
def sub_method(self, other, *, alpha=1):
    """`self - alpha * other`. Source: torch.sub."""
    _tensor_or_number("sub", other)
    return sub.call(self, _scaled(sub, self, other, alpha))


@composite(name="sub")
def sub_function(input, other, *, alpha=1):
    """`input - alpha * other`, with broadcasting. Source: torch.sub."""
    return sub_method(input, other, alpha=alpha)


METHODS["subtract"] = sub_method
METHODS["multiply"] = METHODS["mul"]
METHODS["negative"] = METHODS["neg"]


def _divide(self, other, rounding_mode):
    if rounding_mode is None:
        return div.call(self, other)
    if rounding_mode in ("floor", "trunc"):
        return OPS["div_mode"].call(self, other, rounding_mode)  # in remainder.py
    raise fail(
        RuntimeError,
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
        "Leave rounding_mode out for ordinary division.",
    )


@composite(method=True, function=False, name="div")
def div_method(self, other, *, rounding_mode=None):
    """`self / other`; integers give the default float dtype. Source: torch.div."""
    return _divide(self, other, rounding_mode)


@composite(name="div")
def div_function(input, other, *, rounding_mode=None):
    """`input / other`, with broadcasting; integers give the default float dtype. Source: torch.div."""
    return _divide(input, other, rounding_mode)


METHODS["divide"] = METHODS["true_divide"] = div_method


def _inplace_scaled(name, op):

    def method(self, other, *, alpha=1):
        return op.change(self, _scaled(op, self, other, alpha))

    method.__name__ = name
    method.__doc__ = f"In-place `{op.name}`; `other` is multiplied by alpha first. Source: torch.Tensor.{name}"
    METHODS[name] = method
    return method


METHODS["subtract_"] = sub_ = _inplace_scaled("sub_", sub)
add_ = _inplace_scaled("add_", add)
METHODS["multiply_"] = mul_ = METHODS["mul_"]


def div_(self, other, *, rounding_mode=None):
    """In-place `div`. Source: torch.Tensor.div_."""
    if rounding_mode is not None:
        return apply_inplace(OPS["div_mode"], (self, other, rounding_mode))
    return div.change(self, other)



METHODS["div_"] = METHODS["divide_"] = METHODS["true_divide_"] = div_


# -- operators -------------------------------------------------------------------------------------------------------------
def operator_method(name, lane):
    """Makes `lane` the operator `name`: NotImplemented for what is neither a tensor nor a number."""

    def method(self, other):
        if (
            other.__class__ is not Tensor
            and other.__class__ is not float
            and not isinstance(other, (Tensor, *NUMBERS))
        ):
            return NotImplemented
        return lane(self, other)

    method.__name__ = name
    METHODS[name] = method


for _name, _op in {
    "__add__": add,
    "__radd__": add,
    "__mul__": mul,
    "__rmul__": mul,
    "__sub__": sub,
    "__truediv__": div,
}.items():
    binary_operator(_name, _op)

for _name, _lane in {
    "__rsub__": rsub.call,
    "__rtruediv__": lambda self, other: self.reciprocal() * other,
    "__iadd__": add_,
    "__isub__": sub_,
    "__imul__": mul_,
    "__itruediv__": div_,
}.items():
    operator_method(_name, _lane)

METHODS["__neg__"] = METHODS["neg"]
METHODS["__pos__"] = lambda self: self
