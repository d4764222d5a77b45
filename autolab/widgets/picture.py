"""The drawing of a trace for the explorer: cards, edges, and where they stand.

Graphviz only places boxes here: every card has a fixed size worked out below, so the layout does not depend on which
fonts a machine has, and one skeleton serves the static picture, the widget and the exported page. The widget's
script changes the words, numbers and classes inside the skeleton; it draws no card of its own.

Sizes are SVG user units (CSS pixels at scale 1).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import escape
from typing import Any

from ..trace.model import Edge, Group, Node, Saved, Trace
from ..trace.text import shape_text
from ..trace.values import Value
from ..viz import palette
from ..viz.palette import BACKWARD, FORWARD, INK, LEAF, PAPER, SAVED
from ..viz.palette import DATA as RULE
from . import heat

TITLE, TEXT = 15, 13  # font sizes; the widget never scales the picture below 11 px for TEXT
PAD, LINE, TAB = 8, 18, 19
PILL = (50, 20)
MAX_TABS, MAX_PILLS = 3, 150
FONT = ", ".join(f"'{name}'" if " " in name else name for name in palette.FONTS.split(","))
MUTED, ALARM = "#555555", "#8F3A6E"  # text beside the main text; text about gradients cut off
SVG = "{http://www.w3.org/2000/svg}"

_WIDTHS = {c: w for w, chars in ((230, "'ijl|"), (290, " !,./:;I[]ft()"), (340, "r-`\"*"), (500, "ckszvxyJ{}"), (610, "ABEFKPSTVXYZL"),
                                 (720, "CDHNRUw&"), (780, "GOQ"), (850, "mMW%@")) for c in chars}


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Width of `text` in Helvetica or a font of the same metrics, a little generous."""
    return sum(_WIDTHS.get(c, 560) for c in text) * size / 1000 * (1.12 if bold else 1.04)


