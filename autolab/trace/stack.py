"""Where an operation comes from, read off Python's stack."""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any, NamedTuple

from . import names

_FUNCTION_FILE = "autolab/engine/autograd/function.py"
_MODULE_FILE = "autolab/nn/modules/hooks.py"
_OPTIM_FOLDER = "autolab/optim/"


class At(NamedTuple):
    """Where an operation comes from: the learner's frame; modules whose forward is running; whether this happens inside
    a custom function's forward; the class of the optimizer whose own arithmetic it is, or None."""

    frame: FrameType | None
    modules: list[Any]
    hidden: bool
    optimizer: type | None
    compiled: bool = False  # whether a function that torch.compile made is around it
    line: int | None = None  # of the learner's frame, where that may have gone on since


def at(custom: bool) -> At:
    """Where the event comes from that the caller has just received; `custom`: it is that of a custom function
    itself."""
    frame: FrameType | None = sys._getframe(2)
    learner, modules, applies, optimizer = None, [], 0, None
    while frame is not None:
        code = frame.f_code
        if not names.ours(frame):
            learner = learner or frame
        elif code.co_name == "apply" and code.co_filename.replace("\\", "/").endswith(
            _FUNCTION_FILE
        ):
            applies += 1
        elif code.co_name == "__call__" and code.co_filename.replace("\\", "/").endswith(
            _MODULE_FILE
        ):
            modules.append(names.local_names(frame)["self"])
        elif (
            learner is None
            and optimizer is None
            and _OPTIM_FOLDER in code.co_filename.replace("\\", "/")
        ):
            optimizer = type(frame.f_locals.get("self"))
        frame = frame.f_back
    return At(learner, modules, applies > custom, optimizer)


def at_torch(custom: bool, modules: list[Any], frame: FrameType | None = None) -> At:
    """The same for PyTorch's operations, or from `frame` outwards. A library's line counts only where no line of the
    learner's is around it."""
    frame = frame or sys._getframe(2)
    learner, library, applies, optimizer, compiled = None, None, 0, None, False
    while frame is not None:
        code = frame.f_code
        kind = _kind(code.co_filename, code.co_name)
        if kind == "learner" or kind == "library":
            if kind == "learner":
                learner = learner or frame
            library = library or frame
        elif kind == "apply":
            applies += 1
        elif kind == "optimizer" and library is None and optimizer is None:
            optimizer = type(frame.f_locals.get("self"))
        elif kind == "compiled":
            compiled = True
        frame = frame.f_back
    return At(learner or library, modules, applies > custom, optimizer, compiled)


def in_optimizer() -> bool:
    """Whether the innermost code, but for the package's own and PyTorch's plumbing, is that of an optimizer of
    PyTorch's."""
    frame: FrameType | None = sys._getframe(1)
    kind = ""
    while frame is not None and not kind:
        kind = _kind(frame.f_code.co_filename, frame.f_code.co_name)
        frame = frame.f_back
    return kind == "optimizer"


@functools.cache
def _kind(filename: str, name: str) -> str:
    """What a function of PyTorch's, of the package's ("") or of somebody else's is to `at_torch`."""
    path = filename.replace("\\", "/")
    if not names.inside(filename):
        return "library" if names.in_library(filename) else "learner"
    if "torch/optim/" in path:
        return "optimizer"
    return next(
        (
            kind
            for kind, (function, file) in _KINDS.items()
            if function == name and path.endswith(file)
        ),
        "",
    )


_KINDS = {
    "apply": ("apply", "torch/autograd/function.py"),
    "compiled": ("compile_wrapper", "torch/_dynamo/eval_frame.py"),
}


def clearing() -> Any:
    """The optimizer or module of PyTorch's whose `zero_grad()` is running, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "zero_grad" and names.inside(code.co_filename):
            return frame.f_locals.get("self")
        if not names.inside(code.co_filename):
            return None
        frame = frame.f_back
    return None


def custom_function() -> FrameType | None:
    """The outermost call of a custom function of PyTorch's that is running."""
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None:
        if frame.f_code.co_name == "apply" and _kind(frame.f_code.co_filename, "apply") == "apply":
            found = frame
        frame = frame.f_back
    return found


def lines(frame: FrameType | None) -> tuple[tuple[str, int], ...]:
    """Where the learner's code is: file and line of every frame of it, from `frame` outwards."""
    found = []
    while frame is not None:
        filename = frame.f_code.co_filename
        if not names.inside(filename):
            found.append((filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)
