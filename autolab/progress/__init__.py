"""The learner's answers of every kind, kept in one small file on this machine.

    autolab.progress()                    # what is kept, counted
    autolab.progress.events("practice")   # the same, as data
    autolab.progress.where()              # the file; None where nothing is written
    autolab.progress.forget()             # deletes all of it

Everything that asks the learner something records the answer with one function, `record(kind, id,
given=…, right=…, belief=…, confidence=…, because=…, tries=…, help=…, seconds=…, choices=…)`. It
never raises if the disk is full or read-only: the event then stays in memory and is written
together with the next one. docs/progress.md describes the file. Nothing is sent anywhere, unless
the learner joins a room (`autolab.room`).
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
    """The package `autolab.progress`, which can also be called to show what it keeps."""

    def __call__(self, kind: str | None = None) -> Message:
        """Show what was answered and how often it was right at the first try. With `kind`, only
        events of that kind.

        Raises ValueError for an unknown kind.
        """
        return _summary(kind)


sys.modules[__name__].__class__ = _Package
