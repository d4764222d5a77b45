"""*Run it* below each example of a guide that shows a graph: a link that opens the example in the playground."""

from __future__ import annotations

import ast
import base64
import doctest
import re
import zlib
from collections.abc import Iterator

SHOWS = {"explore", "practice", "compare", "explain", "FreezePanel"}
"""What shows a graph. The playground shows a widget that stands alone on a line, so its name is added."""
LOCAL = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.DictComp, ast.GeneratorExp)
MOST_LINES = 50  # a longer program takes a browser too long
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def examples(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each example that shows a graph ends, and the program: the example and what it needs of the page."""
    before: list[str] = []
    for block in BLOCK.finditer(text):
        code = _code(block[1])
        if name := _shown(code):
            program = "".join([*needed(before, code), code, "" if name == "…" else f"{name}\n"])
            if program.count("\n") <= MOST_LINES:
                yield block.end(), program
        before.append(code)


def with_links(text: str, playground: str) -> str:
    """Return a page of Markdown with a link to the playground below each example that shows a graph."""
    for end, program in reversed(list(examples(text))):
        link = f'<p class="run-it"><a href="{playground}#code={packed(program)}">Run it</a></p>'
        text = f"{text[:end]}\n\n``````{{raw}} html\n{link}\n``````\n{text[end:]}"
    return text


def packed(program: str) -> str:
    """Return a program as it stands in the playground's address (frontend/src/playground/share.ts)."""
    deflate = zlib.compressobj(9, wbits=-15)
    content = deflate.compress(program.encode()) + deflate.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _code(block: str) -> str:
    """Return the code of a block, without the prompts and the outputs that it may have."""
    found = doctest.DocTestParser().get_examples(block)
    return "".join(example.source for example in found) if found else block


def needed(blocks: list[str], last: str) -> list[str]:
    """Return the statements of earlier blocks that make what `last` uses, in their order."""
    wanted: set[str] = set()
    kept = []
    for block in [last, *reversed(blocks)]:
        lines = block.splitlines(keepends=True)
        for node in reversed(ast.parse(block).body):
            made, read = _names(node, ast.Store), _names(node, ast.Load)
            if block is last or (made | _changed(node)) & wanted:
                own = made if isinstance(node, ast.With | ast.Try) else _inside(node)
                wanted = wanted - made | read - own
                if block is not last:
                    kept.append("".join(lines[node.lineno - 1 : node.end_lineno]).rstrip() + "\n")
    return kept[::-1]


def _changed(node: ast.AST) -> set[str]:
    """Return the names that a statement changes: `x.append(1)`, `torch.manual_seed(0)`, `Value.add = add`."""
    places: list[ast.AST] = []
    for one in _outside_functions(node):
        if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store):
            places.append(one)
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            places += [] if _called(one.value) in SHOWS else [one.value.func]
    return {name for place in places for name in _names(place, ast.Load)}


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    """Return the names that a piece of code reads (ast.Load) or makes (ast.Store)."""
    names = set()
    for one in ast.walk(node) if kind is ast.Load else _outside_functions(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, kind):
            names.add(one.id)
        elif kind is ast.Store and isinstance(one, ast.ClassDef | ast.FunctionDef):
            names.add(one.name)
        elif kind is ast.Store and isinstance(one, ast.alias):
            names.add(one.asname or one.name.partition(".")[0])
    return names


def _inside(node: ast.AST) -> set[str]:
    """Return the names that belong to a function or class: its parameters and what it makes inside."""
    inside = ast.walk(node) if isinstance(node, LOCAL) else ()
    return {getattr(one, "arg", getattr(one, "id", "")) for one in inside if _binds(one)}


def _binds(node: ast.AST) -> bool:
    return isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a piece of code and its parts, but not what is inside functions, classes and comprehensions."""
    yield node
    if not isinstance(node, LOCAL):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _shown(code: str) -> str:
    """Return the name of the last widget that a block makes, "…" if it stands alone on a line, "" without one."""
    name = ""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Expr | ast.Assign) and _called(node.value) in SHOWS:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            name = target.id if isinstance(target, ast.Name) else "…"
    return name


def _called(value: ast.expr) -> str:
    """Return the name of the function that an expression calls, "" for anything else."""
    if not isinstance(value, ast.Call):
        return ""
    return getattr(value.func, "attr", getattr(value.func, "id", ""))
