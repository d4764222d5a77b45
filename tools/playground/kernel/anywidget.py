"""What autolab's widgets need of anywidget in a page without Jupyter: their traits. There is no kernel."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import traitlets

_numbers = itertools.count()


class AnyWidget(traitlets.HasTraits):
    """A widget whose state is its traits with `sync=True`. A page shows it from that state."""

    comm = None

    def __init__(self, **traits: Any) -> None:
        self._number = next(_numbers)
        super().__init__(**traits)

    @property
    def model_id(self) -> str:
        """Return an id that no other widget of the page has."""
        return f"widget-{self._number}"

    @property
    def keys(self) -> list[str]:
        """Return the names of the state."""
        return list(self.traits(sync=True))

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state, or the part that `key` names."""
        names = self.keys if key is None else [key] if isinstance(key, str) else list(key)
        return {name: getattr(self, name) for name in names}

    def on_msg(self, callback: Any, remove: bool = False) -> None:
        """Take a function for messages, which never come."""

    def send(self, content: Any, buffers: Any = None) -> None:
        """Drop a message: the page has everything with the state."""

    def send_state(self, key: Any = None) -> None:
        """Do nothing, as nobody follows."""

    def hold_sync(self) -> contextlib.AbstractContextManager[None]:
        """Return a block that does nothing."""
        return contextlib.nullcontext()

    def open(self) -> None:
        """Do nothing, as there is no connection."""

    close = open
