"""Right answers to the exercises, as a learner would type them into the cell of the exercise.

Each lesson has a file `lessonNN/solutions.py` of cells, one or more for an exercise, the plainest first:

    # %% 01.5
    def clip(grad):
        return grad.clamp(-1, 1)

The lines before the first `# %%` run before each cell and are not shown. The last line of a cell
names the answer, that is, the name that the notebook passes to `check`. The files are read, not
imported, and are never copied into a learner's folder.

What stands before the first `# %%` is run before each cell, and is not shown. The answer is what the last line of a
cell names: the name that the lesson's notebook gives to `check`. The files are read, not imported. Nothing of them is
copied into a learner's folder.
"""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HEADER = re.compile(r"^# %% (?P<id>(?:\d\d|[A-Za-z]\w*)\.\w+)(?:: (?P<way>.+))?$")


@dataclass(frozen=True)
class Solution:
    """A right answer. id: its exercise. way: what is special about it, in a few words; "" for the
    simplest answer. source: the text that a learner could have typed. before: the imports of the
    lesson."""

    id: str
    way: str
    source: str
    before: str

    @property
    def name(self) -> str:
        """Return the name that the last line of `source` gives to the answer."""
        last = ast.parse(self.source).body[-1]
        if isinstance(last, ast.FunctionDef | ast.ClassDef):
            return last.name
        if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            return last.targets[0].id
        raise ValueError(f"the last line of a solution of {self.id} names nothing")

    def answer(self) -> Any:
        """Run `source` with fresh names and return the answer that `check` gets."""
        file = f"<solution of {self.id}{', ' + self.way if self.way else ''}>"
        linecache.cache[file] = len(self.source), None, self.source.splitlines(keepends=True), file
        names: dict[str, Any] = {"__name__": "solution"}
        exec(self.before, names)
        exec(compile(self.source, file, "exec"), names)
        return names[self.name]


def of_lesson(number: str) -> dict[str, tuple[Solution, ...]]:
    """Return the solutions of each exercise, the simplest first; {} if the lesson has none.

    >>> from autolab.lessons.solutions import of_lesson
    >>> print(of_lesson("01")["01.7"][0].source)
    def clip(grad):
        return grad.clamp(-1, 1)
    """
    from .registry import LESSONS  # which reads solutions, too

    return LESSONS[number].solutions if number in LESSONS else _of_the_kit(number)


@cache
def _of_the_kit(number: str) -> dict[str, tuple[Solution, ...]]:
    path = Path(__file__).with_name(f"lesson{number}") / "solutions.py"
    return read(path.read_text(encoding="utf-8")) if path.exists() else {}


def read(text: str) -> dict[str, tuple[Solution, ...]]:
    """Return the solutions in the text of a file."""
    before, *cells = re.split(r"^(?=# %% )", text, flags=re.M)
    found: dict[str, list[Solution]] = {}
    for cell in cells:
        head, _, source = cell.partition("\n")
        match = HEADER.match(head)
        if match is None:
            raise ValueError(
                f"a cell of solutions begins with '# %% 01.5' or '# %% 01.5: in other words', not {head!r}"
            )
        found.setdefault(match["id"], []).append(
            Solution(match["id"], match["way"] or "", source.strip("\n"), before)
        )
    return {id: tuple(several) for id, several in found.items()}


def solutions(id: str) -> tuple[Solution, ...]:
    """Return the solutions of an exercise, the simplest first; () if it has none."""
    return of_lesson(id.split(".")[0]).get(id, ())
