"""The freeze panel: a switch for each layer of a network, what freezing saves, where backward stops, and common
mistakes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import traitlets as t

from ..trace import trace
from ..viz import html, palette
from ..viz.mime import Bundle, instead
from . import assets
from .displayed import Displayed
from .explorer import Explorer
from .frozen import MIXED, below, cost_words, costs, facts, layers, parameters, warnings
from .frozen import head as last_layer
from .svg import FONT, element, label, text_width
from .reach import Reach, as_trained, by_order, full_trace, in_trace
from .reach import facts as graph_facts
from .running import home

PRESETS = ("Head only", "All", "None")
MODES = ("train", "eval")
_NO_RERUN = "These switches are newer than the graph: run the forward pass again before backward()."


class FreezePanel(Displayed):
    """Freezes and unfreezes the layers of a network, and shows the effect.

    model     : an nn.Module of autolab or of PyTorch.
    optimizer : its optimizer; for the bytes of its state and for mistakes that involve both.
    loss      : a result of the network: its graph shows where backward stops, but only for what was trained when it was
        computed.
    explorer  : an Explorer of such a result, which this panel marks: `selected` is the operation where backward ends,
                `dimmed` what it never visits. Without one, `panel.explorer` makes it from `loss` or `forward`.
    forward   : a function without arguments that runs the network and returns the loss. With it the panel knows the
                whole graph, whatever is frozen, and "Run forward again" brings the explorer up to date. Running it
                leaves running statistics, requires_grad and the random stream as they were.
    head      : path of the head, for the preset "Head only" and the warning about a frozen one; by default the last
                module that has parameters.

    Traits, set from either side:

    trainable : path of a module -> True, False or "mixed", for each that has parameters of its own. Assigning a dict
                changes the modules named, each with all that lies in it; assigning a list of paths trains exactly
                those.
    modes     : path -> "train" or "eval", for each normalisation with running statistics and each dropout.

    `report` has the panel's content as data. A loop that calls `model.train()` sets every mode to train: call `apply()`
    after it. After changing the network by other means call `refresh()`.

    Raises TypeError for a model that is not a module, and a TraitError, with nothing changed, for paths that do not
    exist.
    """

    _esm = assets.loader("freeze")
    _script = t.Unicode(assets.module("freeze")).tag(sync=True)
    trainable = t.Union([t.Dict(), t.List()]).tag(sync=True)
    modes = t.Dict().tag(sync=True)
    data = t.Dict().tag(sync=True)
    live = t.Bool(True).tag(sync=True)

    def __init__(
        self,
        model: Any,
        optimizer: Any = None,
        loss: Any = None,
        explorer: Explorer | None = None,
        *,
        forward: Callable[[], Any] | None = None,
        head: str | None = None,
    ):
        self.model, self.optimizer, self.forward = model, optimizer, forward
        self._layers = layers(model)
        self._by_path = {layer.path: layer for layer in self._layers}
        self.head = last_layer(self._layers) if head is None else self._known(head)
        if forward is not None and not callable(forward):
            raise TypeError(
                f"forward must be a function without arguments, got {type(forward).__name__}"
            )
        if explorer is not None and not isinstance(explorer, Explorer):
            raise TypeError(
                f"explorer must be an Explorer (autolab.explore(loss)), got {type(explorer).__name__}"
            )
        self._explorer = explorer
        self._at_home = home()
        named = dict(parameters(self._layers))
        if forward is not None:
            self._trace = full_trace(model, forward) if named else None
        elif explorer is not None:
            self._trace = explorer.trace
        else:
            self._trace = None if loss is None else trace(loss, params=named)
        self._shown = (
            explorer.trace if explorer is not None else self._trace
        )  # the explorer's trace must have these node ids
        self._traced_flags = self._flags()
        super().__init__(
            trainable=self._read_trainable(), modes=self._read_modes(), data={"rows": self._rows()}
        )
        self.on_msg(self._on_message)
        self.refresh()

    # -- settings ----------------------------------------------------------------------------------------------------
    @t.validate("trainable")
    def _set_trainable(self, proposal: Any) -> dict[str, Any]:
        paths = proposal["value"]
        if isinstance(paths, Mapping):
            flags = dict(paths)
            bad = next((v for v in flags.values() if v not in (True, False, MIXED)), None)
            if bad is not None:
                raise t.TraitError(f'trainable: True, False or "mixed" for each path, not {bad!r}')
        else:
            flags = {"": False} | dict.fromkeys(paths, True)
        for path in flags:
            self._known(path)
        for layer in self._layers:
            value = _closest(flags, layer.path)
            for _, parameter in layer.own if value in (True, False) else ():
                parameter.requires_grad_(bool(value))
        return self._read_trainable()

    @t.validate("modes")
    def _set_modes(self, proposal: Any) -> dict[str, str]:
        for path, mode in proposal["value"].items():
            if mode not in MODES:
                raise t.TraitError(f'modes: "train" or "eval" for each path, not {mode!r}')
            self._known(path)
        for layer in self._layers:
            mode = _closest(proposal["value"], layer.path)
            if layer.kind and mode is not None:
                layer.module.train(mode == "train")
        return self._read_modes()

    @t.observe("trainable", "modes")
    def _changed(self, _: Any) -> None:
        if "rows" in self.data:
            self._report()

    def preset(self, name: str) -> None:
        """Apply a preset: "Head only", "All" or "None". Raises ValueError for another name."""
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
        self.trainable = {"Head only": [self.head], "All": [""], "None": []}[name]

    def from_layer(self, path: str) -> None:
        """Train this module and all that are registered after it; freeze those before. Raises TraitError for an unknown
        path."""
        first = next(i for i, layer in enumerate(self._layers) if layer.path == self._known(path))
        inside = [layer.path for layer in self._layers[first:] if layer.own]
        self.trainable = {layer.path: layer.path in inside for layer in self._layers if layer.own}

    def apply(self) -> None:
        """Set every requires_grad and every mode as the panel shows them, after other code changed them."""
        self.trainable, self.modes = dict(self.trainable), dict(self.modes)
        self.refresh()

    def refresh(self) -> None:
        """Read the network again, after other code changed it."""
        with self.hold_sync():
            self.set_trait("trainable", self._read_trainable())
            self.set_trait("modes", self._read_modes())
            self._report()

    def run_forward(self) -> None:
        """Run `forward` again and show in the explorer the graph that training would make now.

        Raises RuntimeError when no `forward` was given."""
        if self.forward is None:
            raise RuntimeError(
                "no forward= was given: FreezePanel(model, forward=lambda: loss_fn(model(x), y))"
            )
        self._trace = full_trace(self.model, self.forward)
        self._traced_flags = self._flags()
        if self._explorer is not None:
            self._explorer.show(as_trained(self._trace, self._reach()))
            self._shown = self._trace
        self._report()

    @property
    def explorer(self) -> Explorer:
        """Return the explorer that this panel marks. Raises RuntimeError if there is no graph to show."""
        if self._explorer is None:
            if self._trace is None:
                raise RuntimeError("there is no graph: give loss=, explorer= or forward=")
            self._explorer = Explorer(as_trained(self._trace, self._reach()))
            self._mark()
        return self._explorer

    @property
    def report(self) -> dict[str, Any]:
        """Return `costs` (numbers and bytes), `reach` (see Reach), `stale`, `warnings` (kind, path, text, tone)."""
        reach = self._reach()
        return {
            "costs": costs(self._layers, self.optimizer),
            "reach": reach,
            "stale": self._trace is not None and self._flags() != self._traced_flags,
            "warnings": warnings(self._layers, self.optimizer, self.head),
        }

    # -- reading the network -----------------------------------------------------------------------------------------
    def _known(self, path: Any) -> str:
        if path not in self._by_path:
            near = (
                difflib.get_close_matches(str(path), list(self._by_path), 3, 0.4)
                or list(self._by_path)[1:6]
            )
            raise t.TraitError(
                f"there is no layer {path!r}; there are, for example, {', '.join(map(repr, near))}"
            )
        return path

    def _read_trainable(self) -> dict[str, Any]:
        return {layer.path: layer.trainable for layer in self._layers if layer.own}

    def _read_modes(self) -> dict[str, str]:
        return {layer.path: layer.mode for layer in self._layers if layer.kind}

    def _flags(self) -> dict[str, bool]:
        return {name: bool(p.requires_grad) for name, p in parameters(self._layers)}

    def _rows(self) -> list[dict[str, Any]]:
        counted = [sum(int(p.numel()) for _, p in layer.own) for layer in self._layers]
        rows = []
        for layer in self._layers:
            inside = [n for n, other in zip(counted, self._layers) if below(layer.path, other.path)]
            row = {
                "path": layer.path,
                "name": layer.path.rpartition(".")[2],
                "type": layer.type,
                "level": layer.level,
                "parameters": sum(inside),
                "kind": layer.kind,
            }
            rows.append(row)
        return rows

    def _reach(self) -> Reach:
        reach = in_trace(self._layers, self._trace) if self._trace is not None else None
        return reach or by_order(self._layers)

    def _report(self) -> None:
        report = self.report
        reach: Reach = report["reach"]
        sentences = reach.sentences()
        if self._trace is not None and not reach.traced:
            sentences[-1] = (
                "The graph was made while some of this was frozen, so this is by the order in which the layers are registered."
            )
        self.data = {
            "rows": self.data["rows"],
            "head": self.head,
            "costs": cost_words(report["costs"], self.optimizer),
            "reach": sentences,
            "end": reach.layer,
            "unvisited": list(reach.unvisited),
            "stale": _NO_RERUN if report["stale"] else "",
            "forward": self.forward is not None,
            "warnings": report["warnings"],
            "error": "",
        }
        self._mark()

    def _mark(self) -> None:
        if self._explorer is not None and self._shown is not None:
            reach = in_trace(self._layers, self._shown)
            self._explorer.dimmed = list(reach.dimmed) if reach else []
            self._explorer.selected = (reach.node or "") if reach else ""

    def _on_message(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        self._at_home(lambda: self._answer(content))  # never in the middle of a training step

    def _answer(self, content: dict[str, Any]) -> None:
        kind, path = content.get("kind"), content.get("path", "")
        try:
            if kind == "trainable":
                self.trainable = {path: bool(content["value"])}
            elif kind == "mode":
                self.modes = {path: content["value"]}
            elif kind == "preset":
                self.preset(content["name"])
            elif kind == "from":
                self.from_layer(path)
            elif kind == "forward":
                self.run_forward()
        except Exception as error:  # an error in a comm message is not shown below any cell
            self.data = self.data | {"error": f"{type(error).__name__}: {error}"}
        # even if nothing changed, because the script waits for an answer
        self.send({"kind": "done"})

    # -- shown without a kernel --------------------------------------------------------------------------------------
    def to_html(self, path: str | os.PathLike[str], title: str = "What is frozen") -> Path:
        """Write the panel in its present state to one HTML file that needs no kernel or network; return the path.

        Its switches show there what freezing would do. `viz.html.page([panel, panel.explorer])` shows the graph beside
        them."""
        return html.write(path, [self], title=title)

    def export_state(self) -> dict[str, Any]:
        """Return the state for a page without a kernel: everything that the answers of the switches depend on."""
        seen = {
            "graph": self._trace,
            "shown": self._shown if self._shown is not self._trace else None,
        }
        known: dict[str, Any] = {
            name: trace and graph_facts(self._layers, trace) for name, trace in seen.items()
        }
        known |= {
            "head": self.head,
            "rerun": _NO_RERUN,
            "traced": [name for name, flag in self._traced_flags.items() if flag],
        }
        known["explorer"] = "" if self._explorer is None else self._explorer.model_id
        return self.get_state() | {
            "live": False,
            "facts": facts(self._layers, self.optimizer) | known,
        }

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        return instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a panel with a switch for each layer",
            still(self.data, self._read_all()),
        )

    def _read_all(self) -> dict[str, Any]:
        return {row["path"]: subtree(self.trainable, row["path"]) for row in self.data["rows"]}

    def __repr__(self) -> str:
        cost = costs(self._layers, self.optimizer)
        open_traps = sum(w["tone"] == "warning" for w in self.data["warnings"])
        traps = (
            "no warnings"
            if not open_traps
            else "1 warning"
            if open_traps == 1
            else f"{open_traps} warnings"
        )
        kind = type(self.model).__name__
        return f"FreezePanel({kind}: {cost['trainable']:,} trainable, {cost['frozen']:,} frozen, {traps})"


def _closest(settings: Mapping[str, Any], path: str) -> Any:
    """Return the entry for a module: under its own path, or the longest path that contains it; None if there is
    none."""
    return (
        settings[max(over, key=len)]
        if (over := [other for other in settings if below(other, path)])
        else None
    )


def subtree(trainable: Mapping[str, Any], path: str) -> bool | str | None:
    """Return the state of a module with everything inside it: True, False, "mixed", or None without parameters; same as
    `stateOf` in freeze.js."""
    states = {value for other, value in trainable.items() if below(path, other)}
    return None if not states else states.pop() if len(states) == 1 else MIXED


# -- the still picture ------------------------------------------------------------------------------------------------
_WORDS = {True: "trainable", False: "❄ frozen", MIXED: "partly", None: "no parameters"}
LINE, MOST_ROWS, INDENT = 22, 24, 18


def still(data: dict[str, Any], states: dict[str, Any]) -> str:
    """Return one SVG picture: the upper levels of the tree, as many as fit, with the panel's sentences below."""
    rows = data["rows"]
    deepest = max(row["level"] for row in rows)
    while deepest > 2 and sum(row["level"] <= deepest for row in rows) > MOST_ROWS:
        deepest -= 1
    shown = [row for row in rows if row["level"] <= deepest]
    left_out = max(0, len(shown) - MOST_ROWS)
    parts, y = [], 24
    names = [f"{row['name'] or 'network'}: {row['type']}" for row in shown[:MOST_ROWS]]
    column = (
        max(INDENT * row["level"] + text_width(name, 13) for row, name in zip(shown, names)) + 24
    )
    for row, name in zip(shown, names):
        state = states[row["path"]]
        look: dict[str, Any] = {"fill": palette.PAPER, "stroke": palette.DATA}
        if state is False:
            look = {
                "fill": palette.PAPER,
                "stroke": palette.FROZEN,
                "stroke_dasharray": "8 3 2 3",
                "stroke_width": 2,
            }
        elif state is True:
            look = {"fill": palette.PAPER, "stroke": palette.LEAF, "stroke_width": 3}
        if state is not None:
            parts.append(element("rect", x=column, y=y - 14, width=100, height=18, rx=5, **look))
        parts += [
            label("al-name", INDENT * row["level"], y, name),
            label("al-state", column + 8, y, _WORDS[state]),
        ]
        if row["parameters"]:
            parts.append(label("al-count", column + 116, y, f"{row['parameters']:,}"))
        y += LINE
    said = [f"and {left_out} more"] if left_out else []
    said += (
        [f"{term}: {text}" for term, text in data["costs"]]
        + data["reach"]
        + [w["text"] for w in data["warnings"]]
    )
    lines = [line for text in said for line in _wrapped(text)]
    parts += [label("al-said", INDENT, y + 10 + i * 18, line) for i, line in enumerate(lines)]
    width, height = max(column + 220, 720), y + 10 + 18 * len(lines)
    paper = element("rect", width=width, height=height, fill=palette.PAPER)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}" '
        f'role="img" aria-label="What is frozen" font-family="{FONT}">{paper}{"".join(parts)}</svg>'
    )


def _wrapped(text: str, letters: int = 100) -> list[str]:
    from textwrap import wrap

    return wrap(text, letters, subsequent_indent="    ")
