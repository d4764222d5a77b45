"""The learning loop of each misconception: the plans say where it is predicted, acted on, seen, put into words, and met
again twice.

A plan (`course/plans/NN_….md`) has a table under "## Misconceptions", one row for each that the lesson teaches, with
the number of its specimen first. What stands between backquotes occurs in code cells of the lesson's notebooks: the id
of a question, an `ask`, words or an exercise (`02.q5`), or a piece of the code (`specimens[20]`). The last column is
about a later lesson: there ids say which.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from autolab import specimens

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_notebook  # noqa: E402

PLANS = ROOT / "course" / "plans"
COLUMNS = ("predict", "act", "observe", "in words", "again, later", "again, in a later lesson")
ACTS = re.compile(
    r"\.ask\(|practice\(|specimens|\bcompare\(|\bbeside\(|LossLandscape\(|FreezePanel\(|explain\(|DrawDigit\(|check\("
)
ASKS = re.compile(r"predict\(|\.ask\(|practice\(|specimens|in_words\(|check\(")


class Place(NamedTuple):
    """A code cell: its notebook, its place among the cells of the lesson, its tags and code."""

    notebook: str
    number: int
    tags: list[str]
    code: str


def places(number):
    """Return the code cells of a lesson: its core, then the notebooks that go further."""
    names = [n for n in build_notebook.sources() if n.removeprefix("more/").startswith(number)]
    cells = [
        (n, cell) for n in names for cell in build_notebook.cells(build_notebook.COURSE / "src" / n)
    ]
    return [
        Place(name, i, cell.metadata.get("tags", []), cell.source)
        for i, (name, cell) in enumerate(cells)
        if cell.cell_type == "code"
    ]


LESSONS = sorted(path.stem for path in PLANS.glob("[0-9]*.md"))
PLACES = {name: places(name[:2]) for name in LESSONS}


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
    for before, after in [
        ("predict", "act"),
        ("predict", "observe"),
        ("act", "in words"),
        ("observe", "in words"),
    ]:
        if before in at and after in at and at[before][0].notebook == at[after][-1].notebook:
            assert at[before][0].number < at[after][-1].number, f"{before} comes after {after}"
    assert all(ASKS.search(later.code) for later in at.get("again, later", ()))
    later = at.get("again, in a later lesson", ())
    assert all(ASKS.search(p.code) and p.notebook.removeprefix("more/") > name for p in later)
