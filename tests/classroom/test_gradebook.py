"""Totals for Canvas and Moodle, feedback files, and submissions with the same answers."""

import csv
import io
import json

from autolab import cli
from autolab.classroom import gradebook
from autolab.classroom.grades import Grade
from autolab.classroom.same_answers import flagged
from autolab.classroom.submission import read

MOODLE_NAME = "Jane Doe_123_assignsubmission_file_/01_graphs"
CANVAS_NAME = "roejohn_LATE_45_6789_01_graphs"
ROWS = [
    Grade(MOODLE_NAME, "01.1", 1, "solved"),
    Grade(MOODLE_NAME, "01.2", 0, "not yet", "It gives 3, not 4."),
    Grade(CANVAS_NAME, "01.1", 1, "solved"),
    Grade(CANVAS_NAME, "01.2", 1, "solved"),
    Grade("=HYPERLINK(1)", "", 0, "unreadable", "this is no notebook"),
]
ANSWER = """def slope(f, x, h=1e-3):
    above, below = f(x + h), f(x - h)
    total = 0.0
    for sign, value in ((1, above), (-1, below)):
        total = total + sign * value
    return total / (2 * h)

check("01.1", slope)"""


def submitted(folder, name, source):
    path = folder / f"{name}.ipynb"
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}}))
    return read(path, name)


def test_totals_know_who_handed_in():
    jane, john, odd = gradebook.totals(ROWS)
    assert (jane.name, jane.id, jane.points, jane.of) == ("Jane Doe", "123", 1, 2)
    assert (john.name, john.id, john.points, john.of) == ("roejohn", "45", 2, 2)
    assert (odd.name, odd.id, odd.points, odd.of) == ("=HYPERLINK(1)", "", 0, 2)


def test_canvas_and_moodle_get_their_columns():
    several = gradebook.totals(ROWS)
    table = list(csv.DictReader(io.StringIO(gradebook.canvas(several, "lesson 1"))))
    assert [(row["ID"], row["lesson 1"]) for row in table] == [
        ("", "2"),
        ("123", "1"),
        ("45", "2"),
        ("", "0"),
    ]
    assert table[0]["Student"].strip() == "Points Possible"
    assert table[3]["Student"] == "'=HYPERLINK(1)"  # a spreadsheet does not take it for a formula
    jane, _, _ = csv.DictReader(io.StringIO(gradebook.moodle(several)))
    assert (jane["Identifier"], jane["Grade"], jane["Maximum Grade"]) == (
        "Participant 123",
        "1",
        "2",
    )
    assert "01.2: not yet. It gives 3, not 4." in jane["Feedback comments"]


def test_each_learner_gets_a_file_inside_the_folder(tmp_path):
    several = gradebook.totals(
        [*ROWS, Grade("../../x", "01.1", 0, "open"), Grade("x", "01.1", 0, "open")]
    )
    written = gradebook.write_feedback(several, tmp_path / "out")
    assert len(set(written)) == 5 and all(path.parent == tmp_path / "out" for path in written)
    assert written[0].read_text().startswith("1 of 2 exercises are solved.\n01.1: solved\n")
    assert "could not be graded: this is no notebook" in written[2].read_text()


def test_the_same_code_is_flagged_whatever_its_layout(tmp_path):
    renamed = ANSWER.replace("total", "difference")
    spaced = ANSWER.replace("    total = 0.0", "    # starts at zero\n    total   =   0.0")
    several = [
        submitted(tmp_path, name, source)
        for name, source in (("a", ANSWER), ("b", spaced), ("c", renamed))
    ]
    a, b, c = flagged(several)
    assert "the same code as those of b" in a.look[-1] and "of a" in b.look[-1] and not c.look
    short = 'check("01.1", 3)'
    assert not any(one.look for one in flagged([submitted(tmp_path, n, short) for n in "de"]))


def test_the_command_writes_tables_and_feedback(tmp_path, capsys):
    handed_in = tmp_path / "in"
    handed_in.mkdir()
    submitted(handed_in, "anna_7_8_01_graphs", ANSWER)
    table, texts = tmp_path / "g.csv", tmp_path / "texts"
    command = [
        "grade",
        str(handed_in),
        "-o",
        str(table),
        "--for",
        "canvas",
        "--feedback",
        str(texts),
    ]
    assert cli.main(command) == 0
    assert "anna,7" in (tmp_path / "g_canvas.csv").read_text()
    assert [path.name for path in texts.iterdir()] == ["anna_7_8_01_graphs.txt"]
    assert "wrote 1 texts for learners" in capsys.readouterr().out
