"""Find out from Python's stack where an operation comes from."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from . import names

Lines = tuple[tuple[str, int], ...]
"""File and line of frames, the innermost first."""


class At(NamedTuple):
    """The origin of an operation: the learner's frame; modules whose forward is running; whether it is inside a custom
    function's forward; the class of the optimizer that computes it, or None; file and line of every frame outside the
    libraries' own code."""

    frame: FrameType | None
    modules: list[Any]
    hidden: bool
    optimizer: type | None
    lines: Lines
    compiled: bool = False  # whether it is inside a function that torch.compile made
    line: int | None = None  # the line that `frame` was at; the frame itself goes on running


def at(
    library: str, custom: bool, modules: list[Any] | None = None, frame: FrameType | None = None
) -> At:
    """Return the origin of the event of `library` that the caller has just received, or of what ran in `frame`. custom:
    it is the event of a custom function itself; modules: the running ones, if known. A line of an installed library
    counts only if no line of the learner's is around it.

    custom: it is the event of a custom function itself; modules: those that run, where they are known. The line of an
    installed library counts only where no line of the learner's is around it."""
    frame = frame or sys._getframe(2)
    learner, installed, applies, optimizer, compiled = None, None, 0, None, False
    running: list[Any] = []
    lines = []
    kinds = _KINDS_OF[library]
    while frame is not None:
        code = frame.f_code
        known = kinds.get(id(code)) or _meet(kinds, code, library)
        kind = known[0]
        if not kind:
            pass
        elif kind == "learner" or kind == "installed":
            lines.append((code.co_filename, frame.f_lineno))
            installed = installed or frame
            if kind == "learner":
                learner = learner or frame
        elif kind == "apply":
            applies += 1
        elif kind == "module":
            running.append(names.local_names(frame)["self"])
        elif kind == "optimizer" and installed is None and optimizer is None:
            optimizer = type(frame.f_locals.get("self"))
        elif kind == "compiled":
            compiled = True
        frame = frame.f_back
    running = running if modules is None else modules
    return At(learner or installed, running, applies > custom, optimizer, tuple(lines), compiled)


def in_optimizer() -> bool:
    """Return whether the innermost code, besides the package's own and PyTorch's internals, belongs to an optimizer of
    PyTorch."""
    kinds = (_kind(f.f_code.co_filename, f.f_code.co_name, "torch") for f in _frames())
    return next(filter(None, kinds), "") == "optimizer"


def _frames(frame: FrameType | None = None) -> Iterator[FrameType]:
    """Yield `frame` (default: the frame of the caller's caller) and the frames around it."""
    frame = frame or sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.cache
def _kind(filename: str, name: str, library: str) -> str:
    """Return the role of a function for a library's events: "learner" or "installed" for code outside the libraries, ""
    for code of autolab or PyTorch without a special role."""
    if not names.inside(filename):
        return "installed" if names.in_library(filename) else "learner"
    path = filename.replace("\\", "/")
    if f"{library}/optim/" in path:
        return "optimizer"
    found = (k for k, n, file in _KINDS[library] if n == name and path.endswith(file))
    return next(found, "")


_KINDS = {
    "autolab": [
        ("apply", "apply", "autolab/engine/autograd/function.py"),
        ("module", "__call__", "autolab/nn/modules/hooks.py"),
    ],
    "torch": [
        ("apply", "apply", "torch/autograd/function.py"),
        ("compiled", "compile_wrapper", "torch/_dynamo/eval_frame.py"),
    ],
}
"""(kind, name, file) of functions."""


_KINDS_OF: dict[str, dict[int, tuple[str, CodeType]]] = {library: {} for library in _KINDS}
"""Per library: id of a function's code -> (its kind, the code, so that the id is not used again)."""


def _meet(
    kinds: dict[int, tuple[str, CodeType]], code: CodeType, library: str
) -> tuple[str, CodeType]:
    found = kinds[id(code)] = _kind(code.co_filename, code.co_name, library), code
    return found


def clearing() -> Any:
    """Return the PyTorch optimizer or module whose `zero_grad()` is running, or None."""
    for frame in itertools.takewhile(names.ours, _frames()):
        if frame.f_code.co_name == "zero_grad":
            return frame.f_locals.get("self")
    return None


def custom_function() -> FrameType | None:
    """Return the outermost running call of a PyTorch custom function."""
    found = None
    for frame in _frames():
        code = frame.f_code
        if code.co_name == "apply" and _kind(code.co_filename, "apply", "torch") == "apply":
            found = frame
    return found


def lines(frame: FrameType | None) -> Lines:
    """Return the learner's position: file and line of every frame of their code, from `frame` outwards."""
    around = _frames(frame) if frame is not None else ()
    return tuple([(f.f_code.co_filename, f.f_lineno) for f in around if not names.ours(f)])
