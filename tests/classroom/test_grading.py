"""Graded use: what is released, and that grading is right about honest notebooks and survives the others."""

import csv
import io
import json
import os
import queue
import time
from unittest import mock

import numpy as np
import pytest
from lessons.catalogue import EXERCISES, LESSONS

import autolab
from autolab import cli
from autolab.classroom import exam, grades, papers, release, sandbox
from autolab.classroom.runner import _seen
from autolab.classroom.sandbox import Limits, Run
from autolab.classroom.submission import read
from autolab.classroom.wire import Opaque, decode, encode
from autolab.lessons.exercise import judge
from autolab.lessons.solutions import solutions


def sent(exercise, answer):
    """Return what the process of a submission would report about an answer, after encoding to JSON
    and back."""
    return json.loads(json.dumps(_seen(exercise, "answer", {"answer": answer})))


@pytest.mark.trained
@pytest.mark.parametrize("id", EXERCISES)
def test_an_answer_that_ran_elsewhere_is_judged_as_one_that_ran_here(id):
    wrong = next(lesson.wrong[id] for lesson in LESSONS if id in lesson.wrong)
    here, there = (
        judge(EXERCISES[id], wrong[0][0]),
        judge(*grades.replayed(EXERCISES[id], sent(EXERCISES[id], wrong[0][0]))),
    )
    assert (there.status, there.why) == (here.status, here.why)
    right = solutions(id)[0].answer()
    assert judge(*grades.replayed(EXERCISES[id], sent(EXERCISES[id], right))).status == "agrees"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        float("inf"),
        "text",
        [1, (2,)],
        {"a": [None], 1: "x"},
        ...,
        {(1, 2): 3},
        np.array([1.5, np.nan]),
        np.float32(2),
    ],
)
def test_values_come_back(value):
    assert repr(decode(json.loads(json.dumps(encode(value))))) == repr(
        np.asarray(value) if isinstance(value, np.generic) else value
    )


def test_what_has_no_form_of_its_own_is_known_by_its_words():
    error = ValueError("no")
    error.add_note("a note")
    back = decode(encode(error))
    assert type(back) is ValueError and str(back) == "no" and back.__notes__ == ["a note"]
    assert type(decode(encode(type("Odd", (Exception,), {})("x")))).__name__ == "Odd"
    assert (
        decode(encode(autolab.float32))
        == decode(encode(autolab.float32))
        == Opaque("dtype", "torch.float32")
        != 3
    )
    deep = []
    for _ in range(20):
        deep = [deep]
    assert "Opaque" not in repr(decode(encode(deep)))
    for bad in ({"pickle": 1}, {"tensor": ["object", [1], [1]]}):
        with pytest.raises(ValueError):
            decode(bad)


def test_what_is_said_by_a_process_is_never_believed():
    one = EXERCISES["01.5"]
    for gave in (
        [],
        [1],
        [{"error": ["ValueError", "x", []]}],
        [{"dict": [["result", True]]}] * 9,
        [{"...": 0}] * 9,
    ):
        row = grades._one(
            one, "01.5", 1, Run(gave={"01.5": {"gave": gave, "callable": True, "text": "f"}})
        )
        assert row[0] in ("not yet", "open"), gave
    assert grades._one(one, "01.5", 1, Run(gave={"01.5": {}}))[0] == "not yet"
    assert (
        grades._one(
            one, "01.5", 1, Run(gave={"01.5": {"gave": [{"x": 1}], "callable": 1, "text": ""}})
        )[0]
        == "not yet"
    )


def test_a_process_that_says_anything_ends_no_grading():
    class Process:
        wait, poll = (lambda *_: None), (lambda *_: -9)

    key = {"error": ["KeyError", "'((", []]}
    bad = [{"raised": 3}, {"cell": True}, {"seen": [1], "gave": 2}, {"answer": "01.5"}, {"x": 1}, {"seen": "01.4", "open": [], "missing": {}},
           {"seen": "01.5", "gave": [key] * 9, "callable": True, "text": 3, "names": 7}]  # fmt: skip
    for rest in (b"null", b"[]", b"{", b'{"cell": "x"}', b"[" * 9000, None):
        lines, done = queue.Queue(), Run()
        for line in (*(json.dumps(one).encode() for one in bad), rest):
            lines.put(line)
        place, why = sandbox._follow(Process(), lines, Limits(), done, time.monotonic() + 60)
        assert place == "01.5" and (
            "SIGKILL" in why if rest is None else why == "what was to judge it was disturbed"
        )
        for id in ("01.4", "01.5"):
            assert grades._one(EXERCISES[id], id, 1, done)[0] in ("not yet", "open")


