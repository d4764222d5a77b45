"""The reference: a page for each public module, made by Sphinx's autodoc from the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULE = """{title}
{rule}

.. automodule:: {name}
   :members:
   :imported-members:
   :show-inheritance:
"""
TENSOR = """Tensor
======

.. autoclass:: autolab.Tensor
   :members:
   :inherited-members:
"""


def modules() -> list[str]:
    """Return the names of the public modules below `autolab`: the list in tests/test_docs.py."""
    tested = (ROOT / "tests" / "test_docs.py").read_text(encoding="utf-8")
    found = re.search(r'^PUBLIC = """(.*?)"""', tested, re.M | re.S)
    assert found, "tests/test_docs.py names the public modules"
    return found[1].split()


def write(folder: Path) -> None:
    """Write a page for each module, one for Tensor, and an index."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ["autolab", *(f"autolab.{name}" for name in modules())]
    pages = {name: MODULE.format(title=name, rule="=" * len(name), name=name) for name in names}
    pages["Tensor"] = TENSOR
    rows = []
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
        module = "autolab" if name == "Tensor" else name
        first = inspect.getdoc(
            importlib.import_module(module).Tensor
            if name == "Tensor"
            else importlib.import_module(module)
        )
        rows.append(f"| [{name}]({name}.rst) | {(first or '').splitlines()[0]} |")
    listed = "\n".join(pages)
    (folder / "index.md").write_text(
        "# Reference\n\nThese pages show what `help(…)` shows in a notebook. "
        "{ref}`All names are in the index <genindex>`.\n\n| module | what it is |\n| --- | --- |\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
        encoding="utf-8",
    )


def connect(app: Any) -> None:
    """Let autodoc read the kit's docstrings: Markdown, with `name: …` for each parameter."""
    app.connect("autodoc-process-docstring", _docstring)
    pages: dict[int, str] = {}
    for name in modules()[::-1]:
        module = importlib.import_module(f"autolab.{name}")
        pages |= {id(getattr(module, one)): module.__name__ for one in module.__all__}

    def skip(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
        """Leave out modules, Tensor (a page of its own), and what another page has."""
        if what != "module":
            return None
        home = getattr(value, "__module__", None) or "autolab"
        here = app.env.current_document.docname.removeprefix("api/")
        elsewhere = pages.get(id(value), here) != here
        foreign = not home.startswith(("autolab", "torch"))
        return True if name == "Tensor" or inspect.ismodule(value) or elsewhere or foreign else None

    app.connect("autodoc-skip-member", skip)


def _docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText, in place."""
    known = parameters(value) if what in ("function", "method", "class") else ()
    lines[:] = rst("\n".join(lines), known).splitlines()


def parameters(value: Any) -> tuple[str, ...]:
    """Return the names of a callable's parameters, () if they are unknown."""
    try:
        return tuple(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return ()


def rst(text: str, known: tuple[str, ...] = ()) -> str:
    """Return a docstring as reStructuredText: code stays as it is, `name: …` becomes a field of the parameter.

    Example:

        >>> print(rst("Return `x`. dim: the axis.", ("input", "dim")))
        Return ``x``.
        <BLANKLINE>
        :param dim: the axis.
    """
    parts = []
    apart = re.sub(
        r"^(\S.*)\n(?=    )|^(    .*)\n(?=\S)", r"\1\2\n\n", text.strip("\n"), flags=re.M
    )
    for paragraph in re.split(r"\n\s*\n", apart):
        if paragraph.startswith((" ", ">>>")):
            literal = not paragraph.lstrip().startswith(">>>")
            parts.append(("::\n\n" if literal else "") + paragraph)
        else:
            parts.append(_prose(paragraph, known))
    return "\n\n".join(parts)


def _prose(paragraph: str, known: tuple[str, ...]) -> str:
    """Return a paragraph with its code marked, followed by the fields of the parameters that it explains."""
    if known:
        names = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        pieces = re.split(
            rf"(?:^|(?<=[.;)])\s+)\*{{0,2}}((?:{names})(?:, (?:{names}))*): ", paragraph
        )
    else:
        pieces = [paragraph]
    fields = [
        f":param {names}: {_marked(' '.join(told.split()))}"
        for names, told in zip(pieces[1::2], pieces[2::2])
    ]
    listed = re.match(r"(- |\* |\d+\. |\|)", paragraph)
    before = _marked(pieces[0] if listed else " ".join(pieces[0].split())).strip()
    return "\n\n".join(part for part in (before, "\n".join(fields)) if part)


def _marked(text: str) -> str:
    """Return Markdown's code as reStructuredText's, and escape what reStructuredText would read as markup."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        f"``{piece.strip('`').strip()}``\\ "
        if piece.startswith("`")
        else re.sub(r"([\\*_|])", r"\\\1", piece)
        for piece in pieces
    ).replace("\\  ", " ")
