"""The reference: a page for each public module, of what its docstrings say."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def modules() -> list[str]:
    """Names of the public modules below `autolab`: those of which tests/test_docs.py asks for docstrings."""
    found = re.search(
        r'^PUBLIC = """(.*?)"""',
        (ROOT / "tests" / "test_docs.py").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    assert found, "tests/test_docs.py names the public modules"
    return found[1].split()


def write(folder: Path) -> list[str]:
    """Write the pages into `folder`; returns their names."""
    import autolab

    folder.mkdir(parents=True, exist_ok=True)
    pages = {"autolab": _module(autolab), "Tensor": _class_page(autolab.Tensor)}
    pages |= {
        f"autolab.{name}": _module(importlib.import_module(f"autolab.{name}")) for name in modules()
    }
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    rows = "\n".join(f"- [{name}]({name}.md)" for name in pages)
    listed = "\n".join(pages)
    text = f"# Reference\n\nWhat the docstrings say, `help(…)` in a notebook.\n\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    (folder / "index.md").write_text(text, encoding="utf-8")
    return list(pages)


def _module(module: types.ModuleType) -> str:
    parts = [f"# {module.__name__}", _words(module.__doc__)]
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        if (
            not callable(value)
            or not home.startswith(("autolab", "torch"))
            or isinstance(value, types.ModuleType)
        ):
            continue
        if module.__name__ == "autolab" and name == "Tensor":
            parts += ["## Tensor", "[A page of its own](Tensor.md)."]
            continue
        parts.append(_entry(name, value, f"{module.__name__}.{name}"))
        if isinstance(value, type) and home.startswith(module.__name__):
            parts += [
                _entry(f"{name}.{member}", found, f"{name}.{member}", 3)
                for member, found in _members(value, (value,))
            ]
    return "\n\n".join(parts) + "\n"


def _class_page(cls: type) -> str:
    parts = [f"# {cls.__name__}", _words(cls.__doc__)]
    return (
        "\n\n".join(
            [
                *parts,
                *(
                    _entry(name, value, f"Tensor.{name}")
                    for name, value in _members(cls, cls.__mro__)
                ),
            ]
        )
        + "\n"
    )


def _members(cls: type, bases: Sequence[type]) -> list[tuple[str, Any]]:
    """The public methods and properties that these of a class's bases define in the kit, sorted by name."""
    found: dict[str, Any] = {}
    for base in reversed(bases):
        if base.__module__.startswith(("autolab", "torch")):
            kinds = (property, classmethod, staticmethod)
            found |= {
                n: v
                for n, v in vars(base).items()
                if not n.startswith("_") and (callable(v) or isinstance(v, kinds))
            }
    return sorted(found.items())


def _entry(name: str, value: Any, full: str, level: int = 2) -> str:
    value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    signature = ""
    if not isinstance(value, property):
        try:
            signature = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
        except (TypeError, ValueError):
            signature = "(…)"
    return f"{'#' * level} {name}\n\n```python\n{full}{signature}\n```\n\n{_words(inspect.getdoc(value))}"


def _words(docstring: str | None) -> str:
    """A docstring as Markdown: its examples and tables stay as they stand there, dollars are no formulas."""
    text = inspect.cleandoc(docstring or "").replace("$", r"\$")
    return (
        re.sub(r"^(#+|[-=]{3,}) ?", "", text, flags=re.M).replace("<", "&lt;")
        if "`" not in text
        else _outside_code(text)
    )


def _outside_code(text: str) -> str:
    lines = []
    for line in text.splitlines():
        pieces = [line] if line.startswith("    ") else re.split(r"(`+[^`]*`+)", line)
        code = line.startswith("    ")
        lines.append(
            "".join(
                p.replace(r"\$", "$") if code or p.startswith("`") else p.replace("<", "&lt;")
                for p in pieces
            )
        )
    return "\n".join(lines)
