"""Show two pieces of code side by side: the learner's, and the one that does the same in the
engine's core."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from functools import reduce
from html import escape
from typing import Any

from ...engine import core
from .bench import is_model

MOST = 44  # the longest piece in lines


@dataclass(frozen=True, repr=False)
class Beside:
    """Pieces of code with their headings, as text and as columns."""

    pieces: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{head}\n\n{textwrap.indent(code, '    ')}" for head, code in self.pieces
        )

    def _repr_html_(self) -> str:
        # Jupyter would wrap the lines
        scrolls = "white-space:pre;word-break:normal;overflow-wrap:normal;overflow-x:auto"
        code = f"{scrolls};font-size:12px;line-height:1.4;padding:6px 8px;margin:4px 0 8px;border:1px solid #8888"
        parts = [
            f"<section aria-label='{escape(head, quote=True)}'><strong>{escape(head)}</strong>"
            f"<pre tabindex='0' style='{code}'>{escape(text)}</pre></section>"
            for head, text in self.pieces
        ]
        mine = [
            part
            for (head, _), part in zip(self.pieces, parts)
            if head.startswith(("yours", "the model's"))
        ]
        columns = [("1 1 20em", mine), ("2 1 62em", parts[len(mine) :])]
        divided = (
            f"<div style='flex:{flex};min-width:0'>{''.join(inside)}</div>"
            for flex, inside in columns
            if inside
        )
        return f"<div style='display:flex;flex-wrap:wrap;gap:4px 16px;max-width:100%'>{''.join(divided)}</div>"


def beside(mine: Any, *theirs: str) -> Beside:
    """Return the learner's code beside the source of the corresponding code in
    `autolab/engine/core/`.

    mine: the learner's function or class, or None. theirs: file and name, such as "backward.plan".
    Of a class, the part before its first method is shown.

    Raises AttributeError for a name that the core does not have.

    Example:

        >>> from autolab.lessons.lesson04 import beside
        >>> print(repr(beside(None, "errors.bad_argument")).splitlines()[0])
        engine/core/errors.py: bad_argument
    """
    pieces = []
    if mine is not None:
        whose = "the model's" if is_model(mine) else "yours"
        pieces = [(f"{whose}: {mine.__name__}", _source(mine))]
    for name in theirs:
        file, _, inner = name.partition(".")
        module = importlib.import_module(f"{core.__name__}.{file}")
        text = _source(reduce(getattr, inner.split("."), module), str(module.__file__))
        pieces.append((f"engine/core/{file}.py: {inner}", text))
    return Beside(tuple(pieces))


def _of_class(kind: type, file: str) -> str:
    """Return a class as written in its file or in a notebook's cell. Python itself finds the source
    of functions only."""
    functions = (
        item.__code__.co_filename for item in vars(kind).values() if inspect.isfunction(item)
    )
    lines = linecache.getlines(file or next(functions))
    found = (node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.ClassDef))
    place = next(node for node in found if node.name == kind.__name__)
    return "".join(lines[place.lineno - 1 : place.end_lineno])


def _source(item: Any, file: str = "") -> str:
    """Return the source of a function or class. file: the file of a class that names another module
    as its own."""
    try:
        text = (
            _of_class(item, file)
            if isinstance(item, type)
            else inspect.getsource(inspect.unwrap(item))
        )
    except (OSError, TypeError, SyntaxError, StopIteration):
        return "(its source is not kept)"
    lines = textwrap.dedent(text).rstrip().splitlines()
    if isinstance(item, type):
        first = next(
            (i for i, line in enumerate(lines) if line.startswith(("    def ", "    @"))),
            len(lines),
        )
        if first + 12 < len(lines):
            lines = [*lines[:first], "    ..."]
    return "\n".join(lines if len(lines) <= MOST else [*lines[:MOST], "..."]).rstrip()
