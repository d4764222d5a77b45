"""A lesson of one's own, as docs/authoring.md builds it: checked, hinted, predicted, copied, released and graded."""

import csv
import json
import re
from pathlib import Path

import pytest

from autolab import cli
from autolab.lessons import Case, Exercise, Question, Words, check, hint, in_words, predict
from autolab.lessons import progress, register, registry, reset
from autolab.lessons.book import overview
from autolab.lessons.solutions import of_lesson
from autolab.room.questions import declared

PAGE = Path(__file__).parents[2] / "docs" / "authoring.md"


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    """Forget after each test the lessons that it registered."""
    monkeypatch.setattr(registry, "LESSONS", registry.LESSONS)
    before = dict(registry.LESSONS)
    yield
    registry.LESSONS.clear()
    registry.LESSONS.update(before)


def write_notebook(path: Path, *sources: str) -> None:
    about = {"metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        {"cell_type": "code", "id": f"cell{i}", "source": source, **about}
        for i, source in enumerate(sources)
    ]
    data = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(data))


@pytest.fixture
def own(tmp_path):
    """The folder that the guide builds."""
    file, *cells = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(file.splitlines()) < 30 and len(cells) == 4
    write_notebook(tmp_path / "own" / "my_lesson.ipynb", *cells)
    (tmp_path / "own" / "my_lesson.py").write_text(file)
    return tmp_path / "own"


def test_check_hint_and_predict_work_for_it(own):
    registry.load(own / "my_lesson.ipynb")
    assert check("my.1", ...).status == "open"
    said = check("my.1", lambda x: x * x)
    assert said.why == "You returned the value of x * x, not its slope."
    assert "the only hint" in str(said)
    assert not check("my.1", lambda x: 6.0), "it fits the public case only"
    assert "Nudge x" in str(hint("my.1")) and "return 2 * x" in str(hint("my.1"))
    assert check("my.1", lambda x: x + x).solved
    guess = predict("my.q1")
    guess.answer = "9"
    assert "how fast y changes" in str(guess.reveal(6.0))
    assert overview("my") == (1, 1, 1, 1) and "1 of 1 exercises solved" in str(progress("my"))
    assert "Exercise my.1 starts again" in str(reset("my.1"))
    assert overview("my")[0] == 0


def test_a_course_of_ones_own_is_copied_and_counted(own, tmp_path, capsys):
    (own / "07_more.ipynb").write_text("{}")
    (own / "data.csv").write_text("1,2")
    mine = tmp_path / "mine"
    assert cli.main(["lab", str(mine), "--course", str(own), "--copy-only"]) == 0
    names = {path.name for path in mine.iterdir()}
    assert {"my_lesson.ipynb", "my_lesson.py", "07_more.ipynb", "data.csv"} <= names
    page = (mine / "start.md").read_text()
    assert "(my_lesson.ipynb)" in page and "none yet" in page
    assert "Exercises solved: 0 of 1. Predictions made: 0 of 1." in page
    assert "Other notebooks" not in page and "glossary" not in page and "inventory" not in page
    assert f"lab {mine} --course {own} --reset 07`" in page
    check("my.1", lambda x: 2 * x)
    assert cli.main(["lab", str(mine), "--course", str(own), "--copy-only"]) == 0
    assert "**Continue with [my_lesson](my_lesson.ipynb)**" in (mine / "start.md").read_text()
    assert (
        cli.main(["lab", str(mine), "--course", str(own), "--copy-only", "--reset", "my"]) == 0
        and overview("my")[0] == 0
    )


def test_a_learners_folder_inside_the_course_is_not_copied(own):
    for _ in range(2):
        assert cli.main(["lab", str(own / "trial"), "--course", str(own), "--copy-only"]) == 0
    names = {path.name for path in (own / "trial").iterdir()}
    assert names == {"my_lesson.ipynb", "my_lesson.py", "start.md", ".autolab.json"}


def test_its_plan_and_solutions_are_shown(own, capsys):
    assert cli.main(["plans", str(own / "my_lesson.ipynb")]) == 1
    assert "there is no plan" in capsys.readouterr().err
    (own / "plans").mkdir()
    (own / "plans" / "my_lesson.md").write_text("Ask for hands.")
    assert cli.main(["plans", str(own / "my_lesson.py")]) == 0
    assert cli.main(["solutions", str(own / "my_lesson.ipynb")]) == 0
    said = capsys.readouterr().out
    assert "Ask for hands." in said and "def slope(x):\n    return 2 * x" in said


def test_the_room_reads_its_right_answer(own):
    question = declared(own)["my.q1"]
    assert question.key == "6" and question.choices == ("3", "6", "9")
    assert question.ask.startswith("x is 3.")


