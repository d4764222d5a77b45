"""When a recording of PyTorch asks PyTorch something itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Silence:
    """What PyTorch is asked by the recording itself is no event: the modes let it through."""

    on = False  # one for all: what a recording asks is no event of one around it either

    def __enter__(self) -> None:
        self.was, Silence.on = Silence.on, True

    def __exit__(self, *error: Any) -> None:
        Silence.on = self.was


def quietly(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that runs in silence."""

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        was, Silence.on = Silence.on, True
        try:
            return method(*args, **kwargs)
        finally:
            Silence.on = was

    return run
