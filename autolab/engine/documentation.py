"""Text that `help()` shows after a function's docstring: its formulas and gradients, and examples.

`examples.txt` holds the examples by function name, as sessions in which `autolab` is imported as `torch`;
`tests/test_docs.py` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import indent
from types import FunctionType

from .core.record import Op

_PLACEHOLDER = re.compile(r"(?<![A-Za-z])\{([A-Za-z_]\w*)\}")


@cache
def examples() -> dict[str, str]:
    """Return the examples by function name: 'add', 'Tensor.backward'. A method without examples of its own shows the
    function's examples."""
    found: dict[str, str] = {}
    for section in (
        Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").split("\n# ")[1:]
    ):
        names, _, session = section.partition("\n")
        found |= dict.fromkeys(names.split(), session.strip())
    return found


def complete(spaces: Mapping[str, Mapping[str, object]]) -> None:
    """Complete the docstrings of all public functions in `spaces`, a dict from name prefix to namespace: {"": …,
    "Tensor.": …}."""
    done = set()
    for space, names in spaces.items():
        for name, f in names.items():
            if name.startswith("_") or id(f) in done:  # a second name of the same function
                continue
            done.add(id(f))
            op = getattr(f, "op", None)
            if type(f) is FunctionType and isinstance(op, Op):
                f.__doc__ = _operation_docstring(
                    op, name, f.__doc__, "self" if space == "Tensor." else "input"
                )
            example = examples().get(space + name) or (
                examples().get(name) if space == "Tensor." and callable(f) else None
            )
            if example:
                f.__doc__ = f"{f.__doc__}\n\nExample:\n\n{indent(example, '    ')}\n"


def methods(cls: type) -> dict[str, object]:
    """Return the attributes of a class, including inherited ones."""
    return {name: f for base in reversed(cls.__mro__[:-1]) for name, f in vars(base).items()}


def _operation_docstring(op: Op, name: str, words: str | None, first: str) -> str:
    """Return the docstring of an operation: its first words, then the formulas and gradients from its record."""
    words = words or f"`{op.name}`. Source: torch.ops.aten.{name}."
    if name.endswith("_"):
        words = f"In place: {words}"
    if not op.latex:
        return words
    gradients = [
        f"`{_named(arg, first)}` gets ``{_fill_template(rule, first)}``"
        for arg, rule in op.vjp_latex.items()
    ]
    second = ", of the second's g1" if any("{g1}" in rule for rule in op.vjp_latex.values()) else ""
    backward = f" Of the result's gradient g{second}, {', '.join(gradients)}." if gradients else ""
    return f"{words}\n\nIn LaTeX: ``{_fill_template(op.latex, first)}``.{backward}"


def _named(argument: str, first: str) -> str:
    """Return an argument's name as users see it: `self` is called `first`."""
    return first if argument == "self" else argument


def _fill_template(latex: str, first: str) -> str:
    """Return a LaTeX template with its placeholders filled in: `\\frac{{g}}{{self}}` becomes `\\frac{g}{input}`."""
    return _PLACEHOLDER.sub(lambda place: _named(place[1], first), latex)
