"""What the learner did: answers of every kind, in one small file on this machine.

    autolab.progress()                    # what is kept, counted
    autolab.progress.events("practice")   # the same, as data
    autolab.progress.where()              # the file; None where nothing is written
    autolab.progress.forget()             # deletes all of it

Whatever asks a learner something tells it by one function, `record(kind, id, given=…, right=…, belief=…, confidence=…,
because=…, tries=…, help=…, seconds=…, choices=…)`. A disk that is full or may not be written never raises: the event
stays in memory and is written with the next one that can be. The file's schema is in docs/progress.md. Nothing is sent
anywhere, except by who joins a room (`autolab.room`).
"""

from __future__ import annotations

import sys
import types

from ..widgets.message import Message
from .event import KINDS, Event
from .store import events, forget, learner, record, where
from .summary import summary as _summary

__all__ = ["KINDS", "Event", "events", "forget", "learner", "record", "where"]


class _Package(types.ModuleType):
    """`autolab.progress` is this package, and the function that shows what it keeps."""

    def __call__(self, kind: str | None = None) -> Message:
        """Shows what was answered and how often it was right at the first try; with `kind`, only events of that kind.

        Raises ValueError for a kind that there is not."""
        return _summary(kind)


sys.modules[__name__].__class__ = _Package
