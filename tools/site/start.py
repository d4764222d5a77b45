"""The site's first page: a live explorer, a button to start, and the gallery as pictures."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

import autolab
from autolab.viz import html

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(
    r"^(?P<line>[^\n#|!][^\n]*(?:\n[^\n]+)*)\n\n!\[(?P<alt>[^\]]*)\]\((?P<image>images/[^)]*)\)",
    re.M,
)


def page() -> str:
    """Return the Markdown of the first page. What it says of the kit is the README's text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sentence = re.search(r"^\*\*(.*)\*\*$", readme, re.M)
    sections = re.split(r"^(?=## )", readme, flags=re.M)[1:]
    assert sentence, "README.md begins with a sentence in bold"
    return "\n\n".join(
        [
            "# autolab",
            raw(f'<p class="motto">{escape(sentence[1].replace("`", ""))}</p>'),
            raw(_explorer()),
            raw(
                '<p class="start"><a href="playground/index.html">Step your own code in the browser</a>'
                '<a href="course/01_graphs.html">Start with lesson 1</a>'
                '<a href="lite/lab/index.html?path=start.md">Run the course in the browser</a></p>'
            ),
            *sections,
            "## Gallery",
            raw(_pictures()),
        ]
    )


def raw(text: str) -> str:
    """Return HTML as a block of Markdown."""
    return f"``````{{raw}} html\n{text}\n``````"


def _explorer() -> str:
    """Return the explorer of README's example: it steps in the page, without a kernel."""
    form: dict[str, Any] = html.form(_example())
    styles, places, scripts = html.parts([form])
    return f"<style>{styles}</style>{places[0]}{scripts}"


def _example() -> Any:
    x = autolab.tensor(2.0, requires_grad=True)
    with autolab.record() as recording:
        loss = (3 * x) * (x * x) + x * x
        loss.backward()
    return autolab.explore(recording)


def _pictures() -> str:
    """Return the gallery's pictures as cards, each with its line."""
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    cards = [
        f'<figure><a href="docs/gallery.html"><img loading="lazy" src="_images/{Path(one["image"]).name}"'
        f' alt="{escape(one["alt"])}"></a><figcaption>{_line(one["line"])}</figcaption></figure>'
        for one in SHOWN.finditer(gallery)
    ]
    return f'<div class="gallery">{"".join(cards)}</div>'


def _line(text: str) -> str:
    """Return a line of the gallery as HTML: code marked, links as their words."""
    plain = escape(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split())))
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", plain)
