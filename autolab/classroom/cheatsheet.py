"""The cheat sheet: the takeaway of each section and the main terms, on one page of A4.

It is made from the course itself: the lines of the notebooks that begin with **Takeaway**, and the
glossary.
"""

from __future__ import annotations

import re
from html import escape

from latex2mathml.converter import convert

from ..lessons.folder import course_source, lessons
from ..viz import palette
from .papers import notebook

TAKE = re.compile(r"\*\*Takeaway:\*\*\s*(.+?)(?=\n\s*\n|\Z)", re.S)
TERM = re.compile(r"^\| (?P<term>[^|]+?) \| (?P<meaning>[^|]+?) \|", re.M)

LOOP = """for x, y in loader:
    x, y = x.to(device), y.to(device)
    optimizer.zero_grad()  # they add up
    loss = loss_of(model(x), y)
    loss.backward()        # fills .grad
    optimizer.step()       # reads .grad"""

TERMS = (
    "gradient", "leaf", "node", "`grad_fn`", "local derivative", "arriving gradient", "saved tensor", "accumulate",
    "`retain_grad`", "`detach`", "`no_grad`", "frozen", "Jacobian", "gradcheck", "in place", "version", "broadcasting",
    "synchronise", "evaluation mode", "`retain_graph`", "buffer", "state dict", "launch", "view", "hook", "optimizer",
)  # fmt: skip
"""Terms of the glossary, the most important first. The sheet shows as many as fit."""

LINES, WIDTH = 215, 45
"""What three columns of the page hold at 8.25 pt: the number of lines, and the characters of one
line."""


def takeaways() -> dict[str, list[str]]:
    """Return the takeaways of each lesson by its title, in Markdown, in the order of the notebooks.

    >>> from autolab.classroom.cheatsheet import takeaways
    >>> len(takeaways()) >= 3
    True
    """
    found = {}
    for number in lessons(course_source()):
        cells = notebook(number)["cells"]
        texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
        title = texts[0].splitlines()[0].lstrip("# ")
        lines = [
            line
            for text in texts
            for taken in TAKE.findall(text)
            if (line := _without_links(taken))
        ]
        found[title] = list(dict.fromkeys(lines))
    return {title: lines for title, lines in found.items() if lines}


def _without_links(text: str) -> str:
    """Return a line without the sentences that contain links, because paper has no links."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`\[])", " ".join(text.split()))
    kept = " ".join(sentence for sentence in sentences if "](" not in sentence)
    return kept[:1].upper() + kept[1:]


def words() -> dict[str, str]:
    """Return the terms of the glossary and their explanations, in Markdown; those in `TERMS` come
    first."""
    text = (course_source() / "glossary.md").read_text(encoding="utf-8").partition("|---|")[2]
    known = {match["term"]: match["meaning"] for match in TERM.finditer(text)}
    return {term: known[term] for term in dict.fromkeys([*TERMS, *known]) if term in known}


def page() -> str:
    """Return the sheet as an HTML page without external files, to be printed on one side of A4."""
    used = 2.0 + len(LOOP.splitlines())
    parts = []
    for title, lines in takeaways().items():
        used += 2 + sum(map(_height, lines))
        items = "".join(f"<li>{inline(line)}</li>" for line in lines)
        parts.append(f"<section><h2>{escape(title)}</h2><ul>{items}</ul></section>")
    parts.append(
        f"<section class='whole'><h2>A step of training</h2><pre>{escape(LOOP)}</pre></section>"
    )
    chosen: dict[str, str] = {}
    used += 2
    for term, meaning in words().items():
        height = _height(f"{term} {meaning}")
        if used + height <= LINES:
            chosen[term], used = meaning, used + height
    rows = []
    for term, meaning in sorted(chosen.items(), key=lambda pair: pair[0].strip("`").lower()):
        rows.append(f"<div><dt>{inline(term)}</dt> <dd>{inline(meaning)}</dd></div>")
    parts.append(f"<section><h2>Words</h2><dl>{''.join(rows)}</dl></section>" if rows else "")
    return _PAGE % (palette.page_css() + _STYLE, "".join(parts))


def _height(line: str) -> float:
    """Return how many lines a text takes in a column, including the space below it."""
    length = len(re.sub(r"[`*]|\\\w+|[$^{}]", "", line))
    return -(-length // WIDTH) + 0.15


def inline(text: str) -> str:
    """Return a line of Markdown as HTML: code, formulas, bold text, and links as their words.

    >>> from autolab.classroom.cheatsheet import inline
    >>> inline("`a < b` is **so**")
    '<code>a &lt; b</code> is <b>so</b>'
    """
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    return "".join(map(_piece, re.split(r"(`[^`]+`|\$[^$]+\$)", text)))


def _piece(text: str) -> str:
    if text[:1] == "`":
        return f"<code>{escape(text.strip('`'))}</code>"
    return str(convert(text.strip("$"))) if text[:1] == "$" and len(text) > 2 else _plain(text)


def _plain(text: str) -> str:
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


_STYLE = """
@page { size: A4; margin: 9mm; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--fg); background: var(--bg); font: 8.25pt/1.22 Helvetica, Arial, "Liberation Sans", sans-serif; }
main { width: 192mm; height: 277mm; margin: 0 auto; overflow: hidden; }
header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 2px solid var(--forward); margin-bottom: 2mm; }
h1 { font-size: 13pt; margin: 0; }
.columns { columns: 3; column-gap: 5mm; column-fill: auto; height: 268mm; }
h2 { font-size: 9.25pt; margin: 0 0 1mm; color: var(--forward); break-after: avoid; }
section { margin-bottom: 2.5mm; }
.whole { break-inside: avoid; }
ul, dl { margin: 0; padding: 0; list-style: none; }
li, dl div { margin-bottom: 0.5mm; break-inside: avoid; padding-left: 2mm; text-indent: -2mm; }
dt, dd { display: inline; margin: 0; }
dt { font-weight: bold; }
pre { margin: 0; padding: 1mm; background: var(--panel); font: 6.9pt/1.3 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.88em; }
@media screen { main { margin: 9mm auto; } }
"""

_PAGE = """<!doctype html>
<html lang="en" theme="light"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>autolab: cheat sheet</title>
<style>%s</style></head>
<body><main><header><h1>autolab: the takeaways</h1><span>graphs, gradients, GPUs, fine-tuning, an engine</span></header>
<div class="columns">%s</div></main></body></html>
"""
