"""The core of a lesson fits its 45 minutes: what there is to read, to step, to answer and to write is counted.

Lessons are held to it from the moment they have extensions ("## A. …"). The minutes of a section are the sum of

- reading, 200 words a minute: prose without blocks of code and formulas set apart;
- code, 3 seconds a line, but for cells that set up or only ask and compare;
- steps, 3 seconds each, of the pictures that are stepped through (tag "picture" without "look"), and lines of code
shown by `beside`;
- questions, 20 seconds each: predictions, what an explorer asks, decisions of practice;
- an explanation in one's own words, or a drawing, or a specimen to catch: a minute each;
- exercises: a minute to think, and the plainest solution typed at 150 characters a minute.

`python -m pytest tests/lessons/test_budget.py -k minutes -s` prints the table.
"""

import json
import re
import sys
from pathlib import Path

import pytest

from autolab.lessons.solutions import solutions

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_notebook  # noqa: E402

CORE = {"cells": 90, "words": 2200, "questions": 10, "exercises": 5, "minutes": 45}
EXERCISES = {"04_engine": 8}  # the steps of one engine, of a few lines each
EXTENSION = re.compile(r"## ([A-Z])\. ")
SECTION = re.compile(r"## (\w+)\. ")


def cells_of(name):
    """The cells of a lesson, each with the name of its section: "start", "1", "2" … "A", "B" …."""
    found, section = [], "start"
    for cell in build_notebook.cells(ROOT / "course" / "src" / name):
        if "section" in cell.metadata.get("tags", []):
            section = SECTION.match(cell.source)[1]
        found.append((section, cell))
    return found


NAMES = [p.name for p in sorted((ROOT / "course" / "src").iterdir()) if p.is_dir()]
LESSONS = {name: cells_of(name) for name in NAMES}
HELD = [
    name
    for name, cells in LESSONS.items()
    if any(EXTENSION.match(cell.source) for _, cell in cells)
]
each_held = pytest.mark.parametrize("name", HELD)


def core(name):
    return [cell for section, cell in LESSONS[name] if not section.isupper()]


def words(cell):
    text = re.sub(r"(?s)```.*?```|\$\$.*?\$\$|\]\([^)]*\)", "", cell.source)
    return len(re.findall(r"\S*\w\S*", text)) if cell.cell_type == "markdown" else 0


def steps(name):
    """Cell -> the steps of the explorer or landscape that is stored in it."""
    stored = json.loads((ROOT / "course" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    found = {}
    for cell in stored:
        told = "".join(
            "".join(o.get("data", {}).get("text/plain", "")) for o in cell.get("outputs", [])
        )
        if match := re.search(r"\b(\d+) steps", told):
            found[cell["id"]] = int(match[1])
        elif "beside(" in "".join(cell["source"]):
            found[cell["id"]] = sum(bool(line.strip()) for line in told.splitlines())
    return found


def exercises(cell):
    return (
        re.findall(r'^check\("([^"]+)"', cell.source, re.M)
        if "exercise" in cell.metadata.get("tags", [])
        else []
    )


def seconds(cell, stepped):
    tags = cell.metadata.get("tags", [])
    total = 60 * words(cell) / 200
    if cell.cell_type == "code" and not {"setup", "predict", "reveal", "words"} & set(tags):
        total += 3 * sum(bool(line.strip()) for line in cell.source.splitlines())
    total += 3 * stepped.get(cell.id, 0) * ("picture" in tags and "look" not in tags)
    total += 20 * (("predict" in tags) + cell.source.count(".ask("))
    total += 60 * len({"words", "draw", "catch"} & set(tags)) + 120 * ("practice" in tags)
    return total + sum(60 + 60 * len(solutions(id)[0].source) / 150 for id in exercises(cell))


def minutes(name):
    """Section -> its minutes."""
    stepped, sums = steps(name), {}
    for section, cell in LESSONS[name]:
        sums[section] = sums.get(section, 0) + seconds(cell, stepped) / 60
    return sums


@each_held
def test_the_core_is_small(name):
    cells = core(name)
    counted = {
        "cells": len(cells),
        "words": sum(map(words, cells)),
        "questions": sum("predict" in c.metadata.get("tags", []) for c in cells),
        "exercises": sum(len(exercises(c)) for c in cells),
    }
    most = CORE | {"exercises": EXERCISES.get(name, CORE["exercises"])}
    assert all(counted[what] <= most[what] for what in counted), counted


@each_held
def test_the_minutes_stated_are_the_sums(name):
    exact = minutes(name)
    found = {section: max(1, round(whole)) for section, whole in exact.items()}
    print(name, found)
    told = (ROOT / "course" / "plans" / f"{name}.md").read_text(encoding="utf-8")
    stated = {
        m[0].lower() if m[0] == "start" else m[0]: int(m[1])
        for m in re.findall(r"^\| (start|\w+)\b[^|]*\| (\d+) \|", told, re.M)
    }
    assert stated == found, "the table of the plan"
    total = sum(whole for section, whole in exact.items() if not section.isupper())
    assert total <= CORE["minutes"] and f"That is {round(total)} minutes" in told
    for section, cell in LESSONS[name]:
        if "section" in cell.metadata.get("tags", []) and section.isupper():
            assert 10 <= found[section] <= 20, section
            assert f"*Extension, about {found[section]} minutes.*" in cell.source, (
                section,
                found[section],
            )


@each_held
def test_code_fits_the_width_of_a_notebook(name):
    wide = [
        (c.id, line)
        for _, c in LESSONS[name]
        if c.cell_type == "code"
        for line in c.source.splitlines()
        if len(line) > 88
    ]
    assert wide == []


@each_held
def test_cells_that_compare_hold_no_logic(name):
    for _, cell in LESSONS[name]:
        if "reveal" in cell.metadata.get("tags", []):
            assert re.fullmatch(r"q\d+\.reveal\(([\w.]+(, [\w.]+)*)?\)", cell.source), cell.source
