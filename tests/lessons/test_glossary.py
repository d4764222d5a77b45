"""Nothing before its meaning: a term of the glossary is first used where the glossary says that it is explained.

Held of the lessons that have extensions, in the order in which they are read: the core, then each extension by itself.
What is set in bold there is explained there, so it is in the glossary.
"""

import re
from pathlib import Path

import pytest
from lessons.test_budget import HELD, LESSONS, SECTION

GLOSSARY = (Path(__file__).parents[2] / "course" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (.+?) \| (.+) \| \[Lesson (\d+), (\w+)\]\((\w+)\.ipynb#([^)]+)\) \|$", GLOSSARY, re.M
)
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
    """The section of the core in which a word stands first; None where it is only in extensions, or nowhere."""
    word = re.compile(rf"\b{re.escape(term)}s?\b", re.I)
    return next(
        (
            section
            for section, cell in LESSONS[name]
            if not section.isupper() and section != "start" and word.search(prose(cell))
        ),
        None,
    )


@pytest.mark.parametrize("name", HELD)
def test_no_term_is_used_before_it_is_explained(name):
    terms = [
        (term, section)
        for term, _, _, section, notebook, _ in ROWS
        if notebook == name and not term.startswith("`") and term not in EVERYDAY
    ]
    assert len(terms) > (5 if name == "04_engine" else 20)
    early = {}
    for term, section in terms:
        used = first_use(name, term)
        if used is not None and (section.isupper() or int(used) < int(section)):
            early[term] = f"used in {used}, explained in {section}"
    assert early == {}


@pytest.mark.parametrize("name", HELD)
def test_what_is_explained_is_in_the_glossary_with_its_section(name):
    known = {
        term.strip("`").lower(): (notebook, section) for term, _, _, section, notebook, _ in ROWS
    }
    missing = {}
    for section, cell in LESSONS[name]:
        for bold in re.findall(
            r"\*\*(.+?)\*\*", cell.source if cell.cell_type == "markdown" else ""
        ):
            term = EXTENDED.get(bold.lower(), bold.lower()).strip("`")
            if section == "start" or bold.endswith((".", ":")) or re.search(r"^\d", term):
                continue
            if term not in known and term.rstrip("s") not in known:
                missing[bold] = section
    assert missing == {}


def test_every_link_leads_to_a_section():
    headings = {
        (name, SECTION.match(cell.source)[1], cell.source.splitlines()[0][3:].replace(" ", "-"))
        for name, cells in LESSONS.items() for section, cell in cells if "section" in cell.metadata.get("tags", [])
    }  # fmt: skip
    assert [row for row in ROWS if (row[4], row[3], row[5]) not in headings] == []
    assert len({row[0].lower() for row in ROWS}) == len(ROWS) == GLOSSARY.count("\n| ") - 1
