"""Find the variable names that the learner's code assigns to the results of a call that is still running."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

from . import names
from .errors.expressions import Place

LONGEST = 40
"""Of a target such as `self.history["x"][-1]` that is longer nothing is said."""


def to_grad(frame: FrameType | None, count: int) -> list[str]:
    """Return names for the `count` results of the `grad()` call that `frame` runs in. A result without a name gets "".
    All names are "" if code other than the learner's made the call."""
    while frame is not None and (frame.f_code.co_name != "grad" or not names.ours(frame)):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_name == "grad" and names.ours(frame):
        frame = frame.f_back  # the frame of `torch.autograd`, which calls the core
    if frame is None or names.ours(frame):
        return [""] * count
    place = Place(frame, frame.f_lasti, frame.f_lineno)
    for scope in place.scopes() if place.node is not None else ():
        for statement in ast.walk(scope):
            value: Any = getattr(statement, "value", None)
            targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
            found = [n for t in targets for n in [_named(t, value, place.node, count)] if any(n)]
            if found:
                return found[0]
    return [""] * count


def _named(target: Any, value: Any, call: Any, count: int) -> list[str]:
    """Return the names of the call's results when the statement is `target = value`."""
    if value is call and isinstance(target, ast.Tuple | ast.List):
        return [_text(t) for t in target.elts] if len(target.elts) == count else []
    if value is call:
        whole = _text(target)
        return [f"{whole}[{i}]" if whole else "" for i in range(count)]
    if isinstance(value, ast.Subscript) and value.value is call:
        place = value.slice.value if isinstance(value.slice, ast.Constant) else None
        return [_text(target) if i == place else "" for i in range(count)]
    return []


def _text(target: Any) -> str:
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        return ""
    text = ast.unparse(target)
    return text if len(text) <= LONGEST and "\n" not in text else ""
