"""The widgets' scripts and styles: the files that `frontend/` builds into `static/`, plus colours and texts from
Python."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path

from ..trace.captions.sentences import STATE_WORDS
from ..viz import palette

STATIC = Path(__file__).parent / "static"


@functools.cache
def module(name: str) -> str:
    """Return the ES module of the widget `name`: its bundle after the constants that the bundle reads.

    `STYLE` is the widget's style sheet after the colours as CSS variables, `PALETTE` the colours that are the same in
    both themes, `PATTERNS` and `STATES` how gradient states look and what they are called.

    Raises FileNotFoundError when there is no such bundle.
    """
    return constants(name) + _read(f"{name}.js")


def constants(name: str) -> str:
    """Return the JavaScript that declares the constants which the bundle `name` reads."""
    text = _read(f"{name}.js")
    values = {
        "STYLE": style(name),
        "PALETTE": palette.FIXED,
        "PATTERNS": palette.PATTERNS,
        "STATES": STATE_WORDS,
    }
    return "".join(
        f"const {key} = {json.dumps(value)};\n" for key, value in values.items() if key in text
    )


@functools.cache
def style(name: str) -> str:
    """Return a widget's style sheet after the colours as CSS variables; only the colours if it has no style sheet."""
    path = STATIC / f"{name}.css"
    return palette.css() + (path.read_text(encoding="utf-8") if path.exists() else "")


@functools.cache
def _read(file: str) -> str:
    return (STATIC / file).read_text(encoding="utf-8")


@functools.cache
def loader(name: str) -> str:
    """Return the script that anywidget gets for a widget: it loads `module(name)`, stored in the widget's `_script`,
    once per page. A browser keeps every module as long as the page is open, so a cell run fifty times would keep
    fifty."""
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
