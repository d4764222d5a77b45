r"""Arithmetic that knows how it is written: with symbols and with this moment's numbers, in plain text and in LaTeX.

`w - lr * g` of three Terms is a Term. Its numbers are shown with six digits; `Line.signs` says "≈" where digits were
left out, or where what is shown, worked out by hand, is not the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from . import formulas
from .. import truth

_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a term holds together


def digits(number: float) -> str:
    """A number as it stands in an equation: 0.8, 12, 1e-08, 0.333333."""
    if not math.isfinite(number):
        return "nan" if number != number else "inf" if number > 0 else "-inf"
    return f"{number + 0.0:.6g}"


@dataclass(frozen=True)
class Term:
    """text, tex: with symbols; numbers, tex_numbers: with numbers. exact: its value, worked out from all digits; None
    where values are not known or are many. full: whether all digits of the numbers are shown."""

    text: str
    tex: str
    numbers: str
    tex_numbers: str
    exact: float | None
    full: bool = True
    binds: int = _ATOM
    negative: bool = False  # the numbers begin with a minus sign

    def __add__(self, other: Any) -> Term:
        return _joined(self, other, "+", "+", _SUM, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Term:
        return constant(other) + self

    def __sub__(self, other: Any) -> Term:
        return _joined(self, other, "-", "-", _SUM, lambda a, b: a - b, tight=True)

    def __rsub__(self, other: Any) -> Term:
        return constant(other) - self

    def __mul__(self, other: Any) -> Term:
        return _joined(self, other, "*", r"\cdot", _PRODUCT, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Term:
        return constant(other) * self

    def __pow__(self, other: Any) -> Term:
        other = _term(other)
        base, raised = _inside(self, _ATOM), _inside(other, _ATOM)
        return Term(
            f"{base[0]} ** {raised[0]}",
            f"{base[1]}^{{{other.tex}}}",
            f"{base[2]} ** {raised[2]}",
            f"{base[3]}^{{{other.tex_numbers}}}",
            _worked(lambda a, b: a**b, self.exact, other.exact),
            self.full and other.full,
            _POWER,
        )

    def __truediv__(self, other: Any) -> Term:
        found = _joined(self, other, "/", "", _PRODUCT, lambda a, b: a / b, tight=True)
        other = _term(other)
        tex, numbers = (
            rf"\frac{{{self.tex}}}{{{other.tex}}}",
            rf"\frac{{{self.tex_numbers}}}{{{other.tex_numbers}}}",
        )
        return Term(
            found.text,
            tex,
            found.numbers,
            numbers,
            found.exact,
            found.full,
            _PRODUCT,
            found.negative,
        )

    def __neg__(self) -> Term:
        text, tex, numbers, tex_numbers = _inside(self, _PRODUCT)
        less = None if self.exact is None else -self.exact
        return Term(
            f"-{text}", f"-{tex}", f"-{numbers}", f"-{tex_numbers}", less, self.full, _PRODUCT, True
        )


def named(text: str, value: float | None, tex: str | None = None) -> Term:
    """A symbol and, where it is one number, its value."""
    tex = formulas.symbol(text) if tex is None else tex
    if value is None:
        return Term(text, tex, text, tex, None)
    number = digits(value)
    shown = formulas.scientific(number)
    return Term(
        text,
        tex,
        number,
        shown,
        value,
        _is_full(number, value),
        _ATOM if "cdot" not in shown else _PRODUCT,
        number[0] == "-",
    )


def constant(value: float) -> Term:
    """A number that stands in the formula itself."""
    return named(digits(value), value, formulas.scientific(digits(value)))


def function(name: str, *args: Term) -> Term:
    """sqrt, abs, sign, max or min of terms."""
    pattern, tex = _FUNCTIONS[name]
    work = pattern if all(a.exact is not None for a in args) else None
    lists = [
        ", ".join(getattr(a, field) for a in args)
        for field in ("text", "tex", "numbers", "tex_numbers")
    ]
    return Term(
        f"{name}({lists[0]})",
        tex.format(lists[1]),
        f"{name}({lists[2]})",
        tex.format(lists[3]),
        None if work is None else work(*(a.exact for a in args)),
        all(a.full for a in args),
    )


@dataclass(frozen=True)
class Line:
    """`name = term = its numbers = result`."""

    name: str
    tex_name: str
    term: Term
    result: float | None  # what the program really got, where that is known

    def signs(self, result: float) -> tuple[str, str]:
        """What stands before the numbers, and before the result; a result that is all of the numbers has the first
        alone."""
        shown = digits(result)
        relation = truth.relation(
            self.term.tex_numbers,
            formulas.scientific(shown),
            self.term.full and _is_full(shown, result),
        )
        return "=" if self.term.full else "≈", "=" if relation == truth.EQUAL else "≈"

    def to_json(self) -> dict[str, str]:
        """text, tex: with symbols; numbers, tex_numbers: this time's ("" where they are many); sign: "=" or "≈",
        between them."""
        term = self.term
        found = {
            "text": f"{self.name} = {term.text}",
            "tex": rf"{self.tex_name} \leftarrow {term.tex}",
            "numbers": "",
            "tex_numbers": "",
        }
        if self.result is None or term.exact is None:
            return found | {"sign": "="}
        result, (first, sign) = digits(self.result), self.signs(self.result)
        steps = [] if term.numbers == result else [(term.numbers, term.tex_numbers)]
        tex_sign = truth.EQUAL if sign == "=" else truth.ABOUT
        found["numbers"] = f" {sign} ".join([*(n for n, _ in steps), result])
        found["tex_numbers"] = f" {tex_sign} ".join(
            [*(t for _, t in steps), formulas.scientific(result)]
        )
        return found | {"sign": first}


def _is_full(shown: str, value: float) -> bool:
    """Whether a number's digits are all shown, as far as float32 has them."""
    return value != value or math.isclose(float(shown), value, rel_tol=2**-24)


