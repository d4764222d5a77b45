"""Hide a recording's own calls to PyTorch from all modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .guard import note


class Silence:
    """Inside this block, PyTorch calls are not events: no mode is called, not even the learner's own. `on` tells a
    recording's own modes to do nothing. If `many` calls are expected, its mode is removed, too: that is faster than
    calling a mode that does nothing, but takes longer than one call."""

    # shared by all: one recording's calls are not events of an enclosing recording either
    on = False

    def __init__(self, many: bool = True) -> None:
        self.many = many

    def __enter__(self) -> Silence:
        self.was, Silence.on = Silence.on, True
        self._modes: list[Any] = []
        self._functions = None
        if not self.was:
            self._functions = torch._C.DisableTorchFunction()
            self._functions.__enter__()
            count = torch._C._len_torch_dispatch_stack()
            for _ in range(count if self.many or count > 1 else 0):
                self._modes.append(torch._C._pop_torch_dispatch_stack(None))
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            torch._C._push_on_torch_dispatch_stack(mode)
        if self._functions is not None:
            self._functions.__exit__(*error)
        Silence.on = self.was


def quietly(otherwise: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Guard a method (see `guard`) and run it in silence."""

    def silence(method: Callable[..., Any]) -> Callable[..., Any]:
        name = method.__name__

        @functools.wraps(method)
        def quiet(self: Any, *args: Any, **kwargs: Any) -> Any:
            begun = None if Silence.on else Silence(False).__enter__()
            try:
                return method(self, *args, **kwargs)
            except Exception as error:
                note(self, name, args, error)
                return otherwise
            finally:
                if begun is not None:
                    begun.__exit__()

        return quiet

    return silence
