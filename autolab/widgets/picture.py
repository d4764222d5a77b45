"""The drawing of a trace for the explorer: a card for every node and closed part, lines between them, frames around
open parts. `static/draw.js` mirrors `Picture` for pages without a kernel.

Graphviz only places boxes here: every card has a fixed size worked out in cards.py, so the layout does not depend on which
fonts a machine has, and one skeleton serves the still picture, the widget and the exported page. The widget's script
changes words, numbers and classes inside the skeleton; it draws no card of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from ..trace.folding import Folding, Link
from ..trace.model import Saved, Trace
from ..trace.text import shape_text
from ..viz.palette import BACKWARD, FORWARD, LEAF, PAPER
from ..viz.palette import DATA as RULE
from .cards import Card, Header, PartCard, gradients
from .svg import FONT, STRIPES, TEXT, bytes_each, device_look, element, fit, label, size_words

PILL = (50, 20)
HEADER = (6, 5)  # where a frame's header stands in it
MAX_PILLS = 150


class Cards:
    """The cards of a trace's nodes and parts, each made when it is asked for."""

    def __init__(self, trace: Trace, folding: Folding):
        self.trace, self.folding = trace, folding
        self.grads, self.ends = gradients(trace), trace.states(len(trace.frames) - 1)
        self.names = {f.receiver: f.name for f in trace.frames if f.event == "return" and f.state == "returned"}
        self.saved: dict[str, list[Saved]] = {}
        for s in trace.saved:
            self.saved.setdefault(s.node, []).append(s)
        self.types = {group.path: group.type for group in trace.groups}
        self.sent = {f.edge: f.value for f in trace.frames if f.edge is not None and f.value is not None}
        self.devices: dict[str, Any] = trace.meta.get("devices", {})
        copied = {node.id for node in trace.nodes if node.op == "to_copy" and trace.copied(node)}
        self.copies = {edge.id for edge in trace.edges if edge.child in copied}  # what flows along these goes to another device
        self.wrong: dict[str, str] = {}  # part -> what is wrong with a node in it
        for node in trace.nodes:
            for of in folding.opening(node.id) if node.error or node.mark else ():
                self.wrong.setdefault(of, "an operation failed" if node.error else node.mark)
        self._made: dict[str, Card | PartCard] = {}

    def __call__(self, of: str) -> Card | PartCard:
        """The card of a node or closed part, by its id."""
        if of not in self._made:
            self._made[of] = self._part(of) if of in self.folding.parts else self._node(of)
        return self._made[of]

    def _part(self, of: str) -> PartCard:
        part = self.folding.parts[of]
        return PartCard(part, device_look(self.trace.node(part.last), self.devices), self.wrong.get(of, ""))

    def _node(self, of: str) -> Card:
        node = self.trace.node(of)
        # In a frame the module need not be said again.
        said = node.kind == "op" and of not in self.folding.home
        kind = self.types.get(node.module, "")
        module = (node.module if kind in ("", node.module) else f"{node.module} · {kind}") if said else ""
        start = self.trace.copied(node)
        size = size_words(math.prod(node.shape) * bytes_each(node.dtype)) if start and node.shape is not None else ""
        sharers = len(self.trace.sharers(of))
        note = f"{start} → {node.device}, {size}" if size else f"shared by {sharers} calls" if sharers else ""
        rehearsed = self.trace.meta.get("backward") == "dry"
        return Card(node, self.saved.get(of, []), self.grads[of], module, note, self.devices, self.ends[of], self.names.get(of), rehearsed)


