"""One sitting: which form is asked, what was answered so far, whether it is handed in. All of it is in
`autolab.progress`.

An answer is an event "before.A.05": sitting, form, item; the end of a sitting is "before.A.done". Whether it was right
is not kept: that follows from what was chosen, and `autolab.progress()` is not to tell it between the two sittings.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import progress
from ..engine.core.errors import fail
from ..progress import Event
from .items import ITEMS, Form, Item

SITTINGS = ("before", "after")
DONE = "done"


@dataclass(frozen=True)
class Sitting:
    """What one learner answered in one sitting. when: "before" or "after". letter: the form. answers: number of the
    item to what was chosen. handed_in: whether the learner ended it."""

    when: str
    letter: str
    answers: dict[int, str]
    handed_in: bool

    def form(self, item: Item) -> Form:
        """The program of an item in this sitting."""
        return item.form(self.letter)

    def right(self, item: Item) -> bool:
        """Whether an item was answered rightly; what was left out was not."""
        return self.answers.get(item.number) == self.form(item).key

    def believed(self, item: Item) -> int | None:
        """The number of the misconception that the answer to an item follows from; None for any other answer."""
        given = self.answers.get(item.number)
        return next(
            (n for n, belief in zip(item.numbers, self.form(item).beliefs) if belief == given), None
        )

    @property
    def score(self) -> int:
        """How many items were answered rightly."""
        return sum(map(self.right, ITEMS))

    def offered(self, item: Item) -> tuple[str, ...]:
        """The choices of an item, in this learner's order."""
        return self.form(item).shuffled(f"{self.letter}{item.number}", progress.learner())

    def answer(self, item: Item, choice: str) -> Sitting:
        """Keeps an answer; the sitting as it is then. Raises ValueError for what is not offered, and after the sitting
        was handed in."""
        offered = self.offered(item)
        if choice not in offered or self.handed_in:
            expected = (
                "handed in already, so it takes no answers"
                if self.handed_in
                else f"one of {', '.join(offered)}"
            )
            raise fail(
                ValueError,
                f"choice should be {expected}, but is {choice!r}",
                "autolab.inventory() says where you are.",
            )
        if self.answers.get(item.number) != choice:
            progress.record(
                "inventory",
                f"{self.when}.{self.letter}.{item.number:02}",
                given=choice,
                choices=offered,
            )
        return Sitting(self.when, self.letter, self.answers | {item.number: choice}, False)

    def end(self) -> Sitting:
        """Hands the sitting in: its answers stay as they are."""
        if not self.handed_in:
            progress.record(
                "inventory", f"{self.when}.{self.letter}.{DONE}", given=len(self.answers)
            )
        return Sitting(self.when, self.letter, self.answers, True)


def sittings(events: Iterable[Event]) -> dict[str, Sitting]:
    """The sittings that events tell of, by "before" and "after"; a `reset` begins one anew, the latest answer to an
    item counts."""
    found: dict[str, Sitting] = {}
    known = {item.number for item in ITEMS}
    for event in events:
        when, _, rest = event.id.partition(".")
        letter, _, what = rest.partition(".")
        if event.kind == "reset" and event.id in SITTINGS:
            found.pop(event.id, None)
        if event.kind != "inventory" or when not in SITTINGS or letter not in ("A", "B"):
            continue
        one = found.get(when)
        if one is None or one.letter != letter:
            one = Sitting(when, letter, {}, False)
        if what == DONE:
            one = Sitting(when, letter, one.answers, True)
        elif what.isdecimal() and int(what) in known and not one.handed_in:
            one = Sitting(when, letter, one.answers | {int(what): str(event.given)}, False)
        found[when] = one
    return found


def sitting(when: str) -> Sitting:
    """The learner's sitting, as far as it has come. Half of the learners begin with form A, half with B, and get the
    other one afterwards.

    Raises ValueError when `when` is neither "before" nor "after".
    """
    if when not in SITTINGS:
        raise fail(
            ValueError,
            f'when should be "before" or "after", but is {when!r}',
            "Before the course, or after it.",
        )
    mine = sittings(progress.events())
    other = mine.get(SITTINGS[1 - SITTINGS.index(when)])
    first = (zlib.crc32(progress.learner().encode()) + SITTINGS.index(when)) % 2
    letter = "AB"[first] if other is None else "BA"["AB".index(other.letter)]
    return mine.get(when) or Sitting(when, letter, {}, False)


def reset(when: str) -> str:
    """Let a learner answer a sitting again: what was answered in it no longer counts. Raises ValueError when `when` is
    neither "before" nor "after"."""
    sitting(when)
    progress.record("reset", when)
    return (
        f"You can answer the inventory {when!r} again; what you answered before no longer counts."
    )


def hand_in(path: str | Path | None = None) -> Path:
    """Writes the answers to the inventory, and no other events, into a file for the instructor; returns where it is.

    path: the file; without one `inventory-` and a random word of this learner's own, in the working directory.
    """
    target = (
        Path(path) if path is not None else Path(f"inventory-{progress.learner() or 'mine'}.jsonl")
    )
    mine = [
        e
        for e in progress.events()
        if e.kind == "inventory" or e.kind == "reset" and e.id in SITTINGS
    ]
    target.write_text("".join(e.line + "\n" for e in mine), encoding="utf-8")
    return target
