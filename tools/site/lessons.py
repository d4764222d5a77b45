"""Lessons as pages: run once, then Markdown with what their cells showed. Explorers and predictions are alive in the
page without a kernel."""

from __future__ import annotations

import hashlib
import json
import re
from html import escape
from pathlib import Path
from typing import Any

from autolab.lecture import outputs, running
from autolab.viz import html

ROOT = Path(__file__).resolve().parents[2]
BOUNDARIES = {"section", "predict", "exercise", "keep", "practice", "progress"}
"""Tags of cells at which what a question asked for ends."""


def page(notebook: Path, cache: Path) -> str:
    """The Markdown of a lesson's page."""
    made = Page()
    for cell in _run(notebook, cache):
        made.cell(cell)
    return made.text()


def _run(notebook: Path, cache: Path) -> list[Any]:
    """The cells with outputs, from `cache` where neither the notebook nor the kit has changed since."""
    import nbformat

    digest = hashlib.sha256(notebook.read_bytes())
    for path in sorted((ROOT / "autolab").rglob("*")):
        if path.suffix in (".py", ".js", ".css"):
            digest.update(path.read_bytes())
    kept = cache / f"{notebook.stem}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        cells = running.cells(notebook, run=True, tell=None)
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([dict(cell) for cell in cells]), encoding="utf-8")
    return [nbformat.from_dict(cell) for cell in json.loads(kept.read_text(encoding="utf-8"))]


class Page:
    """Cells as Markdown. Between a question and the next boundary what a cell showed, and what explains it, waits for
    an answer."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.asked = ""  # the model of the question that is open

    def cell(self, cell: Any) -> None:
        """Add a cell."""
        tags = set(cell.metadata.get("tags", ()))
        if (
            BOUNDARIES & tags and "explain" not in tags
        ):  # what explains waits too, with the takeaway in it
            self.asked = ""
        if cell.cell_type == "markdown":
            if re.search(r"^#+ ", cell.source, re.M):
                self.asked = ""
            self.parts += self._waiting(_links(cell.source))
        elif (
            cell.cell_type == "code"
            and "google.colab" not in cell.source
            and not {"progress", "remove-cell"} & tags
        ):
            self._code(cell, tags)

    def _code(self, cell: Any, tags: set[str]) -> None:
        before = len(self.forms)
        shown = [] if {"exercise", "setup"} & tags else outputs.of(cell, self.forms)
        if "reveal" in tags:
            for again in self.forms[before:]:
                self._tell(again)
            del self.forms[before:]
            return
        if "predict" not in tags:
            self.parts.append(f"```python\n{cell.source}\n```")
        told = "".join(f'<div class="shown">{output.html}</div>' for output in shown)
        if told:
            self.parts += self._waiting(
                _raw(re.sub(r'<span class="fragment step"[^>]*></span>', "", told))
            )
        if "predict" in tags and len(self.forms) > before:
            self.asked = self.forms[-1]["model"]
            of = f'class="show-anyway" data-of="{escape(self.asked)}"'
            self.parts.append(
                _raw(f'<p><button type="button" {of} hidden>Show without an answer</button></p>')
            )

    def _tell(self, again: dict[str, Any]) -> None:
        """The question's own form learns what to say to each answer."""
        for form in self.forms:
            if (
                form["model"] == again["model"]
                and form["state"] is not None
                and again.get("verdicts")
            ):
                form["state"]["verdicts"] = again["verdicts"]

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