def fit(text: str, size: float, width: float, bold: bool = False) -> str:
    """`text`, or as much of it as fits into `width`, with an ellipsis."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + "…", size, bold) > width:
        text = text[:-1]
    return text + "…"


class Card:
    """What is drawn for one node: rows from top to bottom, `svg` around the card's own origin (top left)."""

    def __init__(self, node: Node, saved: list[Saved], grads: list[Value]):
        self.node, self.saved, self.grad = node, saved, grads[-1] if grads else None
        self.bare = node.kind == "data" and not node.name and not node.shape  # a number such as 3: nothing else to say
        self.kind = {"leaf": "leaf", "data": "" if self.bare else "data"}.get(node.kind, node.op)
        self.title = fit(node.label or node.id, TITLE, 120, bold=True)
        self.kind = fit(self.kind, TEXT, 120)
        self.value = self._value_words()
        self.thumb = heat.thumb_size(node.shape, node.value)
        self.tabs = [self._tab_words(s) for s in saved[:MAX_TABS]]
        if len(saved) > MAX_TABS:
            self.tabs[-1] = f"and {len(saved) - MAX_TABS + 1} more"
        self.notes = [note for note in (f"cut: {node.cut}" if node.cut else "", "" if node.device in ("", "cpu") else node.device) if note]
        self.width = self._width(max((text_width(g.text, TEXT, True) for g in grads if g.shape == ()), default=40))
        self.top = TAB * len(self.tabs)  # where the card itself begins, under its tabs
        self.value_height = 0 if self.bare else max(LINE, self.thumb[1] + 4) + (LINE if self.value and self.thumb[1] > 24 else 0)
        self.strip = max(LINE, self.thumb[1] + 4) + LINE if node.requires_grad else 0
        self.height = self.top + 24 + self.value_height + LINE * len(self.notes) + (4 if not self.bare else 2) + self.strip

    def _value_words(self) -> str:
        node = self.node
        if self.bare:
            return ""
        if node.shape == () and node.value is not None:
            return node.value.text
        return "" if node.shape is None else shape_text(node.shape)

    @staticmethod
    def _tab_words(saved: Saved) -> str:
        parts = [saved.name, size_words(saved.bytes), "" if saved.version is None else f"v{saved.version}"]
        return fit(" · ".join(p for p in parts if p), TEXT, 150)

    def _width(self, number: float) -> float:
        rows = [text_width(self.title, TITLE, True) + 12 + text_width(self.kind, TEXT), text_width(self.value, TEXT) + self.thumb[0] + 8]
        rows += [text_width(note, TEXT) for note in self.notes]
        rows += [text_width(tab, TEXT) - 4 for tab in self.tabs]
        if self.node.requires_grad:
            rows += [text_width("accumulated", TEXT), text_width("grad", TEXT) + 8 + (self.thumb[0] or number)]
        return round(max([34 if self.bare else 60, *rows]) + 2 * PAD)

    def draw(self) -> str:
        w, node = self.width, self.node
        out = [self._draw_tab(i, words) for i, words in enumerate(self.tabs)]
        bottom = self.height - self.top
        border = {"leaf": (LEAF, 3 if node.requires_grad else 1)}.get(node.kind, (RULE, 1.2))
        fill = PAPER if node.device in ("", "cpu") else palette.CUDA
        out.append(f'<rect class="al-card" x="0" y="{self.top}" width="{w}" height="{bottom}" rx="6" fill="{fill}" stroke="{border[0]}" stroke-width="{border[1]}"/>')
        y = self.top + 18
        out.append(text("al-title", PAD, y, self.title, TITLE, weight="bold"))
        if self.kind:
            out.append(text("al-kind", w - PAD, y, self.kind, TEXT, anchor="end", fill=MUTED))
        y += 6
        if not self.bare:
            out.append(text("al-value", PAD, y + 14, self.value, TEXT, fill=INK))
            if self.thumb[0]:
                out.append(self._draw_thumb("al-thumb", y + self.value_height - self.thumb[1] - 2, node.value))
        y += self.value_height
        for note in self.notes:
            out.append(text("al-note", PAD, y + 14, note, TEXT, fill=ALARM if note.startswith("cut") else MUTED))
            y += LINE
        if self.strip:
            out.append(self._draw_strip(y + 4))
        for name, by in (("al-ring", 4), ("al-pick", 8)):  # shown around the node the step is about, the node selected
            out.append(f'<rect class="{name}" x="{-by}" y="{-by}" width="{w + 2 * by}" height="{self.height + 2 * by}" rx="{by + 5}" fill="none" stroke="none"/>')
        return "".join(out)

    def _draw_thumb(self, name: str, y: float, value: Value | None) -> str:
        cells = heat.cells(value, self.thumb) if value is not None else ""
        w, h = self.thumb
        return f'<g class="{name}" data-w="{w}" data-h="{h}" transform="translate({self.width - PAD - w} {y})" stroke="{RULE}" stroke-width="0.5">{cells}</g>'

    def _draw_strip(self, y: float) -> str:
        w, h = self.width, self.strip
        number = "" if self.grad is None else self.grad.text if self.grad.shape == () else "" if self.thumb[0] else heat.brief(self.grad)
        word = "not yet" if self.grad is None else "zero" if self.grad.is_zero else "accumulated"
        fill = BACKWARD if word == "accumulated" else PAPER
        return (f'<g class="al-grad" data-state="{"none" if self.grad is None else word}">'
                f'<path class="al-strip" d="M1 {y}H{w - 1}V{y + h - 7}q0 6 -6 6H7q-6 0 -6 -6Z" fill="{fill}"/>'
                f'<path class="al-rule" d="M1 {y}H{w - 1}" stroke="{RULE}" fill="none"/>'
                + text("al-gradname", PAD, y + 14, "grad", TEXT)
                + text("al-number", w - PAD, y + 14, number, TEXT, anchor="end")
                + (self._draw_thumb("al-gthumb", y + 3, self.grad) if self.thumb[0] else "")
                + text("al-word", PAD, y + h - 5, word, TEXT) + "</g>")

    def _draw_tab(self, i: int, words: str) -> str:
        w, y = self.width - 6, i * TAB
        return (f'<g class="al-tab" data-saved="{escape(self.saved[i].id)}"><rect x="3" y="{y + 1}" width="{w}" height="{TAB}" fill="{SAVED}" stroke="{RULE}"/>'
                + text("al-tabname", PAD, y + 14.5, words, TEXT) + "</g>")


def size_words(count: int | None) -> str:
    """Bytes for people: 12 B, 3.1 kB, 2.0 MB."""
    if count is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000  # type: ignore[assignment]
    return ""


def text(name: str, x: float, y: float, words: str, size: float, *, anchor: str = "start", weight: str = "", fill: str = INK) -> str:
    extra = (f' text-anchor="{anchor}"' if anchor != "start" else "") + (f' font-weight="{weight}"' if weight else "")
    return f'<text class="{name}" x="{x:g}" y="{y:g}" font-size="{size}"{extra} fill="{fill}">{escape(words)}</text>'


def gradients(trace: Trace) -> dict[str, list[Value]]:
    """Every gradient each node is known to have had, in order; last the one it kept (`.grad`), where it kept one."""
    grads: dict[str, list[Value]] = {node.id: [] for node in trace.nodes}
    for frame in trace.frames:
        if frame.receiver is not None and frame.total is not None and frame.event != "clear":
            grads[frame.receiver].append(frame.total)
    for node in trace.nodes:
        grads[node.id] += [node.grad] if node.grad is not None else []
    return grads


