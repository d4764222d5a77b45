"""The explorer: a learner's own graph, stepped forward and backward."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anywidget
import traitlets as t

from ..trace.model import Trace
from ..viz import html, layout
from . import assets
from .geometry import geometry
from .picture import Picture

MOST_NODES = 2000  # Graphviz needs a second for these, and minutes for ten times as many
RANKDIRS = ("LR", "TB")  # data flows left to right; top to bottom where the page is narrow
_VALUES = ("value", "grad", "grad_before", "total")


class Explorer(anywidget.AnyWidget):
    """Steps through the forward and backward pass of one trace; the widget that `autolab.explore` returns.

    step     : index of the frame shown, from 0; a number outside is moved to the nearest frame.
    selected : id of the node that Details describes, "" for the one the step is about; a name may be assigned.
    playing  : True while it steps on by itself.
    interval : milliseconds between two steps of playing, at least 50.
    dimmed   : ids of nodes that are marked as frozen: backward would not come to them (FreezePanel sets it).

    These are set from either side. Everything else is worked out once in the kernel, so stepping, playing and
    looking at nodes needs no kernel. `trace` is the Trace shown.

    Raises ValueError when the trace has more than 2,000 nodes.
    """

    _esm = assets.module("explorer")
    step = t.Int(0).tag(sync=True)
    selected = t.Unicode("").tag(sync=True)
    playing = t.Bool(False).tag(sync=True)
    interval = t.Int(1200).tag(sync=True)
    dimmed = t.List(t.Unicode()).tag(sync=True)
    data = t.Dict().tag(sync=True)  # the trace, packed
    formulas = t.Dict().tag(sync=True)  # TeX -> MathML
    svg = t.Unicode("").tag(sync=True)  # "" until something has laid it out
    layouts = t.Dict().tag(sync=True)  # rankdir -> geometry
    dot = t.Dict().tag(sync=True)  # rankdir -> DOT, while there is no layout

    def __init__(self, trace: Trace, **traits: Any):
        self._take(trace)
        super().__init__(data=pack(trace), formulas=formulas(trace), **traits)
        self._draw()
        self.on_msg(self._on_message)

    def show(self, trace: Trace) -> None:
        """Show another trace from its first step, wherever the explorer is on display. Raises ValueError as above."""
        self._take(trace)
        with self.hold_sync():
            self.step, self.selected, self.playing, self.dimmed = 0, "", False, []
            self.data, self.formulas = pack(trace), formulas(trace)
            self._draw()

    def _take(self, trace: Trace) -> None:
        if len(trace.nodes) > MOST_NODES:
            raise ValueError(
                f"this graph has {len(trace.nodes)} nodes; the explorer shows up to {MOST_NODES}. Explore a part: "
                "an earlier result, or fewer repetitions."
            )
        self.trace = trace
        self._picture = Picture(trace)

    def _draw(self) -> None:
        dots = {rankdir: self._picture.dot(rankdir) for rankdir in RANKDIRS}
        try:
            self._lay_out(_layouts(dots))
        except layout.LayoutUnavailable:
            self.svg, self.dot = "", dots

    @t.validate("step")
    def _step_within(self, proposal: Any) -> int:
        return max(0, min(proposal["value"], len(self.trace.frames) - 1))

    @t.validate("interval")
    def _interval_enough(self, proposal: Any) -> int:
        return max(50, proposal["value"])

    @t.validate("selected")
    def _selected_node(self, proposal: Any) -> str:
        wanted = proposal["value"]
        ids = [node.id for node in self.trace.nodes]
        if wanted == "" or wanted in ids:
            return wanted
        named = [node.id for node in self.trace.nodes if wanted in (node.name, node.label)]
        if not named:
            raise t.TraitError(
                f'there is no node "{wanted}"; there are {", ".join(node.label for node in self.trace.nodes[:20])}'
            )
        return named[-1]

    def _on_message(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("kind") == "need-viz":
            try:
                self.send({"kind": "viz", "source": layout.viz_js()})
            except OSError as error:
                self.send(
                    {
                        "kind": "error",
                        "text": f"viz.js cannot be read ({error}). Reinstall autolab-kit, or install Graphviz.",
                    }
                )
        elif content.get("kind") == "layouts":
            self._lay_out(content["svgs"])

    def _lay_out(self, svgs: dict[str, str]) -> None:
        self.layouts = {rankdir: geometry(svg) for rankdir, svg in svgs.items()}
        self.dot = {}
        self.svg = self._picture.svg(self.layouts["LR"])

    def to_html(self, path: str | os.PathLike[str], title: str = "autolab explorer") -> Path:
        """Write the explorer, as it stands now, to one HTML file without need of kernel or network; returns the path.

        Raises RuntimeError when nothing has laid the graph out yet.
        """
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None and self.svg:
            bundle[0]["image/svg+xml"] = self.svg
        return bundle

    def __repr__(self) -> str:
        # No address: a stored notebook must print the same on every run.
        of = ", ".join(self.trace.node(root).label for root in self.trace.meta.get("roots", ()))
        counts = f"{_counted(len(self.trace.nodes), 'node')}, {_counted(len(self.trace.frames), 'step')}"
        return f"Explorer({of}: {counts})" if of else f"Explorer({counts})"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def explore(root_or_recording: Any, **options: Any) -> Explorer:
    """Step through a computation: an Explorer for a result tensor, a recording, or a Trace.

    root_or_recording: a tensor of autolab or of real PyTorch, or a list of them; what `autolab.record()` gave; a Trace.
    options: `step`, `selected`, `playing`, `interval` to start with (see Explorer); for tensors also those of
    `autolab.trace.trace`, such as `params={"w": w}` for names and `gradient=` for results of more than one number.

    Raises TypeError for anything else.
    """
    traits = {key: options.pop(key) for key in ("step", "selected", "playing", "interval") if key in options}
    return Explorer(as_trace(root_or_recording, **options), **traits)


def as_trace(source: Any, **options: Any) -> Trace:
    """The trace of whatever can be explored; `options` are those of `autolab.trace.trace`, for tensors only.

    Raises TypeError for anything else.
    """
    from ..trace import Recording, trace

    if isinstance(source, Trace | Recording):
        if options:
            raise TypeError(f"{', '.join(options)}: only for tensors; this has been traced already")
        return source if isinstance(source, Trace) else source.trace()
    return trace(source, **options)


def pack(trace: Trace) -> dict[str, Any]:
    """`trace.to_json()` with every value once, in a list `values`, and its place there wherever it is used."""
    values: list[Any] = []
    places: dict[str, int] = {}

    def place(value: dict[str, Any] | None) -> int | None:
        if value is None:
            return None
        key = repr(value)
        if key not in places:
            places[key] = len(values)
            values.append(value)
        return places[key]

    def packed(record: dict[str, Any]) -> dict[str, Any]:
        record = record | {key: place(record[key]) for key in _VALUES if key in record}
        if record.get("outputs"):
            record["outputs"] = [packed(output) for output in record["outputs"]]
        return record

    data = trace.to_json()
    for part in ("nodes", "edges", "saved", "frames"):
        data[part] = [packed(record) for record in data[part]]
    return data | {"values": values}


def formulas(trace: Trace) -> dict[str, str]:
    """MathML for every formula of a trace, by its TeX. One that cannot be converted is left out, and shown as TeX."""
    found = {tex for part in (trace.nodes, trace.edges) for record in part for tex in (record.tex, record.tex_numbers)}
    found |= {frame.tex for frame in trace.frames}
    found |= {tex for node in trace.nodes if node.layer is not None for _, _, tex in node.layer["card"]}
    return {tex: mathml for tex in sorted(found) if tex and (mathml := _mathml(tex))}


@functools.lru_cache(maxsize=20_000)
def _mathml(tex: str) -> str:
    from latex2mathml.converter import convert

    try:
        mathml = convert(tex, display="block").replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    except Exception:  # the converter raises many kinds for TeX it does not know
        return ""
    # `\mathrel{+}=` is one sign to a reader; the converter makes two of it, with a gap.
    return mathml.replace("<mo><mrow><mo>&#x0002B;</mo></mrow></mo><mo>&#x0003D;</mo>", "<mo>+=</mo>")


def _layouts(dots: dict[str, str]) -> dict[str, str]:
    with ThreadPoolExecutor(len(dots)) as pool:  # each waits for a process of its own
        return dict(zip(dots, pool.map(lambda dot: layout.render(dot, "svg").decode(), dots.values()), strict=True))
