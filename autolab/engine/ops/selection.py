"""Choosing and limiting values: clamp, maximum, minimum, where, masked_fill, nan_to_num."""

from __future__ import annotations

import operator
import warnings

import numpy as np

from ..exact.arguments import check_fits, held_by, mismatch
from ..exact.broadcasting import broadcast_error
from ..inplace.changes import apply_inplace
from ..core.dtype import FROM_NUMPY, NUMBERS, bool_, get_default_dtype, result_type_of, uint8
from ..core.errors import fail
from .copies import in_dtype_of
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.tensor import Tensor
from ..exact.arguments import scalar_tensor


# -- the larger, the smaller -------------------------------------------------------------------------------------------
def _share(m, g, competitor, other, loses):
    """The gradient of one of two competitors: nothing where it loses, half at a tie."""
    competitor, other = in_dtype_of(m, g, competitor), in_dtype_of(m, g, other)
    return m.masked_fill(m.where(competitor == other, g / 2, g), loses(competitor, other), 0)


def _ordered(name):
    def check(dtypes, promoted):
        if promoted.is_complex:
            raise fail(
                RuntimeError,
                f"{name} not implemented for complex tensors.",
                "Complex numbers have no order; compare their .abs().",
            )

    return check


def _competition(name, function, rules, doc):
    tex, torch_name, wins = (
        rf"\{name}({{self}}, {{other}})",
        f"{name}imum",
        {"max": ">", "min": "<"}[name],
    )
    register(
        f"{torch_name}(Tensor self, Tensor other)",
        forward=lambda xp, self, other: getattr(xp, torch_name)(self, other),
        fast=function,
        dtype="promote",
        check=_ordered(torch_name),
        vjp=rules,
        latex=tex,
        vjp_latex={
            k: rf"{{g}} \cdot ([{{{k}}} {wins} {{{o}}}] + \frac{{1}}{{2}} \cdot [{{{k}}} = {{{o}}}])"
            for k, o in (("self", "other"), ("other", "self"))
        },
        samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
        doc=f"{doc} Source: torch.{torch_name}",
    )


_competition(
    "max",
    np.maximum,
    {
        "self": lambda m, g, self, other: _share(m, g, self, other, operator.lt),
        "other": lambda m, g, self, other: _share(m, g, other, self, operator.lt),
    },
    "The larger of two elements; nan if either is. At a tie each gets half of the gradient.",
)
_competition(
    "min",
    np.minimum,
    {
        "self": lambda m, g, self, other: _share(m, g, self, other, operator.gt),
        "other": lambda m, g, self, other: _share(m, g, other, self, operator.gt),
    },
    "The smaller of two elements; nan if either is. At a tie each gets half of the gradient.",
)


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


_CLAMP_TEX = r"\min(\max({self}, {min}), {max})"
clamp_op = internal(
    "clamp(Tensor self, Number? min=None, Number? max=None)",
    forward=_clamp,
    operands=("self",),
    node="ClampBackward1",
    vjp={"self": lambda m, g, self, min, max: m.where(_within(m, self, min, max), g, 0.0)},
    latex=_CLAMP_TEX,
    vjp_latex={"self": r"{g} \cdot [{min} \le {self} \le {max}]"},
    samples=lambda s: [(s.randn(5), -0.5, 0.5), (s.randn(2, 3), 0.1), (s.randn(3), None, 0.2)],
)


def _min_loses(m, self, min, max):
    return self < min if max is None else m.logical_and(min < max, self < min)


def _max_loses(m, self, min, max):
    return self > max if min is None else m.logical_or(self > max, max < min)


