"""The outputs of a cell on a slide: listings, printed text, pictures and live widgets."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from html import escape
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from . import markdown

PAGE = "application/vnd.autolab.page+json"  # written by kernel.py, which only kernels import
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_SMALL = {"Prediction", "Revealed"}  # widgets that are shown within the text


@dataclass
class Output:
    """One output: its HTML, its approximate number of lines, whether it has a slide to itself,
    whether it appears with the next press, and whether it is a prediction, after which the slide
    ends."""

    html: str
    lines: float
    alone: bool = False
    later: bool = True
    question: bool = False


def of(cell: Any, forms: list[dict[str, Any]]) -> list[Output]:
    """Return the outputs of a code cell, and append the forms of its widgets to `forms`."""
    return [
        found for output in cell.get("outputs", ()) if (found := _output(output, forms)) is not None
    ]


def place(number: int) -> str:
    """Return the marker that `deck` replaces with the widget of this number."""
    return f"<!--widget {number}-->"


def listing(source: str) -> str:
    """Return code with syntax colours, which can be scrolled by keyboard."""
    code = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
    return (
        f'<pre class="code" tabindex="0" role="group" aria-label="Code"><code>{code}</code></pre>'
    )


def folded(source: str) -> str:
    """Return the code of a widget that has a slide to itself, folded."""
    return f'<details class="source"><summary>Code</summary>{listing(source)}</details>'


def _output(output: Any, forms: list[dict[str, Any]]) -> Output | None:
    kind = output["output_type"]
    if kind == "stream":
        return _text(output["text"], "stderr" if output["name"] == "stderr" else "")
    if kind == "error":
        return _text(
            "\n".join(output["traceback"]) or f"{output['ename']}: {output['evalue']}", "error"
        )
    data = output.get("data", {})
    if PAGE in data:
        return _widget(data[PAGE], forms)
    return _richest(data)


def _widget(form: dict[str, Any], forms: list[dict[str, Any]]) -> Output:
    """Return a widget, followed by a fragment without content for each step; reveal.js steps
    through them like any others."""
    known = any(form["model"] == other["model"] for other in forms)
    form = form | {"state": None} if known else form
    forms.append(form)
    of = f'data-of="{escape(form["model"])}"'
    steps = "".join(
        f'<span class="fragment step" {of} data-step="{int(step)}"></span>'
        for step in form["stops"]
    )
    if form["kind"] == "Revealed":
        told = escape(json.dumps({"actual": form["actual"], "because": form["because"]}))
        told = f'<div class="revealed small" {of} data-told="{told}">{place(len(forms) - 1)}</div>'
        return Output(told, 4 + form["lines"])
    small = form["kind"] in _SMALL
    lines = 4 + 1.4 * len((form["state"] or {}).get("choices", ())) if small else 17.0
    placed = place(len(forms) - 1)
    html = f'<div class="small">{placed}</div>' if small else placed + steps
    return Output(html, lines, alone=not small, later=False, question=form["kind"] == "Prediction")


def _richest(data: dict[str, Any]) -> Output | None:
    """Return the form of an output that a notebook would show."""
    plain = "".join(data.get("text/plain", ""))
    alt = escape(plain[:200])
    if "image/svg+xml" in data:
        svg = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return Output(
            f'<img class="picture" alt="{alt}" src="data:image/svg+xml;base64,{svg}">', 14.0
        )
    for kind in ("image/png", "image/jpeg", "image/gif"):
        if kind in data:
            source = f"data:{kind};base64,{''.join(data[kind]).strip()}"
            return Output(f'<img class="picture" alt="{alt}" src="{escape(source)}">', 14.0)
    if "text/html" in data:
        html = "".join(data["text/html"])
        return Output(
            f'<div class="html" tabindex="0" role="group" aria-label="Output">{html}</div>',
            1 + html.count("<tr") * 1.4 + html.count("<div"),
        )
    if "text/markdown" in data:
        return Output(markdown.render("".join(data["text/markdown"])), 3.0)
    if "text/latex" in data:
        return Output(
            f"<p>{markdown.mathml(''.join(data['text/latex']).strip().strip('$'), 'block')}</p>",
            3.0,
        )
    return _text(plain) if plain else None


def _text(text: str, look: str = "") -> Output:
    text = _ANSI.sub("", "".join(text)).rstrip("\n")
    name = {"": "Output", "stderr": "Messages", "error": "Error"}[look]
    html = f'<pre class="printed {look}" tabindex="0" role="group" aria-label="{name}">{escape(text)}</pre>'
    return Output(html, 0.8 + 0.9 * len(text.splitlines()))
