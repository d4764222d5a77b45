"""Notebooks to hand out: a lesson for grading, with or without nbgrader, and the variants of an
exam."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from .._version import __version__
from ..lessons import registry
from ..lessons.solutions import solutions
from . import exam
from .papers import CHECK, notebook, path_of

KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CONFIG = """import os

c = get_config()  # noqa: F821 (nbgrader's)
c.CourseDirectory.course_id = "autolab"
c.ClearSolutions.code_stub = {"python": "# your code above"}  # the skeletons of the exercises stay as they are
c.ExecutePreprocessor.timeout = 300
c.ExecutePreprocessor.store_widget_state = False  # 9 MB for each notebook of lesson 1; nbgrader's pages show no widget
os.environ["AUTOLAB_PROGRESS"] = "off"  # else a learner's answers are kept in your progress, and shown to the next learner
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads of small networks wait for each other where the machine has other work
"""

HIDDEN = '### BEGIN HIDDEN TESTS\nassert verdict.solved, verdict.why or "not answered"\n### END HIDDEN TESTS'


def release(which: str, folder: Path, nbgrader: bool = False) -> list[Path]:
    """Write a lesson for grading into `folder` and return the paths of the files.

    which: a lesson's number, or the notebook of a lesson of one's own; its lesson file is written beside it. nbgrader:
    the notebook becomes `source/<lesson>/<lesson>.ipynb`, with `nbgrader_config.py` if there is none. Raises KeyError
    for a lesson that does not exist.
    """
    number = registry.load(Path(which)).name if which.endswith((".ipynb", ".py")) else which
    found, name = notebook(number), path_of(number).stem
    cells: list[dict[str, Any]] = []
    for cell in found["cells"]:
        match = CHECK.search(cell["source"]) if cell["cell_type"] == "code" else None
        cells += (
            [cell]
            if match is None
            else _graded(cell, match)
            if nbgrader
            else [_marked(cell, match)]
        )
    metadata = KERNEL | {"autolab": {"lesson": number, "kit": __version__}}
    data = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    if not nbgrader:
        return [_write(folder / f"{name}.ipynb", data), *_lesson_file(number, folder)]
    place = folder / "source" / name
    written = [_write(place / f"{name}.ipynb", data), *_lesson_file(number, place)]
    if not (folder / "nbgrader_config.py").exists():
        (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
        written.append(folder / "nbgrader_config.py")
    return written


def _lesson_file(number: str, folder: Path) -> list[Path]:
    """Copy the file that registers a lesson of one's own; the kit's lessons need none."""
    own = registry.LESSONS.get(number)
    if own is None or own.file is None or (folder / own.file.name).resolve() == own.file:
        return []
    return [Path(shutil.copyfile(own.file, folder / own.file.name))]


def release_exam(variants: range, folder: Path, solved: bool = False) -> list[Path]:
    """Write the variants of the exam, one notebook each. `solved` includes the answers, for the
    grader."""
    return [
        _write(folder / f"exam_{n:03}{'_solved' if solved else ''}.ipynb", exam_notebook(n, solved))
        for n in variants
    ]


def exam_notebook(variant: int, solved: bool = False) -> dict[str, Any]:
    """Return the notebook of one variant. Raises ValueError for a variant below 1."""
    text = "Complete each cell. Other cells may be added. Restart the kernel and run all cells before you hand this file in."
    cells = [_markdown("start", f"# Exam, variant {variant}\n\n{text}")]
    cells.append(_code("imports", exam.IMPORTS))
    for n, task in enumerate(exam.tasks(variant), 1):
        cells.append(_markdown(f"text-{n}", f"## {n}. {task.exercise.title}\n\n{task.text}"))
        about = {"exercise": task.exercise.id, "name": task.name}
        cells.append(
            _code(f"answer-{n}", task.solution if solved else task.skeleton, {"autolab": about})
        )
    metadata = KERNEL | {"autolab": {"exam": variant, "kit": __version__}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _marked(cell: dict[str, Any], match: Any) -> dict[str, Any]:
    about = {"exercise": match["id"], "name": match["answer"]}
    return cell | {"metadata": cell["metadata"] | {"autolab": about}}


def _graded(cell: dict[str, Any], match: Any) -> list[dict[str, Any]]:
    """Return a cell for the answer and a locked cell that grades it. nbgrader removes the text
    between the marks from the learners' notebook."""
    id, given = match["id"], cell["source"][: match.start()].strip()
    known = "".join(
        f"\n### BEGIN SOLUTION\n{one.source}\n### END SOLUTION" for one in solutions(id)[:1]
    )
    test = f"verdict = {match[0]}\ndisplay(verdict)\n{HIDDEN}"
    name = "exercise-" + id.replace(".", "-")
    answer = _code(name, given + known, {"nbgrader": _nbgrader(name, solution=True)})
    about = _nbgrader(f"{name}-test", grade=True, locked=True, points=1)
    return [answer, _code(f"{name}-test", test, {"nbgrader": about})]


def _nbgrader(id: str, **more: Any) -> dict[str, Any]:
    """Return nbgrader's metadata for a cell (nbgrader 0.9, schema 3)."""
    usual = {"grade_id": id, "schema_version": 3, "cell_type": "code"}
    return usual | dict.fromkeys(("grade", "locked", "solution", "task"), False) | more


def _code(id: str, source: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    cell = {"cell_type": "code", "id": id, "metadata": metadata or {}, "source": source}
    return cell | {"outputs": [], "execution_count": None}


def _markdown(id: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


def _write(path: Path, data: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
