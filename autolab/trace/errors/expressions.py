"""Find the expression of the learner's code that raised an error: which call, which tensors, and the lines that
assigned its names.

CPython knows the columns of every instruction (PEP 657), so in `y = f(a) + b * c` the product can be told from the sum.
Nothing is called or recomputed: only names, attributes and elements of lists and dicts are looked up."""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType, TracebackType
from typing import Any

from .. import names
from ..model import Source
from ..reader import is_tensor

_SIGNS = {
    "MatMult": "matmul", "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "Pow": "pow", "Mod": "remainder",
    "FloorDiv": "floor_divide",
    "USub": "neg", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge",
    "BitAnd": "bitwise_and", "BitOr": "bitwise_or",
}  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)


@dataclass
class Expression:
    """A call in the code. name: the function called ("matmul" for `a @ b`), "" if it is not a call. operands: its
    tensors, by argument or position. method: whether it was called as a method, not as a function of a module. unnamed:
    whether part of it has no name, so that it cannot be looked up."""

    name: str
    operands: dict[str, Any] = field(default_factory=dict)
    method: bool = False
    unnamed: bool = False


class Place:
    """The position of a frame: `node` is the part of the syntax tree that runs, None if the source is not readable."""

    def __init__(self, frame: FrameType, instruction: int, line: int) -> None:
        self.frame, self.line = frame, line
        code = frame.f_code
        lines = linecache.getlines(code.co_filename, frame.f_globals)
        self.text = "".join(lines)
        self.tree = _parsed(self.text)
        position = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        self.node = None if self.tree is None else _node_at(self.tree, position)
        operation = dis.opname[code.co_code[instruction]] if instruction >= 0 else ""
        self.is_condition = "JUMP" in operation or operation == "TO_BOOL"

    def value(self, node: Any) -> Any:
        """Return the value of a name, attribute or element without running the learner's code; None for other nodes."""
        if isinstance(node, ast.Name):
            held = self.frame.f_locals
            return held[node.id] if node.id in held else self.frame.f_globals.get(node.id)
        if isinstance(node, ast.Attribute):
            return _attribute(self.value(node.value), node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner, key = self.value(node.value), node.slice.value
            if hasattr(type(owner), "named_parameters"):
                return owner._modules.get(str(key))
            if type(owner) is dict:
                return owner.get(key)
            if type(owner) in (list, tuple):
                return dict(enumerate(owner)).get(key)  # type: ignore[arg-type]
        return None

    def written(self, node: Any) -> str:
        """Return the source text of a node of the syntax tree, in one line."""
        return " ".join((ast.get_source_segment(self.text, node) or ast.unparse(node)).split())

    def source(self, node: Any) -> Source | None:
        """Return the source line of a node of the syntax tree."""
        return names.source(self.frame, node.lineno)

    def scopes(self) -> list[Any]:
        """Return the functions around the line, innermost first, and the module last."""
        assert self.tree is not None
        around = [
            n
            for n in ast.walk(self.tree)
            if isinstance(n, _SCOPES[:3]) and n.lineno <= self.line <= (n.end_lineno or n.lineno)
        ]
        return [*sorted(around, key=lambda n: -n.lineno), self.tree]

    def assigned(self, name: str, line: int) -> tuple[Any, Any] | None:
        """Return the (statement, value) that assigned `name` before `line`: the last one above it, else the last one in
        a loop."""
        for scope in self.scopes():
            found = [pair for pair in _assignments(scope) if _binds(pair[0], name)]
            above = [pair for pair in found if pair[0].lineno < line]
            if found:
                return (above or found)[-1]
        return None

    def behind(self, node: Any) -> Iterator[Any]:
        """Return `node` and all expressions that its value was computed from, following names to their assignments."""
        todo, seen = [(node, self.line)], set()
        for start, line in todo:
            for part in ast.walk(start):
                yield part
                if isinstance(part, ast.Name) and (part.id, line) not in seen:
                    seen.add((part.id, line))
                    made = self.assigned(part.id, line)
                    if made is not None and made[0] is not start:
                        todo.append((made[1], made[0].lineno))


@functools.lru_cache(16)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _node_at(tree: ast.AST, position: Any) -> Any:
    first, last, start, end = position
    return next(
        (
            n
            for n in ast.walk(tree)
            if getattr(n, "lineno", None) == first
            and (n.end_lineno, n.col_offset, n.end_col_offset) == (last, start, end)  # type: ignore[attr-defined]
            and not isinstance(n, ast.Expr)
        ),
        None,
    )


def _assignments(scope: Any) -> list[tuple[Any, Any]]:
    """Return (statement, value) of all assignments of a function or module, except those in inner functions."""
    found, todo = [], list(ast.iter_child_nodes(scope))
    for node in todo:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            found.append((node, node.value))
        elif isinstance(node, (ast.For, ast.comprehension)):
            found.append((node, node.iter))  # type: ignore[arg-type]
        if not isinstance(node, (*_SCOPES, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
    return sorted(
        (pair for pair in found if hasattr(pair[0], "lineno")), key=lambda pair: pair[0].lineno
    )


def _binds(statement: Any, name: str) -> bool:
    targets = getattr(statement, "targets", None) or [statement.target]
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for t in targets
        for n in ast.walk(t)
    )


def _spelled(place: Place) -> dict[Any, str]:
    found: dict[Any, set[str]] = {}
    for part, item in _numbers_in(place.node) if place.node is not None else ():
        found.setdefault((type(item), item), set()).add(place.written(part))
    return {item: texts.pop() for item, texts in found.items() if len(texts) == 1}


def _numbers_in(node: ast.AST) -> Iterator[tuple[ast.AST, Any]]:
    """Yield (where, number) for the numbers that are operands or arguments of an expression, but not of an inner
    expression."""
    for part in ast.iter_child_nodes(node):
        negative = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
        constant: Any = part.operand if negative else part  # type: ignore[attr-defined]
        if isinstance(constant, ast.Constant) and type(constant.value) in (int, float):
            number: Any = constant.value
            yield part, -number if negative else number
        elif isinstance(part, (ast.keyword, ast.List, ast.Tuple, ast.Slice)):
            yield from _numbers_in(part)


class Spelled:
    """The notation of numbers in the learner's code: 1e-3, 1_000. It finds only numbers that are written as
    literals."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, int], dict[Any, str]] = {}

    def at(self, frame: FrameType | None) -> dict[Any, str]:
        """Return (type, number) -> text for the literals in the operation or call that `frame` is at."""
        if frame is None:
            return {}
        key = frame.f_code, frame.f_lasti
        if key not in self._known:
            self._known[key] = _spelled(Place(frame, frame.f_lasti, frame.f_lineno))
        return self._known[key]


def place(trace: TracebackType) -> Place:
    """Return the position of one traceback entry."""
    return Place(trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def at(trace: TracebackType) -> Expression | None:
    """Return the expression that a traceback entry was at; None if the source is not readable."""
    return _read(place(trace))


def running(frame: FrameType) -> Expression | None:
    """Return the expression that a running frame is at."""
    return _read(Place(frame, frame.f_lasti, frame.f_lineno))


def _read(known: Place) -> Expression | None:
    node = known.node
    if node is None:
        return None
    method = False
    sign = getattr(node, "op", None) or (getattr(node, "ops", None) or [None])[0]
    name = _SIGNS.get(type(sign).__name__, "")
    if known.is_condition and not isinstance(node, ast.Call):
        name, items = "bool", [("self", node)]
    elif isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        method = owner is not None and not isinstance(known.value(owner), (ModuleType, type))
        name, items = _called(node, known)
    elif isinstance(node, ast.BinOp):
        items = [("0", node.left), ("1", node.right)]
    elif isinstance(node, ast.AugAssign):
        name, items = f"{name}_", [("0", node.target), ("1", node.value)]
    elif isinstance(node, ast.UnaryOp):
        items = [("0", node.operand)]
    elif isinstance(node, ast.Compare):
        items = [("0", node.left), ("1", node.comparators[0])]
    elif isinstance(node, ast.Attribute):
        name, items = node.attr, [("self", node.value)]
    elif isinstance(node, ast.Subscript):
        name = "setitem" if isinstance(node.ctx, ast.Store) else "getitem"
        items = [("0", node.value), ("index", node.slice)]
    else:
        name, items = "", [("0", node)]
    simple = (ast.Name, ast.Attribute, ast.Constant, ast.Slice)
    operands = {place: value for place, item in items if is_tensor(value := known.value(item))}
    return Expression(name, operands, method, any(not isinstance(i, simple) for _, i in items))


def _called(node: ast.Call, known: Place) -> tuple[str, list[tuple[str, Any]]]:
    function, items = node.func, []
    name = getattr(function, "attr", None) or getattr(function, "id", "")
    if hasattr(type(known.value(function)), "named_parameters"):
        name = ""  # a module: its forward calls an operation
    if isinstance(function, ast.Attribute) and is_tensor(known.value(function.value)):
        items.append(("self", function.value))
    for i, argument in enumerate(node.args):
        if isinstance(argument, (ast.List, ast.Tuple)):
            items += [(f"{i}[{k}]", item) for k, item in enumerate(argument.elts)]
        else:
            items.append((str(i), argument))
    items += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None]
    return name, items  # type: ignore[return-value]


def _attribute(item: Any, name: str) -> Any:
    held = getattr(item, "__dict__", {})
    for place in (held, *(held.get(n) or {} for n in ("_parameters", "_buffers", "_modules"))):
        if isinstance(place, dict) and name in place:
            return place[name]
    return None
