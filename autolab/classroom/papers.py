"""Plans and solutions, which instructors get and learners' folders do not contain."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ..engine.core.errors import fail
from ..lessons.folder import RECORD, course_source, further, lessons, notebooks
from ..lessons.registry import LESSONS
from ..lessons.solutions import Solution, of_lesson, solutions

CHECK = re.compile(
    r"""^(?:\w+ = )?check\(\s{0,20}["'](?P<id>[\w.]{1,40})["']\s{0,20},\s{0,20}(?P<answer>.{1,1000}?)\s{0,20}\)[ \t]{0,20}(?:#.*)?$""",
    re.M,
)
"""The line of a notebook that checks an exercise."""


def plans() -> dict[str, Path]:
    """Return the plan of each lesson by its number."""
    return {
        path.name[:2]: path for path in sorted((course_source() / "plans").glob("[0-9][0-9]_*.md"))
    }


def own_plan(notebook: Path) -> Path:
    """Return the plan of a lesson of your own: `plans/my_lesson.md` beside `my_lesson.ipynb`. Raises
    FileNotFoundError if there is none."""
    path = notebook.parent / "plans" / f"{notebook.stem}.md"
    if not path.is_file():
        note = "Write it in Markdown; docs/lectures.md says how a deck uses it."
        raise fail(FileNotFoundError, f"there is no plan {path}", note)
    return path


def plans_in_short() -> str:
    """Return the titles of the plans and the time that each lesson takes."""
    lines = []
    for number, path in plans().items():
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("# ").partition(":")[0]
        prose = " ".join(line for line in text.splitlines() if not line.startswith("|"))
        times = [s for s in re.split(r"(?<=[.;:])\s+", prose) if re.search(r"\d+ minutes", s)]
        lines.append(f"{number}  {title}. {times[0] if times else ''}".rstrip(" .;:") + ".")
    return "\n".join(lines)


def solved_text(number: str) -> str:
    """Return all solutions of a lesson as Python that runs from top to bottom. Raises KeyError if
    there are none."""
    several = of_lesson(number)
    if not several:
        raise KeyError(f"no lesson {number!r} has solutions; type one of {', '.join(known())}")
    cells = [_cell(one) for found in several.values() for one in found]
    before = next(iter(several.values()))[0].before
    return "\n\n\n".join([_imports(before), *cells]) + "\n"


def solution_text(id: str) -> str:
    """Return the solutions of one exercise. Raises KeyError if it has none."""
    if not solutions(id):
        raise KeyError(
            f"{id!r} has no solution; type one of {', '.join(of_lesson(id.split('.')[0])) or ', '.join(known())}"
        )
    return "\n\n\n".join(map(_cell, solutions(id))) + "\n"


def known() -> list[str]:
    """Return the lessons that have solutions."""
    return [number for number in lessons(course_source()) if of_lesson(number)]


def write_plans(folder: Path) -> list[Path]:
    """Copy the plans into an instructor's folder. Raises ValueError for a folder in which a learner
    works."""
    return [
        _written(folder / path.name, path.read_text(encoding="utf-8")) for path in plans().values()
    ]


def write_solutions(folder: Path) -> list[Path]:
    """Write each lesson's solutions as Python, and each of its notebooks with the solutions filled in. Raises
    ValueError for a folder in which a learner works."""
    written = []
    for number in known():
        core, *more = [Path(path).stem for path in notebooks(course_source(), number)]
        written.append(_written(folder / f"{core}_solutions.py", solved_text(number)))
        for which, stem in [(number, core), *((stem, stem) for stem in more)]:
            filled = json.dumps(solved(which), indent=1, ensure_ascii=False) + "\n"
            written.append(_written(folder / f"{stem}_solved.ipynb", filled))
    return written


def path_of(number: str) -> Path:
    """Return the notebook of a lesson such as "01", or one that goes further, such as "01_vectors". Raises KeyError
    for a name that has none."""
    if number in LESSONS and (own := LESSONS[number].notebook):
        return own
    names = lessons(course_source())
    more = further(course_source())
    if number not in names and number not in more:
        note = "For a lesson of your own, name its notebook, such as my_lesson.ipynb."
        raise fail(
            KeyError,
            f"no lesson is called {number!r}; the kit has {', '.join([*names, *more])}",
            note,
        )
    return course_source() / (names | more)[number]


@cache
def checked() -> dict[str, set[str]]:
    """Return the exercises that each notebook of the course checks, such as {"01_vectors": {"01.9"}}."""
    return {
        which: {
            m["id"] for cell in notebook(which)["cells"] for m in CHECK.finditer(cell["source"])
        }
        for which in [*lessons(course_source()), *further(course_source())]
    }


def notebook(number: str) -> Any:
    """Return a lesson's notebook without outputs. Raises KeyError for a lesson that has none."""
    found = json.loads(path_of(number).read_text(encoding="utf-8"))
    for cell in found["cells"]:
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return found


def solved(number: str) -> Any:
    """Return a lesson's notebook with the simplest solutions in the cells of its exercises."""
    found = notebook(number)
    for cell in found["cells"]:
        match = CHECK.search(cell["source"]) if cell["cell_type"] == "code" else None
        several = solutions(match["id"]) if match else ()
        if match and several:
            cell["source"] = f"{several[0].source}\n\n{match[0]}"
    return found


def _cell(one: Solution) -> str:
    return f"# %% {one.id}{': ' + one.way if one.way else ''}\n{one.source}"


def _imports(before: str) -> str:
    """Return the imports of a file of solutions, without the comments for its authors."""
    return "\n".join(line for line in before.splitlines() if line.startswith(("import ", "from ")))


def _written(path: Path, text: str) -> Path:
    if (path.parent / RECORD).exists():
        raise ValueError(
            f"{path.parent} is a folder in which a learner works ; name another folder with -o"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
