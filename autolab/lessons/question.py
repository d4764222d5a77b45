"""What a lesson asks before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any


@dataclass(frozen=True)
class Question:
    """Without `choices` a number (or text) is typed in. `because` answers a wrong guess, after the reveal only. `key`
    is the answer, or makes it of what the notebook gives to `reveal`; without a key that is the answer itself."""

    ask: str
    choices: tuple[str, ...] = ()
    because: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    key: str | Callable[..., Any] | None = None

    def shuffled(self, id: str, learner: str) -> tuple[str, ...]:
        """The choices in this learner's order: the same one each time, so that no place is the right one."""
        return tuple(Random(f"{id} {learner}").sample(self.choices, len(self.choices)))


@dataclass(frozen=True)
class Words:
    """A question to be answered in one's own words, and those of the lesson, which are shown beside them."""

    ask: str
    ours: str


def which(**holds: str) -> Callable[..., str]:
    """A key for "which of these": of a list of what did it. holds: how none, one (with {}) and all of two are
    called."""
    return lambda names: (
        holds["both"]
        if len(names) == 2
        else holds["one"].format(names[0])
        if names
        else holds["none"]
    )


def about(*numbers: float, unit: str = "") -> Callable[[float], str]:
    """A key for "about how many": the nearest of `numbers`, as their ratios go."""
    return lambda value: f"about {min(numbers, key=lambda n: abs(math.log(n / value)))}{unit}"


def either(test: Callable[..., bool], yes: str, no: str) -> Callable[..., str]:
    """A key that depends on what was measured."""
    return lambda *seen: yes if test(*seen) else no
