"""Submissions that attack the grader: none stops it, blocks it, or changes another row."""

import csv
import io
import json
import os
import sys
import time

import pytest

from autolab.classroom import grades, isolation, release, sandbox, submission
from autolab.classroom.sandbox import Limits

SOLVED = release.exam_notebook(3, solved=True)


def notebook(*sources):
    """A notebook of these cells of code."""
    return {"cells": [{"cell_type": "code", "metadata": {}, "source": s} for s in sources]}


def solved_with(source):
    """Return the solved exam with a first cell that attacks the grader."""
    data = json.loads(json.dumps(SOLVED))
    data["cells"].insert(0, release._code("attack", source))
    return data


def read(tmp_path, data):
    path = tmp_path / "one.ipynb"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return submission.read(path, "one")


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")
def test_only_a_file_of_its_own_is_a_submission(tmp_path):
    (tmp_path / "neighbour.txt").write_text(json.dumps(SOLVED))
    made = {
        "linked": lambda path: path.symlink_to(tmp_path / "neighbour.txt"),
        "dangling": lambda path: path.symlink_to(tmp_path / "nowhere"),
        "terminal": lambda path: path.symlink_to("/dev/tty"),
        "pipe": os.mkfifo,
        "folder": lambda path: path.mkdir(),
    }
    for name, make in made.items():
        path = tmp_path / f"{name}.ipynb"
        make(path)
        assert submission.read(path, name).trouble.startswith(("it is a link", "it is not a file"))
    rows = grades.grade(tmp_path, Limits())
    assert {(row.submission, row.status) for row in rows} == {(n, "unreadable") for n in made}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 3_000_000,
        '{"cells": ' + "9" * 100_000 + "}",
        json.dumps({"cells": [{"cell_type": "code", "source": {"a": 1}}]}),
        json.dumps({"cells": [None]}),
        json.dumps(notebook("x = 1\n" * 170_000)),
        json.dumps({"cells": [], "metadata": {"autolab": {"exam": -(10**400)}}}),
    ],
    ids=["nested", "number", "source", "none", "long", "variant"],
)
def test_what_cannot_be_read_is_a_row(tmp_path, text):
    one = read(tmp_path, text)
    assert one.trouble and len(one.trouble) <= 300
    (row,) = grades.judged(one, None)
    assert (row.status, row.points) == ("unreadable", 0)


@pytest.mark.parametrize(
    "answer",
    ["(" * 450 + "1" + ")" * 450, "not " * 249 + "x", "~" * 999 + "1", "[x" * 300, "'\ud812'"],
)
def test_an_expression_that_nests_too_deep_ends_nothing(tmp_path, answer):
    one = read(tmp_path, notebook(f'check("02.1", {answer})', 'check("02.2", f)'))
    assert not one.trouble and {id for cell in one.cells for id in cell.answers} >= {"02.2"}
    long = read(tmp_path, notebook('check("02.1", ' + "x + " * 300 + 'x)\ncheck("02.2", f)'))
    assert [set(cell.answers) for cell in long.cells] == [{"02.2"}]


TOKENS = ["import ", "solutions ", "from solutions import ", "of_lesson", "check ", "def ", "check('02.1', x ", "check('", "y = ",
          "setattr( ", "torch.x ", "autolab.", "os", " as ", "= ", "\n", " ", "\t", "\n\t", "(", ")", ") ", "# ", "w", "\u00a0"]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS)
def test_no_text_takes_time_by_its_square(tmp_path, token):
    """By its square each would take from minutes to hours of the processor, and each takes less than a second."""
    repeated = token * (300_000 // len(token))
    sources = (
        repeated,
        f"check('02.1', x{repeated}",
        f"# {repeated}",
        f"check('02.2', f){repeated}!",
    )
    for source in sources:
        began = time.process_time()
        read(tmp_path, notebook(source, 'check("02.3", f)'))
        assert time.process_time() - began < 8, source[:40]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("from autolab.lessons.solutions import of_lesson", "the kit's own answers"),
        ("from autolab.lessons import solutions", "the kit's own answers"),
        ("from helpers import right as check", "a `check` of one's own"),
        ("    def  check(id, answer):", "a `check` of one's own"),
        ("check = print", "a `check` of one's own"),
    ],
)
def test_what_an_answer_seldom_needs_is_named(tmp_path, line, what):
    one = read(tmp_path, notebook(line, 'check("02.3", f)'))
    assert [text.partition(":")[0] for text in one.look] == [f"cell 1 names {what}"]


