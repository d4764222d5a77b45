"""One decision of the learner, its wrong answers, and which answers count as right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..trace.model import Node
from ..trace.values import number, short

KINDS = ("who", "what", "how", "then")
"""The kinds of decisions: which node runs, what it sends, how the contribution arrives, what is
left afterwards. In a forward pass the kind is "value"."""

TOLERANCE = 0.01
"""The relative tolerance of a numerical answer; if the answer is 0, half of it is the absolute
tolerance."""

MOST = 60  # decisions about one graph; later ones are played without asking


class Ambiguous(Exception):
    """Raised if two rules give the same answer here, or if the answer tells nothing."""


@dataclass(frozen=True)
class Wrong:
    """A typical wrong answer. answer: as the learner gives it. belief: the sentence behind it.
    says: why it is wrong. ends: its consequences, as (name, value then, value in the right run);
    at: the same by node, for the graph. rule: whose gradient descent is shown, "" for none."""

    answer: Any
    belief: str
    says: str
    ends: tuple[tuple[str, str, str], ...] = ()
    at: dict[str, str] = field(default_factory=dict)
    rule: str = ""


@dataclass(frozen=True)
class Decision:
    """One question of a pass.

    decision : "who", "what", "how" or "then"; forward "value".
    kind     : what an explorer marks with "?": "grad" or "value" of `node`, "next" for none.
    until    : index of the first frame that is hidden until it is answered; shows: of the frame that tells it.
    text     : the question; form: type of answer: "number", "shape", "choice" or "node".
    answer   : the right answer; also: other right answers. said: the reply to a right answer.
    whole    : all numbers, of which `answer` is the marked one.
    choices  : (answer, words) of the options.
    wrong    : typical wrong answers; other: the reply to any other.
    spread   : leaf -> how much it moves for each 1 that the answer is off, and where it is when it is right.
    hint     : help; formulas: (answer, formula) of options instead of typing.
    """

    decision: str
    kind: str
    node: str
    until: int
    text: str
    form: str
    answer: Any
    said: str
    choices: tuple[tuple[str, str], ...] = ()
    wrong: tuple[Wrong, ...] = ()
    also: tuple[Any, ...] = ()
    whole: Any = None
    other: str = ""
    hint: str = ""
    edge: str = ""
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    formulas: tuple[tuple[float, str], ...] = ()

    def to_json(self, place: int) -> dict[str, Any]:
        """Return the fields as plain data, with the id."""
        plain = vars(self) | {"id": f"d{place}", "shows": self.until, "tolerance": TOLERANCE}
        return plain | {"wrong": [vars(wrong) for wrong in self.wrong]}

    def judge(self, given: Any) -> bool:
        """Return whether an answer is right: a number, a shape as a list, a choice, or the id of a
        node."""
        if given in (self.whole, *self.also) if self.form != "number" else given == self.whole:
            return True
        if self.form == "number":
            return not isinstance(given, str | list) and alike(given, self.answer)
        return bool(given == self.answer)

    def met(self, given: Any) -> Wrong | None:
        """Return the typical wrong answer that equals this answer, or None."""
        same = alike if self.form == "number" else lambda a, b: a == b
        return next((wrong for wrong in self.wrong if same(given, wrong.answer)), None)


def alike(a: Any, b: Any) -> bool:
    """Return whether an answer `a` equals the number `b` within the tolerance."""
    return abs(a - b) <= TOLERANCE * (abs(b) if abs(b) > 1e-6 else 0.5)


def words(array: Any) -> str:
    """Return one or a few numbers as text, with four digits each."""
    if array is None:
        return "None"
    array = np.asarray(array)
    if array.ndim == 0:
        return short(number(np.float32(array) + np.float32(0)), 4)
    return (
        "[" + ", ".join(words(row) for row in array) + "]"
        if array.size <= 12
        else f"shape {list(array.shape)}"
    )


def placed(place: tuple[int, ...]) -> str:
    return f" at {list(place)}" if place else ""


def plain(array: Any) -> Any:
    array = np.asarray(array, np.float64)
    return float(array) if array.ndim == 0 else array.tolist()


def rounded(places: list[float]) -> list[float]:
    return [float(f"{place:.4g}") for place in places]


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-4, atol=1e-6))


def trivial(child: Node, arrived: Any) -> bool:
    """Return whether there is nothing to work out, because the gradient is passed on unchanged, as
    by +."""
    return (
        child.op.rstrip("_") in ("add", "sub", "detach", "clone")
        and arrived is not None
        and bool(np.all(np.asarray(arrived) == 1))
    )
