"""Slides as one HTML page: reveal.js, the widgets, and the script that connects them
(`static/deck.js`)."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from ..room import phone
from ..viz import html, palette
from .slides import Slide, Slides

STATIC = Path(__file__).parent / "static"


def page(slides: Slides, room: str = "", code: str = "") -> str:
    """Return the whole deck as a page that makes no requests. room, code: the room where phones
    answer; each question shows its QR code."""
    css, places, scripts = html.parts(slides.forms)
    if room:
        places = [place + _by_phone(form, room, code) for place, form in zip(places, slides.forms)]
    contents = [
        (column[0].id, column[0].heading) for column in slides.columns[1:] if column[0].heading
    ]
    columns = "\n".join(
        f"<section>{''.join(_slide(slide, contents if slide is slides.columns[0][0] else []) for slide in column)}</section>"
        for column in slides.columns
    )
    columns = re.sub(r"<!--widget (\d+)-->", lambda match: places[int(match[1])], columns)
    body = f"""<div class="reveal"><main class="slides">{columns}</main></div>
<script>{html.inline(_read("reveal.js"))}</script>
{scripts}
<script type="module">{html.inline(_read("deck.js"))}</script>"""
    return _document(slides.title, f"{_read('reveal.css')}{_style()}{css}", body)


def _by_phone(form: dict[str, Any], room: str, code: str) -> str:
    """Return the QR code beside a question, if there is a room and the question has an id."""
    if "asked" not in form or not form["state"]:
        return ""
    return phone.figure(
        phone.address(room, code, form["asked"], tuple(form["state"].get("choices", ())))
    )


def index(title: str, rows: list[str]) -> str:
    """Return a page that lists decks. rows: HTML."""
    return _document(
        title, _style(), f'<main class="index"><h1>{escape(title)}</h1>{"".join(rows)}</main>'
    )


def _document(title: str, css: str, body: str) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{css}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _slide(slide: Slide, contents: list[tuple[str, str]]) -> str:
    level = "h1" if contents else "h2"
    heading = (
        f"<{level}>{escape(slide.heading)}</{level}>"
        if slide.first
        else f'<p class="running">{escape(slide.heading)}</p>'
    )
    links = "".join(
        f'<li><a href="#/{escape(id)}">{escape(words)}</a></li>' for id, words in contents
    )
    listed = f'<nav aria-label="Contents"><ol>{links}</ol></nav>' if links else ""
    notes = f'<aside class="notes">{"".join(slide.notes)}</aside>' if any(slide.notes) else ""
    inside = "".join(slide.parts)
    return (
        f'<section id="{escape(slide.id)}" aria-label="{escape(slide.heading)}">'
        f'{heading if slide.heading else ""}<div class="body">{inside}{listed}</div>{notes}</section>\n'
    )


def _style() -> str:
    return palette.page_css() + re.sub(r"/\*.*?\*/", "", _read("deck.css"), flags=re.DOTALL)


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
