"""The progress file: what is kept, and that disks, other notebooks and killed kernels spoil neither
it nor a lesson."""

import doctest
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import autolab
from autolab import progress
from autolab.lessons import check, hint, predict, progress as of_lesson
from autolab.lessons.book import record as session
from autolab.progress import store

ROOT = Path(autolab.__file__).parents[1]


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """A progress file of its own for each test."""
    path = tmp_path / "deep" / "progress.jsonl"
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(path))
    store._waiting.clear()
    store._set_trouble("")
    session.__init__()
    return path


def test_one_answer_is_one_line_of_json(path):
    progress.record(
        "practice",
        "5.how",
        given="set",
        right=False,
        belief="=",
        confidence=3,
        because="ü",
        tries=2,
        help="hints",
        seconds=4.5,
        choices=("add", "set"),
    )
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") and text.count("\n") == 1
    fields = json.loads(text)
    time.strptime(fields.pop("time"), "%Y-%m-%dT%H:%M:%SZ")
    assert fields == {
        "kind": "practice", "id": "5.how", "given": "set", "right": False, "belief": "=", "confidence": 3, "because": "ü",
        "tries": 2, "help": "hints", "seconds": 4.5, "choices": ["add", "set"], "kit": autolab.__version__,
    }  # fmt: skip
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None), (2.5, 2.5), (float("nan"), "nan"), ([1, (2,)], [1, [2]]), ({1: {"a"}}, {"1": "{'a'}"}), ("a\nb", "a\nb"),
        ("\ud800", "?"), ("x" * 5000, "x" * 1999 + "…"), (np.float64(2), 2.0), (np.int64(2), "np.int64(2)"), (autolab.tensor(2.0), "tensor(2.)"),
    ],
)  # fmt: skip
def test_any_answer_fits_a_line(given, kept):
    progress.record("ask", "x", given=given)
    (event,) = progress.events()
    assert event.given == kept


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "quiz"}, "kind should be one of prediction, ask"), ({"id": ""}, "id should be a text"), ({"right": 1}, "right should be"),
        ({"belief": None}, "belief should be a text"), ({"confidence": 5}, "confidence should be a whole number from 1 to 4"),
        ({"confidence": True}, "confidence"), ({"tries": 0}, "tries should be"), ({"seconds": -1}, "seconds should be"),
        ({"seconds": float("inf")}, "seconds"),
    ],
)  # fmt: skip
def test_what_no_event_has_is_refused(path, arguments, words):
    with pytest.raises(ValueError, match=words):
        progress.record(**{"kind": "ask", "id": "x"} | arguments)
    with pytest.raises(ValueError, match="kind should be one of"):
        progress.events("quiz")
    assert not path.exists()


def test_a_broken_line_is_passed_over_and_kept(path):
    path.parent.mkdir()
    good = '{"time": "2026-03-01T12:00:00Z", "kind": "ask", "id": "a", "later": 1}\n'
    broken = '[1]\n\0\0\n\xff\n{"kind": "ask"}\n{"time": "t", "kind": "unheard of", "id": "b"}\n{"time": "2026-03-01T12:00'
    path.write_bytes((good + broken).encode("latin-1"))
    progress.record("ask", "c", right=True)
    assert [e.id for e in progress.events()] == ["a", "c"]
    assert path.read_bytes().startswith((good + broken).encode("latin-1") + b"\n{")
    assert progress.events()[0] == progress.Event("2026-03-01T12:00:00Z", "ask", "a")


WRITER = "import sys, autolab\nfor i in range(150): autolab.progress.record('ask', sys.argv[1] + str(i), given='x' * 300)"


