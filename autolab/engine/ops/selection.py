"""Select and limit values: clamp, maximum, minimum, where, masked_fill, nan_to_num."""

from __future__ import annotations

import operator

import numpy as np

from ..autograd.modes import is_grad_enabled
from ..exact.arguments import held_by, mismatch, scalar_tensor
from ..exact.broadcasting import broadcast_error
from ..exact.dtype_errors import no_kernel
from ..inplace.changes import apply_inplace
from ..core.dtype import FROM_NUMPY, bool_, get_default_dtype, result_type_of
from ..core.errors import fail
from ..exact.refusals import unsupported
from .checks import refuse_if
from .copies import in_dtype_of
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.tensor import Tensor


# -- maximum, minimum --------------------------------------------------------------------------------------------------
def _register_extreme(name, wins, loses, doc):
    """Register `name`, the larger or smaller of two elements. wins, loses: the comparison signs in its formula."""
    compare = {"<": operator.lt, ">": operator.gt}

    def share(m, g, one, other, loses):
        """Return the gradient of one of the two operands: zero if it loses, half of `g` at a tie."""
        one, other = in_dtype_of(m, g, one), in_dtype_of(m, g, other)
        return m.masked_fill(m.where(one == other, g / 2, g), compare[loses](one, other), 0)

    register(
        f"{name}(Tensor self, Tensor other)",
        forward=lambda xp, self, other: getattr(xp, name)(self, other),
        fast=getattr(np, name),
        dtype="promote",
        check=no_kernel(name, "Complex"),
        vjp={
            "self": lambda m, g, self, other: share(m, g, self, other, loses),
            "other": lambda m, g, self, other: share(m, g, other, self, loses),
        },
        latex=rf"\{name[:3]}({{self}}, {{other}})",
        vjp_latex={
            k: rf"{{g}} \cdot ([{{{k}}} {wins} {{{o}}}] + \frac{{1}}{{2}} \cdot [{{{k}}} = {{{o}}}])"
            for k, o in (("self", "other"), ("other", "self"))
        },
        samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
        doc=f"Return the {doc} of two elements; nan if either is. At a tie each gets half of the gradient. "
        f"Source: torch.{name}",
    )


_register_extreme("maximum", ">", "<", "larger")
_register_extreme("minimum", "<", ">", "smaller")


# -- clamp -------------------------------------------------------------------------------------------------------------
def _clamp(xp, self, min, max):
    if self.dtype.kind in "biu" and (isinstance(min, float) or isinstance(max, float)):
        self = self.astype(get_default_dtype().np)
    if min is not None:
        self = xp.maximum(self, min)
    return self if max is None else xp.minimum(self, max)


def _within(m, self, min, max):
    if min is None:
        return self <= max
    return self >= min if max is None else m.logical_and(self >= min, self <= max)


clamp_op = internal(
    "clamp(Tensor self, Number? min=None, Number? max=None)",
    forward=_clamp,
    operands=("self",),
    node="ClampBackward1",
    vjp={"self": lambda m, g, self, min, max: m.where(_within(m, self, min, max), g, 0.0)},
    latex=r"\min(\max({self}, {min}), {max})",
    vjp_latex={"self": r"{g} \cdot [{min} \le {self} \le {max}]"},
    samples=lambda s: [(s.randn(5), -0.5, 0.5), (s.randn(2, 3), 0.1), (s.randn(3), None, 0.2)],
)


def _clamp_call(self, min, max):
    """Return the arguments of the op for two limits: numbers, 0-d tensors (used as numbers), or None."""
    if min is None and max is None:
        message = "torch.clamp: At least one of 'min' or 'max' must not be None"
        raise fail(RuntimeError, message, "Pass min, max or both.")
    limits = []
    for name, limit in (("min", min), ("max", max)):
        if isinstance(limit, Tensor):
            if limit.ndim or limit.requires_grad:
                note = "torch.maximum and torch.minimum take tensors of limits."
                raise unsupported("clamp", name, note)
            limit = limit.item()
        whole = self.dtype.is_integer and limit.__class__ is int
        limits.append(held_by(limit, self.dtype) if whole else limit)
    return self, *limits


@composite(method=True)
def clamp(input, min=None, max=None):
    """Return each element limited to [min, max]. At a limit the gradient is 1. Source: torch.clamp."""
    return clamp_op.call(*_clamp_call(input, min, max))


@composite(method=True)
def clamp_(input, min=None, max=None):
    """Limit each element in place. Source: torch.Tensor.clamp_."""
    args = _clamp_call(input, min, max)
    result = result_type_of([input.dtype], [], [b for b in args[1:] if b is not None])
    refuse_if(
        result.category > input.dtype.category,
        f"result type {result.short} can't be cast to the desired output type {input.dtype.cpp_name}",
        "An in-place operation keeps the tensor's dtype; give whole numbers as limits, or convert the tensor first.",
    )
    return apply_inplace(clamp_op, args)


