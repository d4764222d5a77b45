r"""Check whether a displayed equation is true: compute a TeX formula of numbers from the digits shown.

`relation` returns the sign between two sides. If rounding made the equation false, "=" is wrong: 0.333 \cdot 3 is
0.999, so \approx 1. If even \approx is wrong, as for 1.0001 - 1 at three digits, more digits are needed. A formula is
translated to a Python expression, token by token, and evaluated with decimals of 60 digits."""

from __future__ import annotations

import decimal
import functools
import math
import operator
import re
from decimal import Decimal
from typing import Any

import numpy as np

from .values import ALL

EQUAL, ABOUT = "=", r"\approx"
DIGITS = (3, 6, ALL)
"""Significant digits that an equation is tried with, one after the other."""
_RELATION = re.compile(r" (=|\\approx|\\overset\{\\mathrm\{\w+\}\}\{=\}) ")
_NAME = re.compile(r"\\mathrm\{(?:[^{}\\]|\\.)*\}")
_WIDE = decimal.Context(prec=60, Emax=10**6, Emin=-(10**6), traps=[])
"""What a difference of two exponentials or logarithms leaves has still more digits than any number shown."""
_NEAR, _ROUNDING = Decimal("0.02"), Decimal("1e-50")
"""Three digits on either side of a product or a sum of positive numbers are nearer than the first."""
_SATURATED = 50
"""From here on, tanh is nearer to 1 than any number shown, and not 1."""
_MOST = 10_000
"""A larger exponent makes a number of more digits than are worked out."""


def number(item: float) -> Decimal:
    """Return a number as the decimal it is written as."""
    return Decimal(repr(item))


def about(left: str, right: str, dtype: str) -> str:
    """Return an equals sign with `dtype` above it if only arithmetic in `dtype` makes the sides equal (an overflow, an
    absorbed summand), else "": then the program did not compute the formula step by step."""
    kind = getattr(np, dtype, None)
    if kind is not None and np.dtype(kind).kind == "f":
        a, b = evaluate(left, kind), evaluate(right, kind)
        if a is not None and b is not None and _alike(np.shape(a), np.shape(b)):
            a, b = (np.ravel(np.asarray(side, dtype=kind)) for side in (a, b))
            if not np.allclose(a, b, rtol=16 * np.finfo(kind).eps, atol=0, equal_nan=True):
                return ""
    return rf"\overset{{\mathrm{{{dtype}}}}}{{=}}"


def relation(left: str, right: str, same: bool) -> str:
    """Return the sign between two sides: "=", \\approx, or "" if too few digits are shown for either.

    same: no digit was left out on either side. A side that cannot be worked out (it has a symbol) is believed."""
    a, b = evaluate(left), evaluate(right)
    if a is None or b is None or not _alike(np.shape(a), np.shape(b)):
        return EQUAL if same else ABOUT
    with decimal.localcontext(_WIDE):
        pairs = list(zip(np.ravel(a), np.ravel(b)))
        if same and all(_within(x, y, _ROUNDING) for x, y in pairs):
            return EQUAL
        near = all(_within(x, y, _NEAR) or y == 0 and abs(x) < 1e-30 for x, y in pairs)
    return ABOUT if near else ""


