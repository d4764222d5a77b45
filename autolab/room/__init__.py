"""A room: a class whose notebooks send anonymous answers to a page on the instructor's machine.

    autolab-kit room serve                              # the instructor, in a terminal: says address and code
    autolab.room("http://192.168.1.5:8765", "4KD2")     # a student, in a notebook; answers are sent from now on
    autolab.room.hand_in()                              # sends what was answered in the inventory, too
    autolab.room.leave()                                # nothing is sent any more

Without a room nothing is sent anywhere, and nothing else changes. `student.py` sends, `questions.py` knows what is
asked, `tally.py` counts and keeps, `server.py` has the pages, `phone.py` the QR codes. docs/room.md says what is sent
and what is kept.
"""

from __future__ import annotations

import sys
import types

from .student import Room, hand_in, join as _join, leave

__all__ = ["Room", "hand_in", "leave"]


class _Package(types.ModuleType):
    """`autolab.room` is this package, and the function that joins."""

    def __call__(self, address: str = "", code: str = "") -> Room:
        """Joins the room at an address, with the code that the instructor shows; without an address says how it goes.

        Answers to predictions and questions are sent from then on. A room that is not there raises nothing: what is
        answered waits for it.

        Raises ValueError for what is no address or no code, and for a code that the room refuses.
        """
        return _join(address, code)


sys.modules[__name__].__class__ = _Package
