r"""Whether an equation is true as it stands: a formula of numbers in TeX is worked out from the digits shown in it.

`relation` decides what stands between two sides. An equation that rounding made false is not "=": 0.333 \cdot 3 is
0.999, so \approx 1; and where even that would be wrong, as for 1.0001 - 1 at three digits, more digits are needed."""

from __future__ import annotations

import decimal
import functools
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .values import ALL

EQUAL, ABOUT = "=", r"\approx"
DIGITS = (3, 6, ALL)
"""Significant digits that an equation is tried with, one after the other."""
_RELATION = re.compile(r" (=|\\approx|\\overset\{\\mathrm\{\w+\}\}\{=\}) ")
_NEAR = 0.02
"""Three digits on either side of a product or a sum of positive numbers are nearer than this."""

_TOKEN = re.compile(r"\\(?:begin|end)\{bmatrix\}|\\\\|\\[A-Za-z]+|\\[,;]|\d+(?:\.\d+)?|\S")
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "\\sin": math.sin, "\\cos": math.cos, "\\tan": math.tan, "\\arcsin": math.asin, "\\arccos": math.acos,
    "\\arctan": math.atan,
}  # fmt: skip
_EXPONENTIALS: dict[str, Callable[[Any, Any], Any]] = {  # of e^x and e^-x
    "\\exp": lambda up, down: up, "\\sinh": lambda up, down: (up - down) / 2, "\\cosh": lambda up,
    down: (up + down) / 2,
    "\\tanh": lambda up, down: (up - down) / (up + down), "\\sigma": lambda up, down: up / (up + 1),
}  # fmt: skip
_WIDE = decimal.Context(prec=60, Emax=10**6, Emin=-(10**6))
"""What a difference of two exponentials or logarithms leaves has still more digits than any number shown."""
_MOST = 10_000
"""A larger exponent makes a number of too many digits."""
_COMPARISONS = {
    "<": operator.lt, ">": operator.gt, "=": operator.eq, "\\le": operator.le, "\\ge": operator.ge, "\\ne": operator.ne,
}  # fmt: skip


def number(item: float) -> Any:
    """A number as the decimal it is written as; None for NaN and inf."""
    return Fraction(repr(item)) if math.isfinite(item) else None


def about(left: str, right: str, dtype: str) -> str:
    """Between sides that arithmetic in `dtype` makes equal, and no other: an overflow, a sum that was absorbed. ""
    where it does not, as what ran was not the formula step by step: then there is no equation of numbers."""
    kind = getattr(np, dtype, None)
    if kind is not None and np.dtype(kind).kind == "f":
        a, b = evaluate(left, kind), evaluate(right, kind)
        if a is not None and b is not None and _alike(np.shape(a), np.shape(b)):
            a, b = (np.ravel(np.asarray(side, dtype=kind)) for side in (a, b))
            if not np.allclose(a, b, rtol=16 * np.finfo(kind).eps, atol=0, equal_nan=True):
                return ""
    return rf"\overset{{\mathrm{{{dtype}}}}}{{=}}"


def relation(left: str, right: str, same: bool) -> str:
    """What stands between two sides: "=", \\approx, or "" when the digits shown are too few for either.

    same: no digit was left out on either side. A side that cannot be worked out (it has a symbol) is believed."""
    a, b = evaluate(left), evaluate(right)
    if a is None or b is None or not _alike(np.shape(a), np.shape(b)):
        return EQUAL if same else ABOUT
    pairs = list(zip(np.ravel(a), np.ravel(b)))
    if same and all(_equal(x, y) for x, y in pairs):
        return EQUAL
    return ABOUT if all(_near(x, y) for x, y in pairs) else ""


