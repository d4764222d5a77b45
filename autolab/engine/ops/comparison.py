"""Questions with a yes or no per element: comparisons, logic, bits, is-it-nan; and isclose, allclose, equal, isin.

Sources: https://docs.pytorch.org/docs/2.13/torch.html#comparison-ops
"""

from __future__ import annotations

import operator

import numpy as np

from ..inplace.changes import apply_inplace
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..exact.dtype_errors import no_kernel, not_implemented
from .overloading import operators, overloaded
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.op import variant
from ..core.tensor import Tensor


# -- comparisons -------------------------------------------------------------------------------------------------------
def _comparison(name, function, ufunc, sign, aliases, doc):
    op = register(
        f"{name}(Tensor self, operand other)",
        forward=lambda xp, self, other: getattr(xp, ufunc)(self, other),
        fast=function,
        dtype="bool",
        check=None if name in ("eq", "ne") else no_kernel(f"{name}_cpu", "Complex"),
        operands=("self", "other"),
        latex=rf"[{{self}} {sign} {{other}}]",
        doc=f"{doc}, element by element: a bool tensor. Source: torch.{name}.",
        samples=lambda s: [
            (s.randn(3), s.randn(3)),
            (s.integers(3, 2, 3), s.integers(3, 3)),
            (s.integers(3, 4), 1),
        ],
    )
    # changed in place, the operands get gradients of 0
    title, zero = name.capitalize(), lambda m, g: m.zeros_like(g)
    by_number = variant(op, node=f"{title}Backward0", vjp={"self": zero})
    by_tensor = variant(op, node=f"{title}Backward1", vjp={"self": zero, "other": zero})

    def in_place(self, other):
        return apply_inplace(by_tensor if isinstance(other, Tensor) else by_number, (self, other))

    in_place.__doc__ = f"In-place `{name}`: 1 or 0. Source: torch.Tensor.{name}_"
    operators(**{name: op.call})
    METHODS[f"{name}_"] = in_place
    for alias in aliases:
        NAMESPACES[""][alias], METHODS[alias], METHODS[f"{alias}_"] = (
            NAMESPACES[""][name],
            METHODS[name],
            in_place,
        )


_comparison("eq", operator.eq, "equal", "=", (), "Whether the elements are equal")
_comparison("ne", operator.ne, "not_equal", r"\ne", ("not_equal",), "Whether the elements differ")
_comparison("lt", operator.lt, "less", "<", ("less",), "Whether input < other")
_comparison("le", operator.le, "less_equal", r"\le", ("less_equal",), "Whether input <= other")
_comparison("gt", operator.gt, "greater", ">", ("greater",), "Whether input > other")
_comparison(
    "ge", operator.ge, "greater_equal", r"\ge", ("greater_equal",), "Whether input >= other"
)


# -- logic -------------------------------------------------------------------------------------------------------------
def _logic(name, sign, doc):
    register(
        f"{name}(Tensor self, Tensor other)",
        forward=lambda xp, self, other: getattr(xp, name)(self, other),
        inplace="method",
        operands=("self", "other"),
        latex=rf"{{self}} {sign} {{other}}",
        doc=f"{doc}, element by element. Source: torch.{name}",
        samples=lambda s: [(s.booleans(4), s.booleans(4)), (s.integers(2, 2, 3), s.booleans(3))],
    )


_logic("logical_and", r"\land", "Whether both are nonzero")
_logic("logical_or", r"\lor", "Whether one or both are nonzero")
_logic("logical_xor", r"\oplus", "Whether exactly one is nonzero")
register(
    "logical_not(Tensor self)",
    forward=lambda xp, self: xp.logical_not(self),
    operands=("self",),
    inplace=True,
    latex=r"\lnot {self}",
    samples=lambda s: [s.booleans(4), s.integers(2, 4)],
    doc="Whether each element is zero. Source: torch.logical_not",
)


# -- bits --------------------------------------------------------------------------------------------------------------
def _bits(name, ufunc, torch_kernel, symbol, dunder, doc):
    def forward(xp, self, other):
        d = np.result_type(self, other)
        if d.kind not in "biu" or (d.kind == "b" and "shift" in name):
            raise not_implemented(torch_kernel, d)
        return getattr(xp, ufunc)(self, other)

    op = internal(
        f"{name}(operand self, operand other)",
        forward=forward,
        dtype="promote",
        operands=("self", "other"),
        latex=rf"{{self}} \mathbin{{\mathrm{{{symbol}}}}} {{other}}",
        samples=lambda s: [(s.integers(8, 4), s.integers(4, 4)), (s.integers(8, 4), 1)],
    )

    overloaded(name, op, op, op, doc=f"{doc}; integer and bool tensors only.")
    METHODS[f"__i{dunder}__"] = METHODS[f"{name}_"]
    operators(**{dunder: op.call, f"r{dunder}": lambda self, other: op.call(other, self)})