class Picture:
    """The explorer's picture of one trace; `dot(rankdir)` asks for a layout, `svg(geometry)` draws with it."""

    def __init__(self, trace: Trace):
        self.trace = trace
        grads = gradients(trace)
        saved: dict[str, list[Saved]] = {}
        for s in trace.saved:
            saved.setdefault(s.node, []).append(s)
        self.cards = {n.id: Card(n, saved.get(n.id, []), grads[n.id]) for n in trace.nodes}
        self.pills = {e.id for e in trace.edges if e.differentiable} if len(trace.edges) <= MAX_PILLS else set()
        # A leaf used very often is drawn once per further use: a box of the same node, under a key of its own.
        self.boxes = {n.id: n.id for n in trace.nodes if not self._only_aliased(n)}
        self.boxes |= {f"{e.parent}_{e.id}": e.parent for e in trace.edges if e.alias}

    def _only_aliased(self, node: Node) -> bool:
        uses = [e for e in self.trace.edges if e.parent == node.id] if node.kind != "op" else []
        return bool(uses) and all(e.alias for e in uses)

    def source(self, edge: Edge) -> str:
        """Key of the box an edge starts at."""
        return f"{edge.parent}_{edge.id}" if edge.alias else edge.parent

    def dot(self, rankdir: str) -> str:
        """DOT with sizes and ids only; `rankdir` "LR" or "TB"."""
        lines = ["digraph {", f'rankdir={rankdir}; newrank=true; nodesep=0.24; ranksep=0.15; node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];']
        lines += self._clusters(self.trace.groups, "")
        for key, node_id in self.boxes.items():
            card = self.cards[node_id]
            lines.append(f"{key} [id={key}, width={card.width / 72:.3f}, height={card.height / 72:.3f}];")
        enter, leave = ("w", "e") if rankdir == "LR" else ("n", "s")  # a line goes straight through its pill
        for edge in self.trace.edges:
            start = self.source(edge)
            if edge.id in self.pills:
                lines.append(f"{edge.id} [id={edge.id}, width={PILL[0] / 72:.3f}, height={PILL[1] / 72:.3f}];")
                lines.append(f'{start} -> {edge.id}:{enter} [id="{edge.id}a"]; {edge.id}:{leave} -> {edge.child} [id="{edge.id}b"];')
            else:
                lines.append(f'{start} -> {edge.child} [id="{edge.id}a", minlen=2];')
        return "\n".join([*lines, "}"])

    def _clusters(self, groups: tuple[Group, ...], inside: str) -> Iterator[str]:
        """Nested `subgraph`s: a module whose path begins with another's lies in it."""
        for group in groups:
            if _outer(group, self.trace.groups) == inside:
                yield f'subgraph cluster_{group.id} {{ id={group.id}; margin=14; label=" "; fontsize=14;'
                yield from self._clusters(groups, group.path)
                inner = [n for n in group.nodes if n in self.boxes]
                inner += [e.id for e in self.trace.edges if e.id in self.pills and not e.alias and {e.parent, e.child} <= set(group.nodes)]
                yield "".join(f"{name};" for name in inner) + " }"

    def svg(self, geometry: dict[str, Any]) -> str:
        """The whole picture as SVG that stands alone, and whose parts the widget finds by class and data attribute."""
        w, h = geometry["width"], geometry["height"]
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" font-family="{escape(FONT)}">',
               f'<rect class="al-paper" width="{w:g}" height="{h:g}" fill="{PAPER}"/>']
        for group in self.trace.groups:
            if group.id in geometry["groups"]:
                x, y, gw, gh = geometry["groups"][group.id]
                words = fit(f"{group.path} ({group.type})", TEXT, gw - 12)
                out.append(f'<g class="al-group" data-id="{group.id}"><rect x="{x:g}" y="{y:g}" width="{gw:g}" height="{gh:g}" rx="8" fill="none" stroke="{RULE}" '
                           f'stroke-dasharray="2 3"/>{text("al-groupname", x + 8, y + 15, words, TEXT, fill=MUTED)}</g>')
        for edge in self.trace.edges:
            out.append(self._edge(edge, geometry))
        for key, node_id in self.boxes.items():
            card, (x, y) = self.cards[node_id], geometry["nodes"][key]
            out.append(f'<g class="al-node" data-id="{node_id}" data-key="{key}" data-w="{card.width}" data-h="{card.height}" '
                       f'transform="translate({x - card.width / 2:g} {y - card.height / 2:g})">{card.draw()}</g>')
        return "".join([*out, "</svg>"])

    def _edge(self, edge: Edge, geometry: dict[str, Any]) -> str:
        d, (x, y, angle) = geometry["edges"][edge.id], geometry["heads"][edge.id]
        color = FORWARD if edge.differentiable else RULE
        pill = ""
        if edge.id in geometry["pills"]:
            px, py = geometry["pills"][edge.id]
            frame = next((f for f in reversed(self.trace.frames) if f.edge == edge.id and f.value is not None), None)
            words = "" if frame is None or frame.value is None or frame.value.shape != () else frame.value.text
            show = "" if words else ' visibility="hidden"'
            pill = (f'<g class="al-pill"{show} transform="translate({px:g} {py:g})"><rect x="{-PILL[0] / 2:g}" y="{-PILL[1] / 2:g}" width="{PILL[0]}" height="{PILL[1]}" rx="10" '
                    f'fill="{PAPER}" stroke="{BACKWARD}" stroke-dasharray="4 3"/>{text("al-pilltext", 0, 4.5, words, TEXT, anchor="middle")}</g>')
        return (f'<g class="al-edge" data-id="{edge.id}"><path class="al-line" d="{d}" fill="none" stroke="{color}" stroke-width="1.6"/>'
                f'<path class="al-head" d="M0 0L-10 -4.5L-10 4.5Z" fill="{color}" transform="translate({x:g} {y:g}) rotate({angle:g})"/>{pill}</g>')


