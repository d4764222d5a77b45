"""How a wrong rule takes the place of the engine's own: in the thread that asks for it, and only while it runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from ..engine.core import observe

Place = tuple[Any, str, str]
"""Where a rule stands: its owner (a class or a module), its name there, and "call", or "get" or "set" of a property."""

_lock = threading.RLock()
_standing: dict[
    tuple[Any, str], list[Any]
] = {}  # (owner, name) -> [how many runs need it, what stood there, what does]
_ABSENT = object()


class _Thread(threading.local):
    rules: Mapping[Place, Callable[..., Any]] = {}
    notes: dict[int, tuple[Any, Any]] | None = None


_thread = _Thread()


@contextmanager
def exchanged(rules: Mapping[Place, Callable[..., Any]]) -> Iterator[None]:
    """Inside the block, and in this thread, each rule of `rules` is called in the place of what stands there, with that
    as its first argument.

    Other threads run what stood there. Afterwards it stands there again, also when the block raised. Within a block of
    the same kind only the inner one's rules hold."""
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
    """Tells recordings, which look at who watches, that the rules are not all the engine's own."""

    exchanges = True


@contextmanager
def _general_pass() -> Iterator[None]:
    """While somebody watches, no shortcut goes around the core's own backward pass."""
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
                elif vars(owner).get(name) is stand_in:  # what the program itself put there stays
                    setattr(owner, name, own)


def _stand_in(owner: Any, name: str, own: Any) -> Any:
    """What asks, at each call, which rule holds in the thread that calls."""

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
    """Remembers `what` about the object `about`, until the run of the specimen ends."""
    if _thread.notes is not None:
        _thread.notes[id(about)] = about, what


def noted(about: Any) -> Any:
    """What was remembered about an object; None if nothing was."""
    return (_thread.notes or {}).get(id(about), (None, None))[1]