_bits("bitwise_and", "bitwise_and", "bitwise_and_cpu", "and", "and", "The bits set in both")
_bits("bitwise_or", "bitwise_or", "bitwise_or_cpu", "or", "or", "The bits set in one or both")
_bits("bitwise_xor", "bitwise_xor", "bitwise_xor_cpu", "xor", "xor", "The bits set in exactly one")
_bits(
    "bitwise_left_shift",
    "left_shift",
    "lshift_cpu",
    "shl",
    "lshift",
    "The bits moved left by `other` places",
)
_bits(
    "bitwise_right_shift",
    "right_shift",
    "rshift_cpu",
    "shr",
    "rshift",
    "The bits moved right by `other` places",
)


def _bitwise_not(xp, self):
    if self.dtype.kind not in "biu":
        raise not_implemented("bitwise_not_cpu", self.dtype)
    return xp.invert(self)


register(
    "bitwise_not(Tensor self)",
    forward=_bitwise_not,
    inplace=True,
    latex=r"\sim {self}",
    samples=lambda s: [s.integers(8, 4), s.booleans(4)],
    doc="Every bit flipped; for bool tensors, not. Source: torch.bitwise_not",
)


def _invert(self):
    if self.dtype.is_inexact:
        raise fail(
            TypeError,
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
            "A comparison such as x > 0 gives a bool tensor, which ~ turns around.",
        )
    return METHODS["bitwise_not"](self)


METHODS["__invert__"] = _invert


# -- what kind of number -----------------------------------------------------------------------------------------------
def _kind(name, forward, tex, doc):
    register(
        f"{name}(Tensor self)",
        forward=forward,
        latex=tex,
        samples=lambda s: [s.randn(3), s.integers(3, 4)],
        doc=f"{doc} Source: torch.{name}",
    )


_kind(
    "isnan", lambda xp, self: xp.isnan(self), r"[{self} \ne {self}]", "Whether each element is nan."
)
_kind(
    "isinf",
    lambda xp, self: xp.isinf(self),
    r"[\left| {self} \right| = \infty]",
    "Whether each element is infinite.",
)
_kind(
    "isfinite",
    lambda xp, self: xp.isfinite(self),
    r"[\left| {self} \right| < \infty]",
    "Whether each element is neither infinite nor nan.",
)


# -- nearly and exactly equal ------------------------------------------------------------------------------------------
def _isclose(xp, self, other, rtol, atol, equal_nan):
    if self.dtype != other.dtype:
        raise fail(
            RuntimeError,
            f"{FROM_NUMPY[self.dtype].short} did not match {FROM_NUMPY[other.dtype].short}",
            "Compare tensors of one dtype: convert one with .to(other.dtype).",
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise fail(
                RuntimeError,
                f"{name} must be greater than or equal to zero, but got {value:g}",
                "A tolerance says how far apart still counts.",
            )
    close = self == other
    if equal_nan and self.dtype.kind == "f":
        close = close | (xp.isnan(self) & xp.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.kind in "bu":  # whose differences wrap around
        self, other = self.astype(np.int64), other.astype(np.int64)
    gap = xp.abs(self - other)
    return close | (xp.isfinite(gap) & (gap <= atol + xp.abs(rtol * other)))


isclose_op = internal(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
    forward=_isclose,
    operands=("self", "other"),
    latex=r"\left| {self} - {other} \right| \le {atol} + {rtol} \cdot \left| "
    r"{other} \right|",
    samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3), 0.5)],
)


@composite(method=True)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol |other|, element by element. equal_nan: two nans count as equal.

    Raises RuntimeError when the dtypes differ. Source: torch.isclose."""
    return isclose_op.call(input, other, rtol, atol, equal_nan)


@composite(method=True)
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close (see `isclose`): a Python bool. Source: torch.allclose."""
    return bool(isclose_op.call(input, other, rtol, atol, equal_nan)._array.all())


@composite(method=True)
def equal(input, other):
    """Whether both tensors have the same shape and the same elements: a Python bool. Source: torch.equal."""
    return input._array.shape == other._array.shape and bool(np.all(input._array == other._array))