def test_a_lesson_file_that_fails_is_named_and_the_course_opens(own, tmp_path, capsys):
    with (own / "my_lesson.py").open("a") as file:
        file.write("\nregister(1 / 0)\n")
    assert cli.main(["lab", str(tmp_path / "mine"), "--course", str(own), "--copy-only"]) == 0
    assert "my_lesson.py failed with ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("nbgrader", [False, True])
def test_it_is_released_with_its_file(own, tmp_path, capsys, nbgrader):
    options = ["--nbgrader"] if nbgrader else []
    arguments = ["release", str(own / "my_lesson.ipynb"), "-o", str(tmp_path / "out"), *options]
    assert cli.main(arguments) == 0, capsys.readouterr().err
    place = tmp_path / "out" / "source" / "my_lesson" if nbgrader else tmp_path / "out"
    assert (place / "my_lesson.py").read_text() == (own / "my_lesson.py").read_text()
    released = json.loads((place / "my_lesson.ipynb").read_text())
    assert released["metadata"]["autolab"]["lesson"] == "my"
    sources = "\n".join(cell["source"] for cell in released["cells"])
    assert ("### BEGIN SOLUTION\ndef slope(x):\n    return 2 * x" in sources) == nbgrader


def test_it_is_graded(own, tmp_path, capsys):
    table = tmp_path / "grades.csv"
    start = "import my_lesson\nfrom autolab.lessons import check"
    for name, body in {"ada": "2 * x", "ben": "x * x", "cyd": "..."}.items():
        answer = f'def slope(x):\n    return {body}\n\ncheck("my.1", slope)'
        write_notebook(tmp_path / "handed_in" / f"{name}.ipynb", start, answer)
    arguments = ["grade", str(tmp_path / "handed_in"), "-o", str(table)]
    assert cli.main([*arguments, "--lesson", str(own / "my_lesson.py")]) == 0
    rows = {row["submission"]: row for row in csv.DictReader(table.open())}
    assert [(rows[n]["status"], rows[n]["exercise"]) for n in ("ada", "ben", "cyd")] == [
        ("solved", "my.1"),
        ("not yet", "my.1"),
        ("open", "my.1"),
    ]
    assert rows["ben"]["why"].startswith("You returned the value")
    registry.LESSONS.clear()
    assert cli.main(arguments) == 0
    assert "name the lesson with --lesson" in table.read_text()


def exercise(id: str) -> Exercise:
    return Exercise(id, "a title", lambda x: x, (Case("x = 1", lambda: (1,)),))


@pytest.mark.parametrize(
    ("name", "id", "said"),
    [
        ("01", "01.1", "'01' cannot be the name of a lesson"),
        ("my lesson", "my.1", "'my lesson' cannot be the name of a lesson"),
        ("my", "1", "'1' does not begin with the lesson's name, 'my'"),
        ("my", "mine.1", "'mine.1' does not begin with the lesson's name, 'my'"),
    ],
)
def test_a_name_that_cannot_be_found_again_is_refused(name, id, said):
    with pytest.raises(ValueError, match=said):
        register(name, [exercise(id)])


def test_questions_in_words_and_solutions_of_ones_own():
    solved = "# %% w.1: as it is\ndef same(x):\n    return x\n"
    register("w", [exercise("w.1")], words={"w.w1": Words("Why?", "Because.")}, solutions=solved)
    assert of_lesson("w")["w.1"][0].way == "as it is"
    assert in_words("w.w1").question == "Why?"
    register("w", [exercise("w.2")], {"w.q1": Question("Which?", ("a", "b"))})
    assert of_lesson("w") == {}, "it was replaced; a lambda is not shown as a solution"
    assert "This exercise has no hints." in str(hint("w.2"))
    assert "hint(" not in str(check("w.2", lambda x: 2 * x))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: check("your.1", 1), 'no lesson is called "your"; the kit has "01", "02", "03"'),
        (lambda: predict("01.q99"), 'lesson "01" has no question "01.q99"; it has 01.q1'),
        (lambda: hint("01.99"), 'lesson "01" has no exercise "01.99"; it has 01.1'),
        (lambda: in_words("04.w9"), 'lesson "04" has no question in words "04.w9"; it has none'),
    ],
)
def test_an_unknown_id_gets_a_plain_sentence(ask, said):
    with pytest.raises(KeyError, match=re.escape(said)) as caught:
        ask()
    assert caught.value.__notes__


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["release", "09"], "no lesson is called '09'; the kit has 01, 02, 03, 04"),
        (["release", "nowhere.ipynb"], "there is no lesson file"),
        (["solutions", "09"], "no lesson '09' has solutions; type one of 01, 02, 03, 04"),
        (["solutions", "01.99"], "'01.99' has no solution; type one of 01.1"),
        (["plans", "09"], "no plan is called '09'; type one of 01, 02, 03, 04"),
    ],
)
def test_commands_say_what_to_type(arguments, said, capsys):
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err.startswith("autolab-kit: ") and said
    cli.main(arguments)
    assert said in capsys.readouterr().err
