"""Markdown as HTML that loads nothing: formulas become MathML, and pictures are stored in the page."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mistune
from latex2mathml.converter import convert

Block = tuple[str, str]
"""The kind of a piece of Markdown ("heading2", "paragraph", "list", …), and its HTML."""


class _Renderer(mistune.HTMLRenderer):
    """A renderer that makes one Block of each piece. `folder`: where the pictures are; `attached`:
    pictures in the cell, by name."""

    def __init__(self, folder: Path | None, attached: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(escape=False)
        self.folder, self.attached = folder, attached

    def __call__(self, tokens: Any, state: Any) -> Any:
        found = []
        for token in tokens:
            if token["type"] != "blank_line":
                level = (
                    token.get("attrs", {}).get("level", "") if token["type"] == "heading" else ""
                )
                found.append((f"{token['type']}{level}", self.render_token(token, state)))
        return found

    def link(self, text: str, url: str, title: str | None = None) -> str:
        # The slides may lie in another folder than the notebook.
        return f'<a href="{escape(url)}">{text}</a>' if re.match(r"https?:|mailto:", url) else text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        source = self._source(url)
        return (
            f'<img alt="{escape(text)}" src="{escape(source)}">'
            if source
            else f"<em>{escape(text or url)} (a picture at {escape(url)})</em>"
        )

    def _source(self, url: str) -> str:
        if url.startswith("data:"):
            return url
        if url.startswith("attachment:"):
            kind, data = next(
                iter(self.attached.get(url.removeprefix("attachment:"), {}).items()), ("", "")
            )
            return f"data:{kind};base64,{''.join(data)}" if kind else ""
        return "" if self.folder is None or ":" in url else picture(self.folder, url)


def picture(folder: Path, url: str) -> str:
    """Return a picture as an address that contains its data, and "" for anything else.

    Only pictures in the folder or below it are read, because the page will be published, and a
    notebook from another person could name any file of this computer.
    """
    path, kind = folder / unquote(url), mimetypes.guess_type(url)[0] or ""
    if not kind.startswith("image/") or not within(folder, path):
        return ""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def within(folder: Path, path: Path) -> bool:
    """Return whether a path is a file in the folder or below it, with all links followed."""
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())


def mathml(tex: str, display: str = "inline") -> str:
    """Return a formula as MathML, or as it was written if the converter does not know it."""
    try:
        return str(convert(tex, display=display))
    except Exception:  # the converter raises many kinds of errors
        return f"<code>{escape(tex)}</code>"


def blocks(
    text: str, folder: Path | None = None, attached: Mapping[str, Mapping[str, str]] | None = None
) -> list[Block]:
    """Return the pieces of a text in their order."""
    renderer = _Renderer(folder, attached or {})
    markdown = mistune.create_markdown(
        renderer=renderer, plugins=["table", "math", "strikethrough"]
    )
    renderer.register("inline_math", lambda _, tex: mathml(tex))
    renderer.register("block_math", lambda _, tex: f"<p>{mathml(tex, 'block')}</p>\n")
    found: Any = markdown(text)
    return list(found)


def render(text: str) -> str:
    """Return a whole text as HTML."""
    return "".join(html for _, html in blocks(text))


def inline(text: str) -> str:
    """Return a text of one paragraph as HTML without the paragraph element."""
    return re.sub(r"^<p>(.*)</p>\s*$", r"\1", render(text), flags=re.DOTALL)
