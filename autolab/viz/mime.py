"""The mime bundle that an object gives a notebook: a picture if one can be drawn here, and always text."""

from __future__ import annotations

from typing import Any

from . import layout

Bundle = tuple[dict[str, Any], dict[str, Any]] | None
"""What anywidget gives for a widget: data by mime type, and metadata."""

DRAWN_UP_TO = 3000
"""Graphs of more boxes are not drawn on display: dot needs a second for 2,000 and minutes for 20,000."""


def picture_bundle(dot_source: str, boxes: int, text: str) -> dict[str, str]:
    """Return the mime bundle of a graph: `image/svg+xml`, so that a saved notebook shows it with no kernel, and
    `text/plain`.

    boxes: number of nodes in the graph. If no picture can be made, the text says why; nothing is raised, because
    a notebook would show the traceback instead of the text.
    """
    if boxes > DRAWN_UP_TO:
        hint = f"Too big to draw ({boxes} boxes); .source has the DOT text, .render() draws it all the same."
        return {"text/plain": f"{text}\n{hint}"}
    try:
        return {"image/svg+xml": layout.svg(dot_source), "text/plain": invitation(text)}
    except (layout.LayoutUnavailable, RuntimeError, ValueError) as error:
        return {"text/plain": f"{text}\n{error}"}


def instead(bundle: Bundle, widget: object, what: str, picture: str = "") -> Bundle:
    """Return a widget's mime bundle with a replacement for pages that cannot show widgets; None if there is none.

    picture: SVG, "" if there is none. GitHub, nbconvert and a trusted notebook show it.
    what: what the widget is, "a graph to step through".
    """
    if bundle is not None:
        bundle[0]["text/plain"] = invitation(f"{widget!r} is {what}")
        if picture:
            bundle[0]["image/svg+xml"] = picture
    return bundle


def invitation(text: str) -> str:
    """Return a sentence about what is missing and how to see it. In an untrusted notebook JupyterLab shows neither
    widgets nor SVG, only this sentence."""
    return f"{text}: run this cell in Jupyter (Shift+Enter) to see it."
