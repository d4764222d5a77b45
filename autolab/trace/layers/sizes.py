"""Shared by the cards: the sizes that fill in a card, its lines, and pieces of text and TeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

OUT, KERNEL, IN = (
    "ij",
    "uv",
    "rs",
)  # index letters for a position in the result, in the kernel, in the input
SIDES = {1: ("length",), 2: ("height", "width")}


class Line(NamedTuple):
    """One line of a card: its topic, a sentence, a formula ("" if words are enough)."""

    name: str
    text: str
    tex: str = ""


@dataclass(frozen=True)
class Sizes:
    """The data that fills in a card. `weight` is None if there is none; `attrs` are the operation's arguments."""

    op: str
    x: tuple[int, ...]
    y: tuple[int, ...]
    weight: tuple[int, ...] | None
    bias: bool
    attrs: dict[str, Any]


def per_side(value: Any, dims: int) -> tuple[int, ...]:
    """Return an argument such as stride as one number for each spatial dimension."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * dims if len(values) == 1 else values


def times(numbers: Iterable[int]) -> str:
    """Return a product as text: 2 × 3 × 4 = 24."""
    numbers = list(numbers)
    product = f"{math.prod(numbers):,}"
    return product if len(numbers) == 1 else f"{' × '.join(map(str, numbers))} = {product}"


def _term(factor: int, letter: str) -> str:
    return letter if factor == 1 else f"{factor}{letter}"


def place(i: str, u: str, stride: int, dilation: int, padding: int) -> str:
    """Return the input position that window `i` reads with kernel position `u`: 2i + u - 1."""
    return f"{_term(stride, i)}+{_term(dilation, u)}" + (f"-{padding}" if padding else "")


def indices(*parts: str | Iterable[str]) -> str:
    return r",\,".join(
        p for part in parts for p in ([part] if isinstance(part, str) else part) if p
    )


def by(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else "×".join(map(str, values))


def lines_per_side(dims: int, formula: Any, note: str) -> list[Line]:
    """Return the lines about the output size: one line if the sides agree. `formula(side, letter)` is the TeX after the
    letter."""
    letters = "HW" if dims == 2 else "L"
    made = [formula(side, letter) for side, letter in enumerate(letters)]
    if dims == 2 and formula(1, "H") == made[0]:
        return [Line("output size, height and width alike", note, made[0])]
    names = SIDES[dims]
    return [Line(f"output {names[side]}", note, tex) for side, tex in enumerate(made)]


def floor_size(
    letter: str, n: int, k: int, s: int, p: int, d: int, out: int, *, ceil: bool = False
) -> str:
    left, right = (r"\left\lceil", r"\right\rceil") if ceil else (r"\left\lfloor", r"\right\rfloor")
    symbols = rf"{left} \frac{{{letter} + 2p - d(k-1) - 1}}{{s}} {right} + 1"
    numbers = rf"{left} \frac{{{n} + 2 \cdot {p} - {d} \cdot ({k}-1) - 1}}{{{s}}} {right} + 1"
    return f"{letter}' = {symbols} = {numbers} = {out}"
