"""The gain between the two sittings, of one learner and as Hake's normalized gain."""

from __future__ import annotations

from dataclasses import dataclass

from .. import progress
from ..specimens.specimen import SPECIMENS
from ..widgets.message import Message
from .items import ITEMS, Item
from .sitting import SITTINGS, Sitting, sittings


def hake(before: float, after: float) -> float | None:
    """Return Hake's normalized gain: the part of what could be gained that was gained. None if all
    was right before.

    before, after: the part of right answers, 0 to 1. The gain is negative if the result got worse.
    Hake (1998) calls 0.7 and more high, less than 0.3 low.

    >>> from autolab.inventory import hake
    >>> hake(0.25, 0.75), hake(1.0, 1.0)
    (0.6666666666666666, None)
    """
    return None if before >= 1 else (after - before) / (1 - before)


@dataclass(frozen=True)
class Change:
    """How one idea changed. word: "learned", "known", "not yet" or "lost"."""

    item: Item
    word: str

    @classmethod
    def of(cls, item: Item, before: Sitting, after: Sitting) -> Change:
        """Return the change from whether the idea was right before and after."""
        words = {
            (False, True): "learned",
            (True, True): "known",
            (False, False): "not yet",
            (True, False): "lost",
        }
        return cls(item, words[before.right(item), after.right(item)])


def report() -> Message:
    """Return the learner's progress and, if both sittings are handed in, the gain for each idea."""
    mine = sittings(progress.events())
    if not all(when in mine and mine[when].handed_in for when in SITTINGS):
        rows = tuple((when, _state(mine.get(when))) for when in SITTINGS)
        return Message(
            "The inventory: twenty programs, before the course and after it", rows,
            ("You see what you knew and what you learned after you have handed in both.",),
        )  # fmt: skip
    before, after = mine["before"], mine["after"]
    changes = [Change.of(item, before, after) for item in ITEMS]
    order = ["learned", "not yet", "lost", "known"]
    rows = tuple((c.word, _row(c, after)) for word in order for c in changes if c.word == word)
    gain = hake(before.score / len(ITEMS), after.score / len(ITEMS))
    said = (
        "All your answers before the course were right, so there was nothing to gain."
        if gain is None
        else f"You gained {gain:.0%} of the {len(ITEMS) - before.score} answers that you could gain (the normalised gain)."
    )
    return Message(
        f"The inventory: {before.score} of {len(ITEMS)} right before, {after.score} after",
        rows,
        (said,),
    )


def _state(one: Sitting | None) -> str:
    if one is None:
        return "not begun"
    done = f"{len(one.answers)} of {len(ITEMS)} answered"
    return f"handed in, {done}" if one.handed_in else f"{done}, not handed in"


def _row(change: Change, after: Sitting) -> str:
    """Return the row of an idea, with the misconception if the learner still believes it."""
    if (number := after.believed(change.item)) is not None:
        return f"{change.item.idea}. You answered as if: {SPECIMENS[number].belief}"
    return f"{change.item.idea}."
