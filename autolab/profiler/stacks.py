"""Python functions as events of a profile (`with_stack=True`)."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np

_HERE = Path(__file__).parent
_ENGINE = (
    str(_HERE.parent / "engine"),
    *(str(p) for p in _HERE.glob("*.py") if p.stem != "__init__"),
    "<profiled>",
)
_LIBRARIES = ("<frozen", str(Path(functools.__file__).parent), str(Path(np.__file__).parent))


def place(code):
    """'file(line): function' of a function's code, the file as seen from where modules are imported."""
    file = code.co_filename
    for folder in sys.path:
        if folder and file.startswith(folder.rstrip("/") + "/"):
            file = file[len(folder.rstrip("/")) + 1 :]
            break
    return f"{file}({code.co_firstlineno}): {code.co_name}"


class CallWatcher:
    """Opens a row of `recorder` for every Python function that is called in its thread; the engine's own are left
    out."""

    def __init__(self, recorder):
        self.recorder, self.open, self.before = recorder, [], None
        self.hidden = None  # a library's function that the engine called: what it calls is no more the user's than itself

    def start(self):
        """From the caller of the profiler on: what is running now is an outer call."""
        self.before = sys.getprofile()
        sys.setprofile(self._event)

    def stop(self):
        """Ends with what was watching before."""
        sys.setprofile(self.before)

    def _event(self, frame, event, arg):
        if event not in ("call", "return"):
            return
        if self.hidden is not None:
            if event == "return" and frame is self.hidden:
                self.hidden = None
            return
        file, caller = frame.f_code.co_filename, frame.f_back
        if file.startswith(_ENGINE):
            return
        if event == "call":
            if (
                file.startswith(_LIBRARIES)
                and caller is not None
                and caller.f_code.co_filename.startswith(_ENGINE)
            ):
                self.hidden = frame
                return
            row = self.recorder.open(place(frame.f_code), python=True)
            self.open.append((frame, row))
        elif self.open and self.open[-1][0] is frame:
            from .recorder import clock

            self.open.pop()[1].end = clock()
