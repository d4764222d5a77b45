"""One event: a question was asked, and the learner answered it or took a hint."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from .._version import __version__
from ..engine.core.errors import fail

KINDS = ("prediction", "ask", "practice", "exercise", "hint", "inventory", "reset")
"""The kinds of events that may be recorded."""

LONGEST = 2000  # characters of a text; an answer may be a whole program


@dataclass(frozen=True)
class Event:
    """One answer or hint.

    time: when, in UTC, as "2026-03-01T12:00:00Z". kind: one of `KINDS`. id: what was asked. given: the answer. right:
    None where there is no right or wrong. belief: the misconception that a wrong answer follows from, "" where none is
    known. confidence: 1 (a guess) to 4 (certain), or None. because: the learner's own reason. tries: how many answers
    this was, from 1. help: what help there was, "" for none. seconds: how long it took, or None. choices: the answers
    offered, in the order in which they were shown, or None. kit: the version of autolab.
    """

    time: str
    kind: str
    id: str
    given: Any = None
    right: bool | None = None
    belief: str = ""
    confidence: int | None = None
    because: str = ""
    tries: int = 1
    help: str = ""
    seconds: float | None = None
    choices: tuple[str, ...] | None = None
    kit: str = __version__

    def __post_init__(self) -> None:
        _check("kind", self.kind, self.kind in KINDS, f"one of {', '.join(KINDS)}")
        _check(
            "id", self.id, isinstance(self.id, str) and self.id != "", "a text that is not empty"
        )
        _check(
            "right",
            self.right,
            self.right is None or isinstance(self.right, bool),
            "True, False or None",
        )
        for name in ("belief", "because", "help"):
            _check(name, getattr(self, name), isinstance(getattr(self, name), str), "a text")
        chosen = self.confidence
        _check(
            "confidence",
            chosen,
            chosen is None or type(chosen) is int and 1 <= chosen <= 4,
            "a whole number from 1 to 4, or None",
        )
        _check(
            "tries",
            self.tries,
            type(self.tries) is int and self.tries >= 1,
            "a whole number from 1 on",
        )
        spent = self.seconds
        known = (
            isinstance(spent, int | float)
            and not isinstance(spent, bool)
            and math.isfinite(spent)
            and spent >= 0
        )
        _check("seconds", spent, spent is None or known, "a number of seconds, or None")

    @property
    def at_once(self) -> bool:
        """Return whether it was right at the first try."""
        return self.right is True and self.tries == 1

    @property
    def line(self) -> str:
        """Return the event as a line of JSON without its line end. Values that JSON lacks are
        written as their `repr`."""
        return json.dumps(
            {k: _plain(v) for k, v in asdict(self).items()}, ensure_ascii=False, allow_nan=False
        )


def parse(line: str) -> Event | None:
    """Return the event in a line, or None for a broken line or a kind that this version does not
    know."""
    try:
        data = json.loads(line)
        return Event(**{name: data[name] for name in FIELDS if name in data})
    except (
        ValueError,
        TypeError,
        AttributeError,
    ):  # not JSON, not an object, or values that no event has
        return None


FIELDS = tuple(field.name for field in fields(Event))


def _check(name: str, value: Any, good: bool, expected: str) -> None:
    if not good:
        raise fail(
            ValueError,
            f"{name} should be {expected}, but is {value!r}",
            "docs/progress.md says what each field of an event means.",
        )


def _plain(value: Any) -> Any:
    """Return any value as data that JSON can hold."""
    if (
        value is None
        or isinstance(value, bool | int)
        or isinstance(value, float)
        and math.isfinite(value)
    ):
        return value
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written as UTF-8
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
