"""Find the cells of a notebook that ask a prediction, and the part of their code that a slide may
show."""

from __future__ import annotations

import ast

ASKING = {"Prediction", "predict", "in_words"}
"""The functions that make a question. Their source contains the answers."""


class Predictions:
    """The names of the variables that hold the predictions of one notebook."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def asks(self, source: str) -> bool:
        """Return whether a cell asks: it makes a prediction, or shows one that an earlier cell made."""
        body = _statements(source)
        made = [statement for statement in body if _makes(statement)]
        for statement in made:
            self._names |= {
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
        return bool(made) or any(self._shows(statement) for statement in body)

    def without(self, source: str) -> str:
        """Return the code of a cell that asks without the statements that make or show a prediction."""
        body, lines = _statements(source), source.splitlines()
        for statement in reversed(body):
            if _makes(statement) or self._shows(statement):
                del lines[statement.lineno - 1 : statement.end_lineno]
        return "\n".join(lines).strip() if body else ""

    def _shows(self, statement: ast.stmt) -> bool:
        """Return whether a statement is a prediction's name, or displays one."""
        if not isinstance(statement, ast.Expr):
            return False
        value = statement.value
        shown = value.args if isinstance(value, ast.Call) else [value]
        called = value.func if isinstance(value, ast.Call) else None
        displays = called is None or isinstance(called, ast.Name) and called.id == "display"
        return displays and any(
            isinstance(one, ast.Name) and one.id in self._names for one in shown
        )


def _statements(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):  # for example a magic command
        return []


def _makes(statement: ast.stmt) -> bool:
    called = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(getattr(one, "attr", getattr(one, "id", "")) in ASKING for one in called)
