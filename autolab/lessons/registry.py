"""Lessons of your own: `register` gives exercises and questions their names, so that `check("my.1", f)` finds them.

A lesson file is a Python module beside the notebook, `my_lesson.py` beside `my_lesson.ipynb`. It calls `register` once,
and the notebook imports it. The commands `release`, `grade` and `lab --course` import the same file.
"""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..engine.core.errors import fail
from . import solutions as written
from .exercise import Exercise
from .question import Question, Words


@dataclass(frozen=True)
class Lesson:
    """A registered lesson. file: the Python file that registered it, or None if it was typed into a
    notebook."""

    name: str
    EXERCISES: dict[str, Exercise]
    QUESTIONS: dict[str, Question]
    WORDS: dict[str, Words]
    solutions: dict[str, tuple[written.Solution, ...]]
    file: Path | None = None

    @property
    def notebook(self) -> Path | None:
        """The notebook beside the lesson file; None if there is none."""
        path = self.file.with_suffix(".ipynb") if self.file else None
        return path if path and path.is_file() else None


LESSONS: dict[str, Lesson] = {}
"""The registered lessons by name."""


def register(
    name: str,
    exercises: Iterable[Exercise] = (),
    questions: Mapping[str, Question] | None = None,
    words: Mapping[str, Words] | None = None,
    solutions: str = "",
) -> Lesson:
    """Register a lesson of your own and return it; a lesson of the same name is replaced.

    name: what its ids begin with; the ids of the lesson "my" are "my.1" or "my.q1". exercises: for `check` and `hint`.
    questions: for `predict`, by id. words: for `in_words`, by id. solutions: cells under `# %% my.1`, as text; without
    them the last hint shows the source of an exercise's `reference`, if that is a function of several lines.

    Raises ValueError for the name of one of the kit's lessons, and for an id that does not begin with the name.

    Example:

        >>> from autolab.lessons import Case, Exercise, check, register
        >>> twice = Exercise("doc.1", "Twice", lambda x: 2 * x, (Case("x = 3", lambda: (3,)),), ("Add it to itself.",))
        >>> _ = register("doc", [twice])
        >>> check("doc.1", lambda x: x + x).solved
        True
    """
    if not re.fullmatch(r"\d\d|[A-Za-z]\w*", name) or is_the_kits(name):
        note = 'Take a word such as "my", or two digits that no lesson of the kit has.'
        raise fail(ValueError, f"{name!r} cannot be the name of a lesson", note)
    tables = {one.id: one for one in exercises}, dict(questions or {}), dict(words or {})
    for id in [id for table in tables for id in table]:
        if not re.fullmatch(rf"{name}\.\w+", id):
            note = f'Call it "{name}.{re.sub(r"^.*?[.]", "", id) or 1}".'
            raise fail(ValueError, f"{id!r} does not begin with the lesson's name, {name!r}", note)
    known = written.read(solutions) or _references(tables[0].values())
    file = sys._getframe(1).f_globals.get("__file__")
    LESSONS[name] = lesson = Lesson(name, *tables, known, Path(file).resolve() if file else None)
    return lesson


def load(path: Path) -> Lesson:
    """Import the lesson file beside a notebook, or the file itself, and return the lesson that it registers.

    Raises FileNotFoundError if there is no such file, and ValueError if it fails or registers nothing.
    """
    file = path.expanduser().with_suffix(".py").resolve()
    if not file.is_file():
        note = (
            f"Write {file.name}, which calls autolab.lessons.register; docs/authoring.md shows one."
        )
        raise fail(FileNotFoundError, f"there is no lesson file {file}", note)
    return run(file.stem, file.read_text(encoding="utf-8"), file)


def run(stem: str, source: str, file: Path) -> Lesson:
    """Run the text of a lesson file as the module `stem`, which notebooks then import, and return its lesson."""
    module = types.ModuleType(stem)
    module.__file__ = str(file)
    linecache.cache[str(file)] = len(source), None, source.splitlines(keepends=True), str(file)
    sys.modules[stem] = module
    try:
        exec(compile(source, str(file), "exec"), vars(module))
    except Exception as error:
        note = "Run the file with Python to see where it fails."
        message = f"the lesson file {file.name} failed with {type(error).__name__}: {error}"
        raise fail(ValueError, message, note) from error
    found = [lesson for lesson in LESSONS.values() if lesson.file == file.resolve()]
    if not found:
        note = "It should call autolab.lessons.register once."
        raise fail(ValueError, f"the lesson file {file.name} registers no lesson", note)
    return found[-1]


def load_folder(folder: Path) -> list[str]:
    """Load the lesson file of every notebook in a folder that has one; return a sentence for each that fails."""
    trouble = []
    for path in filter(has_lesson_file, sorted(folder.glob("*.ipynb"))):
        try:
            load(path)
        except ValueError as error:
            trouble.append("\n".join([str(error), *getattr(error, "__notes__", [])]))
    return trouble


def has_lesson_file(notebook: Path) -> bool:
    """Return whether a Python file that calls `register` lies beside a notebook."""
    file = notebook.with_suffix(".py")
    return file.is_file() and bool(re.search(r"\bregister\(", file.read_text("utf-8", "replace")))


def is_the_kits(name: str) -> bool:
    """Return whether the kit has a lesson of this name, such as "01"."""
    return importlib.util.find_spec(f"{__package__}.lesson{name}") is not None


def _references(exercises: Iterable[Exercise]) -> dict[str, tuple[written.Solution, ...]]:
    """Return the exercises' own references as solutions, where they are functions that can be read."""
    found: dict[str, tuple[written.Solution, ...]] = {}
    for one in exercises:
        if isinstance(one.reference, types.FunctionType) and one.reference.__name__.isidentifier():
            try:
                source = textwrap.dedent(inspect.getsource(one.reference)).strip()
            except (OSError, TypeError):
                continue
            found[one.id] = (written.Solution(one.id, "", source, ""),)
    return found