class Picture:
    """The explorer's picture of one trace with the parts `expanded` open (by default those of `Folding.first`);
    `dot(rankdir)` asks for a layout, `svg(geometry)` draws with it."""

    def __init__(self, trace: Trace, expanded: Collection[str] | None = None, cards: Cards | None = None):
        self.trace = trace
        self.cards = cards or Cards(trace, Folding(trace))
        self.folding = self.cards.folding
        self.expanded = self.folding.first() if expanded is None else list(expanded)
        self.folded = self.folding.fold(self.expanded)
        self.headers = {part: Header(self.folding.parts[part]) for part in self.folded.frames}
        self.pills: set[str] = set()
        if len(self.folded.links) <= MAX_PILLS:
            self.pills = {link.id for link in self.folded.links if link.differentiable and _has_pill(link)}

    def dot(self, rankdir: str) -> str:
        """DOT with sizes and ids only; `rankdir` "LR" or "TB". What Graphviz makes of it is read by `geometry`."""
        boxes = self.folded.boxes
        inside: dict[str | None, list[str]] = {}
        for key, box in boxes.items():
            card = self.cards(box.of)
            inside.setdefault(box.frame, []).append(_box(key, card.width, card.height))
        enter, leave = ("w", "e") if rankdir == "LR" else ("n", "s")  # a line goes straight through its pill
        lines = []
        for link in self.folded.links:
            # The way from result to result runs straight; leaves stand beside it.
            of, start, end, name = boxes[link.start].of, link.start, link.end, link.id
            weight = 8 if of in self.folding.parts or self.trace.node(of).ran else 1
            if name in self.pills:
                around = self._around_both(boxes[start].frame, boxes[end].frame)
                inside.setdefault(around, []).append(_box(name, *PILL))
                lines.append(f'{start} -> {name}:{enter} [id="{name}a", weight={weight}];')
                lines.append(f'{name}:{leave} -> {end} [id="{name}b", weight={weight}];')
            else:
                lines.append(f'{start} -> {end} [id="{name}a", weight={weight}, minlen=2];')
        lines += [f"{start} -> {end} [style=invis, weight=0];" for start, end in self.folded.order]
        head = f"digraph {{ rankdir={rankdir}; nodesep=0.24; ranksep=0.15; edge [arrowhead=none];"
        frames = [line for part in self.folded.frames if self._frame_around(part) is None for line in self._cluster(part, inside)]
        return "\n".join([head, 'node [shape=box, fixedsize=true, label=""];', *frames, *inside.get(None, []), *lines, "}"])

    def _cluster(self, part: str, inside: dict[str | None, list[str]]) -> list[str]:
        header = self.headers[part]
        size = f'FIXEDSIZE="TRUE" WIDTH="{header.width}" HEIGHT="{header.height}"'
        label = f'<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR><TD {size}></TD></TR></TABLE>>'
        lines = [f"subgraph cluster_{part} {{ id={part}; margin=12; labeljust=l; label={label};", *inside.get(part, [])]
        for other in self.folded.frames:
            if self._frame_around(other) == part:
                lines += self._cluster(other, inside)
        return [*lines, "}"]

    def _frame_around(self, part: str) -> str | None:
        return self.folding.parts[part].parent

    def _around_both(self, a: str | None, b: str | None) -> str | None:
        """The innermost frame around two frames, or None."""
        chain = set()
        while a is not None:
            chain.add(a)
            a = self._frame_around(a)
        while b is not None and b not in chain:
            b = self._frame_around(b)
        return b

    def svg(self, geometry: dict[str, Any]) -> str:
        """The whole picture as SVG that stands alone, and whose parts the widget finds by class and data attribute."""
        size = {"width": geometry["width"], "height": geometry["height"]}
        stripes = any(self.cards(box.of).look[0] == "sim" for box in self.folded.boxes.values())
        parts = [STRIPES if stripes else "", element("rect", class_="al-paper", **size, fill=PAPER)]
        for part in self.folded.frames:
            x, y, w, h = geometry["frames"][part]
            place = {"x": x, "y": y, "width": w, "height": h, "rx": 8}
            look = {"fill": "none", "stroke": RULE, "stroke_dasharray": "2 3"}
            parts.append(element("rect", class_="al-frame", data_id=part, **place, **look))
        parts += [self._line(link, geometry) for link in self.folded.links]
        # In forward order, which is the order of Tab; a frame's label comes before what is in it.
        labels = sorted(self.headers, key=self.folding.place)
        for key, box in self.folded.boxes.items():
            while labels and self.folding.place(labels[0]) <= self.folding.place(box.of):
                parts.append(self._header(labels.pop(0), geometry))
            card, (x, y) = self.cards(box.of), geometry["nodes"][key]
            moved = f"translate({x - card.width / 2:g} {y - card.height / 2:g})"
            data = {"data_id": box.of, "data_key": key, "data_w": card.width, "data_h": card.height}
            name = "al-node al-part" if box.of in self.folding.parts else "al-node"
            parts.append(element("g", card.draw(), class_=name, **data, transform=moved))
        frame = {"viewBox": f"0 0 {size['width']} {size['height']}", "font_family": FONT}
        opened = " ".join(self.expanded)
        return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", **size, data_open=opened, **frame)

    def _header(self, part: str, geometry: dict[str, Any]) -> str:
        header, (x, y) = self.headers[part], geometry["frames"][part][:2]
        moved = f"translate({x + HEADER[0]:g} {y + HEADER[1]:g})"
        data = {"data_id": part, "data_w": header.width, "data_h": header.height}
        return element("g", header.draw(), class_="al-header", **data, transform=moved)

    def _line(self, link: Link, geometry: dict[str, Any]) -> str:
        x, y, angle = geometry["heads"][link.id]
        color = LEAF if link.update else FORWARD if link.differentiable else RULE
        place = f"translate({x:g} {y:g}) rotate({angle:g})"
        width = 4.2 if link.update else 4 if any(edge in self.cards.copies for edge in link.edges) else 1.6
        stroke = {"fill": "none", "stroke": color, "stroke_width": width}
        path = element("path", class_="al-line", d=geometry["edges"][link.id], **stroke)
        if link.update:  # a double line
            path += element("path", class_="al-inline", d=geometry["edges"][link.id], fill="none", stroke=PAPER, stroke_width=1.4)
        head = element("path", class_="al-head", d="M0 0L-10 -4.5L-10 4.5Z", fill=color, transform=place)
        pill = self._pill(link, geometry["pills"][link.id]) if link.id in geometry["pills"] else ""
        return element("g", path, head, pill, class_="al-edge", data_id=link.id)

    def _pill(self, link: Link, center: list[float]) -> str:
        """The number on a line: the last contribution that went along it, hidden when there was none; where several
        edges are merged, how many."""
        sent = self.cards.sent.get(link.id)
        words = "" if sent is None else sent.text if sent.shape == () else shape_text(sent.shape)
        words = words if len(link.edges) == 1 else f"{len(link.edges):,} edges"
        w, h = PILL
        box = {"x": -w // 2, "y": -h // 2, "width": w, "height": h, "rx": h // 2}
        look = {"fill": PAPER, "stroke": BACKWARD, "stroke_dasharray": "4 3"}
        return element(
            "g",
            element("rect", **box, **look),
            label("al-pilltext", 0, 4.5, fit(words, TEXT, w - 6), text_anchor="middle"),
            class_="al-pill",
            visibility=None if words else "hidden",
            transform=f"translate({center[0]:g} {center[1]:g})",
        )


def _has_pill(link: Link) -> bool:
    """A line between two nodes has a number to show, a merged one how many it stands for."""
    return len(link.edges) > 1 or (link.start[0] == "n" and link.end[0] == "n")


def _box(name: str, width: float, height: float) -> str:
    return f"{name} [id={name}, width={width / 72:.3f}, height={height / 72:.3f}];"
