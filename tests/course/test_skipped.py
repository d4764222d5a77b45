"""What a lesson calls optional may be skipped: tried by running the rest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autolab.lessons.folder import course_source

NOTEBOOKS = sorted(
    path
    for path in course_source().rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts and '"optional"' in path.read_text(encoding="utf-8")
)


def run(path: Path, folder: Path) -> list[str]:
    """Return a line for each cell that failed."""
    command = [sys.executable, str(Path(__file__).with_name("skipping.py")), str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr
    return done.stdout.strip().splitlines()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_without_its_optional_parts(path, tmp_path):
    assert run(path, tmp_path) == []


def test_what_needs_a_part_that_was_skipped_is_named(tmp_path):
    cells = [
        ("markdown", "## What you need", ["optional"]), ("code", "helper = 1", []),
        ("markdown", "## 1. Core", []), ("code", "import autolab\na = 1", []), ("code", "helper", []),
        ("code", "1 / 0", ["raises-exception"]), ("code", "a", ["raises-exception"]),
    ]  # fmt: skip
    stored = [
        {"cell_type": kind, "source": [text], "metadata": {"tags": tags}, "id": str(n)}
        for n, (kind, text, tags) in enumerate(cells)
    ]
    (tmp_path / "lesson.ipynb").write_text(json.dumps({"cells": stored}))
    assert run(tmp_path / "lesson.ipynb", tmp_path) == [
        "cell 4: NameError: name 'helper' is not defined",
        "cell 6: NoneType: None",
    ]  # fmt: skip
