"""A widget that needs its kernel, as a page without one gets it."""

from __future__ import annotations

from typing import Any


class Exported:
    """The script and the state of a widget, with some of the state replaced: what `viz.html.page` asks a widget for.

    `live` is False in it: scripts then disable what only a kernel can do, and say so.
    """

    def __init__(self, widget: Any, **replaced: Any):
        self._esm = widget._esm
        self._widget, self._replaced = widget, {"live": False} | replaced

    def get_state(self) -> dict[str, Any]:
        """The widget's state now."""
        return self._widget.get_state() | self._replaced