# Processes ------------------------------------------------------------------------------------------------------------

WAYS_OUT = {
    "namespaces": lambda monkeypatch: isolation.namespaces(),
    "landlock": lambda monkeypatch: (
        monkeypatch.setattr(sandbox, "namespaces", tuple),
        _landlock() >= 6,
    )[1],
}


def _landlock():
    """The version of Landlock that the system has."""
    import ctypes

    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc.syscall(isolation.CREATE_RULESET, None, 0, 1) if libc else 0


STAYS = """import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {program!r}], start_new_session=True, stdin=subprocess.DEVNULL)
for pid in (os.getppid(), {grader}):
    for number in (15, 9):
        try:
            os.kill(pid, number) if pid > 1 else None
        except OSError:
            pass
"""
REWRITES = """import pathlib, shutil, time
table = pathlib.Path({table!r})
for _ in range(200):
    try:
        table.write_text(table.read_text().replace("honest", "nobody").replace(",1,", ",0,"))
    except OSError:
        pass
    for path in table.parent.glob("class/*.ipynb"):
        try:
            path.unlink()
        except OSError:
            pass
    time.sleep(0.05)
"""
SAYS = """import os
for n in range(3, 30):
    try:
        os.write(n, b'{"raised": 1, "text": "\\\\udfff \\\\u001b[2J"}\\n{"seen": "exam.2", "missing": "=\\\\udc80"}\\n')
    except OSError:
        pass
os._exit(3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what keeps processes apart is Linux's")
@pytest.mark.parametrize("way", WAYS_OUT)
def test_one_submission_changes_no_other_row(tmp_path, monkeypatch, way):
    if not WAYS_OUT[way](monkeypatch):
        pytest.skip(f"this system has no {way}")
    folder, table = tmp_path / "class", tmp_path / "grades.csv"
    folder.mkdir()
    program = REWRITES.format(table=str(table))
    attack = STAYS.format(program=program, grader=os.getpid())
    release._write(folder / "attacks.ipynb", solved_with(attack))
    release._write(folder / "says.ipynb", solved_with(SAYS))
    release._write(folder / "z_honest.ipynb", SOLVED)
    strange = os.fsdecode(b"\xff\x1b[2J\n")
    release._write(folder / f"{strange}.ipynb", SOLVED)
    told = []
    rows = grades.grade(folder, Limits(seconds=20, total=60), 1, told.append, table)
    time.sleep(0.3)  # what still ran would write now
    text = table.read_text(encoding="utf-8")
    assert text == grades.as_csv(rows)
    points = {}
    for row in csv.DictReader(io.StringIO(text)):
        points[row["submission"]] = points.get(row["submission"], 0) + int(row["points"])
    assert points["z_honest"] == points["\\udcff\\x1b[2J\\n"] == 5
    assert len(told) == 4 and all(line.isprintable() for line in told)
    if _landlock():  # a process in namespaces alone may delete files, and the docs say so
        assert len(list(folder.iterdir())) == 4


def test_rows_are_on_the_disk_as_soon_as_they_are_known(tmp_path, monkeypatch):
    table, seen = tmp_path / "grades.csv", []
    for name in "abc":
        release._write(tmp_path / f"{name}.ipynb", SOLVED)

    def run(one, limits):
        seen.append(table.read_text())
        raise MemoryError("no room") if one.name == "b" else OSError("no process")

    monkeypatch.setattr(grades, "run", run)
    rows = grades.grade(tmp_path, Limits(), path=table)
    assert [row.why for row in rows] == [
        f"grading it failed ({why})"
        for why in ("OSError: no process", "MemoryError: no room", "OSError: no process")
    ]
    assert [text.count("\n") for text in seen] == [1, 2, 3]
    assert table.read_text() == grades.as_csv(rows)
    assert [path.name for path in tmp_path.glob("grades.csv*")] == ["grades.csv"]
