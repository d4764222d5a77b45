"""Totals for a learning platform, and a feedback file for each submission."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from .grades import Grade, no_formula, printable

CANVAS = re.compile(r"(?P<name>[^_/]+)(?:_LATE)?_(?P<id>\d+)_\d+_[^/]*$")
"""Canvas's name for a downloaded submission: `doejane_123_4567_01_graphs.ipynb`."""
MOODLE = re.compile(r"(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_file")
"""Moodle's name for the folder of a downloaded submission: `Jane Doe_123_assignsubmission_file_`.
"""


@dataclass(frozen=True)
class Total:
    """The points of one submission. name, id: who handed it in, as far as the platform's file name
    says it."""

    submission: str
    name: str
    id: str
    points: int
    of: int
    rows: tuple[Grade, ...]


def totals(grades: list[Grade], of: int = 0) -> list[Total]:
    """Return the total of each submission, in the order of the grades.

    of: how many exercises there are, if no submission can be read.
    """
    rows: dict[str, list[Grade]] = defaultdict(list)
    for grade in grades:
        rows[grade.submission].append(grade)
    most = max([of, *(len(one) for one in rows.values())], default=0)
    found = []
    for submission, several in rows.items():
        who = MOODLE.search(submission) or CANVAS.search(submission)
        name, id = (who["name"], who["id"]) if who else (submission, "")
        readable = [one for one in several if one.exercise]
        points = sum(one.points for one in several)
        found.append(Total(submission, name, id, points, len(readable) or most, tuple(several)))
    return found


def canvas(several: list[Total], assignment: str) -> str:
    """Return the table that Canvas imports under Grades: one column for the assignment, matched by
    the learner's ID."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment]
    possible = max((one.of for one in several), default=0)
    rows = [[one.name, one.id, "", "", "", str(one.points)] for one in several]
    return _table([head, ["    Points Possible", "", "", "", "", str(possible)], *rows])


def moodle(several: list[Total]) -> str:
    """Return the grading worksheet that Moodle imports in an assignment, with the feedback in a column."""
    head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments"]
    return _table(
        [
            head,
            *(
                [
                    f"Participant {one.id}" if one.id else one.submission,
                    one.name,
                    str(one.points),
                    str(one.of),
                    feedback(one),
                ]
                for one in several
            ),
        ]
    )


def feedback(one: Total) -> str:
    """Return what a learner reads about a submission: the total, then each exercise and why it is not solved."""
    lines = [f"{one.points} of {one.of} exercises are solved."]
    for row in one.rows:
        if not row.exercise:
            lines.append(f"The notebook could not be graded: {row.why}")
        else:
            lines.append(f"{row.exercise}: {row.status}" + (f". {row.why}" if row.why else ""))
    return printable("\n".join(lines)) + "\n"


def write_feedback(several: list[Total], folder: Path) -> list[Path]:
    """Write a text file for each submission and return the paths. Names keep letters, digits, `-` and `_` only."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for one in several:
        stem = re.sub(r"[^\w-]+", "_", one.submission).strip("_")[:150] or "submission"
        path = folder / f"{stem}.txt"
        for n in range(2, len(several) + 2):
            if path not in written:
                break
            path = folder / f"{stem}_{n}.txt"
        path.write_text(feedback(one), encoding="utf-8")
        written.append(path)
    return written


def _table(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [no_formula(printable(cell)) for cell in row] for row in rows
    )
    return out.getvalue()
