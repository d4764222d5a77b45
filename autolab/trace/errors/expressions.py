"""The expression of the learner's code that an error came from: which call it is, and which tensors stand in it.

CPython knows the columns of every instruction (PEP 657), so that of `y = f(a) + b * c` the product can be told from the
sum. Nothing is called or computed again: operands are names, attributes that lie in an object, and numbers."""

from __future__ import annotations

import ast
import itertools
import linecache
from dataclasses import dataclass, field
from types import FrameType, ModuleType, TracebackType
from typing import Any

from ..reader import is_tensor

_SIGNS = {
    "MatMult": "matmul", "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "Pow": "pow", "Mod": "remainder",
    "FloorDiv": "floor_divide",
    "USub": "neg", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge",
    "BitAnd": "bitwise_and", "BitOr": "bitwise_or",
}  # fmt: skip


@dataclass
class Expression:
    """name: what was called ("matmul" for `a @ b`), "" when it is no call. operands: the tensors in it, by argument or
    place. method: whether it was called as something's method, not as a function of a module. unnamed: whether
    something in it has no name, so that it is not at hand."""

    name: str
    operands: dict[str, Any] = field(default_factory=dict)
    method: bool = False
    unnamed: bool = False


def at(trace: TracebackType) -> Expression | None:
    """The expression that one entry of a traceback was at, or None when the text cannot be read."""
    return _of(trace.tb_frame, trace.tb_lasti)


def running(frame: FrameType) -> Expression | None:
    """The expression that a running frame is at."""
    return _of(frame, frame.f_lasti)


def _of(frame: FrameType, instruction: int) -> Expression | None:
    code = frame.f_code
    first, last, start, end = next(
        itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4
    )
    if first is None or last is None or start is None or end is None:
        return None
    lines = [
        linecache.getline(code.co_filename, n, frame.f_globals).encode()
        for n in range(first, last + 1)
    ]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        body = ast.parse(b"(\n" + b"".join(lines) + b"\n)").body
    except SyntaxError:
        try:
            body = ast.parse(b"".join(lines).strip()).body  # `x += y` is a statement
        except SyntaxError:
            return None
    return _read(body[0], _Names(frame)) if len(body) == 1 else None


def _read(node: Any, known: _Names) -> Expression:
    node = node.value if isinstance(node, ast.Expr) else node
    if isinstance(node, ast.Call):
        name, items = _called(node, known)
    elif isinstance(node, ast.BinOp):
        name, items = _SIGNS.get(type(node.op).__name__, ""), [("0", node.left), ("1", node.right)]
    elif isinstance(node, ast.AugAssign):
        name, items = (
            _SIGNS.get(type(node.op).__name__, "") + "_",
            [("0", node.target), ("1", node.value)],
        )
    elif isinstance(node, ast.UnaryOp):
        name, items = _SIGNS.get(type(node.op).__name__, ""), [("0", node.operand)]
    elif isinstance(node, ast.Compare):
        name, items = (
            _SIGNS.get(type(node.ops[0]).__name__, ""),
            [("0", node.left), ("1", node.comparators[0])],
        )
    elif isinstance(node, ast.Attribute):
        name, items = node.attr, [("self", node.value)]
    elif isinstance(node, ast.Subscript):
        name, items = "getitem", [("0", node.value), ("index", node.slice)]
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        name, items = "setitem", [("0", node.targets[0].value), ("value", node.value)]
    else:
        name, items = "", [("0", node)]
    owner = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    method = owner is not None and not isinstance(known.value(owner), (ModuleType, type))
    unnamed = any(
        not isinstance(item, (ast.Name, ast.Attribute, ast.Constant, ast.Slice))
        for _, item in items
    )
    return Expression(
        name,
        {place: value for place, item in items if is_tensor(value := known.value(item))},
        method,
        unnamed,
    )


def _called(node: ast.Call, known: _Names) -> tuple[str, list[tuple[str, Any]]]:
    function, items = node.func, []
    if isinstance(function, ast.Attribute):
        name = (
            "" if hasattr(type(known.value(function)), "named_parameters") else function.attr
        )  # a module: its forward calls something
        if is_tensor(known.value(function.value)):
            items.append(("self", function.value))
    else:
        name = (
            function.id
            if isinstance(function, ast.Name)
            and not hasattr(type(known.value(function)), "named_parameters")
            else ""
        )
    for i, argument in enumerate(node.args):
        listed = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else None
        items += (
            [(str(i), argument)]
            if listed is None
            else [(f"{i}[{k}]", item) for k, item in enumerate(listed)]
        )
    items += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None]
    return name, items


class _Names:
    """What the names of a frame mean, without running anything of the learner's."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame

    def value(self, node: Any) -> Any:
        if isinstance(node, ast.Name):
            held = self.frame.f_locals
            return held[node.id] if node.id in held else self.frame.f_globals.get(node.id)
        if isinstance(node, ast.Attribute):
            return _attribute(self.value(node.value), node.attr)
        return None


def _attribute(item: Any, name: str) -> Any:
    held = getattr(item, "__dict__", {})
    for place in (held, *(held.get(n) or {} for n in ("_parameters", "_buffers", "_modules"))):
        if isinstance(place, dict) and name in place:
            return place[name]
    return None
