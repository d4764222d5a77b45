"""Lessons as pages: Markdown with the stored outputs of their cells. Graphs and predictions work without a kernel."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from html import escape
from pathlib import Path
from typing import Any

import run_it

from autolab.lecture import outputs
from autolab.room import questions
from autolab.viz import html

os.environ["AUTOLAB_PROGRESS"] = "off"  # the answers of the person who builds the site stay private
ASKS = re.compile(r"^(?:(?P<name>\w+) = )?(?P<how>predict|in_words)\(\"(?P<id>[\w.]+)\"\)", re.M)
BOUNDARIES = {"section", "predict", "exercise", "keep", "practice", "progress"}
"""Tags of cells at which what a question asked for ends."""


def page(notebook: Path) -> str:
    """Return the Markdown of a lesson's page."""
    made = Page()
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        made.cell(cell | {"source": "".join(cell["source"])})
    return made.text()


class Page:
    """Cells as Markdown. The outputs and explanations that follow a question are hidden until it is answered."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.asked = ""  # the model of the open question
        self.code: list[str] = []  # of the cells so far
        self.questions: dict[str, Any] = {}  # by the variable that holds a prediction

    def cell(self, cell: Any) -> None:
        """Add a cell."""
        tags = set(cell["metadata"].get("tags", ()))
        if (
            BOUNDARIES & tags and "explain" not in tags
        ):  # an explanation is hidden, too, with the takeaway in it
            self.asked = ""
        if cell["cell_type"] == "markdown":
            if re.search(r"^#+ ", cell["source"], re.M):
                self.asked = ""
            self.parts += self._waiting(_links(cell["source"]))
        elif (
            cell["cell_type"] == "code"
            and "google.colab" not in cell["source"]
            and not {"progress", "remove-cell"} & tags
        ):
            self._code(cell, tags)

    def _code(self, cell: Any, tags: set[str]) -> None:
        source = cell["source"]
        if "reveal" in tags:
            self._reveal(source, cell["outputs"])
            return
        if "predict" not in tags:
            self.parts.append(f"```python\n{source}\n```")
        if not {"exercise", "setup"} & tags:
            self._outputs(cell)
        if "raises-exception" not in tags:
            self.code.append(source)
        if "predict" in tags and self.forms:
            self.asked = self.forms[-1]["model"]
            of = f'class="show-anyway" data-of="{escape(self.asked)}"'
            button = f'<button type="button" {of} hidden>Show without an answer</button>'
            self.parts.append(_raw(f"<p>{button}</p>"))

    def _outputs(self, cell: Any) -> None:
        """Add what a cell shows: its stored outputs, and widgets that are made again."""
        if widget := self._widget(cell):
            form = html.form(widget) | {"kind": type(widget).__name__, "stops": []}
            cell = cell | {
                "outputs": [
                    *(one for one in cell["outputs"] if one["output_type"] == "stream"),
                    {"output_type": "display_data", "data": {outputs.PAGE: form}},
                ]
            }
        shown = outputs.of(cell, self.forms)
        if told := "".join(f'<div class="shown">{output.html}</div>' for output in shown):
            self.parts += self._waiting(_raw(told))

    def _widget(self, cell: Any) -> Any:
        """Return the question or the graph that a cell shows, None for other cells."""
        from autolab import lessons

        if asks := ASKS.search(cell["source"]):
            question = getattr(lessons, asks["how"])(asks["id"])
            self.questions[asks["name"] or ""] = question
            return question
        graphs = ("Explorer", "Practice", "ReceptiveField")
        stored = ["".join(one.get("data", {}).get("text/plain", "")) for one in cell["outputs"]]
        return self._graph(cell["source"]) if any(s.startswith(graphs) for s in stored) else None

    def _graph(self, source: str) -> Any:
        """Run a cell that shows a graph, after the statements that it needs of earlier cells."""
        names: dict[str, Any] = {"__name__": "__main__"}
        body = ast.parse("".join(run_it.needed(self.code, source)) + source).body
        last = body.pop()
        assert isinstance(last, ast.Expr), source
        shown = last.value
        if isinstance(shown, ast.Call) and ast.unparse(shown.func) == "display":
            shown = shown.args[-1]
        with contextlib.redirect_stdout(None):
            exec(compile(ast.Module(body, []), "lesson", "exec"), names)
            return eval(compile(ast.Expression(shown), "lesson", "eval"), names)

    def _reveal(self, source: str, stored: list[Any]) -> None:
        """Let a question say what is right, as its stored verdict tells."""
        question = self.questions[source.partition(".reveal")[0].strip()]
        question._key = questions.outcome(stored)
        question.reveal()
        for form in self.forms:
            if form["model"] == question.model_id and form["state"]:
                form["state"]["verdicts"] = question.export_state()["verdicts"]

    def _waiting(self, part: str) -> list[str]:
        if not self.asked:
            return [part]
        return [_raw(f'<div class="awaits" data-of="{escape(self.asked)}">'), part, _raw("</div>")]

    def text(self) -> str:
        """The page: cells, then the scripts and styles of the widgets."""
        styles, places, scripts = html.parts(self.forms)
        text = "\n\n".join(self.parts)
        for number, place in enumerate(places):
            text = text.replace(outputs.place(number), place)
        return f"{text}\n\n{_raw(f'<style>{_flat(styles)}</style>{_flat(scripts)}')}\n"


def _flat(text: str) -> str:
    """Without fences of back quotes at the beginning of a line, which would end the block."""
    return re.sub(r"^(\s*)`{3,}", r"\1", text, flags=re.M)


def _raw(text: str) -> str:
    return f"``````{{raw}} html\n{text}\n``````"


def _links(source: str) -> str:
    """Lessons name each other's notebooks; here they are pages."""
    return re.sub(r"\]\(((?:\d\d)_\w+)\.ipynb", r"](\1.md", source)