# Submissions ----------------------------------------------------------------------------------------------------------

HOSTILE = {
    "ends": (1, "import os\nos._exit(0)", "while True:\n    print('x' * 10**6)"),
    "destroys": (
        1,
        "import pathlib, shutil\nfor p in pathlib.Path('.').iterdir():\n    shutil.rmtree(p, ignore_errors=True)\nshutil.rmtree('.')",
        "kept = bytearray(2**33)",
        "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()\n1 / 0",
    ),
    "pretends": (0, "import os\nline = b'{\"seen\": \"exam.4\", \"gave\": [true], \"callable\": true}\\n{\"end\": true}\\n'\n"
                    "for n in range(3, 20):\n    try:\n        os.write(n, line)\n    except OSError:\n        pass\nos._exit(0)"),
}  # fmt: skip
"""What stands between two right answers of an exam: whether the second one is reached, and counts, and the cells."""


TAMPERS = """import autolab.lessons.exercise as e, autolab.lessons.compare as c
e.judge = lambda *a, **k: e.Verdict(a[0], 'agrees')
e.same = c.same = e._try = lambda *a: True
def make_weight(values):
    return 7"""


def exam_with(*codes, variant=1):
    """A notebook of the exam with cells more before its last two exercises, of which all are solved."""
    data = release.exam_notebook(variant, solved=True)
    answer = next(i for i, cell in enumerate(data["cells"]) if cell["id"] == "text-4")
    data["cells"][answer:answer] = [
        release._code(f"hostile-{n}", code) for n, code in enumerate(codes)
    ]
    return data


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The rows by submission, of one run over all of them."""
    folder = tmp_path_factory.mktemp("class")
    keep = folder / "keep.txt"
    keep.write_text("mine")
    for name, (_, *codes) in HOSTILE.items():
        release._write(folder / f"{name}.ipynb", exam_with(*codes))
    release._write(folder / "tampers.ipynb", _with_answer(1, "exam.1", TAMPERS))
    release._write(
        folder / "loop.ipynb",
        _with_answer(1, "exam.5", "def descend(*args):\n    while True:\n        pass"),
    )
    (folder / "broken.ipynb").write_text('{"cells": [')
    (folder / "sub").mkdir()
    (folder / "sub" / "=1+1.ipynb").write_text(json.dumps({"cells": []}))
    release._write(
        folder / "wrong.ipynb",
        _with_answer(2, "exam.3", "def clip(grad):\n    grad.clamp(-1, 1)", solved=False),
    )
    began = time.monotonic()
    rows = grades.grade(folder, Limits(seconds=3, memory=4 * 2**30, total=300), jobs=2)
    assert keep.read_text() == "mine" and time.monotonic() - began < 600
    return rows


def _with_answer(variant, id, source, solved=True):
    data = release.exam_notebook(variant, solved)
    next(c for c in data["cells"] if c["metadata"].get("autolab", {}).get("exercise") == id)[
        "source"
    ] = source
    return data


def of(rows, name):
    return {row.exercise: row for row in rows if row.submission == name}


def test_a_notebook_that_ends_the_process_loses_only_what_it_broke(graded):
    for name, (reached, *_) in HOSTILE.items():
        rows = of(graded, name)
        assert [rows[f"exam.{n}"].points for n in (1, 2, 3)] == [1, 1, 1], (name, rows)
        if reached:
            assert [rows[f"exam.{n}"].points for n in (4, 5)] == [1, 1], (name, rows)


def test_tampering_gains_nothing_and_is_named(graded):
    rows = of(graded, "tampers")
    assert [rows[f"exam.{n}"].points for n in range(1, 6)] == [0, 1, 1, 1, 1] and rows[
        "exam.1"
    ].status == "not yet"
    assert "names changes in the kit: lessons.exercise" in rows["exam.1"].look
    rows = of(graded, "pretends")
    assert rows["exam.4"].points == 0 and "names the system: os." in rows["exam.4"].look


def test_what_failed_is_said(graded):
    assert (
        of(graded, "loop")["exam.5"].status == "stopped"
        and "did not end within 3 s" in of(graded, "loop")["exam.5"].why
    )
    assert sum(row.points for row in of(graded, "loop").values()) == 4
    assert (
        of(graded, "wrong")["exam.3"].status == "not yet"
        and "None" in of(graded, "wrong")["exam.3"].why
    )
    assert [row.status for row in of(graded, "wrong").values()] == [
        "open",
        "open",
        "not yet",
        "not yet",
        "open",
    ]
    assert (
        of(graded, "broken")[""].status == "unreadable"
        and "cannot be read as a notebook" in of(graded, "broken")[""].why
    )
    assert of(graded, "sub/=1+1")[""].why == "no cell of it checks an exercise"


def test_the_table_is_no_formula(graded):
    rows = list(
        csv.DictReader(
            io.StringIO(grades.as_csv([*graded, grades.Grade("=a", "x", 0, "open", "-1", "@b")]))
        )
    )
    assert (
        len(rows) == len(graded) + 1
        and rows[-1]["submission"] == "'=a"
        and rows[-1]["why"] == "'-1"
        and rows[-1]["look"] == "'@b"
    )


def test_what_learners_import_is_not_named(tmp_path):
    release.release("01", tmp_path)
    (lesson,) = tmp_path.glob("*.ipynb")
    one = read(lesson, "x")
    assert (
        set(one.exercises) == {id for cell in one.cells for id in cell.answers}
        and not one.look
        and not one.trouble
    )


# Released -------------------------------------------------------------------------------------------------------------


def test_variants_have_other_numbers_and_the_same_exercises(tmp_path, capsys):
    texts = {tuple(task.text for task in exam.tasks(n)) for n in range(1, 31)}
    assert len(texts) == 30 and exam.tasks(3) == exam.tasks(3)
    for n in range(1, 31):
        for task in exam.tasks(n):
            answer = exam._defined(task.solution, task.name)
            assert judge(task.exercise, answer).status == "agrees"
    answers = [{task.exercise.id: task.solution for task in exam.tasks(n)} for n in range(1, 31)]
    assert all(len({one[id] for one in answers}) > 4 for id in answers[0]), (
        "an answer from another variant seldom fits"
    )
    assert cli.main(["release", "exam", "--variant", "2-3", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "exam_002.ipynb").read_text(encoding="utf-8")
    assert (
        exam.tasks(2)[4].text in json.loads(text)["cells"][10]["source"] and "solution" not in text
    )
    assert cli.main(["release", "exam", "--variant", "x", "-o", str(tmp_path)]) == 1
    assert cli.main(["release", "exam", "--variant", "0", "-o", str(tmp_path)]) == 1
    assert cli.main(["grade", str(tmp_path / "nothing")]) == 1
    assert "there is no *.ipynb" in capsys.readouterr().err


def test_without_what_lessons_import_nothing_is_graded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("autolab.classroom.commands.find_spec", lambda name: None)
    assert cli.main(["grade", str(tmp_path), "-o", str(tmp_path / "grades.csv")]) == 1
    assert (
        "pip install matplotlib" in capsys.readouterr().err
        and not (tmp_path / "grades.csv").exists()
    )


def test_nbgrader_finds_what_it_wants(tmp_path):
    """nbgrader itself is asked by test_nbgrader.py, where it is installed; here the shape that its schema 3 has."""
    assert cli.main(["release", "01", "--nbgrader", "-o", str(tmp_path)]) == 0
    (path,) = (tmp_path / "source").glob("*/*.ipynb")
    cells = [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if "nbgrader" in cell["metadata"]
    ]
    about = [cell["metadata"]["nbgrader"] for cell in cells]
    ids = [one["grade_id"] for one in about]
    exercises = papers.checked()["01"]
    assert len(ids) == len(set(ids)) == 2 * len(exercises) and all(
        id.replace("-", "").isalnum() for id in ids
    )
    for cell, one in zip(cells, about):
        assert set(one) - {"points"} == {
            "grade",
            "grade_id",
            "locked",
            "schema_version",
            "solution",
            "task",
            "cell_type",
        }
        assert (
            one["schema_version"] == 3
            and one["grade"] is one["locked"] is not one["solution"]
            and ("points" in one) is one["grade"]
        )
        mark = "HIDDEN TESTS" if one["grade"] else "SOLUTION"
        assert (
            cell["source"].count(f"### BEGIN {mark}")
            == cell["source"].count(f"### END {mark}")
            == 1
        )
    assert cli.main(["release", "01", "--nbgrader", "-o", str(tmp_path)]) == 0, (
        "the configuration stays as it is"
    )
    config, given = (tmp_path / "nbgrader_config.py").read_text(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", {})
        exec(config, {"get_config": lambda: given.append(mock.MagicMock()) or given[0]})
        assert (
            os.environ["AUTOLAB_PROGRESS"] == "off"
            and given[0].CourseDirectory.course_id == "autolab"
        )
