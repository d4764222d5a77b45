"""Put a wrong rule in the place of the engine's own rule, in one thread and only during one run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from ..engine.core import observe

Place = tuple[Any, str, str]
"""The place of a rule: its owner (a class or a module), its name there, and "call", or "get" or
"set" for a property."""

_lock = threading.RLock()
_standing: dict[
    tuple[Any, str], list[Any]
] = {}  # (owner, name) -> [number of runs that need it, the original, the replacement]
_ABSENT = object()


class _Thread(threading.local):
    rules: Mapping[Place, Callable[..., Any]] = {}
    notes: dict[int, tuple[Any, Any]] | None = None


_thread = _Thread()


@contextmanager
def exchanged(rules: Mapping[Place, Callable[..., Any]]) -> Iterator[None]:
    """Call each rule of `rules` in its place, inside the block and in this thread, with the
    original as its first argument.

    Other threads run the original. Afterwards the original is restored, also if the block raised.
    In nested blocks of the same kind, only the inner rules apply.
    """
    before = _thread.rules, _thread.notes
    with ExitStack() as stack:
        stack.enter_context(_general_pass())
        for key in {place[:2] for place in rules}:
            stack.enter_context(_chosen_by_thread(*key))
        _thread.rules, _thread.notes = rules, {}
        try:
            yield
        finally:
            _thread.rules, _thread.notes = before


class _Exchange(observe.Observer):
    """Tells recordings that the engine's rules are changed."""

    exchanges = True


@contextmanager
def _general_pass() -> Iterator[None]:
    """Use the core's general backward pass while it is observed, so that no shortcut avoids it."""
    nobody = _Exchange()
    with _lock:
        observe.add(nobody)
    try:
        yield
    finally:
        with _lock:
            observe.remove(nobody)


@contextmanager
def _chosen_by_thread(owner: Any, name: str) -> Iterator[None]:
    key = owner, name
    with _lock:
        if key not in _standing:
            own = vars(owner).get(name, _ABSENT)
            stand_in = _stand_in(owner, name, getattr(owner, name) if own is _ABSENT else own)
            setattr(owner, name, stand_in)
            _standing[key] = [0, own, stand_in]
        _standing[key][0] += 1
    try:
        yield
    finally:
        with _lock:
            count, own, stand_in = _standing[key]
            _standing[key][0] -= 1
            if count == 1:
                del _standing[key]
                if own is _ABSENT:
                    delattr(owner, name)
                elif vars(owner).get(name) is stand_in:  # a replacement by the program itself stays
                    setattr(owner, name, own)


def _stand_in(owner: Any, name: str, own: Any) -> Any:
    """Return a function that looks up, at each call, which rule applies in the calling thread."""

    def choosing(kind: str, function: Any) -> Callable[..., Any]:
        place = owner, name, kind

        @functools.wraps(function)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            rule = _thread.rules.get(place)
            return function(*args, **kwargs) if rule is None else rule(function, *args, **kwargs)

        return chosen

    if isinstance(own, property):
        return property(choosing("get", own.fget), choosing("set", own.fset), own.fdel, own.__doc__)
    return choosing("call", own)


def note(about: Any, what: Any) -> None:
    """Remember `what` about the object `about` until the run of the specimen ends."""
    if _thread.notes is not None:
        _thread.notes[id(about)] = about, what


def noted(about: Any) -> Any:
    """Return the note about an object, or None."""
    return (_thread.notes or {}).get(id(about), (None, None))[1]
