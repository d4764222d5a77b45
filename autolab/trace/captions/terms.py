r"""Arithmetic terms that keep their notation: in symbols and in the current numbers, as plain text and as LaTeX.

`w - lr * g` of three Terms is a Term. Its numbers are shown with six digits. A `Line` uses "≈" if digits were left out,
or if the shown numbers don't give exactly the result."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import Any

from . import formulas
from .. import truth

_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # precedence, from loose to tight


def digits(number: float) -> str:
    """Return a number as it stands in an equation: 0.8, 12, 1e-08, 0.333333."""
    if not math.isfinite(number):
        return "nan" if number != number else "inf" if number > 0 else "-inf"
    return f"{number + 0.0:.6g}"


@dataclass(frozen=True)
class Term:
    """A term. forms: with symbols in plain text and in TeX, then with numbers in both. exact: its value computed with
    all digits; None if unknown or not a single number. full: whether all digits of the numbers are shown."""

    forms: tuple[str, ...]
    exact: float | None
    full: bool = True
    binds: int = _ATOM
    negative: bool = False  # whether its numbers begin with a minus sign

    def __add__(self, other: Any) -> Term:
        return _joined(self, other, "+", "+", _SUM, operator.add)

    def __radd__(self, other: Any) -> Term:
        return constant(other) + self

    def __sub__(self, other: Any) -> Term:
        return _joined(self, other, "-", "-", _SUM, operator.sub, tight=True)

    def __rsub__(self, other: Any) -> Term:
        return constant(other) - self

    def __mul__(self, other: Any) -> Term:
        return _joined(self, other, "*", r"\cdot", _PRODUCT, operator.mul)

    def __rmul__(self, other: Any) -> Term:
        return constant(other) * self

    def __pow__(self, other: Any) -> Term:
        other = _term(other)
        pairs = zip(_inside(self, _ATOM), _inside(other, _ATOM), other.forms)
        forms = [
            f"{a}^{{{tex}}}" if i % 2 else f"{a} ** {b}" for i, (a, b, tex) in enumerate(pairs)
        ]
        exact = _worked(operator.pow, self, other)
        return Term(tuple(forms), exact, self.full and other.full, _POWER)

    def __truediv__(self, other: Any) -> Term:
        found = _joined(self, other, "/", "", _PRODUCT, operator.truediv, tight=True)
        over = [rf"\frac{{{a}}}{{{b}}}" for a, b in zip(self.forms, _term(other).forms)]
        return replace(found, forms=(found.forms[0], over[1], found.forms[2], over[3]))

    def __neg__(self) -> Term:
        forms = tuple(f"-{form}" for form in _inside(self, _PRODUCT))
        return Term(forms, _worked(operator.neg, self), self.full, _PRODUCT, True)


def named(text: str, value: float | None, tex: str | None = None) -> Term:
    """Return the term for a symbol, with its value if that is one number."""
    tex = formulas.symbol(text) if tex is None else tex
    if value is None:
        return Term((text, tex) * 2, None)
    number = digits(value)
    shown = formulas.scientific(number)
    binds = _ATOM if "cdot" not in shown else _PRODUCT
    return Term((text, tex, number, shown), value, _is_full(number, value), binds, number[0] == "-")


def constant(value: float) -> Term:
    """Return the term for a number that is part of the formula itself."""
    return named(digits(value), value, formulas.scientific(digits(value)))


def root(term: Term) -> Term:
    """Return the square root of a term."""
    forms = [rf"\sqrt{{{x}}}" if i % 2 else f"sqrt({x})" for i, x in enumerate(term.forms)]
    exact = _worked(lambda x: math.sqrt(x) if x >= 0 else math.nan, term)
    return Term(tuple(forms), exact, term.full)


@dataclass(frozen=True)
class Line:
    """An equation: `name = term = its numbers = result`."""

    name: str
    tex_name: str
    term: Term
    result: float | None  # the program's actual result, if it is known

    def to_json(self) -> dict[str, str]:
        """Return text, tex: with symbols; numbers, tex_numbers: this step's numbers ("" if there are many); sign: "="
        or "≈" between them. "≈" also stands before a result that the shown numbers don't give exactly."""
        text, tex, numbers, tex_numbers = self.term.forms
        found = {
            "text": f"{self.name} = {text}",
            "tex": rf"{self.tex_name} \leftarrow {tex}",
            "numbers": "",
            "tex_numbers": "",
            "sign": "=",
        }
        if self.result is None or self.term.exact is None:
            return found
        result, full = digits(self.result), self.term.full
        shown = formulas.scientific(result)
        sign = truth.relation(tex_numbers, shown, full and _is_full(result, self.result))
        sign = sign or truth.ABOUT
        if numbers == result:
            return found | {"numbers": result, "tex_numbers": shown, "sign": "=" if full else "≈"}
        return found | {
            "numbers": f"{numbers} {'=' if sign == truth.EQUAL else '≈'} {result}",
            "tex_numbers": f"{tex_numbers} {sign} {shown}",
            "sign": "=" if full else "≈",
        }


def _is_full(shown: str, value: float) -> bool:
    """Return whether all digits of a number are shown, up to float32's precision."""
    return value != value or math.isclose(float(shown), value, rel_tol=2**-24)


def _term(item: Any) -> Term:
    return item if isinstance(item, Term) else constant(item)


def _worked(how: Any, *terms: Term) -> float | None:
    if any(term.exact is None for term in terms):
        return None
    try:
        return float(how(*(term.exact for term in terms)))
    except (ZeroDivisionError, OverflowError):
        return math.nan


def _inside(term: Term, level: int, numbers_too: bool = True) -> list[str]:
    """Return the forms of `term` for use inside a term of precedence `level`: in parentheses if they are needed."""
    loose = term.binds < level
    return [
        form
        if not (loose or numbers_too and term.negative and i > 1)
        else rf"\left({form}\right)"
        if i % 2
        else f"({form})"
        for i, form in enumerate(term.forms)
    ]


def _joined(
    a: Term, item: Any, sign: str, tex_sign: str, level: int, how: Any, tight: bool = False
) -> Term:
    """Return two terms joined by an operator. tight: put parentheses around a right term that has the operator's own
    precedence."""
    b = _term(item)
    left, right = _inside(a, level, numbers_too=False), _inside(b, level + tight)
    forms = [f"{x} {s} {y}" for x, s, y in zip(left, (sign, tex_sign) * 2, right)]
    return Term(tuple(forms), _worked(how, a, b), a.full and b.full, level, a.negative)
