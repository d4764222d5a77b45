"""The scripts and styles in `static/`, joined to the one ES module that anywidget asks for: no build step."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path

from ..trace.captions.sentences import STATE_WORDS
from ..viz import palette

STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_DEFAULT = re.compile(
    r"^export default .*;\n", re.MULTILINE
)  # of a widget that another is made from
_STYLE_IMPORT = re.compile(r'^@import "\./(\w+)\.css";\n', re.MULTILINE)


@functools.cache
def module(name: str) -> str:
    """`static/<name>.js` and all it imports from beside it, as one ES module; `STYLE` in it is `static/<name>.css`
    after the colours as CSS variables, `PALETTE` the colours that it uses of those that are the same in both themes,
    `PATTERNS` and `STATES` how gradient states look and what they are called.

    Imports are plain `import { a, b } from "./file.js";`; names are shared, so each must be used once across the files.
    Comments and indentation are left out: a notebook stores this text with every widget.

    Raises FileNotFoundError when a file that is imported does not exist.
    """
    parts = _ordered(name, [])
    text = "".join(
        _strip(part if key == name else _DEFAULT.sub("", part)) for key, part in parts.items()
    )
    colours = {
        k: v
        for k, v in (palette.FIXED | palette.DRAWN).items()
        if f"PALETTE.{k}" in text or f'PALETTE["{k}"]' in text
    }
    constants = {
        "STYLE": palette.css() + style(name),
        "PALETTE": colours,
        "PATTERNS": palette.PATTERNS,
        "STATES": STATE_WORDS,
    }
    text = (
        "".join(
            f"const {key} = {json.dumps(value)};\n"
            for key, value in constants.items()
            if key in text
        )
        + text
    )
    # A text of Latin-1 alone takes a browser one byte a character, any other two.
    return re.sub("[^\x00-\xff]", lambda sign: json.dumps(sign[0])[1:-1], text)


@functools.cache
def loader(name: str) -> str:
    """What anywidget gets as the script of a widget: it makes `module(name)`, which the widget has in `_script`, a
    module once for each page. A browser keeps all modules for as long as the page is there: a cell run fifty times
    would leave fifty."""
    return _LOADER % f"{name} {hashlib.sha1(module(name).encode()).hexdigest()[:12]}"


_LOADER = """const modules = (globalThis[Symbol.for("autolab.modules")] ??= {}), name = "%s";
async function load(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return (await import(/* webpackIgnore: true */ url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}
function widget(model) {
  modules[name] ??= load(model.get("_script"));
  modules[name].catch(() => delete modules[name]);
  return modules[name];
}
export default {
  initialize: async (given) => (await widget(given.model)).initialize?.(given),
  render: async (given) => (await widget(given.model)).render(given),
};
"""


@functools.cache
def style(name: str) -> str:
    """`static/<name>.css` without comments and indentation, after those it imports; "" when there is none.

    An import is a line `@import "./file.css";`, as scripts have theirs.
    """
    path = STATIC / f"{name}.css"
    text = (
        re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if path.exists()
        else ""
    )
    before = "".join(style(other) for other in _STYLE_IMPORT.findall(text))
    lines = (line.strip() for line in _STYLE_IMPORT.sub("", text).splitlines())
    return before + "".join(line + "\n" for line in lines if line)


def files(name: str) -> list[Path]:
    """The scripts that `module(name)` joins, in that order."""
    return [STATIC / f"{part}.js" for part in _ordered(name, [])]


def _ordered(name: str, above: list[str]) -> dict[str, str]:
    """File name to source, each after what it imports."""
    if name in above:
        return {}
    source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    sources: dict[str, str] = {}
    for other in _IMPORT.findall(source):
        sources |= {k: v for k, v in _ordered(other, [*above, name]).items() if k not in sources}
    return sources | {name: source}


def _strip(source: str) -> str:
    source = re.sub(r"^export (?!default)", "", _IMPORT.sub("", source), flags=re.MULTILINE)
    lines = (line.strip() for line in source.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))
