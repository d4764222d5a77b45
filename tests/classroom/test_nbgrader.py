"""nbgrader itself on what `release --nbgrader` writes (`make test-fronts` installs it; elsewhere left out)."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autolab import cli
from autolab.lessons.solutions import solutions

pytest.importorskip("nbgrader")
LESSON = "04_engine"


def nbgrader(folder, *arguments):
    beside = str(Path(sys.executable).parent)  # it starts alembic by name
    env = os.environ | {
        "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }
    done = subprocess.run(
        [f"{beside}/nbgrader", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def submit(folder, student, answers):
    notebook = json.loads(
        (folder / "release" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    )
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            id = (
                cell["metadata"]["nbgrader"]["grade_id"].removeprefix("exercise-").replace("-", ".")
            )
            cell["source"] = answers.get(id, cell["source"])
    path = folder / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_nbgrader_grades_as_autolab_grade_does(tmp_path):
    assert cli.main(["release", "04", "--nbgrader", "-o", str(tmp_path)]) == 0
    nbgrader(tmp_path, "generate_assignment", LESSON)
    right = {f"04.{n}": solutions(f"04.{n}")[0].source for n in range(1, 9)}
    assert "BEGIN SOLUTION" not in (tmp_path / "release" / LESSON / f"{LESSON}.ipynb").read_text(
        encoding="utf-8"
    )
    submit(tmp_path, "all", right)
    submit(
        tmp_path,
        "broken",
        right
        | {
            "04.3": "def multiply(:",
            "04.7": "raise ValueError",
            "04.8": solutions("04.1")[0].source,
        },
    )
    submit(tmp_path, "none", {})
    assert cli.main(["grade", str(tmp_path / "submitted"), "-o", str(tmp_path / "ours.csv")]) == 0
    ours = dict.fromkeys(("all", "broken", "none"), 0)
    for row in table(tmp_path / "ours.csv"):
        ours[Path(row["submission"]).parts[0]] += int(row["points"])
    nbgrader(tmp_path, "autograde", LESSON, "--create")
    nbgrader(tmp_path, "export")
    theirs = {row["student_id"]: float(row["score"]) for row in table(tmp_path / "grades.csv")}
    assert theirs == ours == {"all": 8, "broken": 5, "none": 0}
    assert not list(tmp_path.rglob("progress*")), (
        "the answers of learners are not kept as the instructor's"
    )
    graded = tmp_path / "autograded" / "all" / LESSON / f"{LESSON}.ipynb"
    assert "widgets" not in json.loads(graded.read_text(encoding="utf-8"))["metadata"]
    nbgrader(tmp_path, "generate_feedback", LESSON)
    assert "Score: 5.0 / 8.0" in (
        tmp_path / "feedback" / "broken" / LESSON / f"{LESSON}.html"
    ).read_text(encoding="utf-8")