clamp_tensor = internal(
    "clamp_tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
    forward=_clamp,
    dtype="promote",
    operands=("self", "min", "max"),
    node="ClampBackward0",
    vjp={
        "self": lambda m, g, self, min, max: m.where(_within(m, self, min, max), g, 0.0),
        "min": lambda m, g, self, min, max: m.where(_min_loses(m, self, min, max), g, 0.0),
        "max": lambda m, g, self, min, max: m.where(_max_loses(m, self, min, max), g, 0.0),
    },
    latex=_CLAMP_TEX,
    vjp_latex={
        "self": r"{g} \cdot [{min} \le {self} \le {max}]",
        "min": r"{g} \cdot [{self} < {min} \le {max}]",
        "max": r"{g} \cdot [{self} > {max} \lor {min} > {max}]",
    },
    samples=lambda s: [
        (s.randn(4), s.randn(4), s.randn(4)),
        (s.randn(2, 3), s.randn(3)),
        (s.randn(3), None, s.randn(3)),
    ],
)


_FLOATS_AND_INTS = {float, int}


def _clamp_call(self, min, max):
    if self.dtype.is_integer and float not in (min.__class__, max.__class__):
        # a limit that is a whole number wraps or is refused, as any number of its dtype
        min, max = (
            held_by(bound, self.dtype) if bound.__class__ is int else bound for bound in (min, max)
        )
    if min.__class__ in _FLOATS_AND_INTS and (
        max is None or max.__class__ in _FLOATS_AND_INTS
    ):  # most often
        return clamp_op, (self, min, max)
    if min is None and max is None:
        raise fail(
            RuntimeError,
            "torch.clamp: At least one of 'min' or 'max' must not be None",
            "Without a limit nothing would change.",
        )
    tensors = isinstance(min, Tensor), isinstance(max, Tensor)
    if all(t or bound is None for t, bound in zip(tensors, (min, max))):
        return clamp_tensor, (self, min, max)
    if any(t and (b.ndim or b.requires_grad) for t, b in zip(tensors, (min, max))):
        raise mismatch()
    # a number with a 0-d tensor: torch takes the tensor's value
    return clamp_op, (
        self,
        *(bound.item() if t else bound for t, bound in zip(tensors, (min, max))),
    )


@composite(method=True)
def clamp(input, min=None, max=None):
    """Each element limited to [min, max]; the limits are numbers or tensors. At a limit the gradient is 1. Source:
    torch.clamp."""
    op, args = _clamp_call(input, min, max)
    return op.call(*args)


@composite(method=True)
def clamp_(input, min=None, max=None):
    """In-place `clamp`. Source: torch.Tensor.clamp_."""
    op, args = _clamp_call(input, min, max)
    result = result_type_of([input.dtype], [], [b for b in args[1:] if b.__class__ in NUMBERS])
    if result.category > input.dtype.category:
        raise fail(
            RuntimeError,
            f"result type {result.short} can't be cast to the desired output type {input.dtype.cpp_name}",
            "An in-place operation keeps the tensor's dtype; give whole numbers as limits, or convert the "
            "tensor first.",
        )
    return apply_inplace(op, args)


for _table, _suffix in ((METHODS, ""), (METHODS, "_"), (NAMESPACES[""], ""), (NAMESPACES[""], "_")):
    _table["clip" + _suffix] = _table["clamp" + _suffix]


def _one_limit(name, torch_node, number_rule, tensor_rules, tex, sign):
    side = name[-3:]

    def forward(xp, self, limit):
        return _clamp(xp, self, *((limit, None) if side == "min" else (None, limit)))

    by_number = internal(
        f"{name}(Tensor self, Number {side})",
        forward=forward,
        operands=("self",),
        vjp={"self": number_rule},
        latex=tex,
        vjp_latex={"self": rf"{{g}} \cdot [{{self}} {sign} {{{side}}}]"},
        samples=lambda s: [(s.randn(3), 0.1)],
    )
    by_tensor = internal(
        f"{name}_tensor(Tensor self, Tensor {side})",
        forward=forward,
        dtype="promote",
        node=f"{torch_node}Backward1",
        vjp=tensor_rules,
        latex=tex,
        vjp_latex={
            "self": rf"{{g}} \cdot [{{self}} {sign} {{{side}}}]",
            side: rf"{{g}} \cdot [\lnot {{self}} {sign} {{{side}}}]",
        },
        samples=lambda s: [(s.randn(3), s.randn(3)), (s.randn(2, 3), s.randn(3))],
    )
    return by_number, by_tensor


