"""Rounding, and division with a remainder: round floor ceil trunc, fmod remainder floor_divide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import no_kernel, not_implemented
from .copies import in_dtype_of
from .functions import METHODS, composite, internal, register
from .overloading import operators, overloaded


# -- rounding ----------------------------------------------------------------------------------------------------------
def _rounding(name, tex, doc):
    def forward(xp, self):
        if self.dtype.kind == "b":
            raise not_implemented(f"{name}_vml_cpu", self.dtype)
        if self.dtype.kind in "iu":
            return xp.positive(self)
        return getattr(xp, "rint" if name == "round" else name)(self)

    return register(
        f"{name}(Tensor self)",
        forward=forward,
        inplace=True,
        vjp={"self": lambda m, g: m.zeros_like(g)},
        latex=tex,
        vjp_latex={"self": "0"},
        samples=lambda s: [s.distinct(3)],
        doc=f"Return {doc}. The gradient is 0. Source: torch.{name}",
    )


_rounding("floor", r"\lfloor {self} \rfloor", "the largest whole number not above each element")
_rounding("ceil", r"\lceil {self} \rceil", "the smallest whole number not below each element")
_rounding("trunc", r"\mathrm{trunc}({self})", "each element without its digits after the point")
round_op = _rounding(
    "round", r"\mathrm{round}({self})", "the nearest whole number; halves go to the even one"
)


def _round_decimals(xp, self, decimals):
    # As in torch, scale in the tensor's own precision: 10**decimals is not computed in float64 first.
    scale = self.dtype.type(10.0 ** abs(decimals))
    return xp.rint(self * scale) / scale if decimals >= 0 else xp.rint(self / scale) * scale


round_decimals = internal(
    "round_decimals(Tensor self, int decimals)",
    forward=_round_decimals,
    vjp={"self": lambda m, g: m.zeros_like(g)},
    node="RoundBackward1",
    latex=r"\mathrm{round}({self}, {decimals})",
    vjp_latex={"self": "0"},
    samples=lambda s: [(s.distinct(3) / 10, 1)],
)


@composite(method=True)
def round(input, *, decimals=None):
    """Return the nearest integer (halves go to the even one), or round to `decimals` places. The gradient is 0. Source:
    torch.round."""
    return round_op.call(input) if decimals is None else round_decimals.call(input, decimals)


# -- division with remainder -------------------------------------------------------------------------------------------
def _whole(*operands):
    return not {getattr(a, "dtype", np.dtype(type(a))).kind for a in operands} & {"f"}


def _no_zero(xp, self, other):
    # A GPU returns an arbitrary number here, in PyTorch too.
    if xp is np and _whole(self, other) and np.size(self) and np.any(other == 0):
        note = "Integers cannot represent x / 0. Floats give inf or nan."
        raise fail(RuntimeError, "ZeroDivisionError", note)


def _remainder(xp, self, other):
    """Return the remainder with the sign of the divisor; if it is zero, with the sign of the dividend, as in torch."""
    rest = _fmod(xp, self, other)
    if rest.dtype.kind == "u":
        return rest
    return xp.where((rest != 0) & ((other < 0) != (rest < 0)), rest + other, rest)[()]


def _fmod(xp, self, other):
    _no_zero(xp, self, other)
    return xp.fmod(self, other)


def _floor_divide(xp, self, other):
    _no_zero(xp, self, other)
    return xp.floor_divide(self, other)


def _div_mode(xp, self, other, rounding_mode):
    if rounding_mode == "floor":
        return _floor_divide(xp, self, other)
    _no_zero(xp, self, other)
    quotient = xp.trunc(xp.true_divide(self, other))
    return quotient.astype(np.result_type(self, other)) if _whole(self, other) else quotient


_TRUNCATED, _FLOORED = (
    r"\mathrm{trunc}\frac{{self}}{{other}}",
    r"\left\lfloor \frac{{self}}{{other}} \right\rfloor",
)
_FIELDS: dict[str, Any] = {"dtype": "promote", "operands": ("self", "other")}

div_mode = internal(
    "div_mode(Tensor self, Tensor other, str? rounding_mode)",
    forward=_div_mode,
    node="DivBackward2",
    **_FIELDS,
    vjp={
        "self": lambda m, g, other, rounding_mode: m.zeros_like(g),
        "other": lambda m, g, self, other, rounding_mode: m.zeros_like(g),
    },
    latex=_FLOORED,
    vjp_latex={"self": "0", "other": "0"},
    samples=lambda s: [
        (s.uniform(2.2, 2.8, 3), s.uniform(0.9, 1.05, 3), "floor"),
        (s.uniform(2.2, 2.8, 2, 3), s.uniform(0.9, 1.05, 3), "trunc"),
    ],
)


def _register_remainder(name, forward, mode, whole):
    """Return the two overloads of a remainder, by a tensor and by a number. mode, whole: how the quotient is rounded,
    for `div_mode` and in a formula."""
    shown = {
        "forward": forward,
        "check": no_kernel(f"{name}_cpu", "Bool", "Complex"),
        "latex": rf"{{self}} - {{other}} \cdot {whole}",
        **_FIELDS,
    }
    by_tensor = internal(
        f"{name}_tensor(operand self, Tensor other)",
        node=f"{name.capitalize()}Backward1",
        vjp={
            "self": lambda m, g: g,
            "other": lambda m, g, self, other: (
                -g * m.div_mode(in_dtype_of(m, g, self), in_dtype_of(m, g, other), mode)
            ),
        },
        vjp_latex={"self": "{g}", "other": rf"-{{g}} \cdot {whole}"},
        samples=lambda s: [
            (s.uniform(2.2, 2.8, 3), s.uniform(0.9, 1.05, 3)),
            (s.uniform(-2.8, -2.2, 2, 3), s.uniform(0.9, 1.05, 3)),
        ],
        **shown,
    )
    by_number = internal(
        f"{name}_scalar(Tensor self, operand other)",
        node=f"{name.capitalize()}Backward0",
        vjp={"self": lambda m, g: g},
        vjp_latex={"self": "{g}"},
        samples=lambda s: [(s.distinct(3), 2.0)],
        **shown,
    )
    return by_tensor, by_number


fmod_tensor, fmod_scalar = _register_remainder("fmod", _fmod, "trunc", _TRUNCATED)
remainder_tensor, remainder_scalar = _register_remainder("remainder", _remainder, "floor", _FLOORED)


def _no_derivative(m, g):
    note = "The result is piecewise constant, so its derivative is 0 or undefined. Call detach() on the input if you need no gradient."
    raise fail(RuntimeError, "derivative for aten::floor_divide is not implemented", note)


floor_divide_op = internal(
    "floor_divide(operand self, operand other)",
    forward=_floor_divide,
    vjp={"self": _no_derivative, "other": _no_derivative},
    node="NotImplemented",
    check=no_kernel("div_floor_cpu", "Bool", "Complex"),
    latex=_FLOORED,
    samples=lambda s: [
        (s.randn(3), 2),
        (s.randn(2, 3), s.away_from_zero(3)),
        (s.integers(9, 4), s.integers(3, 4) + 1),
    ],
    **_FIELDS,
)
floor_divide_op.node_class._name = "torch::autograd::NotImplemented"

_DIVIDED = "Raise RuntimeError for integers divided by 0."
overloaded(
    "fmod",
    fmod_tensor,
    fmod_scalar,
    doc=f"Return the remainder of input / other, with the sign of input. {_DIVIDED}",
)
overloaded(
    "remainder",
    remainder_tensor,
    remainder_scalar,
    remainder_tensor,
    doc=f"Return the remainder of input / other, with the sign of other: Python's `%`. {_DIVIDED}",
)
overloaded(
    "floor_divide",
    floor_divide_op,
    floor_divide_op,
    floor_divide_op,
    doc=f"Return input / other, rounded down: Python's `//`. It has no derivative. {_DIVIDED}",
)


def _by(name):
    return lambda self, other: METHODS[name](self, other)


operators(
    mod=_by("remainder"),
    floordiv=_by("floor_divide"),
    imod=_by("remainder_"),
    ifloordiv=_by("floor_divide_"),
    rmod=lambda self, other: remainder_tensor.call(other, self),
    rfloordiv=lambda self, other: floor_divide_op.call(other, self),
)
