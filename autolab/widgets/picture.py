"""The drawing of a trace for the explorer: a card for every node and closed part, lines between them, frames around
open parts. `static/draw.js` mirrors `Picture` for pages without a kernel.

Graphviz only places boxes here: every card has a fixed size worked out in cards.py, so the layout does not depend on
which fonts a machine has, and one skeleton serves the still picture, the widget and the exported page. The widget's
script changes words, numbers and classes inside the skeleton; it draws no card of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from typing import Any

from ..trace.layers.folding import Folding, Link, Part
from ..trace.model import Node, Saved, Trace
from ..trace.records import rough
from ..trace.captions.text import shape_text
from ..trace.values import Value
from ..trace.captions.sentences import STATE_WORDS, state_word
from ..viz.palette import BACKWARD, FORWARD, LEAF, MUTED, PAPER
from ..viz.palette import DATA as RULE
from .cards import Card, Header, PartCard, gradients, result_words
from .columns import BETWEEN, Halves, Updates, across
from .geometry import geometry
from .rows import Row, RowsCard, row_name
from .svg import (
    FONT,
    LINE,
    STRIPES,
    TEXT,
    bytes_each,
    device_look,
    element,
    fit,
    label,
    size_words,
    text_width,
)

PILL = (50, 20)
SHAPE = (
    9,
    3.4,
)  # where the words of a shape begin in the room for them, from its left end and its middle
HEADER = (6, 5)  # where a frame's header stands in it
MAX_PILLS = 150


class Cards:
    """The cards of a trace's nodes and parts, each made when it is asked for."""

    def __init__(self, trace: Trace, folding: Folding, rows: bool = False):
        """rows: those of operations have their parameters inside, and parts are small: from top to bottom."""
        self.trace, self.folding, self.rows = trace, folding, rows
        self.rehearsed = trace.meta.get("backward") == "dry"
        nodes, edges, frames = rough(trace.nodes), rough(trace.edges), rough(trace.frames)
        self.grads, self.ends = gradients(trace), trace.states(len(trace.frames) - 1)
        self.names = {
            f.receiver: f.name for f in frames if f.event == "return" and f.state == "returned"
        }
        self.saved: dict[str, list[Saved]] = {}
        for s in trace.saved:
            self.saved.setdefault(s.node, []).append(s)
        self.types = {group.path: group.type for group in trace.groups}
        self.devices: dict[str, Any] = trace.meta.get("devices", {})
        copied = {node.id for node in nodes if node.op == "to_copy" and trace.copied(node)}
        self.copies = {
            edge.id for edge in edges if edge.child in copied
        }  # what flows along these goes to another device
        self.wrong: dict[str, str] = {}  # part -> what is wrong with a node in it
        for node in nodes:
            for of in folding.opening(node.id) if node.error or node.mark else ():
                self.wrong.setdefault(of, "an operation failed" if node.error else node.mark)
        self._made: dict[str, Card | PartCard | RowsCard] = {}

    @functools.cached_property
    def used(self) -> set[str]:
        """Nodes that something is computed from."""
        return {edge.parent for edge in rough(self.trace.edges)}

    @functools.cached_property
    def sent(self) -> dict[str, Value]:
        """Edge -> the latest gradient that went along it."""
        return {
            f.edge: f.value
            for f in rough(self.trace.frames)
            if f.edge is not None and f.value is not None
        }

    def __call__(self, of: str) -> Card | PartCard | RowsCard:
        """The card of a node or closed part, by its id."""
        if of not in self._made:
            self._made[of] = self._part(of) if of in self.folding.parts else self._node(of)
        return self._made[of]

    def _part(self, of: str) -> PartCard:
        part = self.folding.parts[of]
        said = (
            (["part would be in"] if self.rehearsed else ["in progress", "returned"])
            if self.rows
            else None
        )
        return PartCard(
            part,
            device_look(self.trace.node(part.last), self.devices),
            self.wrong.get(of, ""),
            said,
        )

    def _with_rows(self, node: Node) -> RowsCard:
        parts = [
            self.folding.parts[part]
            for part in self.folding.opening(node.id)
            if part in self.folding.single
        ]
        title, kind = node.made or node.id, node.op
        if parts:
            kind = parts[-1].type if node.requires_grad else f"{parts[-1].type} · {title}"
            title = ".".join(part.name for part in parts)
        inside = [self.trace.node(n) for n in self.folding.rows.get(node.id, ())]
        rows = [self._row(node, f"{node.made or node.id}.grad")] if node.requires_grad else []
        rows += [self._row(n, row_name(n)) for n in inside if n.requires_grad]
        others = dict.fromkeys(
            n.name.removeprefix(f"{n.module}.") or n.label
            for n in inside
            if not n.requires_grad and n.kind == "data"
        )
        look = device_look(node, self.devices)
        wrong = [
            words for n in (node, *inside) for words in (n.error.partition(":")[0], n.mark) if words
        ]
        notes = [
            (words, True)
            for words in dict.fromkeys([*wrong, *([f"cut: {node.cut}"] if node.cut else [])])
        ]
        calls = max((len(self.trace.sharers(n.id)) for n in inside), default=0)
        notes += [(f"parameters shared by {calls} calls", False)] if calls else []
        notes += (
            []
            if look[0] is None
            else [(f"{node.device} simulated" if look[0] == "sim" else node.device, False)]
        )
        shown = (
            node.shape is not None
            and not node.error
            and (node.shape == () or node.id not in self.used)
        )
        value = result_words(node) if shown else ""
        saved = [s.id for n in (node, *inside) for s in self.saved.get(n.id, ())]
        closes = parts[0].id if parts and node.id in self.folding.rows else ""
        return RowsCard(node, title, kind, rows, list(others), notes, value, saved, look, closes)

    def _row(self, node: Node, name: str) -> Row:
        state, given = self.ends[node.id], self.names.get(node.id)
        word = fit(state_word(state, given or "", self.rehearsed), TEXT, 150)
        said = [STATE_WORDS["contribution"][1] if self.rehearsed else "accumulated"]
        said += [] if given is None else [fit(state_word("returned", given), TEXT, 150)]
        numbers = [g.text for g in self.grads.get(node.id, ()) if g is not None and g.shape == ()]
        return Row(node.id, name, word, state, said, numbers)

    def _node(self, of: str) -> Card | RowsCard:
        node = self.trace.node(of)
        if self.rows and node.kind == "op":
            return self._with_rows(node)
        # In a frame the module need not be said again.
        said = node.kind == "op" and of not in self.folding.home
        kind = self.types.get(node.module, "")
        module = (
            (node.module if kind in ("", node.module) else f"{node.module} · {kind}")
            if said
            else ""
        )
        start = self.trace.copied(node)
        size = (
            size_words(math.prod(node.shape) * bytes_each(node.dtype))
            if start and node.shape is not None
            else ""
        )
        sharers = len(self.trace.sharers(of))
        note = (
            f"{start} → {node.device}, {size}"
            if size
            else f"shared by {sharers} calls"
            if sharers
            else ""
        )
        return Card(
            node,
            self.saved.get(of, []),
            self.grads.get(of, []),
            module,
            note,
            self.devices,
            self.ends[of],
            self.names.get(of),
            self.rehearsed,
        )