def _alike(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes are the same; a sum along the second of two dimensions is a row where it has one dimension
    left."""
    return a == b or math.prod(a) == math.prod(b) and 1 in a and 1 in b


def split(equation: str) -> list[str]:
    """Sides and relations of a chain in turn: ["x", "=", "1 \\cdot 3", "\\approx", "2.99"]."""
    parts: list[str] = []
    for piece in _RELATION.split(equation):
        if parts and _is_open(parts[-1]):  # [x = 3] is 1 or 0
            parts[-1] += f" {piece}"
        else:
            parts.append(piece)
    return parts


def _is_open(tex: str) -> bool:
    tex = _NAME.sub("", tex)
    return tex.count("[") > tex.count("]")


_NAME = re.compile(r"\\mathrm\{(?:[^{}\\]|\\.)*\}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    return _within(a, b, 1e-12)  # a float's own rounding


def _near(a: Any, b: Any) -> bool:
    return _within(a, b, _NEAR) or b == 0 and abs(a) < 1e-30


def _within(a: Any, b: Any, part: float) -> bool:
    """Whether two numbers are at most `part` of the second apart."""
    try:
        a, b = float(a), float(b)
    except OverflowError:  # a fraction too large for a float
        a, b = (
            x if isinstance(x, Fraction) or not math.isfinite(x) else Fraction(x) for x in (a, b)
        )
        return (
            isinstance(a, Fraction)
            and isinstance(b, Fraction)
            and abs(a - b) <= Fraction(part) * abs(b)
        )
    return a == b if not (math.isfinite(a) and math.isfinite(b)) else abs(a - b) <= part * abs(b)


@functools.lru_cache(maxsize=4096)
def evaluate(tex: str, kind: Any = None) -> Any:
    """The number (a Fraction or a float) or the array that a formula comes to; None when it is more than numbers and
    the common signs. kind: a NumPy type in which each step is worked out."""
    if "mathrm" in tex or "partial" in tex:
        return None  # a symbol: most formulas end here
    try:
        reader = _Reader(_TOKEN.findall(tex), kind)
        with np.errstate(all="ignore"):  # 0 times infinity is nan, and that is an answer
            found = reader.sum()
        return found if reader.at == len(reader.tokens) else None
    except (ValueError, ArithmeticError, TypeError, IndexError, KeyError):
        return None


class _Reader:
    """A formula's value by recursive descent. Raises ValueError for what it does not know."""

    def __init__(self, tokens: list[str], kind: Any = None) -> None:
        self.tokens, self.at, self.number = tokens, 0, kind or Fraction

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.next()
        if wanted and token not in wanted:
            raise ValueError(token)
        self.at += 1
        return token

    def sum(self) -> Any:
        total = self.product()
        while self.next() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> Any:
        if self.next() == "-":
            self.take()
            return -self.product()
        total = self.power()
        while self.next() in ("\\cdot", "/", "\\,", "\\sum"):
            sign = "\\cdot" if self.next() == "\\sum" else self.take()  # 1/n of a sum
            other = self.power()
            total = (
                total * other
                if sign == "\\cdot"
                else total / other
                if sign == "/"
                else _matrix_product(total, other)
            )
        return total

    def power(self) -> Any:
        base = self.atom()
        if self.next() != "^":
            return base
        self.take()
        if (
            self.tokens[self.at : self.at + 4] == ["{", "-", "1", "}"]
            and np.ndim(base)
            and np.shape(base)[0] == np.shape(base)[1] > 1
        ):
            raise ValueError("of a matrix, or of each of its numbers")
        if self.tokens[self.at : self.at + 3] == ["{", "T", "}"]:
            self.at += 3
            return np.asarray(base).T
        return _each(_to_power, base, self.group() if self.next() == "{" else self.atom())

    def group(self) -> Any:
        self.take("{")
        inside = self.sum()
        self.take("}")
        return inside

    def close(self, sign: str) -> None:
        if self.next() == "\\right":
            self.take()
        self.take(sign)

    def atom(self) -> Any:
        token = self.next()
        if token[:1].isdigit():
            return self.number(self.take())
        if token == "{":
            return self.group()
        self.take()
        if token in ("(", "|", "\\left"):
            token = self.take("(", "|") if token == "\\left" else token
            inside = self.sum()
            self.close({"(": ")", "|": "|"}[token])
            return abs(inside) if token == "|" else inside
        if token == "[":
            return self.comparison()
        if token in ("\\max", "\\min"):
            if self.next() == "\\left":
                self.take()
            self.take("(")
            first = self.sum()
            self.take(",")
            second = self.sum()
            self.close(")")
            return _each(max if token == "\\max" else min, first, second)
        if (
            token in _FUNCTIONS
            or token == "\\ln"
            or token in _EXPONENTIALS
            and (token != "\\sigma" or self.next() in ("(", "\\left"))
        ):
            argument = (
                self.atom() if self.next() in ("(", "\\left") else self.power()
            )  # f(x)^2 is the square of f(x)
            return _each(functools.partial(_function, token), argument)
        return self.sign(token)

    def sign(self, token: str) -> Any:
        if token == "\\frac":
            return self.group() / self.group()
        if token == "\\sqrt":
            return _each(_root, self.group())
        if token == "e" and self.next() == "^":
            self.take()
            return _each(_exponential, self.group() if self.next() == "{" else self.atom())
        if token == "e":
            return _exponential(self.number(1))
        if token in ("\\pi", "\\infty"):
            return math.pi if token == "\\pi" else math.inf
        if token == "\\sum":
            return self.total()
        if token == "\\mathbf":
            return self.ones()
        if token == "\\begin{bmatrix}":
            return self.matrix()
        raise ValueError(token)

    def total(self) -> Any:
        """A sum over everything that follows in the product; along one dimension of a matrix, which it keeps."""
        if self.next() != "_":
            return np.sum(self.product())
        self.take()
        axis = int(self.group())
        inside = np.asarray(self.product())
        return np.sum(inside, axis=axis, keepdims=True)

    def ones(self) -> Any:
        """`\\mathbf{1}_{2 \\times 3}`."""
        for token in ("{", "1", "}", "_", "{"):
            self.take(token)
        sizes = [int(self.take())]
        while self.next() == "\\times":
            self.take()
            sizes.append(int(self.take()))
        self.take("}")
        return np.full(sizes if len(sizes) > 1 else (1, *sizes), self.number(1), dtype=object)

    def comparison(self) -> Any:
        sides, signs = [self.sum()], []
        while self.next() != "]":
            signs.append(_COMPARISONS[self.take()])
            sides.append(self.sum())
        self.take("]")
        held: Any = self.number(1)
        for sign, a, b in zip(signs, sides, sides[1:]):
            held = held * _each(lambda x, y, sign=sign: self.number(int(sign(x, y))), a, b)
        return held

    def matrix(self) -> Any:
        rows: list[list[Any]] = [[self.sum()]]
        while (token := self.take("&", "\\\\", "\\end{bmatrix}")) != "\\end{bmatrix}":
            if token == "&":
                rows[-1].append(self.sum())
            else:
                rows.append([self.sum()])
        return np.array(rows, dtype=object)


def _is_finite(x: Any) -> bool:
    return isinstance(x, Fraction) or math.isfinite(
        x
    )  # of a fraction too large for a float, math has no answer


def _exponential(x: Any) -> Any:
    if isinstance(x, np.floating):
        return np.exp(x)
    if not _is_finite(x):
        return math.exp(x)
    if abs(x) > _MOST:
        return math.nan  # equal to nothing
    x = Fraction(x)
    return Fraction(
        _WIDE.exp(_WIDE.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator)))
    )


