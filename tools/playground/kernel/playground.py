"""Run a program and send what it shows: printed text, widgets as standalone pages, plots, and an error's explanation.

The page's worker imports this module in Pyodide. The build imports it too, so that the page can show each example
before Python is loaded.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import traceback
from collections.abc import Callable
from typing import Any

FILE = "playground.py"
MOST_TEXT = (
    100_000  # characters of printed text; a program that prints for ever must not fill the page
)
TORCH = "torch is autolab here, because PyTorch does not run in a browser. Names and numbers are the same."
INSTEAD = {"torch": "autolab", "torchvision": "autolab.vision"}

Send = Callable[[dict[str, Any]], None]


class Torch(ast.NodeTransformer):
    """Lets a program that imports `torch` or `torchvision` import autolab."""

    found = False

    def visit_Import(self, node: ast.Import) -> ast.stmt | list[ast.stmt]:
        """Replace `import torch.nn` by `import autolab.nn` and the name `torch` for autolab."""
        made: list[ast.stmt] = []
        for alias in node.names:
            name = self._instead(alias.name)
            first = alias.name.partition(".")[0]
            if name == alias.name or alias.asname or "." not in alias.name:
                made.append(
                    ast.Import(
                        [
                            ast.alias(
                                name, alias.asname or first if name != alias.name else alias.asname
                            )
                        ]
                    )
                )
            else:
                made += [
                    ast.Import([ast.alias(name, None)]),
                    ast.Import([ast.alias(INSTEAD[first], first)]),
                ]
        return [ast.copy_location(one, node) for one in made]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        """Replace `from torch import nn` by `from autolab import nn`."""
        if node.module and not node.level:
            node.module = self._instead(node.module)
        return node

    def _instead(self, name: str) -> str:
        first, dot, rest = name.partition(".")
        self.found |= first in INSTEAD
        return INSTEAD.get(first, first) + dot + rest


class Output(io.TextIOBase):
    """What a program prints, sent piece by piece."""

    def __init__(self, send: Send, stream: str) -> None:
        self.send, self.stream, self.left = send, stream, MOST_TEXT

    def write(self, text: str) -> int:
        """Send a piece of text. Drop it if the program has printed too much."""
        if self.left > 0:
            piece = text[: self.left]
            self.left -= len(piece)
            if self.left <= 0:
                piece += f"\n… The rest is not shown: more than {MOST_TEXT:,} characters.\n"
            self.send({"kind": "text", "stream": self.stream, "text": piece})
        return len(text)


def run(code: str, send: Send) -> bool:
    """Run a program and send its outputs in their order; return whether it ended without an error.

    An expression that stands alone in a line shows its value if that is a widget or a picture. The last line shows any
    value, as in a notebook. send: gets dictionaries whose `kind` is "text", "page", "svg" or "error".
    """
    linecache.cache[FILE] = len(code), None, code.splitlines(keepends=True), FILE
    names = {"__name__": "__main__", "display": lambda *values: _show_all(values, send)}
    sys.modules["__main__"].__dict__["display"] = names["display"]
    with contextlib.redirect_stdout(Output(send, "out")):  # type: ignore[type-var]
        with contextlib.redirect_stderr(Output(send, "err")):  # type: ignore[type-var]
            try:
                _execute(code, names, send)
            except BaseException as error:  # noqa: BLE001  a learner's program may raise anything
                _plots(send)
                _failed(error, send)
                return False
            _plots(send)
    return True


def _execute(code: str, names: dict[str, Any], send: Send) -> None:
    torch = Torch()
    body = ast.fix_missing_locations(torch.visit(ast.parse(code, FILE))).body
    if torch.found:
        print(TORCH)
    for statement in body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), FILE, "eval"), names)
            _show(value, send, statement is body[-1])
        else:
            exec(compile(ast.Module([statement], []), FILE, "exec"), names)


def _show_all(values: tuple[Any, ...], send: Send) -> None:
    for value in values:
        _show(value, send, True)


def _show(value: Any, send: Send, last: bool) -> None:
    """Send a widget as a page and a picture as SVG; print any other value if it is the last."""
    from autolab.viz import html

    if hasattr(value, "_esm"):
        page = html.page([value], type(value).__name__)
        send({"kind": "page", "title": type(value).__name__, "html": page})
    elif hasattr(value, "_repr_svg_"):
        send({"kind": "svg", "svg": value._repr_svg_()})
    elif last and value is not None and not _of_a_plot(value):
        print(repr(value))


def _of_a_plot(value: Any) -> bool:
    several = value if isinstance(value, list | tuple) else [value]
    return bool(several) and all(type(one).__module__.startswith("matplotlib") for one in several)


def _plots(send: Send) -> None:
    """Send the open figures of Matplotlib as SVG, and close them."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    for number in plt.get_fignums():
        text = io.StringIO()
        plt.figure(number).savefig(text, format="svg", bbox_inches="tight")
        send({"kind": "svg", "svg": text.getvalue()})
    plt.close("all")


def _failed(error: BaseException, send: Send) -> None:
    """Send an error as Python prints it, with the learner's lines only, then the page that explains it."""
    told = traceback.TracebackException.from_exception(error)
    theirs = [frame for frame in told.stack if frame.filename == FILE]
    told.stack = traceback.StackSummary.from_list(theirs)
    send({"kind": "error", "text": "".join(told.format())})
    if "autolab" not in sys.modules:
        return
    with contextlib.suppress(Exception):  # an error that has nothing to do with a graph
        _show(sys.modules["autolab"].explain(error), send, True)


def warm_up() -> None:
    """Import what an explorer needs, so that the first run does not wait for it."""
    import autolab
    from autolab.viz import html  # noqa: F401

    autolab.explore(autolab.tensor(1.0, requires_grad=True) * 2)
