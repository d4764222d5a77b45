"""Where an operation comes from, read off Python's stack."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

from . import names

_FUNCTION_FILE = "autolab/engine/autograd/function.py"
_MODULE_FILE = "autolab/nn/modules/hooks.py"
_OPTIM_FOLDER = "autolab/optim/"


class At(NamedTuple):
    """Where an operation comes from: the learner's frame; modules whose forward is running; whether this happens inside a custom
    function's forward; the class of the optimizer whose own arithmetic it is, or None."""

    frame: FrameType | None
    modules: list[Any]
    hidden: bool
    optimizer: type | None


def at(custom: bool) -> At:
    """Where the event comes from that the caller has just received; `custom`: it is that of a custom function itself."""
    frame: FrameType | None = sys._getframe(2)
    learner, modules, applies, optimizer = None, [], 0, None
    while frame is not None:
        code = frame.f_code
        if not names.ours(frame):
            learner = learner or frame
        elif code.co_name == "apply" and code.co_filename.replace("\\", "/").endswith(_FUNCTION_FILE):
            applies += 1
        elif code.co_name == "__call__" and code.co_filename.replace("\\", "/").endswith(_MODULE_FILE):
            modules.append(names.local_names(frame)["self"])
        elif learner is None and optimizer is None and _OPTIM_FOLDER in code.co_filename.replace("\\", "/"):
            optimizer = type(frame.f_locals.get("self"))
        frame = frame.f_back
    return At(learner, modules, applies > custom, optimizer)


def lines(frame: FrameType | None) -> tuple[tuple[str, int], ...]:
    """Where the learner's code is: file and line of every frame of it, from `frame` outwards."""
    found = []
    while frame is not None:
        if not names.ours(frame):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)
