"""What the learner's code calls the results of a call that is running: read from its assignment."""

from __future__ import annotations

import ast
import functools
import linecache
from types import FrameType

from . import names

LONGEST = 40
"""Of a target such as `self.history["x"][-1]` that is longer nothing is said."""


def to_grad(frame: FrameType | None, count: int) -> list[str]:
    """Names for the `count` results of the `grad()` that `frame` runs in or under; "" for one that gets none, and for
    all when it was not the learner's code that called."""
    while frame is not None and frame.f_code.co_name != "grad":
        frame = frame.f_back
    caller = frame.f_back if frame is not None else None
    if (
        caller is not None and caller.f_code.co_name == "grad" and names.ours(caller)
    ):  # that of `torch.autograd`, over the core's
        caller = caller.f_back
    if caller is None or names.ours(caller):
        return [""] * count
    return _named(_assignment(caller), count)


def _assignment(frame: FrameType) -> tuple[list[ast.expr], ast.expr, ast.Call] | None:
    """(targets, value, the call in it) of the statement in which `frame` is calling something now."""
    code = frame.f_code
    place = next(iter([*code.co_positions()][frame.f_lasti // 2 :]), None)
    if place is None or None in place:
        return None
    text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    for targets, value in _assignments(code.co_filename, text):
        for call in ast.walk(value):
            if (
                isinstance(call, ast.Call)
                and (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset) == place
            ):
                return targets, value, call
    return None


@functools.lru_cache(maxsize=64)
def _assignments(filename: str, text: str) -> list[tuple[list[ast.expr], ast.expr]]:
    """(targets, value) of every assignment of a file."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file was changed since
        return []
    found: list[tuple[list[ast.expr], ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found.append((node.targets, node.value))
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            found.append(([node.target], node.value))
    return found


def _named(found: tuple[list[ast.expr], ast.expr, ast.Call] | None, count: int) -> list[str]:
    if found is None:
        return [""] * count
    targets, value, call = found
    for target in targets:
        result = _match(target, value, call, count)
        if any(result):
            return result
    return [""] * count


def _match(target: ast.expr, value: ast.expr, call: ast.Call, count: int) -> list[str]:
    """Names of the call's results where `target = value`."""
    if value is call:
        return _spread(target, count)
    if (
        isinstance(value, ast.Subscript)
        and value.value is call
        and isinstance(value.slice, ast.Constant | ast.UnaryOp)
    ):
        try:
            place = range(count)[ast.literal_eval(value.slice)]
        except (IndexError, TypeError, ValueError):
            return [""] * count
        return [_text(target) if i == place else "" for i in range(count)]
    if (
        isinstance(value, ast.Tuple | ast.List)
        and isinstance(target, ast.Tuple | ast.List)
        and len(value.elts) == len(target.elts)
    ):
        for part, of in zip(target.elts, value.elts):
            if not isinstance(part, ast.Starred) and any(result := _match(part, of, call, count)):
                return result
    return [""] * count


def _spread(target: ast.expr, count: int) -> list[str]:
    """Names of `count` results that are assigned to `target` as a tuple."""
    if not isinstance(target, ast.Tuple | ast.List):
        whole = _text(target)
        return [f"{whole}[{i}]" if whole else "" for i in range(count)]
    starred = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
    if starred is None:
        return [_text(part) for part in target.elts] if len(target.elts) == count else [""] * count
    rest = target.elts[starred]
    assert isinstance(rest, ast.Starred)
    many = count - len(target.elts) + 1
    before, after = target.elts[:starred], target.elts[starred + 1 :]
    return (
        [*map(_text, before), *_spread(rest.value, many), *map(_text, after)]
        if many >= 0
        else [""] * count
    )


def _text(target: ast.expr) -> str:
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        return ""
    text = ast.unparse(target)
    return text if len(text) <= LONGEST and "\n" not in text else ""
