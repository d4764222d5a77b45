"""The text that `autolab.progress()` shows."""

from __future__ import annotations

from ..widgets.message import Message
from .event import KINDS, Event
from .store import events, trouble, where


def summary(kind: str | None = None) -> Message:
    """Return a row for each question: how often it was answered, and how often right at the first
    try."""
    kept = events(kind)
    groups: dict[tuple[int, str], list[Event]] = {}
    for event in kept:
        groups.setdefault((KINDS.index(event.kind), event.id), []).append(event)
    rows = tuple(
        (f"{KINDS[order]} {id}", _counted(groups[order, id])) for order, id in sorted(groups)
    )
    path = where()
    place = f"Kept in {path}." if path is not None else "Kept in memory, until this kernel ends."
    if trouble():
        place = f"Kept in memory, until this kernel ends: {trouble()}."
    of = f" of kind {kind}" if kind else ""
    return Message(
        f"Your progress: {len(kept):,} event{'s' * (len(kept) != 1)}{of}",
        rows,
        (f"{place} Nothing of it leaves this machine; autolab.progress.forget() deletes it.",),
    )


def _counted(asked: list[Event]) -> str:
    """Return text such as `3 answers, 2 of them right, 1 at the first try; last on 2026-03-01`."""
    last = f"last on {asked[-1].time[:10]}"
    if asked[0].kind == "hint":
        return f"{len(asked)} taken; {last}"
    answers = f"{len(asked)} answer{'s' * (len(asked) != 1)}"
    judged = [event for event in asked if event.right is not None]
    if judged:
        right, at_once = (
            sum(event.right is True for event in judged),
            sum(event.at_once for event in judged),
        )
        answers += f", {right} right" + (f" ({at_once} at the first try)" if right else "")
    beliefs = [event.belief for event in asked if event.belief]
    return f"{answers}; {last}" + (
        f"; last mistake: {beliefs[-1]}" if beliefs and not judged[-1].right else ""
    )
