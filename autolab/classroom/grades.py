"""Grade submissions: a row for each exercise of each submission, with what failed and why.

The process of a submission only reports the results of its answers. They are compared here, with
the results that the reference gives here.
"""

from __future__ import annotations

import csv
import io
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..lessons.exercise import Exercise, Unanswered, judge
from .same_answers import flagged
from .sandbox import Limits, Run, run
from .submission import Submission, read
from .wire import decode, encode


@dataclass(frozen=True)
class Grade:
    """The grade of one exercise in one submission. points: 1 or 0. status: "solved", "not yet",
    "open", "missing", "stopped" or "unreadable". why: what failed. look: what the instructor should
    look at."""

    submission: str
    exercise: str
    points: int
    status: str
    why: str = ""
    look: str = ""


def grade(
    folder: Path,
    limits: Limits,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
    path: Path | None = None,
) -> list[Grade]:
    """Grade every notebook in a folder and its subfolders. jobs: how many run at the same time.
    tell: called with each submission when it is graded. path: the file of the table. Raises
    FileNotFoundError if there is no notebook."""
    paths = [p for p in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]
    if not paths:
        raise FileNotFoundError(f"there is no *.ipynb in {folder}")
    names = (printable(p.relative_to(folder).with_suffix("").as_posix(), "") for p in paths)
    handed_in = flagged([read(path, name) for path, name in zip(paths, names)])
    grades: dict[int, list[Grade]] = {}
    with Table(path) as table, ThreadPoolExecutor(max(1, jobs)) as pool:
        running = {pool.submit(_graded, one, limits, table): n for n, one in enumerate(handed_in)}
        for future in as_completed(running):
            n = running[future]
            grades[n] = future.result()
            tell(printable(_in_short(handed_in[n], grades[n]), ""))
        # undo what a submission did to the table during its run; none of them runs any more
        table.replace([row for n in sorted(grades) for row in grades[n]])
    return [row for n in sorted(grades) for row in grades[n]]


def _graded(submission: Submission, limits: Limits, table: Table) -> list[Grade]:
    """Return the rows of one submission, which are in the table before the next one starts.

    What fails inside a submission becomes its row; only writing the table can raise.
    """
    try:
        rows = list(judged(submission, None if submission.trouble else run(submission, limits)))
    except Exception as error:  # noqa: BLE001
        why = f"grading it failed ({type(error).__name__}: {error})"[:300]
        rows = [Grade(submission.name, "", 0, "unreadable", why, "; ".join(submission.look))]
    table.add(rows)
    return rows


def judged(submission: Submission, done: Run | None) -> Iterator[Grade]:
    """Return the grades of one submission from the results of its run. Never raises for anything in
    a submission."""
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
    )  # names that make an answer not count; the code itself ran elsewhere
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
    """Stands for an answer that ran in another process. `gave` has its results there, in the order
    of the inputs."""

    def __init__(self, gave: list[Any], text: str) -> None:
        self.gave, self.text = iter(gave), text

    def __repr__(self) -> str:
        return self.text


class _Function(_Value):
    """The same for an answer that can be called."""

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("it ran elsewhere")


def replayed(exercise: Exercise, gave: dict[str, Any]) -> tuple[Exercise, Any]:
    """Return the exercise and an answer for `judge` that use the results from the other process.
    References and known mistakes run here; their results are encoded and decoded like the others.
    """
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
            raise TypeError(
                f"the answer gave {one!r}, which cannot be compared with the expected results"
            )
        return one

    return replace(exercise, observe=observe), stands


def _in_short(submission: Submission, rows: list[Grade]) -> str:
    exam = f" (exam, variant {submission.variant})" if submission.variant is not None else ""
    if submission.trouble:
        return f"{submission.name}: {submission.trouble}"
    look = f"; look at it: {'; '.join(submission.look)}" if submission.look else ""
    return f"{submission.name}{exam}: {sum(row.points for row in rows)} of {len(rows)}{look}"


def printable(text: str, kept: str = "\n\t") -> str:
    """Return a text that can be written and shown, with all other characters escaped as in Python.
    File names and outputs may contain half characters, which no file accepts, and commands to a
    terminal."""
    return "".join(c if c.isprintable() or c in kept else repr(c)[1:-1] for c in text)


def as_csv(grades: list[Grade], head: bool = True) -> str:
    """Return the table as CSV. A text that a spreadsheet would read as a formula gets an apostrophe
    before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if head:
        writer.writerow(["submission", "exercise", "points", "status", "why", "look"])
    for one in grades:
        texts = [one.submission, one.exercise, str(one.points), one.status, one.why, one.look]
        writer.writerow([no_formula(printable(text)) for text in texts])
    return out.getvalue()


def no_formula(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\n")) else text


class Table:
    """The table on the disk. path: None writes no file. Each row is written at once, so that grades
    are kept if grading stops early."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._file = path, None if path is None else path.open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._write(as_csv([]))

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def add(self, grades: list[Grade]) -> None:
        """Append rows."""
        self._write(as_csv(grades, head=False))

    def replace(self, grades: list[Grade]) -> None:
        """Replace all rows by these."""
        if self._path:
            new = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}")
            new.write_text(as_csv(grades), encoding="utf-8")
            new.replace(self._path)

    def _write(self, text: str) -> None:
        if self._file:
            with self._lock:
                self._file.write(text)
                self._file.flush()