def _alike(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether two shapes agree; a sum along the second of two dimensions counts as a row if one dimension is
    left."""
    return a == b or math.prod(a) == math.prod(b) and 1 in a and 1 in b


def _within(a: Decimal, b: Decimal, part: Decimal) -> bool:
    """Return whether two numbers differ by at most `part` of the second."""
    return a == b or bool(a.is_finite() and b.is_finite() and abs(a - b) <= part * abs(b))


def split(equation: str) -> list[str]:
    """Return the sides and relations of a chain in turn: ["x", "=", "1 \\cdot 3", "\\approx", "2.99"]."""
    parts: list[str] = []
    for piece in _RELATION.split(equation):
        if parts and _is_open(parts[-1]):  # an indicator such as [x = 3], not an equation
            parts[-1] += f" {piece}"
        else:
            parts.append(piece)
    return parts


def _is_open(tex: str) -> bool:
    tex = _NAME.sub("", tex)
    return tex.count("[") > tex.count("]")


@functools.lru_cache(maxsize=4096)
def evaluate(tex: str, kind: Any = None) -> Any:
    """Return the decimal or array that a formula evaluates to; None if it contains more than numbers and common signs.
    kind: a NumPy type for each step."""
    if "mathrm" in tex or "partial" in tex or r"\end{bmatrix}^{-1}" in tex:
        return None  # a symbol, as in most formulas, or an inverse
    try:
        code = _code(_TOKEN.findall(tex.replace(r"\left", "").replace(r"\right", "")))
        with decimal.localcontext(_WIDE), np.errstate(all="ignore"):  # 0 * inf is nan: an answer
            return eval(code, {"__builtins__": {}}, _meanings(kind))
    except (
        ValueError,
        ArithmeticError,
        TypeError,
        AttributeError,
        KeyError,
        SyntaxError,
        NameError,
    ):
        return None


_TOKEN = re.compile(
    r"\\(?:begin|end)\{bmatrix\}|\\sum_\{\d\}|\\mathbf\{1\}_\{[^{}]*\}|\^\{T\}|e\^|\\\\|\\[A-Za-z]+|\\[,;]|\d+(?:\.\d+)?|\S"
)
_SIGNS = {
    r"\cdot": "*", r"\,": "@", "/": "/", "+": "+", "-": "-", "(": "(", ")": ")", "{": "(", "}": ")", ",": ",",
    "^": "**", "^{T}": ".T", "&": ",", r"\\": "],[", "[": "holds(", "]": ")", "e": "exp(N(1))", "e^": "exp**",
    r"\begin{bmatrix}": "matrix([[", r"\end{bmatrix}": "]])", r"\frac": "frac", r"\pi": "pi", r"\infty": "inf",
    "<": ",'<',", ">": ",'>',", "=": ",'=',", r"\le": ",'<=',", r"\ge": ",'>=',", r"\ne": ",'!=',",
}  # fmt: skip
_COMPARISONS = {
    "<": operator.lt, ">": operator.gt, "=": operator.eq, "<=": operator.le, ">=": operator.ge, "!=": operator.ne,
}  # fmt: skip
_FUNCTIONS = "sin cos tan arcsin arccos arctan sinh cosh tanh exp ln sqrt sigma max min".split()


def _code(tokens: list[str]) -> str:
    """Return the tokens as a Python expression. Raises KeyError for an unknown token.

    A function without parentheses is written `tanh**0.5`, as a power binds so tightly; a sum takes in the rest of its
    product."""
    code, sums, depth, bars = "", list[int](), 0, 0
    for token, following in zip(tokens, [*tokens[1:], ""]):
        sign = _SIGNS.get(token, "")
        depth += sign.count("(") + sign.count("[") - sign.count(")") - sign.count("]")
        ends = token in "+-" and code[-1:] != "(" or sign[:1] == ","
        while sums and (depth < sums[-1] or ends and depth == sums[-1]):
            sums.pop()
            code += ")"
        if token[0].isdigit():
            code += f"N('{token}')"
        elif token == "|":
            bars += 1
            code += "abs(" if bars % 2 else ")"
        elif token.startswith(r"\sum"):
            code += f"{'*' * (code[-1:] == ')')}total({token[6:-1] or None})("
            sums.append(depth)
        elif token.startswith(r"\mathbf"):
            code += f"ones({token[12:-1]})".replace(r"\times", ",")
        elif token[1:] in _FUNCTIONS:
            code += token[1:] + "**" * (following not in ("(", "{"))
        else:
            code += _SIGNS[token]
    return code + ")" * len(sums)


class _Function:
    """A function, called as f(x) or f**x."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *sides: Any) -> Any:
        return self._function(*sides)

    __pow__ = __call__


@functools.cache
def _meanings(kind: Any) -> dict[str, Any]:
    """Return the meanings of the names in `_code`: for decimals, or for a NumPy type."""
    make: Any = kind or Decimal
    dtype = kind or object

    def holds(*sides: Any) -> Any:
        found = make(1)
        for a, sign, b in zip(sides[::2], sides[1::2], sides[2::2]):
            found = found * np.where(_COMPARISONS[sign](a, b), make(1), make(0))[()]
        return found

    def ones(*sizes: int) -> Any:
        return np.full(sizes if len(sizes) > 1 else (1, *sizes), make(1), dtype=dtype)

    work = _of_decimals if kind is None else _of_arrays
    return {name: _Function(work(name)) for name in _FUNCTIONS} | {
        "N": make,
        "abs": abs,
        "frac": lambda a: lambda b: a / b,
        "pi": make(math.pi),
        "inf": make(math.inf),
        "matrix": lambda rows: np.array(rows, dtype=dtype),
        "holds": holds,
        "total": lambda axis: lambda x: np.sum(np.asarray(x), axis, keepdims=axis is not None),
        "ones": ones,
    }


def _of_arrays(name: str) -> Any:
    known = {"ln": np.log, "max": np.maximum, "min": np.minimum}
    if name == "sigma":
        return lambda x: 1 / (1 + np.exp(-x))
    return known.get(name) or getattr(np, name)


def _of_decimals(name: str) -> Any:
    def from_exponentials(x: Decimal) -> Decimal:
        if name in ("tanh", "sigma"):
            x = max(Decimal(-_SATURATED), min(Decimal(_SATURATED), x))
        return _EXPONENTIALS[name](_exponential(x), _exponential(-x))

    known = {"exp": _exponential, "ln": Decimal.ln, "sqrt": Decimal.sqrt, "max": max, "min": min}
    if name in _EXPONENTIALS:
        return np.frompyfunc(from_exponentials, 1, 1)
    work: Any = known.get(name) or (lambda x: Decimal(getattr(np, name)(float(x)).item()))
    return np.frompyfunc(work, 2 if name in ("max", "min") else 1, 1)


def _exponential(x: Decimal) -> Decimal:
    return Decimal("nan") if x.is_finite() and abs(x) > _MOST else x.exp()


_EXPONENTIALS = {  # functions of up = e^x and down = e^-x
    "sinh": lambda up, down: (up - down) / 2,
    "cosh": lambda up, down: (up + down) / 2,
    "tanh": lambda up, down: (up - down) / (up + down),
    "sigma": lambda up, down: up / (up + 1),
}
