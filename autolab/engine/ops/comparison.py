"""Elementwise tests: comparisons, logic, bits, isnan and similar; and isclose, allclose, equal.

Sources: https://docs.pytorch.org/docs/2.13/torch.html#comparison-ops
"""

from __future__ import annotations

import operator

import numpy as np

from ..exact.dtype_errors import no_kernel, not_implemented
from .checks import refuse_if
from .overloading import operators
from .functions import METHODS, NAMESPACES, composite, register


# -- comparisons -------------------------------------------------------------------------------------------------------
def _register_comparison(name, ufunc, sign, doc):
    op = register(
        f"{name}(Tensor self, operand other)",
        forward=lambda xp, self, other: getattr(xp, ufunc)(self, other),
        fast=getattr(operator, name),
        dtype="bool",
        check=None if name in ("eq", "ne") else no_kernel(f"{name}_cpu", "Complex"),
        operands=("self", "other"),
        latex=rf"[{{self}} {sign} {{other}}]",
        doc=f"Return whether {doc}, element by element: a bool tensor. Source: torch.{name}.",
    )
    operators(**{name: op.call})
    if ufunc != "equal":  # torch.equal compares whole tensors
        NAMESPACES[""][ufunc], METHODS[ufunc] = NAMESPACES[""][name], METHODS[name]


_register_comparison("eq", "equal", "=", "the elements are equal")
_register_comparison("ne", "not_equal", r"\ne", "the elements differ")
_register_comparison("lt", "less", "<", "input < other")
_register_comparison("le", "less_equal", r"\le", "input <= other")
_register_comparison("gt", "greater", ">", "input > other")
_register_comparison("ge", "greater_equal", r"\ge", "input >= other")


# -- logic -------------------------------------------------------------------------------------------------------------
def _register_logic(name, sign, doc):
    register(
        f"{name}(Tensor self, Tensor other)",
        forward=lambda xp, self, other: getattr(xp, name)(self, other),
        inplace="method",
        operands=("self", "other"),
        latex=rf"{{self}} {sign} {{other}}",
        doc=f"Return {doc}, element by element. Source: torch.{name}",
        samples=lambda s: [(s.integers(2, 2, 3), s.booleans(3))],
    )


_register_logic("logical_and", r"\land", "whether both are nonzero")
_register_logic("logical_or", r"\lor", "whether one or both are nonzero")
_register_logic("logical_xor", r"\oplus", "whether exactly one is nonzero")
register(
    "logical_not(Tensor self)",
    forward=lambda xp, self: xp.logical_not(self),
    operands=("self",),
    inplace=True,
    latex=r"\lnot {self}",
    samples=lambda s: [s.booleans(4), s.integers(2, 4)],
    doc="Return whether each element is zero. Source: torch.logical_not",
)


# -- bits --------------------------------------------------------------------------------------------------------------
def _register_bits(name, dunder, doc):
    def forward(xp, self, other):
        d = np.result_type(self, other)
        if d.kind not in "biu":
            raise not_implemented(f"{name}_cpu", d)
        return getattr(xp, name)(self, other)

    op = register(
        f"{name}(Tensor self, operand other)",
        forward=forward,
        dtype="promote",
        inplace="method",
        latex=rf"{{self}} \mathbin{{\mathrm{{{dunder}}}}} {{other}}",
        samples=lambda s: [(s.integers(8, 4), s.integers(4, 4)), (s.integers(8, 4), 1)],
        doc=f"Return {doc}; integer and bool tensors only. Source: torch.{name}.",
    )
    METHODS[f"__i{dunder}__"] = METHODS[f"{name}_"]
    operators(**{dunder: op.call, f"r{dunder}": op.call})


_register_bits("bitwise_and", "and", "the bits set in both")
_register_bits("bitwise_or", "or", "the bits set in one or both")
_register_bits("bitwise_xor", "xor", "the bits set in exactly one")


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
    doc="Flip every bit; for bool tensors, this is the logical not. Source: torch.bitwise_not",
)


def _invert(self):
    message = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
    note = "A comparison such as x > 0 gives a bool tensor, which ~ turns around."
    refuse_if(self.dtype.is_floating_point, message, note, TypeError)
    return METHODS["bitwise_not"](self)


METHODS["__invert__"] = _invert


# -- isnan, isinf and similar tests ------------------------------------------------------------------------------------
for _name, _tex, _doc in (
    ("isnan", r"[{self} \ne {self}]", "nan"),
    ("isinf", r"[\left| {self} \right| = \infty]", "infinite"),
    ("isfinite", r"[\left| {self} \right| < \infty]", "neither infinite nor nan"),
):
    register(
        f"{_name}(Tensor self)",
        forward=lambda xp, self, name=_name: getattr(xp, name)(self),
        latex=_tex,
        doc=f"Return whether each element is {_doc}. Source: torch.{_name}",
    )


# -- nearly and exactly equal ------------------------------------------------------------------------------------------
@composite(method=True)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether |input - other| <= atol + rtol |other|, element by element. equal_nan: whether two nans are equal.

    Raise RuntimeError if the dtypes differ. Source: torch.isclose."""
    refuse_if(
        input.dtype is not other.dtype,
        f"{input.dtype.short} did not match {other.dtype.short}",
        "Compare tensors of one dtype: convert one with .to(other.dtype).",
    )
    message = f"rtol and atol must be greater than or equal to zero, but got {rtol:g} and {atol:g}"
    refuse_if(min(rtol, atol) < 0, message, "A tolerance is a distance, so it cannot be negative.")
    if input.dtype.np.kind in "bu":  # differences of these dtypes wrap around
        input, other = input.long(), other.long()
    close = input == other
    if equal_nan:
        close = close | (input != input) & (other != other)
    gap = (input - other).abs()
    return close | gap.isfinite() & (gap <= atol + (rtol * other).abs())


@composite(method=True)
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether all elements are close (see `isclose`): a Python bool. Source: torch.allclose."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@composite(method=True)
def equal(input, other):
    """Return whether both tensors have the same shape and the same elements: a Python bool. Source: torch.equal."""
    return input._array.shape == other._array.shape and bool(np.all(input._array == other._array))
