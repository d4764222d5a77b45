"""The explorer: a learner's own graph, stepped forward and backward."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import traitlets as t

from ..trace.layers.folding import Folding
from ..trace.questions import what_if
from ..trace.model import Trace
from ..trace.captions.text import render
from ..viz import html, layout
from ..viz.dot import to_dot
from ..viz.mime import Bundle, instead
from . import assets
from .deriving import Deriving
from .mathml import formulas
from .packing import BIG, details, pack

MOST_BOXES = 2000  # a browser takes about a second for the layout of this many
MOST_DRAWN = 300  # graphs with at most this many nodes also get a static picture
MOST_WITH_SAVED = 16  # graphs with at most this many nodes show saved tensors in it
RANKDIRS = ("LR", "TB")  # data flows left to right, or top to bottom


class Explorer(Deriving):
    """Steps through the forward and backward pass of one trace; the widget that `autolab.explore` returns.

    step     : index of the frame shown, from 0; a number outside is moved to the nearest frame.
    selected : id of the node that Details describes, "" for the step's node; a name may be assigned.
    playing  : True while it steps on by itself.
    interval : milliseconds between two steps of playing, at least 50.
    expanded : ids of the parts that are open: modules ("g3") and, where there are no modules, runs of operations
               ("r0"); a module's path may be assigned ("layer1.0"). A part inside a closed one does not show.
    rankdir  : "LR": data flows from left to right (from top to bottom where the page is narrow); or "TB": always from
               top to bottom.
    inspecting : whether Details are shown: everything known about the step and the node that is looked at.
    dimmed   : ids of nodes that are marked as frozen: backward would not visit them (FreezePanel sets it).

    Python and the page can both set these. Everything else is computed once in the kernel, so stepping, playing,
    selecting nodes and opening parts need no kernel. For a trace of 8,000 nodes or more, the numbers stay in the
    kernel, which sends those of the current step. `trace` is the Trace shown.

    Raises ValueError when even the folded picture has more than 2,000 boxes: thousands of results that lead nowhere.
    """

    _esm = assets.loader("explorer")
    _script = t.Unicode(assets.module("explorer")).tag(sync=True)
    step = t.Int(0).tag(sync=True)
    selected = t.Unicode("").tag(sync=True)
    playing = t.Bool(False).tag(sync=True)
    interval = t.Int(1200).tag(sync=True)
    expanded = t.List(t.Unicode()).tag(sync=True)
    dimmed = t.List(t.Unicode()).tag(sync=True)
    compared = t.Dict().tag(sync=True)  # where another trace differs, see difference.py
    rankdir = t.Unicode("LR").tag(sync=True)
    inspecting = t.Bool(False).tag(sync=True)
    data = t.Dict().tag(sync=True)  # the trace, packed
    folding = t.Dict().tag(sync=True)  # the parts, and which node is in which
    formulas = t.Dict().tag(sync=True)  # form -> MathML, see mathml.py
    live = t.Bool(True).tag(sync=True)  # whether a kernel may be there; not on an exported page

    def __init__(
        self,
        trace: Trace,
        expanded: list[str] | None = None,
        rankdir: str | None = None,
        **traits: Any,
    ):
        self._take(trace)
        super().__init__(**self._packed(), **traits)
        self.rankdir = self._first_rankdir() if rankdir is None else rankdir
        self.expanded = self._folding.first() if expanded is None else expanded
        self.on_msg(self._on_message)

    def show(self, trace: Trace) -> None:
        """Show another trace from its first step, wherever the explorer is on display."""
        self._take(trace)
        with self.hold_sync():
            self._ask_nothing()
            self.local, self.ends, self.compared, self.tried = {}, [], {}, {}
            self.step, self.selected, self.playing, self.dimmed = 0, "", False, []
            packed = self._packed()
            self.folding, self.formulas = packed["folding"], packed["formulas"]
            self.rankdir, self.expanded = self._first_rankdir(), self._folding.first()
            self.data = packed["data"]

    def _take(self, trace: Trace) -> None:
        folding = Folding(trace)
        boxes = folding.boxes(folding.first())
        if boxes > MOST_BOXES:
            raise ValueError(
                f"even folded, this graph has {boxes:,} boxes; the explorer draws up to {MOST_BOXES:,}"
            )
        self.trace, self._folding = trace, folding
        self._around: dict[str, tuple[list[Any], list[Any]]] | None = None

    def _first_rankdir(self) -> str:
        return "LR"

    def _packed(self) -> dict[str, Any]:
        big = len(self.trace.nodes) >= BIG
        return {
            "data": pack(self.trace, numbers=not big, folding=self._folding),
            "formulas": {} if big else formulas(self.trace),
            "folding": self._folding.to_json(),
        }

    @t.validate("expanded")
    def _expanded_parts(self, proposal: Any) -> list[str]:
        folding = self._folding
        try:
            wanted = folding.named(proposal["value"])
        except ValueError as error:
            raise t.TraitError(str(error)) from None
        boxes = folding.boxes(wanted)
        if boxes > MOST_BOXES:
            raise t.TraitError(
                f"with these parts open there are {boxes:,} boxes to draw; up to {MOST_BOXES:,} can be"
            )
        return wanted

    @t.validate("rankdir")
    def _known_rankdir(self, proposal: Any) -> str:
        if proposal["value"] not in RANKDIRS:
            raise t.TraitError(
                f'rankdir must be "LR" (left to right) or "TB" (top to bottom), got {proposal["value"]!r}'
            )
        return str(proposal["value"])

    @t.validate("step")
    def _step_within(self, proposal: Any) -> int:
        last = len(self.trace.frames) - 1
        return max(0, min(proposal["value"], last if self._held is None else self._held))

    @t.validate("interval")
    def _interval_enough(self, proposal: Any) -> int:
        return max(50, proposal["value"])

    @t.validate("selected")
    def _selected_node(self, proposal: Any) -> str:
        wanted, nodes = proposal["value"], self.trace.nodes
        if (
            wanted == ""
            or wanted[0] == "n"
            and wanted[1:].isdigit()
            and int(wanted[1:]) < len(nodes)
        ):
            return wanted
        named = [node.id for node in self.trace.nodes if wanted in (node.name, node.label)]
        if not named:
            raise t.TraitError(
                f'there is no node "{wanted}"; there are {", ".join(node.label for node in self.trace.nodes[:20])}'
            )
        return named[-1]

    def _on_message(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("kind") == "need-local":
            self._tell_local()
        elif content.get("kind") == "what-if":
            self.send(what_if.answer(self.trace, content))
        elif content.get("kind") == "need-details":
            self.send({"kind": "details", **self._details(content["step"], content["selected"])})

    def _details(self, step: int, selected: str) -> dict[str, Any]:
        if self._around is None:
            self._around = {node.id: ([], []) for node in self.trace.nodes}
            for edge in self.trace.edges:
                self._around[edge.child][0].append(edge)
            for saved in self.trace.saved:
                self._around[saved.node][1].append(saved)
        return details(self.trace, step, selected, self._around.__getitem__)

    def _still(self) -> tuple[str, str]:
        """Return (SVG, text) for pages without JavaScript: the graph drawn by Graphviz, or as text if Graphviz is
        missing."""
        if len(self.trace.nodes) <= MOST_DRAWN:
            try:
                few = len(self.trace.nodes) <= MOST_WITH_SAVED
                return layout.svg(to_dot(self.trace, show_saved=few).source), ""
            except (layout.LayoutUnavailable, RuntimeError, ValueError):
                return "", render(self.trace, frames=False)
        return "", ""

    def export_state(self) -> dict[str, Any]:
        """Return the state for a page without a kernel."""
        return self.get_state() | {"live": False} | self._export_local()

    def to_html(self, path: str | os.PathLike[str], title: str = "autolab explorer") -> Path:
        """Write the explorer in its present state to one HTML file that needs no kernel; return the path."""
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        picture, text = (
            ("", "") if self.asked else self._still()
        )  # show all details, because a static picture has no clicks
        bundle = instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a graph to step through, forward and backward",
            picture,
        )
        if bundle is not None and text:
            bundle[0]["text/plain"] += f"\n\n{text}"
        return bundle

    def __repr__(self) -> str:
        # Without an address, because a stored notebook must print the same on every run.
        roots = [self.trace.node(root).label for root in self.trace.meta.get("roots", ())]
        of = ", ".join(roots[:3]) + (f" and {len(roots) - 3:,} more" if len(roots) > 3 else "")
        counts = (
            f"{_counted(len(self.trace.nodes), 'node')}, {_counted(len(self.trace.frames), 'step')}"
        )
        return f"Explorer({of}: {counts})" if of else f"Explorer({counts})"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def explore(
    root_or_recording: Any,
    params: Mapping[str, Any] | None = None,
    *,
    step: int = 0,
    selected: str = "",
    playing: bool = False,
    interval: int = 1200,
    expanded: list[str] | None = None,
    rankdir: str | None = None,
    namespace: Mapping[str, Any] | None = None,
    gradient: Any = None,
    backward: bool = True,
    values: bool = True,
    formulas: bool | None = None,
) -> Explorer:
    """Step through a computation: an Explorer for a result tensor, a recording, a Trace, or a result of your own
    engine.

    root_or_recording: a tensor of autolab or of real PyTorch, or a list of them; what `autolab.record()` gave; a Trace;
    an object of any class that says its value, its parents and its local derivatives, as micrograd's `Value` does
    (docs/own_engine.md). step, selected, playing, interval, expanded, rankdir: how it begins (see Explorer). params,
    namespace, gradient, backward, values, formulas: for tensors only, those of `autolab.trace.trace`, such as
    `params={"w": w}` for names and `gradient=` for results of more than one number. formulas None: unless the graph has
    8,000 operations or more.

    Raises TypeError for anything else.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> explorer = torch.explore(x * x, step=2)
        >>> explorer.step
        2
    """
    from ..trace.graph import uncollected

    layout.begin()
    with uncollected():
        trace = as_trace(
            root_or_recording,
            params,
            namespace=namespace,
            gradient=gradient,
            backward=backward,
            values=values,
            formulas=formulas,
        )
        return Explorer(
            trace,
            expanded,
            rankdir,
            step=step,
            selected=selected,
            playing=playing,
            interval=interval,
        )


def as_trace(
    source: Any,
    params: Mapping[str, Any] | None = None,
    *,
    namespace: Mapping[str, Any] | None = None,
    gradient: Any = None,
    backward: bool = True,
    values: bool = True,
    formulas: bool | None = None,
    called: str = "source",
    also: str = "a recording or a trace",
) -> Trace:
    """Return the trace of anything that can be explored. All arguments but `source` are those of `autolab.trace.trace`,
    for tensors only.

    formulas: None leaves them out of graphs of 8,000 operations or more. Raises TypeError for anything else; its
        message calls the argument `called` and lists `also` as accepted besides tensors.
    """
    from ..trace import Recording, foreign, graph, trace

    if foreign.is_foreign(source):
        return _foreign(
            source, params, namespace, backward, gradient=gradient, values=values, formulas=formulas
        )
    if isinstance(source, Trace | Recording):
        given = {
            "params": params,
            "namespace": namespace,
            "gradient": gradient,
            "formulas": formulas,
        }
        told = [name for name, value in given.items() if value is not None]
        told += [name for name, value in (("backward", backward), ("values", values)) if not value]
        if told:
            raise TypeError(f"{', '.join(told)}: only for tensors; this has been traced already")
        return source if isinstance(source, Trace) else source.trace()
    graph.tensors(source, called, f", {also}")
    if formulas is None:
        formulas = operations(source, BIG) < BIG
    return trace(
        source,
        params,
        namespace=namespace,
        gradient=gradient,
        backward=backward,
        values=values,
        formulas=formulas,
    )


def _foreign(source: Any, params: Any, namespace: Any, backward: bool, **only: Any) -> Trace:
    """Return the trace of an object of another engine. Raises TypeError for arguments that are for tensors only."""
    from ..trace import foreign

    usual = {"gradient": None, "values": True, "formulas": None}
    told = [name for name, value in only.items() if value is not usual[name]]
    if told:
        raise TypeError(
            f"{', '.join(told)}: only for tensors; this is a {type(source).__name__} of another engine"
        )
    return foreign.trace(source, params, namespace=namespace, backward=backward)


def operations(source: Any, most: int) -> int:
    """Return the number of operations behind a tensor or tensors; counting stops soon after `most`."""
    from ..trace import graph

    tensors = graph.tensors(source, "source")
    todo = [fn for tensor in tensors if (fn := getattr(tensor, "grad_fn", None)) is not None]
    seen = set(todo)
    while todo and len(seen) < most:
        for fn, _ in todo.pop().next_functions:
            if fn is not None and fn not in seen:
                seen.add(fn)
                todo.append(fn)
    return len(seen)
