"""Export widgets as one HTML file that needs no kernel and no network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..engine.core.errors import fail
from . import palette

# The part of anywidget's interface that a widget's script uses: state with change events, and no kernel to send to.
HOST = """
const models = (window.autolabModels ??= {}); // by id: one widget may mark another on its page
class Model {
  constructor(state, id) { this.state = state; this.handlers = {}; models[id] = this; }
  peer(id) { return models[id]; }
  get(key) { return this.state[key]; }
  set(key, value) {
    if (this.state[key] === value) return;
    this.state[key] = value;
    this.emit("change:" + key, value);
    this.emit("change");
  }
  save_changes() {}
  send() {}
  on(name, handler) { (this.handlers[name] ??= new Set()).add(handler); }
  off(name, handler) { this.handlers[name]?.delete(handler); }
  emit(name, ...parts) { for (const handler of [...(this.handlers[name] ?? [])]) handler(...parts); }
}
async function show(widget, place) {
  const id = place.dataset.model, state = place.querySelector("script");
  const known = state ? null : models[id]; // another view of a widget that stands above
  const model = known ?? new Model(JSON.parse(state.textContent), id);
  if (!known) await widget.initialize?.({ model });
  await widget.render({ model, el: place.appendChild(document.createElement("div")) });
}
"""

_BODY = [
    f"body {{ background: {paper}; color: {ink}; }}"
    for paper, ink in zip(palette.THEMES["bg"], palette.THEMES["fg"])
]
STYLE = f"""
:root {{ color-scheme: light dark; }}
body {{ margin: 16px; font: 16px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; }}
h1 {{ font-size: 1.3em; }}
@media (max-height: 480px) {{ body {{ margin: 6px 8px; }} h1 {{ font-size: 1em; margin: 0 0 4px; }} }}
{_BODY[0]}
@media (prefers-color-scheme: dark) {{ {_BODY[1]} }}
"""


def page(widgets: Sequence[Any], title: str = "autolab") -> str:
    """Return one HTML page with the widgets below each other, each in its present state; the page makes no network
    request.

    widgets: those of autolab, or other anywidgets whose script needs no kernel. Raises TypeError for anything else.
    """
    several = isinstance(widgets, Sequence) and not isinstance(widgets, str)
    known = list(widgets) if several else [widgets]
    for place, widget in enumerate(known):
        if not hasattr(widget, "_esm"):
            raise fail(
                TypeError,
                f"{f'widgets[{place}] must be a widget' if several else 'widgets must be a list of widgets'}, got {type(widget).__name__}",
                "A tensor becomes a widget by autolab.explore(tensor); a picture of make_dot() has render().",
            )
    styles, places, scripts = parts([form(widget) for widget in known])
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}{styles}</style>'
    )
    main = "\n".join(["<main>", f"<h1>{escape(title)}</h1>", *places, "</main>"])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{main}\n{scripts}</body></html>\n'


def form(widget: Any) -> dict[str, Any]:
    """Return all data that a page without a kernel needs about a widget in its present state."""
    return {
        "esm": getattr(widget, "_script", "") or widget._esm,
        "css": getattr(widget, "_css", ""),
        "model": str(getattr(widget, "model_id", "")),
        "state": _state(widget),
    }


def parts(forms: Sequence[dict[str, Any]]) -> tuple[str, list[str], str]:
    """Return the parts of a page for `form`s: CSS, one element for each, and the scripts that go below them.

    Each kind of widget brings its script once. A form whose "state" is None is another view of the model of an earlier
    one."""
    names: dict[str, str] = {}
    places = []
    for form in forms:
        name = names.setdefault(form["esm"], f"widget{len(names)}")
        state = ""
        if form["state"] is not None:
            state = f'<script type="application/json">{inline(json.dumps(form["state"], separators=(",", ":")))}</script>'
        of = escape(form["model"])
        places.append(f'<div class="autolab" data-script="{name}" data-model="{of}">{state}</div>')
    styles = "".join(dict.fromkeys(form["css"] for form in forms))
    return styles, places, "\n".join(_module(name, esm) for esm, name in names.items())


def _state(widget: Any) -> dict[str, Any]:
    """Return the state that the widget's script reads, without data about the notebook it came from."""
    left_out = ("layout", "tabbable", "tooltip")
    state = getattr(widget, "export_state", widget.get_state)()
    return {k: v for k, v in state.items() if not k.startswith("_") and k not in left_out}


def _module(name: str, esm: str) -> str:
    places = f"document.querySelectorAll('[data-script=\"{name}\"]')"
    widget = f"const {name} = (() => {{{as_value(esm)}}})();\n"
    # `autolabShown` is set when all of the page's widgets are displayed.
    all_shown = f"(async () => {{ for (const place of {places}) await show({name}, place).catch(reportError); }})()"
    shown = f"window.autolabShown = Promise.all([window.autolabShown, {all_shown}]);"
    return f'<script type="module">{inline(HOST + widget + shown)}</script>'


def write(path: str | os.PathLike[str], widgets: Sequence[Any], title: str = "autolab") -> Path:
    """Write `page(widgets)` to `path` and return it."""
    path = Path(path)
    path.write_text(page(widgets, title), encoding="utf-8")
    return path


def as_value(esm: str) -> str:
    """Return an ES module's text as a function body that returns its default export."""
    found = re.search(r"export\s*\{([^}]*)\};?\s*$", esm)
    pairs = [name.partition(" as ") for name in found[1].split(",")] if found else []
    names = {public.strip(): own.strip() for own, _, public in pairs}
    if found and "default" in names:
        return f"{esm[: found.start()]}return {names['default']};"
    before, export, after = esm.rpartition("export default ")
    if not export:
        raise ValueError("the widget's script has no default export")
    return f"{before}return {after}"


def inline(text: str) -> str:
    """Return JSON or JavaScript in a form that may stand inside a <script> element: no string in it ends the element
    early."""
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")
