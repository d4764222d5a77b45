"""Choosing and limiting values: clamp, maximum, minimum, where, masked_fill, nan_to_num."""

from __future__ import annotations

import operator

import numpy as np

from ..exact.arguments import check_fits, held_by, mismatch
from ..exact.broadcasting import broadcast_error
from ..inplace.changes import apply_inplace
from ..core.dtype import FROM_NUMPY, bool_, get_default_dtype, result_type_of
from ..core.errors import fail
from ..exact.refusals import unsupported
from .copies import in_dtype_of
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.tensor import Tensor
from ..exact.arguments import scalar_tensor


# -- the larger, the smaller -------------------------------------------------------------------------------------------
def _competition(name, wins, loses, doc):
    """Register `name`, the larger or smaller of two elements; wins, loses: the signs between winner and loser."""
    other_way = {"<": operator.lt, ">": operator.gt}

    def check(dtypes, promoted):
        if promoted.is_complex:
            raise fail(
                RuntimeError,
                f"{name} not implemented for complex tensors.",
                "Complex numbers have no order; compare their .abs().",
            )

    def share(m, g, self, other, loses):
        """Return the gradient of one of two competitors: nothing where it loses, half at a tie."""
        self, other = in_dtype_of(m, g, self), in_dtype_of(m, g, other)
        return m.masked_fill(m.where(self == other, g / 2, g), other_way[loses](self, other), 0)

    register(
        f"{name}(Tensor self, Tensor other)",
        forward=lambda xp, self, other: getattr(xp, name)(self, other),
        fast=getattr(np, name),
        dtype="promote",
        check=check,
        vjp={
            "self": lambda m, g, self, other: share(m, g, self, other, loses),
            "other": lambda m, g, self, other: share(m, g, self, other, wins),
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


_competition("maximum", ">", "<", "larger")
_competition("minimum", "<", ">", "smaller")


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
    """Return the arguments of the op for two limits: numbers, 0-d tensors, which stand for their number, or None."""
    if min is None and max is None:
        raise fail(
            RuntimeError,
            "torch.clamp: At least one of 'min' or 'max' must not be None",
            "Without a limit nothing would change.",
        )
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = _limit("min", min), _limit("max", max)
    if self.dtype.is_integer and float not in (min.__class__, max.__class__):
        # a limit that is a whole number wraps or is refused, as any number of its dtype
        min, max = (held_by(b, self.dtype) if b.__class__ is int else b for b in (min, max))
    return self, min, max


def _limit(name, limit):
    """Return a limit as a number or None. Raises NotImplementedError for a tensor of limits."""
    if isinstance(limit, Tensor) and (limit.ndim or limit.requires_grad):
        note = "torch.maximum and torch.minimum take tensors of limits."
        raise unsupported("clamp", name, note)
    return limit.item() if isinstance(limit, Tensor) else limit


@composite(method=True)
def clamp(input, min=None, max=None):
    """Return each element limited to [min, max]. At a limit the gradient is 1. Source: torch.clamp."""
    return clamp_op.call(*_clamp_call(input, min, max))


@composite(method=True)
def clamp_(input, min=None, max=None):
    """Limit each element in place. Source: torch.Tensor.clamp_."""
    args = _clamp_call(input, min, max)
    result = result_type_of([input.dtype], [], [b for b in args[1:] if b is not None])
    if result.category > input.dtype.category:
        raise fail(
            RuntimeError,
            f"result type {result.short} can't be cast to the desired output type {input.dtype.cpp_name}",
            "An in-place operation keeps the tensor's dtype; give whole numbers as limits, or convert the "
            "tensor first.",
        )
    return apply_inplace(clamp_op, args)


for _table, _suffix in ((METHODS, ""), (METHODS, "_"), (NAMESPACES[""], ""), (NAMESPACES[""], "_")):
    _table["clip" + _suffix] = _table["clamp" + _suffix]


def _one_limit(name, limits, kept, latex, sign):
    """Register the operation that `clamp_min` or `clamp_max` runs."""
    limit = name[-3:]
    return internal(
        f"{name}(Tensor self, Number {limit})",
        forward=lambda xp, self, bound: _clamp(xp, self, *limits(bound)),
        operands=("self",),
        vjp={"self": kept},
        latex=latex,
        vjp_latex={"self": rf"{{g}} \cdot [{{self}} {sign} {{{limit}}}]"},
        samples=lambda s: [(s.randn(3), 0.1)],
    )


clamp_min_op = _one_limit(
    "clamp_min",
    lambda bound: (bound, None),
    lambda m, g, self, min: m.where(self >= min, g, 0.0),
    r"\max({self}, {min})",
    r"\ge",
)
clamp_max_op = _one_limit(
    "clamp_max",
    lambda bound: (None, bound),
    lambda m, g, self, max: m.where(self <= max, g, 0.0),
    r"\min({self}, {max})",
    r"\le",
)


@composite(method=True)
def clamp_min(input, min):
    """Return each element, but at least the number `min`. Source: torch.clamp_min."""
    args = _clamp_call(input, min, None)
    return clamp_min_op.call(*args[:2]) if input.dtype.is_floating_point else clamp_op.call(*args)


@composite(method=True)
def clamp_max(input, max):
    """Return each element, but at most the number `max`. Source: torch.clamp_max."""
    args = _clamp_call(input, None, max)
    one = input.dtype.is_floating_point
    return clamp_max_op.call(input, args[2]) if one else clamp_op.call(*args)


@composite(method=True)
def clamp_max_(input, max):
    """Limit each element to at most `max` in place. Source: torch.Tensor.clamp_max_."""
    bound = _clamp_call(input, None, max)[2]
    one = input.dtype.is_floating_point
    return apply_inplace(clamp_max_op, (input, bound)) if one else input.clamp_(max=bound)


# -- where, masked_fill ------------------------------------------------------------------------------------------------
def _where(xp, condition, self, other):
    try:
        return xp.where(condition, self, other)[()]
    except ValueError:
        raise broadcast_error([np.shape(a) for a in (condition, self, other)]) from None


where_op = internal(
    "where(Tensor condition, Tensor self, operand other)",
    forward=_where,
    dtype="promote",
    operands=("self", "other"),
    vjp={
        "self": lambda m, g, condition: m.where(condition, g, 0.0),
        "other": lambda m, g, condition: m.where(condition, 0.0, g),
    },
    latex=r"{condition} ? {self} : {other}",
    vjp_latex={"self": r"{g} \cdot [{condition}]", "other": r"{g} \cdot [\lnot {condition}]"},
    samples=lambda s: [
        (s.booleans(3), s.randn(3), s.randn(3)),
        (s.booleans(3), s.randn(2, 3), s.randn(2, 1)),
        (s.booleans(3), s.randn(3), 2.0),
    ],
)


@composite()
def where(condition, input=None, other=None):
    """Return `input` where `condition` holds, `other` elsewhere; both broadcast. With the condition alone: the indices
    where it holds.

    Raises RuntimeError when the condition is not a bool tensor. Source: torch.where."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise mismatch()
    if condition.dtype is not bool_:
        raise fail(
            RuntimeError,
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.short}",
            "A comparison such as x > 0 gives a boolean tensor.",
        )
    if not (isinstance(input, Tensor) or isinstance(other, Tensor)):
        input, other = scalar_tensor(input), scalar_tensor(other)
    return where_op.call(condition, input, other)


@composite("where", method=True, function=False)
def where_method(self, condition, other):
    """Return this tensor where `condition` holds, `other` elsewhere. Source: torch.Tensor.where."""
    return where(condition, self, other)


def _masked_fill(xp, self, mask, value):
    if mask.dtype != bool:
        raise fail(
            RuntimeError,
            f"masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{FROM_NUMPY[mask.dtype].cpp_name}",
            "A comparison such as x > 0 gives a boolean mask; .bool() converts zeros and ones.",
        )
    try:
        value = value.astype(self.dtype) if hasattr(value, "dtype") else self.dtype.type(value)
        return xp.where(mask, value, self)[()]
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
masked_fill_tensor = internal(
    "masked_fill_tensor(Tensor self, Tensor mask, Tensor value)",
    forward=_masked_fill,
    operands=("self",),
    node="MaskedFillBackward1",
    vjp={
        "self": lambda m, g, mask: m.masked_fill(g, mask, 0),
        "value": lambda m, g, mask: m.sum(m.where(mask, g, 0.0)),
    },
    latex=r"{mask} ? {value} : {self}",
    vjp_latex={"self": r"{g} \cdot [\lnot {mask}]", "value": r"\sum {g} \cdot [{mask}]"},
    samples=lambda s: [(s.randn(3), s.booleans(3), s.randn())],
)


def _masked_fill_call(self, mask, value):
    if not isinstance(value, Tensor):
        return masked_fill_op, (self, mask, held_by(value, self.dtype))
    if value._array.ndim:
        raise fail(
            RuntimeError,
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s).",
            "One value fills all masked places; torch.where chooses between two tensors.",
        )
    if (
        value.dtype is not self.dtype and value.device.type == "cpu"
    ):  # of another device it is not known here
        check_fits(value._array.item(), self.dtype)
    return masked_fill_tensor, (self, mask, value)


@composite(method=True)
def masked_fill(input, mask, value):
    """Return a copy with `value` (a number or a 0-d tensor) where the bool tensor `mask` holds. Source:
    torch.Tensor.masked_fill."""
    op, args = _masked_fill_call(input, mask, value)
    return op.call(*args)


@composite(method=True, function=False)
def masked_fill_(self, mask, value):
    """Fill the masked places. Source: torch.Tensor.masked_fill_."""
    op, args = _masked_fill_call(self, mask, value)
    return apply_inplace(op, args)


# -- nan and infinities ------------------------------------------------------------------------------------------------
def _nan_to_num(xp, self, nan, posinf, neginf):
    if self.dtype.kind != "f":
        return self.copy("K")
    limits = np.finfo(self.dtype)
    return xp.nan_to_num(
        self,
        nan=0.0 if nan is None else nan,
        posinf=float(limits.max) if posinf is None else posinf,
        neginf=float(limits.min) if neginf is None else neginf,
    )


register(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
    forward=_nan_to_num,
    inplace=True,
    vjp={"self": lambda m, g, self: g * m.isfinite(self)},
    latex=r"{self}",
    vjp_latex={"self": r"{g} \cdot [|{self}| < \infty]"},
    samples=lambda s: [s.randn(3)],
    doc="Return numbers for nan (`nan`: 0) and for infinities (`posinf`, `neginf`: the largest and smallest number). "
    "Source: torch.nan_to_num",
)
