"""Functions of probabilities: entr, xlog1py, ndtr, log_ndtr (`torch.special`).

Source: https://docs.pytorch.org/docs/2.13/special.html"""

from __future__ import annotations

from typing import Any

import math

from ...exact import special
from ..functions import NAMESPACES, composite, internal, register
from ...core.record import OPS
from ..overloading import overloaded

_SPECIAL = NAMESPACES["special"]
_FIELDS = {"dtype": "float"}


# -- entropy -----------------------------------------------------------------------------------------------------------
def _entr(xp, self):
    inside = self > 0
    value = -self * xp.log(xp.where(inside, self, 1))
    return xp.where(inside | xp.isnan(self), value, xp.where(self == 0, 0, -xp.inf)).astype(
        self.dtype, copy=False
    )[()]


register(
    "special_entr(Tensor self)",
    forward=_entr,
    operands=("self",),
    namespace="special",
    public="entr",
    dtype="float",
    method=False,
    vjp={"self": lambda m, g, self: g * (-m.log(self) - 1)},
    latex=r"-{self} \cdot \ln {self}",
    vjp_latex={"self": r"-{g} \cdot (\ln {self} + 1)"},
    samples=lambda s: [s.positive(3), s.probabilities(2, 3)],
    doc="-x log x: 0 at 0, -inf below. Source: torch.special.entr",
)


# -- xlog1py -----------------------------------------------------------------------------------------------------------
def _xlog1py(xp, self, other):
    if hasattr(other, "dtype"):
        log = xp.log1p(other)
    else:
        log = math.log1p(other) if other > -1 else -math.inf if other == -1 else math.nan
    value = self * log
    if isinstance(self, (bool, int, float)):
        value = xp.where(xp.isnan(other), xp.nan, xp.zeros_like(value) if self == 0 else value)
        return value.astype(log.dtype, copy=False)[()]
    return xp.where(xp.isnan(other), xp.nan, xp.where(self == 0, 0, value)).astype(
        value.dtype, copy=False
    )[()]


def _xlog1py_rule(m, g, self, other):
    return m.masked_fill(m.special_xlog1py(g, other), m.logical_and(self == 0, other <= -1), 0)


def _xlog1py_number_rule(m, g, self, other):
    return (
        g * math.log1p(other)
        if other > -1
        else m.masked_fill(m.xlog1py_number(g, other), self == 0, 0)
    )


_XLOG1PY: dict[str, Any] = {
    "forward": _xlog1py,
    "latex": r"{self} \cdot \ln(1 + {other})",
    **_FIELDS,
}
_OF_SELF, _OF_OTHER = r"{g} \cdot \ln(1 + {other})", r"{g} \cdot \frac{{self}}{1 + {other}}"
xlog1py_op = internal(
    "special_xlog1py(Tensor self, Tensor other)",
    node="SpecialXlog1PyBackward0",
    operands=("self", "other"),
    vjp={"self": _xlog1py_rule, "other": lambda m, g, self, other: g * self / (other + 1)},
    vjp_latex={"self": _OF_SELF, "other": _OF_OTHER},
    samples=lambda s: [(s.randn(3), s.positive(3)), (s.randn(2, 3), s.positive(3))],
    **_XLOG1PY,
)
xlog1py_of_number = internal(
    "xlog1py_of_number(operand self, Tensor other)",
    node="SpecialXlog1PyBackward1",
    operands=("self", "other"),
    vjp={"other": lambda m, g, self, other: g * self / (other + 1)},
    vjp_latex={"other": _OF_OTHER},
    samples=lambda s: [(1.5, s.positive(3))],
    **_XLOG1PY,
)
xlog1py_number = internal(
    "xlog1py_number(Tensor self, float other)",
    node="SpecialXlog1PyBackward2",
    operands=("self",),
    vjp={"self": _xlog1py_number_rule},
    vjp_latex={"self": _OF_SELF},
    samples=lambda s: [(s.randn(3), 1.5)],
    **_XLOG1PY,
)


overloaded(
    "xlog1py",
    xlog1py_op,
    xlog1py_number,
    xlog1py_of_number,
    namespace="special",
    inplace=False,
    doc="input * log(1 + other), and 0 where input is 0; one of them may be a number.",
)


# -- the share of a bell curve below x ---------------------------------------------------------------------------------
def ndtr(input):
    """The share of the standard normal distribution below x: (1 + erf(x / sqrt 2)) / 2. Source: torch.special.ndtr."""
    scaled = _SPECIAL["erf"](
        OPS["mul_scalar"].call(input if input.dtype.is_inexact else input.float(), math.sqrt(0.5))
    )
    return OPS["mul_scalar"].call(OPS["add_scalar"].call(scaled, 1), 0.5)


composite("ndtr", namespace="special")(ndtr)


def _log_ndtr(xp, self):
    return special.log_ndtr(xp, self)[()]


register(
    "special_log_ndtr(Tensor self)",
    forward=_log_ndtr,
    operands=("self",),
    namespace="special",
    public="log_ndtr",
    dtype="float",
    method=False,
    vjp={
        "self": lambda m, g, self, result: (
            g / math.sqrt(2 * math.pi) * m.exp(-(result + m.pow_scalar(self, 2) / 2))
        )
    },
    latex=r"\ln \frac{1 + \mathrm{erf}({self} / \sqrt{2})}{2}",
    vjp_latex={"self": r"\frac{{g}}{\sqrt{2 \pi}} \cdot e^{-({result} + {self}^{2} / 2)}"},
    samples=lambda s: [s.randn(3), s.uniform(-8.0, 3.0, 5)],
    doc="log of `ndtr`, exact far below 0. Source: torch.special.log_ndtr",
)
