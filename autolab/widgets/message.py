"""A short message below a cell: the same words as plain text and as HTML, identical on every run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from ..viz import palette

EDGES = {
    "neutral": palette.DATA,
    "agrees": palette.BLUE,
    "differs": palette.VERMILLION,
}  # a word always says it too


def with_code(text: str) -> str:
    """Return text as HTML; parts between backquotes become code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def frame(tone: str = "neutral") -> str:
    """Return the CSS of a text block with a coloured edge."""
    return (
        f"border-left:5px solid {EDGES[tone]};padding:2px 0 2px 12px;margin:4px 0;"
        "max-width:54em;line-height:1.5"
    )


@dataclass(frozen=True, repr=False)
class Message:
    """A message: `head`, then `rows` of (mark, text), then `paragraphs`, then `code`: pieces of program, each with a
    line above it.

    `tone` ("neutral", "agrees", "differs") colours the edge of the HTML form; the head says the same in words.
    """

    head: str
    rows: tuple[tuple[str, str], ...] = ()
    paragraphs: tuple[str, ...] = ()
    tone: str = "neutral"
    code: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Return the message in words, like `Explanation.text`."""
        return repr(self)

    def __repr__(self) -> str:
        width = max((len(mark) for mark, _ in self.rows), default=0)
        lines = [
            self.head,
            *(f"  {mark:<{width}}  {text}" for mark, text in self.rows),
            *self.paragraphs,
        ]
        for head, text in self.code:
            lines += [head, *(f"    {row}".rstrip() for row in text.splitlines())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:left;vertical-align:top;padding:1px 10px 1px 0'>"
        rows = "".join(
            f"<tr>{cell}{with_code(mark)}</td>{cell}{with_code(text)}</td></tr>"
            for mark, text in self.rows
        )
        table = (
            f"<table style='margin:4px 0;border:0;background:none'>{rows}</table>" if rows else ""
        )
        text = "".join(f"<div style='margin:4px 0'>{with_code(p)}</div>" for p in self.paragraphs)
        code = "".join(
            f"<div style='margin:4px 0'>{escape(head)}</div><pre style='margin:4px 0'>{escape(piece)}</pre>"
            for head, piece in self.code
        )
        return f"<div role='note' style='{frame(self.tone)}'><strong>{with_code(self.head)}</strong>{table}{text}{code}</div>"
