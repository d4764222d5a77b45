"""viz.js, and the script that draws with it, for notebooks: kept once, so that explorers open and close their parts
when the kernel is gone.

Every widget of a notebook is saved with its state. viz.js in each explorer's would be 1.1 MB a widget, so it has a
widget of its own, which the explorers name: 0.6 MB a notebook, whatever the number of explorers, and nothing where no
graph has parts.
"""

from __future__ import annotations

import base64
import functools
import gzip
from typing import Any

import anywidget
import traitlets as t

from ..viz import html, layout
from . import assets


class LayoutEngine(anywidget.AnyWidget):
    """A widget that is never shown. `source`: `packed()`."""

    _esm = assets.module("engine")
    source = t.Unicode("").tag(sync=True)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Never without defaults, as `Displayed.get_state`."""
        return dict(super().get_state(key))

    def __repr__(self) -> str:
        return "LayoutEngine()"


_engines: list[LayoutEngine] = []


def engine() -> str:
    """The id of this kernel's one LayoutEngine; "" where viz.js is missing."""
    if not (
        _engines and _engines[0].comm is not None
    ):  # closed with all widgets, as by Widget.close_all()
        try:
            _engines[:] = [LayoutEngine(source=packed())]
        except OSError:
            return ""
    return str(_engines[0].model_id)


@functools.cache
def packed() -> str:
    """`script()`, compressed by gzip, as base64."""
    return base64.b64encode(gzip.compress(script().encode(), 9, mtime=0)).decode()


def script() -> str:
    """viz.js as an ES module that exports also `drawing`, what draws an explorer's graph with it."""
    return f"{layout.viz_js()}\nexport const drawing = (() => {{{html.as_value(assets.module('drawing'))}}})();\n"