def _outer(group: Group, groups: tuple[Group, ...]) -> str:
    return max((g.path for g in groups if g.path != group.path and (not g.path or group.path.startswith(g.path + "."))), key=len, default="")


def geometry(svg: str) -> dict[str, Any]:
    """Where Graphviz put things, read from its SVG for `Picture.dot`: centres, curves and arrow heads by id.

    Raises ValueError when `svg` is not such a picture.
    """
    root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", svg))
    graph = next((g for g in root.iter(f"{SVG}g") if g.get("class") == "graph"), None)
    shift = re.search(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", graph.get("transform", "") if graph is not None else "")
    box = [float(v) for v in root.get("viewBox", "").split()]
    if graph is None or shift is None or len(box) != 4:
        raise ValueError("not an SVG made by Graphviz: no graph, translate or viewBox in it")
    at = (float(shift[1]), float(shift[2]))
    margin = 6
    found: dict[str, Any] = {"width": round(box[2] + 2 * margin), "height": round(box[3] + 2 * margin), "nodes": {}, "pills": {}, "edges": {}, "heads": {}, "groups": {}}
    parts: dict[str, list[tuple[float, float]]] = {}
    for g in graph.iter(f"{SVG}g"):
        name, kind = g.get("id", ""), g.get("class")
        if kind in ("node", "cluster"):
            shape = g.find(f"{SVG}polygon")
            points = _points(shape.get("points", "") if shape is not None else "", at, margin)
            xs, ys = [p[0] for p in points], [p[1] for p in points]
            if kind == "cluster":
                found["groups"][name] = [min(xs), min(ys), round(max(xs) - min(xs), 1), round(max(ys) - min(ys), 1)]
            else:
                found["pills" if name.startswith("e") else "nodes"][name] = [round((min(xs) + max(xs)) / 2, 1), round((min(ys) + max(ys)) / 2, 1)]
        elif kind == "edge":
            line = g.find(f"{SVG}path")
            parts[name] = _points(line.get("d", "") if line is not None else "", at, margin)
    for name, points in parts.items():
        if name.endswith("a"):
            edge, rest = name[:-1], parts.get(name[:-1] + "b")
            found["edges"][edge] = _curve(points) + ("L" + _curve(rest)[1:] if rest else "")
            found["heads"][edge] = _head(rest or points)
    return found


def _points(words: str, at: tuple[float, float], margin: float) -> list[tuple[float, float]]:
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", words)]
    return [(round(x + at[0] + margin, 1), round(y + at[1] + margin, 1)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _curve(points: list[tuple[float, float]]) -> str:
    (x, y), *rest = points
    return f"M{x:g},{y:g}C" + " ".join(f"{px:g},{py:g}" for px, py in rest)


def _head(points: list[tuple[float, float]]) -> list[float]:
    """Tip and direction in degrees of the arrow head at the end of a curve."""
    from math import atan2, degrees

    (x1, y1) = next((p for p in reversed(points[:-1]) if p != points[-1]), points[0])
    x2, y2 = points[-1]
    return [x2, y2, round(degrees(atan2(y2 - y1, x2 - x1)), 1)]
