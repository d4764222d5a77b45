"""The questions that a lesson asks before a cell runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any


@dataclass(frozen=True)
class Question:
    """A prediction. Without `choices` the learner types a number or text. `because` answers a wrong
    guess, after the reveal only. `key` is the right answer, or a function of the values that the
    notebook passes to `reveal`; without a key the passed value is the right answer."""

    ask: str
    choices: tuple[str, ...] = ()
    because: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    key: str | Callable[..., Any] | None = None

    def shuffled(self, id: str, learner: str) -> tuple[str, ...]:
        """Return the choices in an order that belongs to this learner and stays the same, so that
        no position is the right one."""
        return tuple(Random(f"{id} {learner}").sample(self.choices, len(self.choices)))


@dataclass(frozen=True)
class Words:
    """A question to answer in one's own words, and the lesson's words, which are shown beside the
    answer."""

    ask: str
    ours: str


def which(**holds: str) -> Callable[..., str]:
    """Return a key for "which of these?" from a list of booleans. holds: the choices for none, for
    one (with {}) and for both of two."""
    return lambda names: (
        holds["both"]
        if len(names) == 2
        else holds["one"].format(names[0])
        if names
        else holds["none"]
    )


def about(*numbers: float, unit: str = "") -> Callable[[float], str]:
    """Return a key for "about how many?": the nearest of `numbers`, measured by ratio."""
    return lambda value: f"about {min(numbers, key=lambda n: abs(math.log(n / value)))}{unit}"


def either(test: Callable[..., bool], yes: str, no: str) -> Callable[..., str]:
    """Return a key that depends on a measured value."""
    return lambda *seen: yes if test(*seen) else no
