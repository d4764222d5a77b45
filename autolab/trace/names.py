"""Names and lines of the learner's own code: what a tensor is called there, and which line made it."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from .model import Source
from .reader import is_tensor

_IPYTHON_7 = re.compile(r"<ipython-input-(\d+)-")  # what IPython 7, which Colab has, calls a cell
PACKAGE = str(Path(__file__).parent.parent)  # not resolved: behind a link, frames say the path by which they were imported
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {"<frozen"})
LIST_LIMIT = 50
"""Tensors in a list or tuple of at most this many are found by name too: `params[0]`."""


@functools.cache
def inside(filename: str) -> bool:
    """Whether the code of this file is the package's own."""
    return filename.startswith(PACKAGE)


def caller(frame: FrameType | None = None) -> FrameType | None:
    """The first frame outside the autolab package, from `frame` (default: here) outwards."""
    frame = frame or sys._getframe(1)
    while frame is not None and ours(frame):
        frame = frame.f_back
    return frame


def ours(frame: FrameType) -> bool:
    """Whether a frame runs code of the package, code it generated included (`engine/generated.py` names it as if it had files there)."""
    return inside(frame.f_code.co_filename)


def local_names(frame: FrameType) -> dict[str, Any]:
    """A frame's local variables."""
    found = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(found)  # a module or notebook cell: this dict is where the variables live
    names = dict(found)
    if isinstance(
        found, dict
    ):  # before Python 3.13 a function's frame keeps this copy, and tensors alive after `del x`
        found.clear()
    return names


def library(frame: FrameType) -> bool:
    """Whether a frame runs code of an installed library or of Python itself: neither the package's nor the learner's."""
    return frame.f_code.co_filename.startswith(_LIBRARIES)


def source(frame: FrameType | None, line: int | None = None) -> Source | None:
    """The line that `frame` is at, or `line` of its file. Notebook cells have a made-up file name, whose text linecache knows all the same."""
    if frame is None:
        return None
    filename = frame.f_code.co_filename
    line = frame.f_lineno if line is None else line
    text = linecache.getline(filename, line, frame.f_globals).strip()
    return Source(_file_label(filename), line, text)


def _file_label(filename: str) -> str:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)
    if cell is None and (named := _IPYTHON_7.match(filename)):
        cell = named[1]
    if cell is not None:
        return f"cell {cell}"
    return "cell" if Path(filename).parent.name.startswith("ipykernel_") else Path(filename).name


def namespace(frame: FrameType | None) -> dict[str, Any]:
    """What names mean at `frame`: its locals before its globals, and the notebook's variables after both."""
    names: dict[str, Any] = {}
    if frame is not None:
        # Locals first: the order decides which of two names a tensor gets.
        names = local_names(frame)
        names = {**names, **{k: v for k, v in frame.f_globals.items() if k not in names}}
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for name, item in (getattr(shell, "user_ns", None) or {}).items():
        names.setdefault(name, item)
    return names


def tensors(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, tensor) for the tensors that `names` leads to: directly, in a short list or dict, as a module's
    parameters or buffers.

    Direct names come first, so they win over `params[0]`. Names with a leading underscore are the shell's or
    private."""
    later = []
    for name, item in list(names.items()):
        if name.startswith("_") or name in ("In", "Out"):
            continue
        if is_tensor(item):
            yield name, item
        elif (
            isinstance(item, (list, tuple, dict)) and len(item) <= LIST_LIMIT or hasattr(type(item), "named_parameters")
        ):
            later.append((name, item))
    for name, item in later:
        if hasattr(type(item), "named_parameters"):
            yield from _of_module(item)
        else:
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            yield from ((f"{name}[{k!r}]", part) for k, part in pairs if is_tensor(part))


def _of_module(module: Any) -> Iterator[tuple[str, Any]]:
    try:
        yield from module.named_parameters()
        yield from module.named_buffers()
    except Exception:  # a module whose __init__ did not finish has no parameters to name
        return
