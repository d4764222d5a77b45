"""Names and lines of the learner's own code: which name a tensor has there, and which line made it."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .model import Source
from .reader import is_tensor

# the file name of a cell in IPython 7, which Colab uses
_IPYTHON_7 = re.compile(r"<ipython-input-(\d+)-")
PACKAGE = str(
    Path(__file__).parent.parent
)  # not resolved: if the package is behind a link, frames contain the path it was imported by
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {"<frozen"}
)
LIST_LIMIT = 50
"""Tensors in a list or tuple of at most this many are found by name too: `params[0]`."""


@functools.cache
def inside(filename: str) -> bool:
    """Return whether this file belongs to the package or to PyTorch, so that a learner did not write it."""
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    return (
        filename.startswith(PACKAGE)
        or torch is not None
        and filename.startswith(str(Path(torch).parent) + os.sep)
    )


def caller(frame: FrameType | None = None) -> FrameType | None:
    """Return the first frame outside the autolab package, from `frame` (default: here) outwards."""
    frame = frame or sys._getframe(1)
    while frame is not None and ours(frame):
        frame = frame.f_back
    return frame


def ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of the package, including generated code (`engine/generated.py` names it like
    files in the package)."""
    return inside(frame.f_code.co_filename)


def local_names(frame: FrameType) -> dict[str, Any]:
    """Return a frame's local variables."""
    found = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(found)  # a module or notebook cell: this dict is where the variables live
    names = dict(found)
    if isinstance(
        found, dict
    ):  # before Python 3.13 a function's frame keeps this copy, which keeps tensors alive after `del x`
        found.clear()
    if sys.version_info >= (3, 12) and (comprehended := _comprehended(frame.f_code)):
        line, _, column, _ = next(
            itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
        )
        for name, begin, end in comprehended:
            if line is not None and begin <= (line, column) < end:
                names.pop(name, None)
    return names


@functools.lru_cache(256)
def _comprehended(code: CodeType) -> list[tuple[str, Any, Any]]:
    """Return the variables of comprehensions, each with the start and end of its comprehension. Python 3.12 and
    newer run a comprehension in the surrounding frame, older versions in a frame of its own; in both, its names end
    with it."""
    clearing = (item for item in dis.get_instructions(code) if item.opname == "LOAD_FAST_AND_CLEAR")
    places = ((item.argval, item.positions) for item in clearing)
    return [
        (name, (p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset))
        for name, p in places
        if p
    ]


def library(frame: FrameType) -> bool:
    """Return whether a frame runs code of an installed library or of Python itself: neither the package's nor the
    learner's."""
    return in_library(frame.f_code.co_filename)


def in_library(filename: str) -> bool:
    """Return whether a file belongs to an installed library or to Python itself."""
    return filename.startswith(_LIBRARIES)


def source(frame: FrameType | None, line: int | None = None) -> Source | None:
    """Return the line that `frame` is at, or `line` of its file. Notebook cells have an invented file name, whose text
    linecache knows."""
    if frame is None:
        return None
    filename = frame.f_code.co_filename
    line = frame.f_lineno if line is None else line
    text = linecache.getline(filename, line, frame.f_globals).strip()
    return Source(file_label(filename), line, text)


def file_label(filename: str) -> str:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)
    if cell is None and (named := _IPYTHON_7.match(filename)):
        cell = named[1]
    if cell is not None:
        return f"cell {cell}"
    return _short(filename)


@functools.cache
def _short(filename: str) -> str:
    return "cell" if Path(filename).parent.name.startswith("ipykernel_") else Path(filename).name


def namespace(frame: FrameType | None) -> dict[str, Any]:
    """Return the variables visible at `frame`: its locals, then its globals, the notebook's variables, and last the
    variables of the calling functions."""
    names: dict[str, Any] = {}
    if frame is not None:
        # Locals first: if a tensor has two names, the first one found wins.
        names = local_names(frame)
        names = {**names, **{k: v for k, v in frame.f_globals.items() if k not in names}}
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for name, item in (getattr(shell, "user_ns", None) or {}).items():
        names.setdefault(name, item)
    while frame is not None:
        frame = frame.f_back
        if (
            frame is not None
            and frame.f_code.co_flags & inspect.CO_OPTIMIZED  # a module or cell adds nothing new
            and not library(
                frame
            )  # IPython also stores the learner's variables under its own names
        ):
            for name, item in local_names(frame).items():
                names.setdefault(
                    name if names.get(name, item) is item else f"{name} of {frame.f_code.co_name}",
                    item,
                )
    return names


