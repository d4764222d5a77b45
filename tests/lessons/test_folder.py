"""The learner's folder is updated without losing work and without containing answers, and opens in
the right place."""

import json
from pathlib import Path

import pytest

from autolab import progress
from autolab.lessons import folder as folders
from autolab.lessons.book import overview, reset


def copy(source: Path, target: Path) -> list[str]:
    return list(folders.copy_course(source, target))


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != folders.RECORD
    }


def test_a_first_copy_holds_the_course_and_nothing_else(course, mine):
    assert copy(course, mine) == [f"The course is in {mine}"]
    assert files(mine) == {"01.ipynb": "one", "02.ipynb": "two", "data/points.csv": "1,2\n"}


def test_a_second_copy_changes_nothing(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    before = files(mine)
    assert copy(course, mine) == [f"The course is in {mine}"]
    assert files(mine) == before


def test_an_untouched_file_is_updated(course, mine):
    copy(course, mine)
    (course / "01.ipynb").write_text("one, better")
    assert copy(course, mine)[0] == f"updated: {mine / '01.ipynb'}"
    assert files(mine)["01.ipynb"] == "one, better"
    assert len(files(mine)) == 3


def test_changed_work_is_kept_and_the_new_version_put_beside_it_once(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    assert (
        copy(course, mine)[0]
        == f"kept: {mine / '01.ipynb'}, which you changed; its new version is 01.new.ipynb"
    )
    assert files(mine)["01.ipynb"] == "one, solved" and files(mine)["01.new.ipynb"] == "one, better"
    assert copy(course, mine) == [f"The course is in {mine}"], "the same news is not told twice"


def test_a_new_version_the_student_worked_in_is_kept_too(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    copy(course, mine)
    (mine / "01.new.ipynb").write_text("one, better, solved")
    (course / "01.ipynb").write_text("one, best")
    assert "its new version is 01.new2.ipynb" in copy(course, mine)[0]
    assert [files(mine)[name] for name in ("01.ipynb", "01.new.ipynb", "01.new2.ipynb")] == [
        "one, solved",
        "one, better, solved",
        "one, best",
    ]


def test_a_file_of_the_students_own_with_a_lessons_name_is_kept(course, mine):
    mine.mkdir()
    (mine / "02.ipynb").write_text("my own")
    messages = copy(course, mine)
    assert files(mine)["02.ipynb"] == "my own" and files(mine)["02.new.ipynb"] == "two"
    assert f"added: {mine / '01.ipynb'}" in messages


def test_a_lost_record_loses_no_work(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (mine / folders.RECORD).unlink()
    copy(course, mine)
    assert files(mine)["01.ipynb"] == "one, solved" and files(mine)["01.new.ipynb"] == "one"


def test_a_deleted_file_comes_back(course, mine):
    copy(course, mine)
    (mine / "02.ipynb").unlink()
    assert copy(course, mine)[0] == f"added: {mine / '02.ipynb'}"
    assert files(mine)["02.ipynb"] == "two"


# -- notebooks ---------------------------------------------------------------------------------------------------------
def notebook(*sources: str, output: str = "") -> str:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}] if output else []
    cells = [
        {
            "cell_type": "code",
            "id": str(i),
            "metadata": {},
            "source": [s],
            "outputs": outputs,
            "execution_count": 1,
        }
        for i, s in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def lesson(course):
    (course / "01_graphs.ipynb").write_text(notebook("# a title", "print(12)", output="it is 12"))
    return course


def test_a_lesson_comes_without_its_outputs(lesson, mine):
    copy(lesson, mine)
    copied = json.loads((mine / "01_graphs.ipynb").read_text())
    assert [(c["outputs"], c["execution_count"]) for c in copied["cells"]] == [([], None)] * 2
    assert (
        copied["cells"][1]["source"] == ["print(12)"]
        and "it is" not in (mine / "01_graphs.ipynb").read_text()
    )


def test_a_lesson_that_was_only_run_and_saved_is_unchanged(lesson, mine):
    copy(lesson, mine)
    mine_ran = json.loads(notebook("# a title\n", "print(12)", "", output="12"))
    mine_ran["metadata"] = {"kernelspec": {"name": "other"}}
    (mine / "01_graphs.ipynb").write_text(json.dumps(mine_ran, indent=2))
    assert copy(lesson, mine) == [f"The course is in {mine}"]
    (lesson / "01_graphs.ipynb").write_text(notebook("# a title", "print(13)"))
    assert copy(lesson, mine)[0] == f"updated: {mine / '01_graphs.ipynb'}"
    (mine / "01_graphs.ipynb").write_text(notebook("# a title", "print(13)", "my_own = 1"))
    (lesson / "01_graphs.ipynb").write_text(notebook("# a title", "print(14)"))
    assert copy(lesson, mine)[0].startswith("kept: ")
    folders.start_page(mine)
    told = "your own stay as they are: [01_graphs.new.ipynb](01_graphs.new.ipynb)."
    assert told in (mine / folders.START).read_text()
    assert any(
        "started again" in said for said in folders.copy_course(lesson, mine, "01_graphs.ipynb")
    )
    folders.start_page(mine)
    assert "New versions" not in (mine / folders.START).read_text()


def test_a_lesson_starts_again_and_the_old_one_is_put_beside_it(lesson, mine):
    copy(lesson, mine)
    written = notebook("# a title", "my_own = 1")
    (mine / "01_graphs.ipynb").write_text(written)
    said = list(folders.copy_course(lesson, mine, "01_graphs.ipynb"))
    assert (
        said[0]
        == f"started again: {mine / '01_graphs.ipynb'}; what you wrote in it is in 01_graphs.mine.ipynb"
    )
    assert (mine / "01_graphs.mine.ipynb").read_text() == written
    assert "print(12)" in (mine / "01_graphs.ipynb").read_text()
    assert folders.lessons(mine) == {"01": "01_graphs.ipynb"}, "what lies beside it is no lesson"
    assert list(folders.copy_course(lesson, mine, "01_graphs.ipynb")) == [
        f"The course is in {mine}"
    ]


def test_every_answer_is_gone_from_the_copy_of_the_course(tmp_path):
    copy(folders.course_source(), tmp_path / "mine")
    for name in folders.lessons(tmp_path / "mine").values():
        cells = json.loads((tmp_path / "mine" / name).read_text())["cells"]
        assert not any(c.get("outputs") for c in cells)
        reveals = ["".join(c["source"]) for c in cells if "reveal" in c["metadata"].get("tags", [])]
        assert reveals
        for source in (
            reveals
        ):  # names of what the cells above have computed; no text, no choice between texts
            assert source.count("\n") == 0 and " if " not in source and source.count('"') <= 4, (
                source
            )


# -- where one is ------------------------------------------------------------------------------------------------------
def test_one_begins_on_the_start_page_and_comes_back_to_the_lesson(lesson, mine):
    copy(lesson, mine)
    assert folders.start_page(mine) == folders.START
    page = (mine / folders.START).read_text()
    assert "## [a title](01_graphs.ipynb)" in page and "Last visit: none yet." in page
    assert "**Begin with [a title](01_graphs.ipynb)**" in page
    assert "Exercises solved: 0 of 16. Predictions made: 0 of 36." in page
    progress.record("prediction", "01.q9", given="12", right=True)
    progress.record("exercise", "01.5", given="?", right=True)
    progress.record("practice", "level-3", right=True)
    assert folders.start_page(mine) == "01_graphs.ipynb"
    page = (mine / folders.START).read_text()
    today = progress.events()[0].time[:10]
    assert (
        f"Exercises solved: 1 of 16. Predictions made: 1 of 36. Last visit: {today}." in page
        and "**Continue with [a title](01_graphs.ipynb)**" in page
    )


def test_the_start_page_leads_to_the_section_where_one_was(tmp_path):
    copy(folders.course_source(), tmp_path / "mine")
    progress.record("ask", "01.q4", given="they add up")
    assert folders.start_page(tmp_path / "mine") == "01_graphs.ipynb"
    chain = "[6. The chain rule is a sum over paths](01_graphs.ipynb#6.-The-chain-rule-is-a-sum-over-paths)"
    assert (
        f"**Continue with [Lesson 1: Graphs and gradients](01_graphs.ipynb), in {chain}**"
        in (tmp_path / "mine" / folders.START).read_text()
    )


def test_the_start_page_leads_to_a_notebook_that_goes_further(tmp_path):
    copy(folders.course_source(), tmp_path / "mine")
    progress.record("exercise", "01.9", given="?", right=True)
    assert folders.start_page(tmp_path / "mine") == "more/01_vectors.ipynb"
    page = (tmp_path / "mine" / folders.START).read_text()
    assert "](more/01_vectors.ipynb), in [" in page and "Exercises solved: 0 of 5." in page
    assert "To go further: [" in page and "It takes about 90 minutes." in page
    assert page.count("](pictures/") == len(folders.lessons(tmp_path / "mine")) == 4


def test_an_old_lesson_that_held_the_further_sections_is_kept_beside_the_new_notebooks(
    lesson, mine
):
    copy(lesson, mine)
    (mine / "01_graphs.ipynb").write_text(
        notebook("# a title", "print(12)", "## A. more", "my_own = 1")
    )
    (lesson / "01_graphs.ipynb").write_text(notebook("# a title", "print(13)"))
    (lesson / "more").mkdir()
    (lesson / "more" / "01_loops.ipynb").write_text(notebook("# more"))
    said = copy(lesson, mine)
    assert any("its new version is 01_graphs.new.ipynb" in line for line in said)
    assert "my_own = 1" in (mine / "01_graphs.ipynb").read_text()
    assert folders.notebooks(mine, "01") == ["01_graphs.ipynb", "more/01_loops.ipynb"]
    (mine / "more" / "01_loops.ipynb").write_text(notebook("# more", "mine = 2"))
    (lesson / "more" / "01_loops.ipynb").write_text(notebook("# more", "new"))
    copy(lesson, mine)
    folders.start_page(mine)
    assert "[01_loops.new.ipynb](more/01_loops.new.ipynb)" in (mine / folders.START).read_text()


def test_what_starts_again_counts_as_never_tried():
    for id in ("01.5", "01.6", "02.1"):
        progress.record("exercise", id, right=True)
    progress.record("prediction", "01.q9", right=False)
    assert overview("01") == (2, 16, 1, 36)
    reset("01.5")
    assert overview("01") == (1, 16, 1, 36)
    progress.record("exercise", "01.5", right=True)
    assert overview("01")[0] == 2, "what came after counts"
    reset("01")
    assert overview("01") == (0, 16, 0, 36) and overview("02")[0] == 1
    with pytest.raises(KeyError, match='lesson "01" has no exercise "01.99"'):
        reset("01.99")


def test_the_record_is_json_with_one_digest_a_file(course, mine):
    copy(course, mine)
    record = json.loads((mine / folders.RECORD).read_text())
    assert set(record) == set(files(mine)) and all(len(digest) == 64 for digest in record.values())


# -- links, and files of the learner's own -----------------------------------------------------------------------------
@pytest.fixture
def elsewhere(tmp_path, mine):
    """A folder beside the learner's, with a file; both are as they were afterwards."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    mine.mkdir()
    (folder / "diary.txt").write_text("Monday")
    yield folder
    assert files(folder) == {"diary.txt": "Monday"} and len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("leads_to", ["diary.txt", "not there"])
@pytest.mark.parametrize("name", ["02.ipynb", "data", "data/points.csv"])
def test_nothing_is_written_through_a_link(course, mine, elsewhere, name, leads_to):
    (mine / name).parent.mkdir(exist_ok=True)
    (mine / name).symlink_to(elsewhere / leads_to if name != "data" else elsewhere)
    link = (mine / name).readlink()
    said = copy(course, mine)
    assert any(line.startswith("left alone: ") and f"{name} is a link" in line for line in said)
    assert (mine / name).readlink() == link and (mine / "01.ipynb").read_text() == "one"
    assert copy(course, mine)[-1].startswith("The course is in")


def test_new_versions_are_not_written_through_a_link(course, mine, elsewhere):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    (mine / "01.new.ipynb").symlink_to(elsewhere / "made.ipynb")
    (mine / "01.new2.ipynb").mkdir()
    (mine / "01.mine.ipynb").symlink_to(elsewhere / "made.ipynb")
    assert copy(course, mine)[0].endswith("its new version is 01.new3.ipynb")
    (mine / "01.ipynb").write_text("one, solved again")
    said = list(folders.copy_course(course, mine, "01.ipynb"))
    assert said[0].endswith("what you wrote in it is in 01.mine2.ipynb")
    assert (mine / "01.mine2.ipynb").read_text() == "one, solved again"


def test_what_is_no_file_is_left_alone(course, mine, elsewhere):
    (mine / "01.ipynb").mkdir()
    (mine / "data").write_text("my data")
    said = copy(course, mine)
    assert [line.split(", because ")[1] for line in said if line.startswith("left alone")] == [
        "01.ipynb is not a file",
        "data is not a folder",
    ]
    assert (mine / "02.ipynb").read_text() == "two" and (mine / "data").read_text() == "my data"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"01.ipynb": 5}', "[" * 100_000, "\udce4"])
def test_a_damaged_record_is_told_and_costs_no_work(course, mine, text):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (mine / folders.RECORD).write_bytes(text.encode("utf-8", "surrogateescape"))
    said = copy(course, mine)
    assert "was damaged" in said[0] and "its new version is 01.new.ipynb" in said[1]
    assert (mine / "01.ipynb").read_text() == "one, solved"
    assert copy(course, mine) == [f"The course is in {mine}"]


@pytest.mark.parametrize("make", ["link", "folder"])
def test_a_record_that_cannot_be_used_stops_with_a_sentence(
    course, mine, elsewhere, make, monkeypatch, capsys
):
    from autolab import cli

    record = mine / folders.RECORD
    record.mkdir() if make == "folder" else record.symlink_to(elsewhere / "diary.txt")
    monkeypatch.setattr(folders, "course_source", lambda: course)
    assert cli.main(["lab", str(mine), "--copy-only"]) == 1
    said = capsys.readouterr().err
    assert f"{record} cannot be used, because" in said and "name another folder" in said
    assert len(list(mine.iterdir())) == 1


def test_a_start_page_of_ones_own_is_kept(lesson, mine, elsewhere):
    copy(lesson, mine)
    (mine / folders.START).write_text("my notes")
    for _ in range(2):  # autolab's own page is written again
        assert folders.start_page(mine) == folders.SECOND
    assert (mine / folders.START).read_text() == "my notes"
    assert "Exercises solved" in (mine / folders.SECOND).read_text()
    (mine / folders.SECOND).unlink()
    (mine / folders.SECOND).symlink_to(elsewhere / "diary.txt")
    assert folders.start_page(mine) == "01_graphs.ipynb"
    (mine / folders.START).unlink()
    assert folders.start_page(mine) == folders.START
    (mine / folders.START).write_text((mine / folders.START).read_text() + "and my notes")
    assert folders.start_page(mine) == "01_graphs.ipynb"
    assert (mine / folders.START).read_text().endswith("and my notes")


# -- a course of one's own ---------------------------------------------------------------------------------------------
def test_notebooks_of_any_name_are_a_course(tmp_path, mine):
    own = tmp_path / "own"
    own.mkdir()
    for name in ("my_first.ipynb", "week two.ipynb", "my_digit.npz"):
        (own / name).write_text(name)
    copy(own, mine)
    assert {path.name for path in mine.glob("*")} == {
        "my_first.ipynb",
        "week two.ipynb",
        ".autolab.json",
    }
    assert folders.start_page(mine) == folders.START
    page = (mine / folders.START).read_text()
    assert (
        "[my_first.ipynb](my_first.ipynb), [week two.ipynb](week%20two.ipynb)" in page
        and "glossary" not in page
    )
    (mine / "glossary.md").write_text("words")
    folders.start_page(mine)
    assert "[glossary](glossary.md)" in (mine / folders.START).read_text()