class Picture:
    """The explorer's picture of one trace with the parts `expanded` open (by default those of `Folding.first`);
    `dot(rankdir)` asks for a layout, `svg(geometry)` draws with it."""

    def __init__(
        self, trace: Trace, expanded: Collection[str] | None = None, cards: Cards | None = None
    ):
        self.trace = trace
        self.cards = cards or Cards(trace, Folding(trace))
        self.folding = self.cards.folding
        self.expanded = self.folding.first() if expanded is None else list(expanded)
        self.folded = self.folding.fold(self.expanded, self.cards.rows)
        self.headers = {part: Header(self.folding.parts[part]) for part in self.folded.frames}
        self.pills: set[str] = set()
        self.backbone: set[tuple[str, str]] = set()
        self.updates = self.halves = None
        quiet: set[str] = set()  # what leads from these says no shape, for their cards say it
        if self.cards.rows:
            self.backbone, self.updates = self._backbone(), Updates(self.folding, self.folded)
            self.halves = Halves(self.folding, self.folded, self.updates, self.backbone, self.cards)
            quiet = set(self._beside(self.backbone)) if self.halves.link else quiet
        beside = (
            self.updates.lines if self.updates else {}
        )  # for what runs there is no room to say a shape
        links = self.folded.links if self.folding.network else []
        said = [link for link in links if link.start not in quiet and link.id not in beside]
        shapes = {link.id: self._shape(link) for link in said}
        self.shapes = {link: words for link, words in shapes.items() if words}
        again = (
            {link.id: self._again(link) for link in self.folded.links} if self.cards.rows else {}
        )
        self.again = {link: calls for link, calls in again.items() if calls}
        self.columns = {part for calls in self.again.values() for part in calls}
        if not self.cards.rows and len(self.folded.links) <= MAX_PILLS:
            self.pills = {
                link.id for link in self.folded.links if link.differentiable and _has_pill(link)
            }

    def ways(self, rankdir: str) -> list[str]:
        """The layouts that are made: what runs across also from top to bottom, two columns also as one ("column"), for
        where the page is narrow."""
        return (
            ["LR", "TB"] if rankdir == "LR" else ["TB", "column"] if self._halves("TB") else ["TB"]
        )

    def _halves(self, way: str) -> Halves | None:
        return self.halves if self.halves and self.halves.link and way == "TB" else None

    def dot(self, rankdir: str) -> str:
        """DOT with sizes and ids only; `rankdir` is one of `ways`. What Graphviz makes of it is read by `geometry`."""
        boxes, halves = self.folded.boxes, self._halves(rankdir)
        inside: dict[str | None, list[str]] = {}
        straight = {key for pair in self.backbone for key in pair}
        for key in sorted(
            boxes, key=lambda key: key not in straight
        ):  # what stands beside the way comes at its right
            card = self.cards(boxes[key].of)
            inside.setdefault(boxes[key].frame, []).append(_box(key, card.width, card.height))
        enter, leave = (
            ("w", "e") if rankdir == "LR" else ("n", "s")
        )  # a line goes straight through its pill
        for key, (before, frame) in self._beside(self.backbone).items() if self.cards.rows else ():
            inside[frame].append(f"{{rank=same; {before} -> {key} [style=invis];}}")
        lines: list[str] = []
        placed = set(self.again)  # drawn by `places`
        if self.updates:
            placed |= {*self.updates.lines, *([halves.link.id] if halves and halves.link else [])}
        for link in self.folded.links:
            # The way from result to result runs straight; leaves stand beside it.
            of, start, end, name = boxes[link.start].of, link.start, link.end, link.id
            weight = 8 if of in self.folding.parts or self.trace.node(of).ran else 1
            if link.id in placed:
                continue
            if self.cards.rows:
                lines.append(self._straight(link))
            elif name in self.pills:
                around = self._around_both(boxes[start].frame, boxes[end].frame)
                inside.setdefault(around, []).append(_box(name, self._pill_width(link), PILL[1]))
                lines.append(f'{start} -> {name}:{enter} [id="{name}a", weight={weight}];')
                lines.append(f'{name}:{leave} -> {end} [id="{name}b", weight={weight}];')
            else:
                lines.append(
                    f'{start} -> {end} [id="{name}a", weight={weight}, minlen=2{self._label(link)}];'
                )
        if self.updates:
            lines += [
                *self.updates.dot(inside),
                *self._columns(inside),
                *(halves.dot() if halves else ()),
            ]
        else:
            lines += [
                f"{start} -> {end} [style=invis, weight=0];" for start, end in self.folded.order
            ]
        beside = BETWEEN / 72 if halves else 0.12
        space = (
            f"nodesep={beside:.2f}; ranksep=0.02"
            if self.cards.rows
            else "nodesep=0.24; ranksep=0.15"
        )
        head = f"digraph {{ rankdir={'LR' if rankdir == 'LR' else 'TB'}; {space}; edge [arrowhead=none];"
        frames = [
            line
            for part in self.folded.frames
            if self._frame_around(part) is None
            for line in self._cluster(part, inside)
        ]
        return "\n".join(
            [
                head,
                'node [shape=box, fixedsize=true, label=""];',
                *frames,
                *inside.get(None, []),
                *lines,
                "}",
            ]
        )

    def _backbone(self) -> set[tuple[str, str]]:
        """The longest way through the picture, box by box: it is drawn straight, and what skips a part of it beside
        it."""
        made = {
            key: box.of in self.folding.parts or self.trace.node(box.of).ran
            for key, box in self.folded.boxes.items()
        }
        places = {
            key: i for i, key in enumerate(sorted(made, key=made.__getitem__))
        }  # what nothing made comes first
        into: dict[str, list[str]] = {}
        for link in self.folded.links:
            if places[link.start] < places[link.end] and not link.update:
                into.setdefault(link.end, []).append(link.start)
        length: dict[str, int] = {}
        for key in places:
            length[key] = 1 + max((length[start] for start in into.get(key, ())), default=0)
        found, at = set(), max(length, key=length.__getitem__, default="")
        while at in into:
            before = max(into[at], key=length.__getitem__)
            found.add((before, at))
            at = before
        return found

    def _beside(self, backbone: set[tuple[str, str]]) -> dict[str, tuple[str, str | None]]:
        """What only a box of the backbone uses, and nothing leads to: (the box before that one, the frame of both)."""
        before = {end: start for start, end in backbone}
        boxes, ends = self.folded.boxes, {link.end for link in self.folded.links}
        used: dict[str, set[str]] = {}
        for link in self.folded.links:
            used.setdefault(link.start, set()).add(link.end)
        found = {}
        for key, users in used.items():
            start = before.get(next(iter(users)))
            if (
                len(users) == 1
                and start not in (None, key)
                and key not in ends
                and boxes[start].frame == boxes[key].frame
            ):
                found[key] = start, boxes[key].frame
        return found

    def _again(self, link: Link) -> tuple[str, str] | None:
        """The two calls of one module that a line leads from and to, as the state of a recurrent one: they stand side
        by side."""
        parts = self.folding.parts
        starts, ends = (
            {_call(parts[p])[0]: p for p in self._in(self.folded.boxes[key].of) if p in parts}
            for key in (link.start, link.end)
        )
        for path, start in starts.items():
            end = self.folding.parts[ends.get(path, start)]
            if (
                _call(self.folding.parts[start])[1] < _call(end)[1]
                and self.folding.parts[start].parent == end.parent
            ):
                return start, end.id
        return None

    def _columns(self, inside: dict[str | None, list[str]]) -> list[str]:
        """Puts calls into columns, the earlier at the left: what is not seen stands above each, in one row. A call of
        a second layer stands below that of the first."""
        below = {self._column(link.end) for link in self.folded.links if self._falls(link)}
        follow = {
            start: end for start, end in sorted(self.again.values()) if not below & {start, end}
        }
        first: dict[str, str] = {}
        for key, box in self.folded.boxes.items():
            for part in self._in(box.of):
                first.setdefault(part, key)
        parts = dict.fromkeys(part for pair in follow.items() for part in pair)
        for start, end in follow.items():
            around = self._visible(self.folding.parts[start].parent)
            inside.setdefault(around, []).append(
                f"{{rank=same; above_{start} -> above_{end} [style=invis];}}"
            )
        return [
            f"{first[p]} [group={p}]; above_{p} [style=invis, width=0, height=0, group={p}]; above_{p} -> {first[p]} [style=invis, weight=20];"
            for p in parts
        ]

    def _column(self, key: str) -> str:
        """The call whose column a box stands in, "" for none."""
        return next(
            (part for part in self._in(self.folded.boxes[key].of) if part in self.columns), ""
        )

    def _falls(self, link: Link) -> bool:
        """Whether a line leads from one layer's call to the next layer's at the same time."""
        parts = [self._column(link.start), self._column(link.end)]
        return (
            all(parts)
            and parts[0] != parts[1]
            and len({_call(self.folding.parts[part])[1] for part in parts}) == 1
        )

    def _visible(self, part: str | None) -> str | None:
        """The innermost open part that has a frame, from this one outwards."""
        while part is not None and part not in self.folded.frames:
            part = self._frame_around(part)
        return part

    def _in(self, of: str) -> list[str]:
        return [*self.folding.opening(of), of]

    def _straight(self, link: Link) -> str:
        weight = (
            100
            if (link.start, link.end) in self.backbone or self._falls(link) or link.update
            else 1
        )
        return f'{link.start} -> {link.end} [id="{link.id}a", weight={weight}{self._label(link)}];'

    def _label(self, link: Link) -> str:
        """Room for the shape on a line; beside the line where it runs down, above it where it runs across."""
        words = self.shapes.get(link.id)
        if not words:
            return ""
        size = f'FIXEDSIZE="TRUE" WIDTH="{text_width(words, TEXT) + 9:.0f}" HEIGHT="{1 if self.cards.rows else LINE}"'
        table = f'<TABLE BORDER="1" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" {size}><TR><TD></TD></TR></TABLE>'
        return f"{'' if self.cards.rows else ','} label=<{table}>"

    def _pill_width(self, link: Link) -> int:
        """A pill says the shape of what flows forward where there is no derivative to say."""
        return max(PILL[0], round(text_width(self.shapes.get(link.id, ""), TEXT)) + 12)

    def _shape(self, link: Link) -> str:
        """The shape of what flows along a line; how many tensors where there are several."""
        edges = [rough(self.trace.edges)[int(edge[1:])] for edge in link.edges]
        sources = {(edge.parent, edge.parent_nr) for edge in edges}
        if len(sources) > 1:
            return f"{len(sources):,} tensors"
        shape = self.trace.node(edges[0].parent).shape
        return "" if shape is None else shape_text(shape)

    def _cluster(self, part: str, inside: dict[str | None, list[str]]) -> list[str]:
        header = self.headers[part]
        size = f'FIXEDSIZE="TRUE" WIDTH="{header.width}" HEIGHT="{header.height}"'
        label = f'<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR><TD {size}></TD></TR></TABLE>>'
        lines = [
            f"subgraph cluster_{part} {{ id={part}; margin={5 if self.cards.rows else 12}; labeljust=l; label={label};",
            *inside.get(part, []),
        ]
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

    def places(self, svg: str, way: str) -> dict[str, Any]:
        """Where Graphviz put everything (see `geometry`), and the lines that it was not asked for."""
        found, halves = geometry(svg), self._halves(way)
        lines = {link.id: link for link in self.folded.links}
        for link, (_, call) in self.again.items():
            (x, y), (end, down) = (
                found["nodes"][key] for key in (lines[link].start, lines[link].end)
            )
            x += self.cards(self.folded.boxes[lines[link].start].of).width / 2
            end -= self.cards(self.folded.boxes[lines[link].end].of).width / 2
            found["edges"][link] = across(
                x,
                y,
                end,
                down,
                found["frames"][call][0] - 4 if call in found["frames"] else end - 14,
            )
            found["heads"][link], found["labels"][link] = [end, down, 0.0], [x - 3, y - 9]
        if halves:
            halves.place(found)
        if self.updates:
            self.updates.place(found, self.cards, halves)
        return found

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
        marks: dict[str, Any] = {
            "data_open": " ".join(self.expanded),
            "data_rankdir": "TB" if self.cards.rows else None,
        }
        return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", **size, **marks, **frame)

    def _header(self, part: str, geometry: dict[str, Any]) -> str:
        header, (x, y) = self.headers[part], geometry["frames"][part][:2]
        moved = f"translate({x + HEADER[0]:g} {y + HEADER[1]:g})"
        data = {"data_id": part, "data_w": header.width, "data_h": header.height}
        return element("g", header.draw(), class_="al-header", **data, transform=moved)

    def _line(self, link: Link, geometry: dict[str, Any]) -> str:
        x, y, angle = geometry["heads"][link.id]
        color = LEAF if link.update else FORWARD if link.differentiable else RULE
        place = f"translate({x:g} {y:g}) rotate({angle:g})"
        width = (
            4.2
            if link.update
            else 4
            if any(edge in self.cards.copies for edge in link.edges)
            else 1.6
        )
        stroke = {"fill": "none", "stroke": color, "stroke_width": width}
        path = element("path", class_="al-line", d=geometry["edges"][link.id], **stroke)
        if link.update:  # a double line
            path += element(
                "path",
                class_="al-inline",
                d=geometry["edges"][link.id],
                fill="none",
                stroke=PAPER,
                stroke_width=1.4,
            )
        head = element(
            "path", class_="al-head", d="M0 0L-10 -4.5L-10 4.5Z", fill=color, transform=place
        )
        pill = self._pill(link, geometry["pills"][link.id]) if link.id in geometry["pills"] else ""
        if link.id in self.shapes and not pill:
            at, look = (
                geometry["labels"][link.id],
                {"fill": MUTED, "stroke": PAPER, "stroke_width": 3, "paint_order": "stroke"},
            )
            pill = label(
                "al-shape", at[0] + SHAPE[0], at[1] + SHAPE[1], self.shapes[link.id], **look
            )
        return element("g", path, head, pill, class_="al-edge", data_id=link.id)

    def _pill(self, link: Link, center: list[float]) -> str:
        """The number on a line: the last contribution that went along it, hidden when there was none; where several
        edges are merged, how many."""
        sent = self.cards.sent.get(link.id)
        words = "" if sent is None else sent.text if sent.shape == () else shape_text(sent.shape)
        words = words if len(link.edges) == 1 else f"{len(link.edges):,} edges"
        w, h = self._pill_width(link), PILL[1]
        box = {"x": -w // 2, "y": -h // 2, "width": w, "height": h, "rx": h // 2}
        look = {"fill": PAPER, "stroke": BACKWARD, "stroke_dasharray": "4 3"}
        return element(
            "g",
            element("rect", **box, **look),
            label("al-pilltext", 0, 4.5, fit(words, TEXT, w - 6), text_anchor="middle"),
            class_="al-pill",
            data_shape=self.shapes.get(link.id) if len(link.edges) == 1 else None,
            visibility=None if words else "hidden",
            transform=f"translate({center[0]:g} {center[1]:g})",
        )


def _call(part: Part) -> tuple[str, int]:
    """A module's path, and which call it is."""
    path, _, call = part.label.partition(" (call ")
    return path, int(call[:-1] or 1)


def _has_pill(link: Link) -> bool:
    """A line between two nodes has a number to show, a merged one how many it stands for."""
    return len(link.edges) > 1 or (link.start[0] == "n" and link.end[0] == "n")


def _box(name: str, width: float, height: float) -> str:
    return f"{name} [id={name}, width={width / 72:.3f}, height={height / 72:.3f}];"