def tensors(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, tensor) for the tensors reachable from `names`: directly, in short lists and dicts, and in
    attributes, as a module's parameters or buffers.

    A module's tensor is named by its path in the module, and not `p` after the loop variable of `for p in
    net.parameters()`; only `self.weight` comes before the path. Direct names win over `params[0]`. Names with a leading
    underscore are skipped: they belong to the shell or are private."""
    modules = {n: m for n, m in names.items() if _is_module(m) and not n.startswith("_")}
    paths = list(_of_modules(modules))
    owned = {id(tensor) for _, tensor in paths}
    for name, tensor in values(names):
        if id(tensor) not in owned or name.startswith("self."):
            yield name, tensor
    yield from paths


def values(
    names: Mapping[str, Any], wanted: Callable[[Any], bool] = is_tensor
) -> Iterator[tuple[str, Any]]:
    """Yield `tensors` without the contents of modules; or other objects, for which `wanted` is true."""
    later = []
    for name, item in list(names.items()):
        if name.startswith("_") or name in ("In", "Out"):
            continue
        if wanted(item):
            yield name, item
        elif isinstance(item, _CONTAINERS) or _has_attributes(item, name):
            later.append((name, item))
    for name, item in later:
        yield from _inside(name, item, DEPTH, wanted)


_CONTAINERS = (list, tuple, dict)
DEPTH = 3
"""How many brackets and dots deep a tensor is found: `cache["h"][0]`, `self.layers[2]`."""


def _has_attributes(item: Any, name: str) -> bool:
    """Return whether it is an object of a class that the learner wrote, like `self` in its methods."""
    kind = type(item)
    return name == "self" or kind.__module__ == "__main__" and not callable(item)


def _inside(
    name: str, item: Any, depth: int, wanted: Callable[[Any], bool]
) -> Iterator[tuple[str, Any]]:
    if isinstance(item, _CONTAINERS):
        if len(item) > LIST_LIMIT:
            return
        parts = item.items() if isinstance(item, dict) else enumerate(item)
        found = [(f"{name}[{key!r}]", part) for key, part in parts]
    else:
        attributes = getattr(item, "__dict__", None)
        if not isinstance(attributes, dict) or len(attributes) > LIST_LIMIT:
            return
        found = [
            (f"{name}.{key}", part) for key, part in attributes.items() if not key.startswith("_")
        ]
    for inner, part in found:
        if wanted(part):
            yield inner, part
        elif depth > 1 and isinstance(part, _CONTAINERS):
            yield from _inside(inner, part, depth - 1, wanted)


def _is_module(item: Any) -> bool:
    return hasattr(type(item), "named_parameters")


def _of_modules(modules: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (path, tensor). If the modules of two variables share a path, all paths of both start with the variable."""
    found: dict[int, tuple[str, str, Any]] = {}  # id of a tensor -> (variable, path, tensor)
    for name, module in modules.items():
        for path, tensor in _of_module(module):
            found.setdefault(id(tensor), (name, path, tensor))
    owners: dict[str, set[str]] = {}
    for name, path, _ in found.values():
        owners.setdefault(path, set()).add(name)
    alike = {name for names in owners.values() if len(names) > 1 for name in names}
    for name, path, tensor in found.values():
        yield f"{name}.{path}" if name in alike else path, tensor


def module_name(names: Mapping[str, Any], wanted: Any) -> str:
    """Return the variable that holds a module, or its path inside a module that a variable holds; "" for neither."""
    modules = {n: m for n, m in names.items() if _is_module(m) and not n.startswith("_")}
    direct = next((name for name, module in modules.items() if module is wanted), "")
    inside = (
        path
        for module in modules.values()
        for path, part in module.named_modules()
        if part is wanted
    )
    return direct or next(inside, "")


def _of_module(module: Any) -> Iterator[tuple[str, Any]]:
    try:
        yield from module.named_parameters()
        yield from module.named_buffers()
    except Exception:  # a module whose __init__ did not finish has no parameters yet
        return