for _table, _suffix in ((METHODS, ""), (METHODS, "_"), (NAMESPACES[""], ""), (NAMESPACES[""], "_")):
    _table["clip" + _suffix] = _table["clamp" + _suffix]


@composite(method=True)
def clamp_max_(input, max):
    """Limit each element to at most `max` in place. Source: torch.Tensor.clamp_max_."""
    return clamp_(input, max=max)


# -- where, masked_fill ------------------------------------------------------------------------------------------------
where_op = internal(
    "where(Tensor condition, Tensor self, operand other)",
    forward=lambda xp, condition, self, other: xp.where(condition, self, other)[()],
    dtype="promote",
    operands=("self", "other"),
    vjp={
        "self": lambda m, g, condition: m.where(condition, g, 0.0),
        "other": lambda m, g, condition: m.where(condition, 0.0, g),
    },
    latex=r"{condition} ? {self} : {other}",
    vjp_latex={"self": r"{g} \cdot [{condition}]", "other": r"{g} \cdot [\lnot {condition}]"},
    samples=lambda s: [
        (s.booleans(3), s.randn(2, 3), s.randn(2, 1)),
        (s.booleans(3), s.randn(3), 2.0),
    ],
)


@composite()
def where(condition, input=None, other=None):
    """Return `input` where `condition` is true, else `other`; both broadcast. With the condition alone, return the
    indices where it is true.

    Raise RuntimeError if the condition is not a bool tensor. Source: torch.where."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise mismatch()
    if condition.dtype is not bool_:
        message = f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.short}"
        raise fail(RuntimeError, message, "A comparison such as x > 0 gives a boolean tensor.")
    if not (isinstance(input, Tensor) or isinstance(other, Tensor)):
        input, other = scalar_tensor(input), scalar_tensor(other)
    return where_op.call(condition, input, other)


@composite("where", method=True, function=False)
def where_method(self, condition, other):
    """Return this tensor where `condition` is true, else `other`. Source: torch.Tensor.where."""
    return where(condition, self, other)


def _masked_fill(xp, self, mask, value):
    if mask.dtype != bool:
        message = f"masked_fill_ only supports boolean masks, but got mask with dtype {FROM_NUMPY[mask.dtype].cpp_name}"
        note = "A comparison such as x > 0 gives a boolean mask; .bool() converts zeros and ones."
        raise fail(RuntimeError, message, note)
    try:
        return xp.where(mask, self.dtype.type(value), self)[()]
    except ValueError:
        raise broadcast_error([np.shape(mask), np.shape(self)]) from None


masked_fill_op = internal(
    "masked_fill(Tensor self, Tensor mask, Number value)",
    forward=_masked_fill,
    operands=("self",),
    vjp={"self": lambda m, g, mask: m.masked_fill(g, mask, 0)},
    latex=r"{mask} ? {value} : {self}",
    vjp_latex={"self": r"{g} \cdot [\lnot {mask}]"},
    samples=lambda s: [(s.randn(3), s.booleans(3), 0.5), (s.randn(2, 3), s.booleans(3), -1e9)],
)


def _masked_fill_call(self, mask, value):
    if isinstance(value, Tensor):
        if value.ndim:
            message = f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            note = "One number fills all masked places; torch.where chooses between two tensors."
            raise fail(RuntimeError, message, note)
        if value.requires_grad and is_grad_enabled():
            given, instead = "that requires grad", "torch.where(mask, value, input)"
            raise fail(
                NotImplementedError,
                f"masked_fill: value is a tensor {given}",
                f"Use {instead}, which has a gradient for both.",
            )
        value = value.item()
    return self, mask, held_by(value, self.dtype)


@composite(method=True)
def masked_fill(input, mask, value):
    """Return a copy with `value` (a number or a 0-d tensor) where the bool tensor `mask` is true. Source:
    torch.Tensor.masked_fill."""
    return masked_fill_op.call(*_masked_fill_call(input, mask, value))


@composite(method=True, function=False)
def masked_fill_(self, mask, value):
    """Fill the tensor with `value` in place where `mask` is true. Source: torch.Tensor.masked_fill_."""
    return apply_inplace(masked_fill_op, _masked_fill_call(self, mask, value))


# -- nan and infinities ------------------------------------------------------------------------------------------------
def _nan_to_num(xp, self, nan, posinf, neginf):
    if self.dtype.kind != "f":
        return self.copy("K")
    return xp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)


register(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
    forward=_nan_to_num,
    inplace=True,
    vjp={"self": lambda m, g, self: g * m.isfinite(self)},
    latex=r"{self}",
    vjp_latex={"self": r"{g} \cdot [|{self}| < \infty]"},
    samples=lambda s: [s.randn(3)],
    doc="Replace nan by `nan` (0) and infinities by `posinf` and `neginf` (the largest and smallest number). "
    "Source: torch.nan_to_num",
)
