"""What an object gives a notebook to show: a picture where one can be drawn here, and always text."""

from __future__ import annotations

from . import layout

DRAWN_UP_TO = 3000
"""Graphs of more boxes are not drawn on display: dot needs a second for 2,000 and minutes for 20,000."""


def picture_bundle(dot_source: str, boxes: int, text: str) -> dict[str, str]:
    """The mime bundle of a graph: `image/svg+xml`, so that a saved notebook shows it with no kernel, and `text/plain`.

    boxes: how many nodes the graph has. Where no picture can be made the text says why; nothing is raised, because
    a notebook would show the traceback instead of the text.
    """
    if boxes > DRAWN_UP_TO:
        hint = f"Too big to draw ({boxes} boxes); .source has the DOT text, .render() draws it all the same."
        return {"text/plain": f"{text}\n{hint}"}
    try:
        return {"image/svg+xml": layout.svg(dot_source), "text/plain": text}
    except (layout.LayoutUnavailable, RuntimeError, ValueError) as error:
        return {"text/plain": f"{text}\n{error}"}