def test_two_notebooks_at_once_and_one_killed(path):
    start = lambda name: subprocess.Popen(
        [sys.executable, "-c", WRITER, name], env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    writers = [start(name) for name in ("a", "b", "killed")]
    until = time.monotonic() + 60
    while (
        not any(e.id.startswith("killed") for e in progress.events()) and time.monotonic() < until
    ):
        time.sleep(0.01)
    writers[2].send_signal(signal.SIGKILL)
    assert [w.wait(60) for w in writers][:2] == [0, 0]
    progress.record("ask", "last")
    ids = [e.id for e in progress.events()]
    assert (
        {f"{name}{i}" for name in "ab" for i in range(150)} <= set(ids)
        and len(ids) == len(set(ids))
        and ids[-1] == "last"
    )
    assert (
        len(path.read_bytes().splitlines()) - len(ids) <= 1
    )  # at most the killed one's last line is broken


def test_who_holds_the_lock_for_ever_stops_no_lesson(path, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    progress.record("ask", "a")
    with store._open(path):
        progress.record("ask", "b")
    assert [e.id for e in progress.events()] == ["a", "b"]


def failing(error):
    def fail(*_):
        raise OSError(error, os.strerror(error))

    return fail


def test_a_full_disk_is_told_once_and_loses_nothing(path, monkeypatch, capsys):
    progress.record("ask", "a")
    before = path.read_bytes()
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data, write=os.write: write(file, data[:10]))
        progress.record("ask", "b")
        full.setattr(os, "write", failing(errno.ENOSPC))
        progress.record("ask", "c")
        assert path.read_bytes() == before
        told = capsys.readouterr().err
        assert told.count("cannot be written") == 1 and "No space left" in told
        assert [e.id for e in progress.events()] == ["a", "b", "c"]
        assert "Kept in memory, until this kernel ends" in repr(
            progress()
        ) and "No space left" in repr(progress())
    progress.record("ask", "d")
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [
        "a",
        "b",
        "c",
        "d",
    ]
    assert f"Kept in {path}" in repr(progress()) and [e.id for e in progress.events()] == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_a_folder_that_cannot_be_is_told(path, capsys):
    path.parent.write_text("a file where the folder should be")
    progress.record("ask", "a", right=True)
    assert "cannot be written" in capsys.readouterr().err
    assert [e.id for e in progress.events()] == ["a"]
    assert progress.forget().startswith("Forgotten: 1 event") and progress.events() == []


def test_forgetting(path, monkeypatch):
    progress.record("ask", "a")
    with monkeypatch.context() as broken:
        broken.setattr(os, "ftruncate", failing(errno.EROFS))
        assert progress.forget().startswith("Not forgotten") and len(progress.events()) == 1
    assert (
        progress.forget() == "Forgotten: 1 event."
        and path.read_bytes() == b""
        and progress.events() == []
    )
    path.unlink()
    assert progress.forget() == "Forgotten: 0 events."


def test_off_keeps_in_memory_and_writes_nothing_later(path, monkeypatch):
    monkeypatch.setenv("AUTOLAB_PROGRESS", "off")
    assert progress.where() is None
    progress.record("ask", "a")
    assert [e.id for e in progress.events()] == ["a"] and "Kept in memory" in repr(progress())
    monkeypatch.setenv("AUTOLAB_PROGRESS", str(path))
    progress.record("ask", "b")
    assert [e.id for e in progress.events()] == ["b"]


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.local/share/autolab/progress.jsonl"), ("linux", {"XDG_DATA_HOME": "/x"}, "/x/autolab/progress.jsonl"),
        ("darwin", {}, "~/Library/Application Support/autolab/progress.jsonl"), ("win32", {"LOCALAPPDATA": "/l"}, "/l/autolab/progress.jsonl"),
        ("linux", {"AUTOLAB_PROGRESS": "~/mine.jsonl"}, "~/mine.jsonl"), ("linux", {"HOME": "~"}, "None"),
    ],
)  # fmt: skip
def test_where_it_is(monkeypatch, platform, variables, expected):
    for name in ("AUTOLAB_PROGRESS", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert str(progress.where()) == os.path.expanduser(expected)


def test_what_it_says(path):
    progress.record("ask", "x", right=False, belief="set instead of add")
    progress.record("practice", "x", right=False)
    progress.record("ask", "x", right=True, tries=2)
    progress.record("prediction", "q", right=None)
    assert repr(progress()).splitlines()[:4] == [
        "Your progress: 4 events",
        f"  prediction q  1 answer; last on {progress.events()[0].time[:10]}",
        f"  ask x         2 answers, 1 right (0 at the first try); last on {progress.events()[0].time[:10]}",
        f"  practice x    1 answer, 0 right; last on {progress.events()[0].time[:10]}",
    ]
    assert "forget() deletes it" in progress()._repr_html_() and "ask x" not in repr(
        progress("practice")
    )


def test_lessons_keep_answers_beyond_the_kernel(path):
    guess = predict("01.q6")
    guess.answer = "12"
    for _ in range(2):  # a cell that runs again is no second answer
        guess.reveal(12.0)
        check("01.5", -1)
    hint("01.5")
    hint("01.5")
    kept = [(e.kind, e.id, e.right, e.tries, e.help) for e in progress.events()]
    assert kept == [
        ("prediction", "01.q6", True, 1, ""), ("exercise", "01.5", False, 1, ""), ("hint", "01.5", None, 1, "hint 1"),
        ("hint", "01.5", None, 1, "hint 2"),
    ]  # fmt: skip
    check("01.5", ...)
    assert len(progress.events()) == 4
    session.__init__()
    assert "tried  01.5" in repr(of_lesson("01")) and "1 of 36 made, 1 of them came true" in repr(
        of_lesson("01")
    )
    progress.record("exercise", "01.5", right=True, tries=2)
    assert "solved  01.5" in repr(of_lesson("01")) and ": 1 of " in repr(of_lesson("01"))


def test_tests_and_notebooks_under_test_write_to_no_home():
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import conftest, autolab; print(autolab.progress.where())"
    without = {k: v for k, v in os.environ.items() if k != "AUTOLAB_PROGRESS"}
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env=without, capture_output=True, text=True
        ).stdout
        == "None\n"
    )


def test_the_page_runs():
    page = doctest.testfile(str(ROOT / "docs" / "progress.md"), module_relative=False)
    assert page.attempted and not page.failed