def _limit(ops, input, limit):
    """The record for a limit that is a number or a tensor, and the operands."""
    if isinstance(limit, Tensor):
        return ops[1], (input, limit)
    return ops[0], (
        input,
        held_by(limit, input.dtype) if limit.__class__ is int and input.dtype.is_integer else limit,
    )


_MIN = _one_limit(
    "clamp_min",
    "ClampMin",
    lambda m, g, self, min: m.where(self >= min, g, 0.0),
    {
        "self": lambda m, g, self, min: m.where(self >= min, g, 0.0),
        "min": lambda m, g, self, min: m.where(self < min, g, 0.0),
    },
    r"\max({self}, {min})",
    r"\ge",
)
_MAX = _one_limit(
    "clamp_max",
    "ClampMax",
    lambda m, g, self, max: m.where(self <= max, g, 0.0),
    {
        "self": lambda m, g, self, max: m.where(self <= max, g, 0.0),
        "max": lambda m, g, self, max: m.where(self > max, g, 0.0),
    },
    r"\min({self}, {max})",
    r"\le",
)


@composite(method=True)
def clamp_min(input, min):
    """Each element, but at least `min` (a number or a tensor). Source: torch.clamp_min."""
    op, args = _limit(_MIN, input, min)
    return op.call(*args)


@composite(method=True)
def clamp_min_(input, min):
    """In-place `clamp_min`. Source: torch.Tensor.clamp_min_."""
    return apply_inplace(*_limit(_MIN, input, min))


@composite(method=True)
def clamp_max(input, max):
    """Each element, but at most `max` (a number or a tensor). Source: torch.clamp_max."""
    op, args = _limit(_MAX, input, max)
    return op.call(*args)


@composite(method=True)
def clamp_max_(input, max):
    """In-place `clamp_max`. Source: torch.Tensor.clamp_max_."""
    return apply_inplace(*_limit(_MAX, input, max))


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


def _choose(condition, chosen):
    if (
        len(chosen) == 2
        and chosen[0].__class__ is chosen[1].__class__ is condition.__class__ is Tensor
        and condition.dtype is bool_
    ):
        return where_op.call(condition, *chosen)  # most often
    if len(chosen) != 2:
        raise mismatch()
    if condition.dtype is uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
            "future version of PyTorch. "
            "Use a boolean condition instead.",
            UserWarning,
            stacklevel=4,
        )
        condition = condition.bool()
    if condition.dtype is not bool_:
        raise fail(
            RuntimeError,
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.short}",
            "A comparison such as x > 0 gives a boolean tensor.",
        )
    if not any(isinstance(c, Tensor) for c in chosen):
        chosen = [scalar_tensor(c) for c in chosen]
    return where_op.call(condition, *chosen)


@composite()
def where(condition, *chosen, input=None, other=None):
    """`input` where `condition` holds, `other` elsewhere; both broadcast. With the condition alone: the indices where
    it holds.

    Raises RuntimeError when the condition is not a bool tensor. Source: torch.where."""
    if input is not None or other is not None:
        chosen = (*chosen, *(c for c in (input, other) if c is not None))
    return (
        condition.nonzero(as_tuple=True)
        if not chosen and isinstance(condition, Tensor)
        else _choose(condition, chosen)
    )


@composite("where", method=True, function=False)
def where_method(self, condition, other):
    """This tensor where `condition` holds, `other` elsewhere. Source: torch.Tensor.where."""
    return _choose(condition, (self, other))


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
    """A copy with `value` (a number or a 0-d tensor) where the bool tensor `mask` holds. Source:
    torch.Tensor.masked_fill."""
    op, args = _masked_fill_call(input, mask, value)
    return op.call(*args)


@composite(method=True, function=False)
def masked_fill_(self, mask, value):
    """In-place `masked_fill`. Source: torch.Tensor.masked_fill_."""
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
    doc="nan becomes `nan` (0), infinities `posinf` and `neginf` (the largest and smallest number). Source: "
    "torch.nan_to_num",
)
