"""A room: the notebooks of a class send anonymous answers to a page on the instructor's machine.

    autolab-kit room serve                              # the instructor, in a terminal: says address and code
    autolab.room("http://192.168.1.5:8765", "4KD2")     # a student, in a notebook; answers are sent from now on
    autolab.room.hand_in()                              # sends what was answered in the inventory, too
    autolab.room.leave()                                # nothing is sent any more

Without a room nothing is sent anywhere. `student.py` sends, `questions.py` knows the questions,
`tally.py` counts and stores, `server.py` serves the pages, and `phone.py` makes the QR codes.
docs/room.md says what is sent and what is kept.
"""

from __future__ import annotations

import sys
import types

from .student import Room, hand_in, join as _join, leave

__all__ = ["Room", "hand_in", "leave"]


class _Package(types.ModuleType):
    """The package `autolab.room`, which can also be called to join a room."""

    def __call__(self, address: str = "", code: str = "") -> Room:
        """Join the room at an address with the code that the instructor shows. Without an address,
        return the state of the room.

        From then on, answers to predictions and questions are sent. If the room cannot be reached,
        nothing is raised and answers wait.

        Raises ValueError for an invalid address or code, and for a code that the room refuses.
        """
        return _join(address, code)


sys.modules[__name__].__class__ = _Package
