"""Grades: a row for each exercise of each submission, with what failed and why.

What a submission's process says is only what its answers gave; it is compared here, with what the reference gives here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..lessons.exercise import Exercise, Unanswered, judge
from .sandbox import Limits, Run, run
from .submission import Submission, read
from .wire import decode, encode


@dataclass(frozen=True)
class Grade:
    """One exercise of one submission. points: 1 or 0. status: "solved", "not yet", "open", "missing", "stopped" or
    "unreadable". why: what failed. look: what somebody should look at."""

    submission: str
    exercise: str
    points: int
    status: str
    why: str = ""
    look: str = ""


def grade(
    folder: Path, limits: Limits, jobs: int = 1, tell: Callable[[str], None] = lambda line: None
) -> list[Grade]:
    """Grades every notebook in a folder and the folders in it. jobs: how many run at the same time. tell: is told of
    each when it is done. Raises FileNotFoundError where there is none."""
    paths = [p for p in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]
    if not paths:
        raise FileNotFoundError(f"there is no *.ipynb in {folder}")
    handed_in = [read(path, path.relative_to(folder).with_suffix("").as_posix()) for path in paths]
    grades: list[Grade] = []
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        runs = pool.map(lambda one: None if one.trouble else run(one, limits), handed_in)
        for submission, done in zip(handed_in, runs):
            rows = list(judged(submission, done))
            grades += rows
            tell(_in_short(submission, rows))
    return grades


def judged(submission: Submission, done: Run | None) -> Iterator[Grade]:
    """The grades of one submission, by what its run gave. Never raises for it."""
    look = "; ".join(submission.look)
    if done is None:
        yield Grade(submission.name, "", 0, "unreadable", submission.trouble, look)
        return
    places = {id: cell.number for cell in submission.cells for id in cell.answers}
    for id, exercise in submission.exercises.items():
        status, why = _one(exercise, id, places.get(id), done)
        yield Grade(submission.name, id, int(status == "solved"), status, why, look)


def _one(exercise: Exercise, id: str, cell: int | None, done: Run) -> tuple[str, str]:
    if cell is None:
        return "missing", "no cell of the notebook answers it"
    gave = done.gave.get(id)
    for place, what in ((cell, f"cell {cell}"), (id, "the answer, when it was tried")):
        if place in done.stopped and gave is None:
            return "stopped", f"{what}: {done.stopped[place]}"
    if gave is None:
        before = ", ".join(f"cell {place}: {why}" for place, why in done.stopped.items())
        return (
            "stopped",
            f"not reached; {before or 'the process said that it was at its end, or never began'}",
        )
    raised = f" Cell {cell} raised {done.raised[cell]}." if cell in done.raised else ""
    if gave.get("open") or "missing" in gave:
        return "open", (
            f"not answered: {gave['missing']}." if "missing" in gave else "not answered."
        ) + raised
    try:
        verdict = judge(*replayed(exercise, gave))
    except Exception as error:  # noqa: BLE001  what is said by a process that is theirs may be anything
        return "not yet", f"what the answer gave cannot be read ({type(error).__name__}: {error})"[
            :300
        ] + raised
    avoid = getattr(
        exercise, "avoid", {}
    )  # names that make an answer not count; the code ran elsewhere
    unwanted = [why for name, why in avoid.items() if name in _listed(gave.get("names"))]
    if verdict.status == "agrees":
        return ("not yet", " ".join(unwanted)) if unwanted else ("solved", "")
    return (
        ("open", "not answered." + raised)
        if verdict.status == "open"
        else ("not yet", verdict.why + raised)
    )


def _listed(names: Any) -> list[Any]:
    return names if isinstance(names, list) else []


class _Value:
    """Stands for an answer that ran elsewhere: `gave` is what it gave there, in the order of the inputs."""

    def __init__(self, gave: list[Any], text: str) -> None:
        self.gave, self.text = iter(gave), text

    def __repr__(self) -> str:
        return self.text


class _Function(_Value):
    """The same, of an answer that can be called."""

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("it ran elsewhere")


def replayed(exercise: Exercise, gave: dict[str, Any]) -> tuple[Exercise, Any]:
    """The exercise and an answer for `judge`, for which what was seen elsewhere counts. References and known mistakes
    run here, and what they give takes the same way as what came from there."""
    kind = _Function if gave["callable"] is True else _Value
    stands = kind([decode(one) for one in gave["gave"]], str(gave["text"]))

    def observe(answer: Any, *args: Any) -> dict[str, Any]:
        if getattr(answer, "__wrapped__", answer) is not stands:
            found: dict[str, Any] = decode(encode(exercise.observe(answer, *args)))
            return found
        one = next(stands.gave, None)
        if isinstance(one, BaseException):
            raise one
        if one is Ellipsis:
            raise Unanswered
        if not isinstance(one, dict):
            raise TypeError(f"the answer gave {one!r}, which is nothing that is compared")
        return one

    return replace(exercise, observe=observe), stands


def _in_short(submission: Submission, rows: list[Grade]) -> str:
    exam = f" (exam, variant {submission.variant})" if submission.variant is not None else ""
    if submission.trouble:
        return f"{submission.name}: {submission.trouble}"
    look = f"; look at it: {'; '.join(submission.look)}" if submission.look else ""
    return f"{submission.name}{exam}: {sum(row.points for row in rows)} of {len(rows)}{look}"


def as_csv(grades: list[Grade]) -> str:
    """The table. A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["submission", "exercise", "points", "status", "why", "look"])
    for one in grades:
        texts = [one.submission, one.exercise, str(one.points), one.status, one.why, one.look]
        writer.writerow(
            [
                f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
                for text in texts
            ]
        )
    return out.getvalue()