def _function(name: str, x: Any) -> Any:
    if isinstance(x, np.floating):
        return (
            1 / (1 + np.exp(-x))
            if name == "\\sigma"
            else getattr(np, "log" if name == "\\ln" else name[1:])(x)
        )
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](float(x))
    if name in ("\\tanh", "\\sigma") and x == x:  # nearer to 1 than any number shown, and not 1
        x = max(-_MOST, min(_MOST, x))
    if name in _EXPONENTIALS:
        return _EXPONENTIALS[name](_exponential(x), _exponential(-x))
    if not _is_finite(x):
        return x if x > 0 else math.nan
    if not x > 0:
        return -math.inf if x == 0 else math.nan
    x = Fraction(x)
    return Fraction(
        _WIDE.subtract(
            _WIDE.ln(decimal.Decimal(x.numerator)), _WIDE.ln(decimal.Decimal(x.denominator))
        )
    )


def _each(function: Callable[..., Any], *sides: Any) -> Any:
    return (
        np.frompyfunc(function, len(sides), 1)(*sides)
        if any(np.ndim(s) for s in sides)
        else function(*sides)
    )


def _matrix_product(a: Any, b: Any) -> Any:
    return a @ b if np.ndim(a) and np.ndim(b) else a * b


def _to_power(base: Any, exponent: Any) -> Any:
    if isinstance(base, np.floating):
        return base ** type(base)(exponent)
    if (
        isinstance(base, Fraction)
        and isinstance(exponent, Fraction)
        and exponent.denominator == 1
        and abs(exponent) <= 400
    ):
        return base**exponent
    if base < 0:
        raise ValueError("a power of a negative number")
    return float(base) ** float(exponent)


def _root(item: Any) -> Any:
    if isinstance(item, np.floating):
        return np.sqrt(item)
    item = Fraction(item)
    up, down = math.isqrt(item.numerator), math.isqrt(item.denominator)
    return (
        Fraction(up, down)
        if up * up == item.numerator and down * down == item.denominator
        else math.sqrt(item)
    )
