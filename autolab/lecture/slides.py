"""Split the cells of a notebook into slides.

A column of slides begins at a heading of level 1 or 2, or at a cell tagged "section". Within it a slide begins

- at a heading of level 3 and below, and where the next paragraph, listing or picture would not fit on the screen;
- after a prediction, so that its answer is never beside it; the code that makes a prediction is not shown;
- at a widget with steps or panels, which has a slide to itself, its code folded above it.

What a cell printed appears with the next press of a key, so that the class can guess it. The slide
types of Jupyter (`slideshow` in a cell's metadata) override these rules: "slide", "subslide",
"fragment", "skip", "notes", "-". Cells tagged "setup", "progress" or "remove-cell" are left out;
"remove-input" and "remove-output" leave out one part; "notes" are speaker notes.
"""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import markdown, outputs
from .asked import Predictions
from .notes import Plan

LINES = 19.0
"""The lines of text that fit on a slide below its heading."""

LEFT_OUT = {"setup", "progress", "remove-cell", "remove_cell"}
ALONE = {"exercise", "words", "open", "practice"}
_WORK = re.compile(r"^(?:\w+ = )?(?:check|hint|in_words|progress)\([\"']", re.M)
_QUESTION = re.compile(r"\bpredict\(\s*[\"'](?:\w+\.)?(q\d+)[\"']")


def is_for_learners_alone(cell: Any) -> bool:
    """Return whether a cell is work for learners, such as an exercise. Headings of sections are not."""
    tags = set(cell.metadata.get("tags", ()))
    works = cell.cell_type == "code" and _WORK.search("".join(cell.source))
    return bool(ALONE & tags or works) and "section" not in tags


@dataclass
class Slide:
    """One screen: its HTML, its speaker notes, and the widgets that `deck` puts at the markers of
    `outputs.place`."""

    id: str
    heading: str  # the heading of its section
    first: bool = False  # whether it shows the heading in full
    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lines: float = 0.0
    closed: bool = False  # whether nothing more fits


class Slides:
    """The slides of a notebook: `columns` of slides, a `title`, and the `forms` of their widgets in
    order."""

    def __init__(self, cells: list[Any], notebook: Path, plan: Plan | None) -> None:
        self.columns: list[list[Slide]] = []
        self.forms: list[dict[str, Any]] = []
        self.title = ""
        self._folder, self._plan, self._predictions = notebook.parent, plan, Predictions()
        for number, cell in enumerate(cells):
            self._id, self._parts = str(cell.get("id") or f"cell{number}"), 0
            self._cell(cell)
        self.title = self.title or notebook.stem
        if not self.columns:
            self._column(self.title)
        if plan and self.columns:
            self.columns[0][0].notes.insert(0, plan.start + plan.of("start"))

    def _cell(self, cell: Any) -> None:
        tags = set(cell.metadata.get("tags", ()))
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if kind == "skip" or LEFT_OUT & tags:
            return
        if kind == "notes" or "notes" in tags:
            self._slide().notes.append(markdown.render(cell.source))
        elif cell.cell_type == "markdown":
            self._markdown(cell, kind, "section" in tags)
        elif cell.cell_type == "code":
            self._begin(kind)
            self._code(cell, tags, kind == "fragment")

    def _begin(self, kind: str) -> None:
        """Begin a column or a slide if the cell's slide type asks for it."""
        if kind == "slide":
            self._column("")
        elif kind == "subslide":
            self._new()

    def _markdown(self, cell: Any, kind: str, section: bool) -> None:
        fragment = kind == "fragment"
        for type, html in markdown.blocks(cell.source, self._folder, cell.get("attachments")):
            level, words = (int(type[-1]), _words(html)) if type.startswith("heading") else (9, "")
            if level <= 2 or section or kind == "slide":
                self._column(words if level <= 6 else "")
                self._slide().closed = (
                    not self.title and level == 1
                )  # the title slide has room for one paragraph
                section, kind = False, "-" if kind == "slide" else kind
                self.title = self.title or words
                if level <= 6:
                    continue
            elif kind == "subslide" or (level <= 6 and kind != "-"):
                self._new()
            if level <= 6 and self._plan:
                self._slide().notes.append(self._plan.of(words))
            kind = "-" if kind == "subslide" else kind
            self._add(html, _height(type, html), fragment)

    def _code(self, cell: Any, tags: set[str], fragment: bool) -> None:
        shown = (
            []
            if {"remove-output", "remove_output", "exercise"} & tags
            else outputs.of(cell, self.forms)
        )
        source = "" if {"remove-input", "remove_input"} & tags else cell.source
        asks = "predict" in tags or self._predictions.asks(cell.source)
        asks = asks or any(output.question for output in shown)
        if asks:
            source = "" if "predict" in tags else self._predictions.without(source)
        if any(output.alone for output in shown):
            for output in shown:
                if output.alone:
                    self._new()
                    code, source = outputs.folded(source) if source else "", ""
                    self._add(code + output.html, LINES)
                    self._slide().closed = True
                else:
                    self._add(output.html, output.lines)
        else:
            if source and "reveal" not in tags:
                self._add(outputs.listing(source), 1 + 0.9 * len(source.splitlines()), fragment)
            for output in shown:
                self._add(output.html, output.lines, output.later)
                self._slide().closed |= output.question
        if asks:
            for question in _QUESTION.findall(cell.source) if self._plan else ():
                self._slide().notes += self._plan.questions.get(question, []) if self._plan else []
            self._slide().closed = True

    # -- slides --------------------------------------------------------------------------------------------------------

    def _add(self, html: str, lines: float, later: bool = False) -> None:
        """Add a piece to this slide, or to a new one if it does not fit. later: show it with the
        next press of a key."""
        slide = self._slide()
        if slide.closed or (slide.parts and slide.lines + lines > LINES):
            slide, later = self._new(), False
        slide.parts.append(f'<div class="fragment">{html}</div>' if later else html)
        slide.lines += lines

    def _slide(self) -> Slide:
        if not self.columns:
            self._column("")
        return self.columns[-1][-1]

    def _column(self, heading: str) -> None:
        self.columns.append([Slide(self._next_id(), heading, first=True)])
        if heading and self._plan:
            self._slide().notes.append(self._plan.of(heading))

    def _new(self) -> Slide:
        """Return a new slide of this section, or the current one if it is empty."""
        slide = self._slide()
        if slide.parts:
            self.columns[-1].append(slide := Slide(self._next_id(), slide.heading))
        return slide

    def _next_id(self) -> str:
        """Return the id of the cell, with a number if the cell has several slides."""
        self._parts += 1
        return self._id if self._parts == 1 else f"{self._id}.{self._parts}"


def _words(html: str) -> str:
    """Return the text of HTML."""
    return entities.unescape(re.sub(r"<[^>]*>", "", html)).strip()


def _height(type: str, html: str) -> float:
    """Return the approximate number of lines that a piece of Markdown takes."""
    if "<img" in html:
        return 12.0
    if type == "block_code":
        return 1 + 0.9 * html.count("\n")
    if type == "table":
        return 1 + 1.4 * html.count("<tr")
    if type == "list":
        return sum(-(-len(_words(item)) // 95) + 0.2 for item in html.split("<li>")[1:]) + 0.4
    if type.startswith("heading"):
        return 2.0
    return -(-len(_words(re.sub(r"<math.*?</math>", "formula", html))) // 108) + 0.6
