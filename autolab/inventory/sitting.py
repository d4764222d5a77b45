"""One sitting: which form is asked, the answers so far, and whether it is handed in, all kept in
`autolab.progress`.

An answer is an event "before.A.05": sitting, form, item. The end of a sitting is "before.A.done".
Whether an answer was right is not recorded, because `autolab.progress()` must not tell it between
the sittings; it follows from the choice.
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
    """The answers of one learner in one sitting. when: "before" or "after". letter: the form.
    answers: the number of an item -> the choice. handed_in: whether the learner ended it."""

    when: str
    letter: str
    answers: dict[int, str]
    handed_in: bool

    def form(self, item: Item) -> Form:
        """Return the program of an item in this sitting."""
        return item.form(self.letter)

    def right(self, item: Item) -> bool:
        """Return whether an item was answered correctly; skipped items were not."""
        return self.answers.get(item.number) == self.form(item).key

    def believed(self, item: Item) -> int | None:
        """Return the number of the misconception that the answer to an item follows from, or None."""
        given = self.answers.get(item.number)
        return next(
            (n for n, belief in zip(item.numbers, self.form(item).beliefs) if belief == given), None
        )

    @property
    def score(self) -> int:
        """Return how many items were answered correctly."""
        return sum(map(self.right, ITEMS))

    def offered(self, item: Item) -> tuple[str, ...]:
        """Return the choices of an item in this learner's order."""
        return self.form(item).shuffled(f"{self.letter}{item.number}", progress.learner())

    def answer(self, item: Item, choice: str) -> Sitting:
        """Record an answer and return the new sitting. Raises ValueError for an answer that is not
        offered, and if the sitting was handed in."""
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
                "autolab.inventory() shows how many questions you have answered.",
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
        """Hand in the sitting, so that its answers cannot change."""
        if not self.handed_in:
            progress.record(
                "inventory", f"{self.when}.{self.letter}.{DONE}", given=len(self.answers)
            )
        return Sitting(self.when, self.letter, self.answers, True)


def sittings(events: Iterable[Event]) -> dict[str, Sitting]:
    """Return the sittings in events, by "before" and "after". A `reset` starts a sitting again, and
    the latest answer to an item counts."""
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
    """Return the learner's sitting with its answers so far. Half of the learners begin with form A
    and half with form B, and get the other form afterwards.

    Raises ValueError if `when` is neither "before" nor "after".
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
    """Let a learner answer a sitting again; earlier answers no longer count. Raises ValueError if
    `when` is neither "before" nor "after"."""
    sitting(when)
    progress.record("reset", when)
    return (
        f"You can answer the inventory {when!r} again; what you answered before no longer counts."
    )


def hand_in(path: str | Path | None = None) -> Path:
    """Write the answers to the inventory, and no other events, into a file for the instructor.
    Return its path.

    path: the file; by default `inventory-` and a random word of this learner, in the working
    directory.
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
