"""A class: the files that learners handed in, as a table."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from ..progress.event import parse
from ..specimens.specimen import SPECIMENS
from .gain import hake
from .items import ITEMS
from .sitting import SITTINGS, Sitting, sittings

FEW = 10
"""With fewer learners, one answer changes a gain so much that it says little."""


@dataclass(frozen=True, repr=False)
class Group:
    """Learners who handed in both sittings, by file name, and the `others` who did not."""

    learners: dict[str, tuple[Sitting, Sitting]]
    others: tuple[str, ...] = ()

    def part_right(self, number: int | None, when: str) -> float:
        """Return the part of right answers in a sitting, 0 to 1, for one item or (None) for all."""
        asked = [item for item in ITEMS if number in (None, item.number)]
        place = SITTINGS.index(when)
        right = sum(both[place].right(item) for both in self.learners.values() for item in asked)
        return right / (len(self.learners) * len(asked))

    def part_believing(self, number: int, when: str) -> float:
        """Return the part of the learners, 0 to 1, whose answer follows from the misconception."""
        (item,) = (item for item in ITEMS if number in item.numbers)
        place = SITTINGS.index(when)
        return sum(both[place].believed(item) == number for both in self.learners.values()) / len(
            self.learners
        )

    @property
    def table(self) -> list[dict[str, str]]:
        """Return a row for each misconception and one for all of them. Parts are percentages, and
        an undefined gain is an empty text. If an item has two misconceptions, the second row says
        only how many believe it."""
        rows = []
        for item in ITEMS if self.learners else ():
            for number in item.numbers:
                right = (
                    [self.part_right(item.number, when) for when in SITTINGS]
                    if number == item.number
                    else []
                )
                held, holding = (
                    f"{100 * self.part_believing(number, when):.0f}" for when in SITTINGS
                )
                rows.append(
                    _row(str(number), item.idea, right, held, holding, SPECIMENS[number].belief)
                )
        if self.learners:
            rows.append(
                _row("", "all", [self.part_right(None, when) for when in SITTINGS], "", "", "")
            )
        return rows

    @property
    def csv(self) -> str:
        """Return the table as comma-separated values."""
        out = io.StringIO()
        rows = self.table
        writer = csv.DictWriter(
            out, list(rows[0]) if rows else ["misconception"], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def __repr__(self) -> str:
        left = (
            f"{len(self.others)} left out, who did not hand in both: {', '.join(self.others)}"
            if self.others
            else ""
        )
        if not self.learners:
            return "Nobody has handed in both sittings." + (f"\n{left}" if left else "")
        head = f"{len(self.learners)} learner{'s' * (len(self.learners) != 1)} with both sittings; parts in percent"
        lines = [head, "before after  gain  belief before/after  idea"]
        for row in self.table:
            held = (
                f"{row['belief before']:>6}/{row['belief after']:<5}"
                if row["misconception"]
                else " " * 12
            )
            gain = row["gain"] or ("—" if row["before"] else "")
            idea = row["idea"] if row["before"] else f"  and: {row['belief']}"
            lines.append(f"{row['before']:>6} {row['after']:>5} {gain:>5}  {held:^18}   {idea}")
        lines += [
            "gain: Hake's normalised gain (after - before) / (100 - before) of the class. — is undefined: all were right before.",
            "belief: how many chose the answer that follows from the misconception.",
        ]
        if len(self.learners) < FEW:
            lines.append(f"With fewer than {FEW} learners one answer changes these numbers a lot.")
        return "\n".join([*lines, *([left] if left else [])])


def _row(
    number: str, idea: str, right: list[float], held: str, holding: str, belief: str
) -> dict[str, str]:
    """Return one row. right: the parts before and after, or nothing."""
    before, after = (f"{100 * part:.0f}" for part in right) if right else ("", "")
    gain = hake(*right) if right else None
    return {
        "misconception": number, "idea": idea, "before": before, "after": after,
        "gain": "" if gain is None else f"{gain:.2f}", "belief before": held, "belief after": holding, "belief": belief,
    }  # fmt: skip


def read_group(folder: str | Path) -> Group:
    """Return the class whose files are in a folder and its subfolders: files of `hand_in`, or whole
    progress files `*.jsonl`. One file is one learner; lines that are not events are skipped.

    Raises FileNotFoundError if there is no such folder, or no such file in it.
    """
    files = sorted(Path(folder).rglob("*.jsonl"))
    if not files:
        raise FileNotFoundError(
            f"there is no *.jsonl in {folder}; learners write one with `autolab-kit inventory --hand-in`"
        )
    learners, others = {}, []
    for file in files:
        lines = file.read_bytes().decode("utf-8", "replace").split("\n")
        found = sittings(event for line in lines if (event := parse(line)) is not None)
        name = file.relative_to(folder).with_suffix("").as_posix()
        if all(when in found and found[when].handed_in for when in SITTINGS):
            learners[name] = found["before"], found["after"]
        else:
            others.append(name)
    return Group(learners, tuple(others))
