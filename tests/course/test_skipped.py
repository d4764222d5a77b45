"""What a lesson calls optional may be skipped: tried by running the rest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autolab.lessons.folder import course_source

LESSONS = sorted(course_source().glob("*.ipynb"))
EXTENSIONS = {"01": "A, B, C, D, E, F, G, H", "02": "A, B, C, D, E", "03": "A, B, C, D, E", "04": "A"}


def run(path: Path, folder: Path) -> list[str]:
    """The parts that ran, and a line for each cell that failed."""
    command = [sys.executable, str(Path(__file__).with_name("skipping.py")), str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_without_its_optional_parts(path, tmp_path):
    assert run(path, tmp_path) == [f"core and {EXTENSIONS[path.stem[:2]]}", ""]


def test_what_needs_a_part_that_was_skipped_is_named(tmp_path):
    cells = [
        ("markdown", "## What you need", ["optional"]), ("code", "helper = 1", []),
        ("markdown", "## 1. Core", []), ("code", "import autolab\na = 1", []), ("code", "helper", []),
        ("markdown", "## A. One", []), ("code", "only_a = a", []), ("code", "1 / 0", ["raises-exception"]),
        ("markdown", "## B. Two", []), ("code", "only_a", []), ("code", "a", ["raises-exception"]),
    ]  # fmt: skip
    stored = [
        {"cell_type": kind, "source": [text], "metadata": {"tags": tags}, "id": str(n)}
        for n, (kind, text, tags) in enumerate(cells)
    ]
    (tmp_path / "lesson.ipynb").write_text(json.dumps({"cells": stored}))
    assert run(tmp_path / "lesson.ipynb", tmp_path) == [
        "core and A, B",
        "core, cell 4: NameError: name 'helper' is not defined",
        "B, cell 9: NameError: name 'only_a' is not defined",
        "B, cell 10: NoneType: None",
    ]  # fmt: skip
