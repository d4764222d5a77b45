"""What a learner handed in: the cells of a notebook, which exercises they answer, and what the
instructor should look at."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..lessons.book import lesson
from ..lessons.exercise import Exercise
from ..lessons.registry import LESSONS
from . import exam
from ..lessons.folder import course_source, further
from .papers import CHECK, checked, known, notebook

LARGEST = 20_000_000  # bytes of a notebook, which are mostly pictures
SOURCE = 1_000_000  # characters of its code
ANSWER = 1_000  # characters of an expression that answers an exercise
# No pattern may take quadratic time, because learners choose the text (tests/classroom/test_hostile.py).
SUSPECT = {
    r"\bof_lesson\b|lessons\.solutions|\bimport[ \t]+solutions\b|\.reference\b|EXERCISES": "the kit's own answers",
    r"lessons\.(exercise|compare|book)|\bjudge\b|setattr\(\s*autolab|\bautolab\.\w+\s*=[^=]|\btorch\.\w+\s*=[^=]": "changes in the kit",
    r"\b(ctypes|inspect|gc|importlib|subprocess|socket|urllib|requests|signal|shutil)\b|\bos\.|\bsys\.|__import__|\bopen\(": "the system",
    r"^[ \t]*def[ \t]+check\b|^[ \t]*check[ \t]*=|[ \t]as[ \t]+check\b": "a `check` of one's own",
}


@dataclass(frozen=True)
class Cell:
    """A code cell. answers: exercise -> the expression that has the answer after the cell has run."""

    number: int
    source: str
    answers: dict[str, str]


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in. name: what it is called in the table. exercises: those it should answer. cells:
    its code. look: what somebody should look at. trouble: why it cannot be read, "" where it can. variant: of an exam,
    else None. lesson: the lesson file that the notebook imports, for a lesson of one's own. given: the sources of cells
    as they were handed out."""

    name: str
    exercises: dict[str, Exercise]
    cells: tuple[Cell, ...] = ()
    look: tuple[str, ...] = ()
    trouble: str = ""
    variant: int | None = None
    lesson: Path | None = None
    given: frozenset[str] = frozenset()

    def own_cells(self) -> tuple[Cell, ...]:
        """Return the cells that are not as they were handed out."""
        return tuple(cell for cell in self.cells if cell.source.strip() not in self.given)


def read(path: Path, name: str) -> Submission:
    """Return the submission in a file. Never raises for the content of the file."""
    try:
        if trouble := _unreadable(path):
            return Submission(name, {}, trouble=trouble)
        data = json.loads(_content(path))
        numbered = [(n, c) for n, c in enumerate(data["cells"], 1) if c["cell_type"] == "code"]
        cells = [(n, "".join(c["source"]), _meta(c)) for n, c in numbered]
        if sum(len(source) for _, source, _ in cells) > SOURCE:
            return Submission(name, {}, trouble=f"its code has more than {SOURCE:,} characters")
        return _submission(name, cells, _meta(data))
    except Exception as error:  # noqa: BLE001  a file that was handed in may hold anything
        return Submission(
            name,
            {},
            trouble=f"the file cannot be read as a notebook ({type(error).__name__}: {error})"[
                :300
            ],
        )


def _unreadable(path: Path) -> str:
    """Return why a file is not opened: only a regular file that is not too large can be a submission."""
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        return "it is a link to another file; hand in the file itself"
    if not stat.S_ISREG(about.st_mode):
        return "it is not a file"
    return f"the file has more than {LARGEST:,} bytes" if about.st_size > LARGEST else ""


def _content(path: Path) -> bytes:
    """Return what a file holds; it was looked at before, and may have been exchanged since."""
    careful = (
        getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, os.O_RDONLY | careful), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a file")
        return file.read(LARGEST)


def _meta(thing: Any) -> dict[str, Any]:
    found = thing.get("metadata", {}).get("autolab", {})
    return found if isinstance(found, dict) else {}


def _submission(
    name: str, cells: list[tuple[int, str, dict[str, Any]]], about: dict[str, Any]
) -> Submission:
    found = [Cell(n, source, _answers(source, meta)) for n, source, meta in cells]
    ids = [id for cell in found for id in cell.answers]
    variant = about.get("exam")
    if type(variant) is int:
        exercises, given = exam.exercises(variant), exam.sources(variant)
        file = None
    else:
        number = max(
            [*known(), *LESSONS], key=lambda number: sum(id.startswith(f"{number}.") for id in ids)
        )
        if not any(id.startswith(f"{number}.") for id in ids):
            return Submission(name, {}, trouble=_foreign(ids))
        exercises, given, variant = _asked(number, ids), _sources(number), None
        file = LESSONS[number].file if number in LESSONS else None
    kept = tuple(
        Cell(c.number, c.source, {id: a for id, a in c.answers.items() if id in exercises})
        for c in found
    )
    return Submission(
        name, exercises, kept, _look(kept, given), variant=variant, lesson=file, given=given
    )


def _asked(number: str, ids: list[str]) -> dict[str, Exercise]:
    """Return the exercises of the notebook that was handed in: of a lesson's notebooks the one that checks most of
    them, and whatever else is answered."""
    every = lesson(number).EXERCISES
    several = [found for which, found in checked().items() if which[:2] == number]
    if number in LESSONS or not several:
        return every
    asked = max(several, key=lambda found: len(found.intersection(ids))).union(ids)
    return {id: one for id, one in every.items() if id in asked}


def _foreign(ids: list[str]) -> str:
    """Return why a notebook is not graded whose exercises no known lesson has."""
    if not ids:
        return "no cell of it checks an exercise"
    return (
        f"no lesson that is known here has the exercise {ids[0]!r}; name the lesson with --lesson"
    )


def _answers(source: str, meta: dict[str, Any]) -> dict[str, str]:
    """Return exercise -> expression, from the lines that check an answer, or else from the released
    notebook."""
    answers = {match["id"]: match["answer"] for match in CHECK.finditer(source)}
    if (
        not answers
        and isinstance(meta.get("exercise"), str)
        and str(meta.get("name", "")).isidentifier()
    ):
        answers[meta["exercise"]] = meta["name"]
    return {id: text for id, text in answers.items() if _is_expression(text)}


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text[: ANSWER + 1], mode="eval")
        return len(text) <= ANSWER
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # of too deeply nested code
        return False


@cache
def _sources(number: str) -> frozenset[str]:
    """Return the cells of a lesson as released, which are not the learner's own code."""
    if number in LESSONS and LESSONS[number].notebook is None:
        return frozenset()
    more = [name for name in further(course_source()) if name.startswith(f"{number}_")]
    cells = [cell for which in [number, *more] for cell in notebook(which)["cells"]]
    return frozenset(cell["source"].strip() for cell in cells)


def _look(cells: tuple[Cell, ...], given: frozenset[str]) -> tuple[str, ...]:
    """Return cells of the learner's own that name what an answer seldom needs."""
    found = []
    for cell in cells:
        if cell.source.strip() in given:
            continue
        for pattern, what in SUSPECT.items():
            match = re.search(pattern, cell.source, re.M)
            if match:
                found.append(f"cell {cell.number} names {what}: {' '.join(match[0].split())[:40]}")
    return tuple(found)