def _root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def _sign(x: float) -> float:
    return math.nan if x != x else float((x > 0) - (x < 0))


_FUNCTIONS: dict[str, tuple[Any, str]] = {
    "sqrt": (_root, r"\sqrt{{{0}}}"),
    "abs": (abs, r"\left|{0}\right|"),
    "sign": (_sign, r"\operatorname{{sign}}\left({0}\right)"),
    "max": (max, r"\max\left({0}\right)"),
    "min": (min, r"\min\left({0}\right)"),
}


def _term(item: Any) -> Term:
    return item if isinstance(item, Term) else constant(item)


def _worked(how: Any, *values: float | None) -> float | None:
    if any(v is None for v in values):
        return None
    try:
        return float(how(*values))
    except (ZeroDivisionError, OverflowError):
        return math.nan


def _inside(term: Term, level: int, numbers_too: bool = True) -> tuple[str, str, str, str]:
    """What stands inside a term that holds together as `level`: in parentheses where it would read wrongly."""
    loose = term.binds < level
    texts = [f"({t})" if loose else t for t in (term.text, term.numbers)]
    texs = [rf"\left({t}\right)" if loose else t for t in (term.tex, term.tex_numbers)]
    if not loose and numbers_too and term.negative:
        texts[1], texs[1] = f"({texts[1]})", rf"\left({texs[1]}\right)"
    return texts[0], texs[0], texts[1], texs[1]


def _joined(
    a: Term, item: Any, sign: str, tex_sign: str, level: int, how: Any, tight: bool = False
) -> Term:
    """Two terms with a sign between. tight: parentheses around what is as loose as the sign itself, on its right."""
    b = _term(item)
    left, right = _inside(a, level, numbers_too=False), _inside(b, level + tight)
    text, tex, numbers, tex_numbers = (
        f"{x} {s} {y}" for x, s, y in zip(left, (sign, tex_sign, sign, tex_sign), right)
    )
    return Term(
        text,
        tex,
        numbers,
        tex_numbers,
        _worked(how, a.exact, b.exact),
        a.full and b.full,
        level,
        a.negative,
    )
