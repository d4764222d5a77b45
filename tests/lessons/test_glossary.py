"""A term of the glossary is first used where the glossary says that it is explained.

What is set in bold in a notebook is explained there, so it is in the glossary.
"""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_notebook  # noqa: E402

GLOSSARY = (ROOT / "course" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (.+?) \| (.+) \| \[([^]]+)\]\(([\w/]+)\.ipynb#((\d+)\.[^)]+)\) \|$", GLOSSARY, re.M
)
"""Term, meaning, words of the link, notebook, heading, its number."""


def cells_of(name):
    """Return the cells of a notebook, each with the number of its section, 0 before the first."""
    found, section = [], 0
    for cell in build_notebook.cells(ROOT / "course" / "src" / name):
        section = 0 if "further" in cell.metadata.get("tags", []) else section
        if "section" in cell.metadata.get("tags", []):
            section = int(re.match(r"## (\d+)\. ", cell.source)[1])
        found.append((section, cell))
    return found


NOTEBOOKS = {name: cells_of(name) for name in build_notebook.sources()}
CORES = [name for name in NOTEBOOKS if "/" not in name]
EVERYDAY = {
    "version",
    "view",
    "shape",
    "in place",
    "graph",
    "network",
    "path",
    "body",
    "head",
    "extension",
}
"""Words that prose may use in their everyday sense before they are terms."""
EXTENDED = {
    "steepest descent": "steepest ascent",
    "accumulates": "accumulate",
    "dynamic": "dynamic graph",
}
"""What is explained together with, or as a form of, another term."""


def prose(cell):
    return (
        re.sub(r"(?s)```.*?```|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|^#.*?$", "", cell.source, flags=re.M)
        if cell.cell_type == "markdown"
        else ""
    )


def first_use(name, term):
    """Return the section of a notebook in which a word appears first, or None."""
    word = re.compile(rf"\b{re.escape(term)}s?\b", re.I)
    places = (section for section, cell in NOTEBOOKS[name] if section and word.search(prose(cell)))
    return next(places, None)


@pytest.mark.parametrize("name", CORES)
def test_no_term_is_used_before_it_is_explained(name):
    """A term of a lesson that is explained in a later section, or in a notebook that goes further."""
    early = {}
    for term, _, _, notebook, _, number in ROWS:
        if (
            term.startswith("`")
            or term in EVERYDAY
            or notebook.removeprefix("more/")[:2] != name[:2]
        ):
            continue
        used = first_use(name, term)
        if used is not None and (notebook != name or used < int(number)):
            early[term] = f"used in {used}, explained in {notebook}, {number}"
    assert early == {}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_is_explained_is_in_the_glossary(name):
    known = {term.strip("`").lower() for term, *_ in ROWS}
    missing = {}
    for section, cell in NOTEBOOKS[name]:
        bolds = re.findall(r"\*\*(.+?)\*\*", cell.source) if cell.cell_type == "markdown" else []
        for bold in bolds:
            term = EXTENDED.get(bold.lower(), bold.lower()).strip("`")
            if not section or bold.endswith((".", ":", "?")) or re.search(r"^\d", term):
                continue
            if term not in known and term.rstrip("s") not in known:
                missing[bold] = section
    assert missing == {}


def test_every_link_leads_to_a_section():
    headings = {
        (name, cell.source.splitlines()[0][3:].replace(" ", "-"))
        for name, cells in NOTEBOOKS.items() for _, cell in cells if "section" in cell.metadata.get("tags", [])
    }  # fmt: skip
    assert [row for row in ROWS if (row[3], row[4]) not in headings] == []
    assert len({row[0].lower() for row in ROWS}) == len(ROWS) == GLOSSARY.count("\n| ") - 1
