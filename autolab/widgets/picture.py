"""The drawing of a trace for the explorer: a card for every node, lines between them.

Graphviz only places boxes here: every card has a fixed size worked out below, so the layout does not depend on which
fonts a machine has, and one skeleton serves the still picture, the widget and the exported page. The widget's script
changes words, numbers and classes inside the skeleton; it draws no card of its own.

Sizes are SVG user units (CSS pixels at scale 1).
"""

from __future__ import annotations

from html import escape
from typing import Any

from ..trace.model import Edge, Node, Saved, Trace
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

_WIDTHS = {  # of Helvetica, in thousandths of the font size
    c: w
    for w, chars in (
        (230, "'ijl|"),
        (290, " !,./:;I[]ft()"),
        (340, 'r-`"*'),
        (500, "ckszvxyJ{}"),
        (610, "ABEFKPSTVXYZL"),
        (720, "CDHNRUw&"),
        (780, "GOQ"),
        (850, "mMW%@"),
    )
    for c in chars
}


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


def size_words(count: int | None) -> str:
    """Bytes for people: 12 B, 3.1 kB, 2.0 MB."""
    if count is None:
        return ""
    size, units = float(count), ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{count} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def element(tag: str, *inside: str, **attributes: Any) -> str:
    """An SVG element; `class_` and `stroke_width` stand for class and stroke-width, None leaves an attribute out."""
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{f"{value:g}" if isinstance(value, float) else escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{words}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{words}/>"


def label(name: str, x: float, y: float, words: str, **attributes: Any) -> str:
    """Text of class `name`, of size TEXT unless told."""
    given = {"font_size": TEXT, "fill": INK} | attributes
    return element("text", escape(words), class_=name, x=float(x), y=float(y), **given)


class Card:
    """What is drawn for one node: tabs for what it saved, name and operation, value, notes, gradient.

    `draw()` gives SVG with the card's top left corner at (0, 0); `width` and `height` are its size.
    """

    def __init__(self, node: Node, saved: list[Saved], grads: list[Value], module: str = ""):
        self.node, self.saved, self.grad = node, saved, grads[-1] if grads else None
        self.bare = node.kind == "data" and not node.name and not node.shape  # a number such as 3: nothing else to say
        kind = {"leaf": "leaf", "data": "" if self.bare else "data"}.get(node.kind, node.op)
        self.title, self.kind = fit(node.label or node.id, TITLE, 120, bold=True), fit(kind, TEXT, 120)
        self.value, self.thumb = self._value_words(), heat.thumb_size(node.shape, node.value)
        self.tabs = [self._tab_words(s) for s in saved[:MAX_TABS]]
        if len(saved) > MAX_TABS:
            self.tabs[-1] = f"and {len(saved) - MAX_TABS + 1} more"
        device = "" if node.device in ("", "cpu") else node.device
        self.notes = [note for note in (f"cut: {node.cut}" if node.cut else "", fit(module, TEXT, 130), device) if note]
        numbers = (g.text if g.shape == () else heat.brief(g) for g in grads)
        self.width = self._width(max((text_width(number, TEXT, True) for number in numbers), default=40))
        self.top = TAB * len(self.tabs)  # where the card itself begins, under its tabs
        over = LINE if self.value and self.thumb[1] > 24 else 0  # a tall thumbnail stands below its shape
        self.value_height = 0 if self.bare else max(LINE, self.thumb[1] + 4) + over
        self.strip = max(LINE, self.thumb[1] + 4) + LINE if node.requires_grad else 0
        self.height = self.top + 26 + self.value_height + LINE * len(self.notes) + (0 if self.bare else 2) + self.strip

    def _value_words(self) -> str:
        if self.bare or self.node.shape is None:
            return ""
        scalar = self.node.shape == () and self.node.value is not None
        return self.node.value.text if scalar else shape_text(self.node.shape)  # type: ignore[union-attr]

    @staticmethod
    def _tab_words(saved: Saved) -> str:
        parts = [saved.name, size_words(saved.bytes), "" if saved.version is None else f"v{saved.version}"]
        return fit(" · ".join(p for p in parts if p), TEXT, 150)

    def _width(self, number: float) -> float:
        rows = [text_width(self.title, TITLE, True) + 12 + text_width(self.kind, TEXT)]
        rows += [text_width(self.value, TEXT) + self.thumb[0] + 8]
        rows += [text_width(words, TEXT) for words in (*self.notes, *self.tabs)]
        if self.node.requires_grad:
            rows += [text_width("accumulated", TEXT), text_width("grad", TEXT) + 8 + (self.thumb[0] or number)]
        return round(max([34 if self.bare else 60, *rows]) + 2 * PAD)

    def draw(self) -> str:
        node, w, bottom = self.node, self.width, self.height - self.top
        fill = PAPER if node.device in ("", "cpu") else palette.CUDA
        border = (LEAF, 3) if node.kind == "leaf" else (RULE, 1.2)
        box = {"x": 0, "y": self.top, "width": w, "height": bottom, "rx": 6}
        parts = [self._tab(i, words) for i, words in enumerate(self.tabs)]
        parts.append(element("rect", class_="al-card", **box, fill=fill, stroke=border[0], stroke_width=border[1]))
        y = self.top + 18
        parts.append(label("al-title", PAD, y, self.title, font_size=TITLE, font_weight="bold"))
        if self.kind:
            parts.append(label("al-kind", w - PAD, y, self.kind, text_anchor="end", fill=MUTED))
        y += 6
        if not self.bare:
            parts.append(label("al-value", PAD, y + 14, self.value))
            if self.thumb[0]:
                parts.append(self._thumb("al-thumb", y + self.value_height - self.thumb[1] - 2, node.value))
        y += self.value_height
        for note in self.notes:
            name, color = ("al-cut", ALARM) if note.startswith("cut: ") else ("al-where", MUTED)
            parts.append(label(name, PAD, y + 14, note, fill=color))
            y += LINE
        if self.strip:
            parts.append(self._gradient(y + 4))
        for name, by in (("al-ring", 4), ("al-pick", 8)):  # around the node the step is about, around the one selected
            size = {"width": w + 2 * by, "height": self.height + 2 * by, "rx": by + 5}
            parts.append(element("rect", class_=name, x=-by, y=-by, **size, fill="none", stroke="none"))
        return "".join(parts)

    def _thumb(self, name: str, y: float, value: Value | None) -> str:
        w, h = self.thumb
        cells = heat.cells(value, self.thumb) if value is not None else ""
        place = f"translate({self.width - PAD - w} {y:g})"
        lines = {"stroke": RULE, "stroke_width": 0.5}
        return element("g", cells, class_=name, data_w=w, data_h=h, transform=place, **lines)

    def _gradient(self, y: float) -> str:
        w, h, grad = self.width, self.strip, self.grad
        state = "none" if grad is None else "zero" if grad.is_zero else "accumulated"
        fill = BACKWARD if state == "accumulated" else PAPER
        drawn = grad is None or (grad.shape and self.thumb[0])
        number = "" if drawn or grad is None else grad.text if grad.shape == () else heat.brief(grad)
        outline = f"M1 {y:g}H{w - 1}V{y + h - 7:g}q0 6 -6 6H7q-6 0 -6 -6Z"
        return element(
            "g",
            element("path", class_="al-strip", d=outline, fill=fill),
            element("path", class_="al-rule", d=f"M1 {y:g}H{w - 1}", stroke=RULE, fill="none"),
            label("al-gradname", PAD, y + 14, "grad"),
            label("al-number", w - PAD, y + 14, number, text_anchor="end"),
            self._thumb("al-gthumb", y + 3, grad) if self.thumb[0] else "",
            label("al-word", PAD, y + h - 5, "not yet" if grad is None else state),
            class_="al-grad",
            data_state=state,
        )

    def _tab(self, i: int, words: str) -> str:
        y = i * TAB
        box = element("rect", x=3, y=y + 1, width=self.width - 6, height=TAB, fill=SAVED, stroke=RULE)
        name = label("al-tabname", PAD, y + 14.5, words)
        return element("g", box, name, class_="al-tab", data_saved=self.saved[i].id)


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
        # Frames around the nodes of a module would double the picture's height: its name stands on their cards instead.
        types = {group.path: group.type for group in trace.groups}
        modules = {n.id: f"{n.module} · {types.get(n.module, '')}".strip("· ") for n in trace.nodes if n.kind == "op"}
        self.cards = {n.id: Card(n, saved.get(n.id, []), grads[n.id], modules.get(n.id, "")) for n in trace.nodes}
        self.pills = {e.id for e in trace.edges if e.differentiable} if len(trace.edges) <= MAX_PILLS else set()
        # A leaf used very often is drawn once per further use: a box of the same node, under a key of its own.
        self.boxes = {n.id: n.id for n in trace.nodes if not self._only_aliased(n)}
        self.boxes |= {self._start(e): e.parent for e in trace.edges if e.alias}

    def _only_aliased(self, node: Node) -> bool:
        uses = [e for e in self.trace.edges if e.parent == node.id] if node.kind != "op" else []
        return bool(uses) and all(e.alias for e in uses)

    @staticmethod
    def _start(edge: Edge) -> str:
        """Key of the box that an edge starts at."""
        return f"{edge.parent}_{edge.id}" if edge.alias else edge.parent

    def dot(self, rankdir: str) -> str:
        """DOT with sizes and ids only; `rankdir` "LR" or "TB". What Graphviz makes of it is read by `geometry`."""
        lines = [f"digraph {{ rankdir={rankdir}; nodesep=0.24; ranksep=0.15; edge [arrowhead=none];"]
        lines.append('node [shape=box, fixedsize=true, label=""];')
        for key, node_id in self.boxes.items():
            lines.append(_box(key, self.cards[node_id].width, self.cards[node_id].height))
        enter, leave = ("w", "e") if rankdir == "LR" else ("n", "s")  # a line goes straight through its pill
        for edge in self.trace.edges:
            # The way from result to result runs straight; leaves stand beside it.
            weight = 8 if self.cards[edge.parent].node.kind == "op" else 1
            start, name = self._start(edge), edge.id
            if name in self.pills:
                lines.append(_box(name, *PILL))
                lines.append(f'{start} -> {name}:{enter} [id="{name}a", weight={weight}];')
                lines.append(f'{name}:{leave} -> {edge.child} [id="{name}b", weight={weight}];')
            else:
                lines.append(f'{start} -> {edge.child} [id="{name}a", weight={weight}, minlen=2];')
        return "\n".join([*lines, "}"])

    def svg(self, geometry: dict[str, Any]) -> str:
        """The whole picture as SVG that stands alone, and whose parts the widget finds by class and data attribute."""
        size = {"width": geometry["width"], "height": geometry["height"]}
        parts = [element("rect", class_="al-paper", **size, fill=PAPER)]
        parts += [self._line(edge, geometry) for edge in self.trace.edges]
        for key, node_id in self.boxes.items():
            card, (x, y) = self.cards[node_id], geometry["nodes"][key]
            place = f"translate({x - card.width / 2:g} {y - card.height / 2:g})"
            data = {"data_id": node_id, "data_key": key, "data_w": card.width, "data_h": card.height}
            parts.append(element("g", card.draw(), class_="al-node", **data, transform=place))
        frame = {"viewBox": f"0 0 {size['width']} {size['height']}", "font_family": FONT}
        return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", **size, **frame)

    def _line(self, edge: Edge, geometry: dict[str, Any]) -> str:
        x, y, angle = geometry["heads"][edge.id]
        color, place = FORWARD if edge.differentiable else RULE, f"translate({x:g} {y:g}) rotate({angle:g})"
        stroke = {"fill": "none", "stroke": color, "stroke_width": 1.6}
        path = element("path", class_="al-line", d=geometry["edges"][edge.id], **stroke)
        head = element("path", class_="al-head", d="M0 0L-10 -4.5L-10 4.5Z", fill=color, transform=place)
        pill = self._pill(edge, geometry["pills"][edge.id]) if edge.id in geometry["pills"] else ""
        return element("g", path, head, pill, class_="al-edge", data_id=edge.id)

    def _pill(self, edge: Edge, center: list[float]) -> str:
        """The number on a line: the last contribution that went along it, hidden when there was none."""
        sent = [f.value for f in self.trace.frames if f.edge == edge.id and f.value is not None]
        words = sent[-1].text if sent and sent[-1].shape == () else shape_text(sent[-1].shape) if sent else ""
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


def _box(name: str, width: float, height: float) -> str:
    return f"{name} [id={name}, width={width / 72:.3f}, height={height / 72:.3f}];"
