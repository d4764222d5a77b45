"""When a recording of PyTorch asks PyTorch something itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .guard import guarded


class Silence:
    """What PyTorch is asked by the recording itself is no event: the modes are not called.

    PyTorch leaves them out by two guards of its own, which costs less than calling a mode that does nothing. `on` tells
    the modes where a guard would cost more than the question."""

    on = False  # one for all: what a recording asks is no event of one around it either

    def __enter__(self) -> None:
        self.was, Silence.on = Silence.on, True
        self._guards = () if self.was else (torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch())
        for guard in self._guards:
            guard.__enter__()

    def __exit__(self, *error: Any) -> None:
        for guard in reversed(self._guards):
            guard.__exit__(*error)
        Silence.on = self.was


def quietly(otherwise: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A guarded method (see `guard`) that runs in silence."""

    def silence(method: Callable[..., Any]) -> Callable[..., Any]:
        run = guarded(otherwise)(method)

        @functools.wraps(method)
        def quiet(*args: Any, **kwargs: Any) -> Any:
            if Silence.on:
                return run(*args, **kwargs)
            with Silence():
                return run(*args, **kwargs)

        return quiet

    return silence
