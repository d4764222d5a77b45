"""Catch every error of the recorder itself, so that the recorded program never sees one.

Every event of a recording, and every part of its trace, runs under a guard. If the recorder raises, the guard notes a
sentence for the learner and the program goes on; an operation that could not be followed becomes one node without
details."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

strict = False
"""Whether a guard raises what it catches: the tests do that, so that every fault of the recorder is seen."""


def sentence(what: str, error: BaseException) -> str:
    """Return what a recording says about an event that it could not follow."""
    return (
        f"The recording could not follow {what} ({type(error).__name__}: {str(error).strip()[:100]}). "
        "The program ran as it does without a recording."
    )


def guarded(otherwise: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Guard a method: if it raises, call `self.lost(its name, its arguments, the error)` and return `otherwise`."""

    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        name = method.__name__

        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return method(self, *args, **kwargs)
            except Exception as error:
                note(self, name, args, error)
                return otherwise

        return run

    return guard


def note(watcher: Any, event: str, args: tuple[Any, ...], error: Exception) -> None:
    """Tell `watcher` that it lost an event, while the error is being handled."""
    if strict:
        raise error
    attempt(functools.partial(watcher.lost, event, args, error), None)


def attempt(make: Callable[[], Result], otherwise: Result) -> Result:
    """Return `make()`, or `otherwise` if it raises."""
    return rescue(make, lambda _: otherwise)


def rescue(make: Callable[[], Result], instead: Callable[[Exception], Result]) -> Result:
    """Return `make()`; if it raises, return `instead(error)`."""
    try:
        return make()
    except Exception as error:
        if strict:
            raise
        return instead(error)
