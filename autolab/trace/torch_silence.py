"""When a recording of PyTorch asks PyTorch something itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.utils import _python_dispatch

if TYPE_CHECKING:
    from .torch_events import Events


class Silence:
    """What PyTorch is asked by the recording itself is no event, and is not slowed down by being watched."""

    on = False  # one for all: what a recording asks is no event of one around it either

    def __init__(self, events: Events) -> None:
        self.events = events

    def __enter__(self) -> None:
        self.was, Silence.on = Silence.on, True
        mode = self.events.operations
        self.paused = not self.was and _current_mode() is mode
        if self.paused:
            mode.__exit__(None, None, None)

    def __exit__(self, *error: Any) -> None:
        if self.paused:
            self.events.operations.__enter__()
        Silence.on = self.was


_current_mode: Callable[[], Any] = getattr(_python_dispatch, "_get_current_dispatch_mode", lambda: None)
"""Where PyTorch does not tell which mode is on top, ours stays on and lets through what is no event."""


def quietly(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that runs in silence."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with Silence(self):
            return method(self, *args, **kwargs)

    return run
