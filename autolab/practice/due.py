"""Choose the next level. A mastered level comes again after one day, then after two days, four, and
so on."""

from __future__ import annotations

from datetime import datetime, timedelta, UTC
from typing import NamedTuple

from .. import progress
from .levels import LEVELS

IN_A_ROW = 3  # a level is mastered after this many graphs that were right at the first try


class Due(NamedTuple):
    """A level, and why it is next."""

    level: int
    why: str


class _Streak(NamedTuple):
    """How many of the last graphs of a level were right at the first try, on how many days, and the
    last time."""

    row: int
    days: int
    last: datetime

    @property
    def again(self) -> datetime:
        """Return when the level comes again."""
        return self.last + timedelta(days=2 ** max(0, self.days - 1))


def _streaks(mode: str = "") -> dict[int, _Streak]:
    """Return the streaks by level. mode: " forward" for graphs played forward, which do not count
    for mastery."""
    done: dict[int, list[progress.Event]] = {}
    for event in progress.events("practice"):
        name = event.id.removesuffix(mode)
        if name + mode == event.id and name.isdigit() and int(name) in LEVELS:
            done.setdefault(int(name), []).append(event)
    found = {}
    for level, events in done.items():
        missed = max((i for i, event in enumerate(events) if not event.right), default=-1)
        streak = events[missed + 1 :]
        last = datetime.strptime(events[-1].time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        found[level] = _Streak(len(streak), len({event.time[:10] for event in streak}), last)
    return found


def in_a_row(level: int, mode: str = "") -> int:
    """Return how many of the last graphs of a level were right at the first try, without a miss."""
    found = _streaks(mode).get(level)
    return found.row if found else 0


def state(level: int) -> str:
    """Return what a list says about a level, or "" if it was never played."""
    found = _streaks().get(level)
    if found is None or not found.row:
        return ""
    if found.row < IN_A_ROW:
        return f" ({found.row} of {IN_A_ROW} in a row)"
    return (
        f" (yours, {'due again' if found.again <= _now() else f'again on {found.again:%Y-%m-%d}'})"
    )


def due() -> Due:
    """Return the next level: a mastered one that is due, else the one that was begun, else the
    first new one."""
    found = _streaks()
    yours = sorted(
        (streak.again, level) for level, streak in found.items() if streak.row >= IN_A_ROW
    )
    if yours and yours[0][0] <= _now():
        return Due(yours[0][1], f"it comes again: last done on {found[yours[0][1]].last:%Y-%m-%d}")
    begun = [level for level in LEVELS if level in found and found[level].row < IN_A_ROW]
    if begun:
        return Due(begun[0], f"begun: {found[begun[0]].row} of {IN_A_ROW} in a row")
    new = [level for level in LEVELS if level not in found]
    if new:
        return Due(new[0], "the first one that is new")
    return Due(yours[0][1], f"all are yours; this one comes again first, on {yours[0][0]:%Y-%m-%d}")


def _now() -> datetime:
    return datetime.now(UTC)
