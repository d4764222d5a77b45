"""The learning loop of each misconception: the plans say where it is predicted, acted on, seen, put into words, and met
again twice.

A plan (`course/plans/NN_….md`) has a table under "## Misconceptions", one row for each that the lesson teaches, with
the number of its specimen first. What stands between backquotes occurs in code cells of the lesson's sources: the id of
a question, an
`ask`, words or an exercise
(`02.q5`), or a piece of the code (`specimens[20]`). The last column is about a later lesson: there ids say which.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from lessons.test_budget import LESSONS, seconds, steps

from autolab import specimens

PLANS = Path(__file__).parents[2] / "course" / "plans"
COLUMNS = ("predict", "act", "observe", "in words", "again, later", "again, in a later lesson")
ACTS = re.compile(
    r"\.ask\(|practice\(|specimens|\bcompare\(|\bbeside\(|LossLandscape\(|FreezePanel\(|explain\(|DrawDigit\(|check\("
)
ASKS = re.compile(r"predict\(|\.ask\(|practice\(|specimens|in_words\(|check\(")
MINUTES_BETWEEN, IN_ONE_EXTENSION = 10, 4
"""From the prediction to the next meeting, at least; an extension of ten minutes stands alone."""


class Place(NamedTuple):
    """A cell: its lesson, its place among the cells, the section, the minutes before it as test_budget counts them,
    tags and code."""

    lesson: str
    number: int
    section: str
    minutes: float
    tags: list
    code: str


def places(name):
    stepped, before, found = steps(name), 0.0, []
    for number, (section, cell) in enumerate(LESSONS[name]):
        if cell.cell_type == "code":
            found.append(
                Place(
                    name, number, section, before / 60, cell.metadata.get("tags", []), cell.source
                )
            )
        before += seconds(cell, stepped)
    return found


PLACES = {name: places(name) for name in LESSONS}


def rows():
    """(misconception, name of a lesson) -> column -> what is written there. A later lesson may take one up anew."""
    found = {}
    for name in LESSONS:
        text = (
            (PLANS / f"{name}.md")
            .read_text(encoding="utf-8")
            .partition("\n## Misconceptions\n")[2]
            .partition("\n## ")[0]
        )
        for number, *columns in re.findall(
            r"^\| (\d+) [^|]*" + r"\| ([^|]+) " * len(COLUMNS) + r"\|$", text, re.M
        ):
            assert (int(number), name) not in found, f"misconception {number} has two rows"
            found[int(number), name] = dict(zip(COLUMNS, columns))
    return found


ROWS = rows()
each_row = pytest.mark.parametrize(("number", "name"), ROWS)


def located(text, name):
    """The cells that a column names."""
    found = []
    for what in re.findall(r"`([^`]+)`", text):
        id = re.fullmatch(r"(\d\d)\.\w+", what)
        where = next(n for n in LESSONS if n[:2] == id[1]) if id else name
        cells = [p for p in PLACES[where] if (f'"{what}"' if id else what) in p.code]
        assert cells, f"{what} is in no code cell of {where}"
        found.append(cells[0])
    assert found, f"{text!r} names nothing"
    return found


def test_every_misconception_has_its_row_and_nothing_lacks():
    assert sorted({n for n, _ in ROWS}) == [one.number for one in specimens]
    assert [
        (n, column) for (n, _), row in ROWS.items() for column, text in row.items() if text == "–"
    ] == []


@each_row
def test_the_loop_is_closed_and_in_order(number, name):
    row = ROWS[number, name]
    at = {column: located(text, name) for column, text in row.items() if text != "–"}
    assert all("predict" in p.tags for p in at["predict"]), (
        "a prediction with confidence and because"
    )
    assert all(ACTS.search(p.code) for p in at.get("act", ())), "the learner decides something"
    assert all("in_words(" in p.code for p in at.get("in words", ()))
    first = at["predict"][0]
    for before, after in [
        ("predict", "act"),
        ("predict", "observe"),
        ("act", "in words"),
        ("observe", "in words"),
    ]:
        if before in at and after in at:
            assert at[before][0].number < at[after][-1].number, f"{before} comes after {after}"
    for later in at.get("again, later", ()):
        least = (
            IN_ONE_EXTENSION
            if first.section.isupper() and first.section == later.section
            else MINUTES_BETWEEN
        )
        assert ASKS.search(later.code) and later.minutes - first.minutes >= least, (
            later.code,
            later.minutes - first.minutes,
        )
    assert all(
        ASKS.search(p.code) and p.lesson > name for p in at.get("again, in a later lesson", ())
    )
