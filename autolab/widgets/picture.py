"""The drawing of a trace for the explorer: a card for every node and closed part, lines between them, frames around
open parts. `static/draw.js` mirrors `Picture` for pages without a kernel.

Graphviz only places boxes here: every card has a fixed size worked out below, so the layout does not depend on which
fonts a machine has, and one skeleton serves the still picture, the widget and the exported page. The widget's script
changes words, numbers and classes inside the skeleton; it draws no card of its own.

Sizes are SVG user units (CSS pixels at scale 1).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from html import escape
from typing import Any

from ..trace.folding import Folding, Link, Part
from ..trace.model import Node, Saved, Trace
from ..trace.text import count_words, shape_text
from ..trace.values import Value
from ..trace.words import STATE_WORDS, state_word
from ..viz import palette
from ..viz.palette import BACKWARD, FORWARD, INK, LEAF, PAPER, SAVED
from ..viz.palette import DATA as RULE
from . import heat

TITLE, TEXT = 15, 13  # font sizes; the widget never scales the picture below 11 px for TEXT
PAD, LINE, TAB = 8, 18, 19
PILL = (50, 20)
HEADER = (6, 5)  # where a frame's header stands in it
MAX_TABS, MAX_PILLS = 3, 150
FONT = ", ".join(f"'{name}'" if " " in name else name for name in palette.FONTS.split(","))

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


def bytes_each(dtype: str) -> int:
    """Bytes of one number: 4 of "float32", 1 of "bool"."""
    bits = re.search(r"\d+$", dtype)
    return int(bits[0]) // 8 if bits else 1


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


STRIPES = (
    '<defs><pattern id="al-simulated" width="14" height="14" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="14" height="14" fill="{palette.CUDA}"/><rect width="4" height="14" fill="{PAPER}"/></pattern></defs>'
)


def device_look(node: Node, devices: dict[str, Any]) -> tuple[str | None, str]:
    """("gpu" or "sim", None for the CPU; fill) of what is on a node's device. devices: a trace's `meta["devices"]`."""
    if node.device in ("", "cpu"):
        return None, PAPER
    known = devices.get(node.device, {})
    return ("sim", "url(#al-simulated)") if known.get("simulated") or node.device.startswith("sim") else ("gpu", palette.CUDA)


_GRADIENTS = {"accumulated": BACKWARD, "returned": palette.RETURNED[0], "contribution": palette.PARTIAL[0], "freed": palette.FREED[0]}
_BORDERS = {"returned": (palette.RETURNED[1], "6 2"), "never": (palette.NEVER[1], "1.5 3"), "freed": (palette.FREED[1], "3 2")}


class Card:
    """What is drawn for one node: tabs for what it saved, name and operation, value, notes, gradient.

    `draw()` gives SVG with the card's top left corner at (0, 0); `width` and `height` are its size.
    """

    def __init__(
        self,
        node: Node,
        saved: list[Saved],
        grads: list[Value | None],
        module: str = "",
        note: str = "",
        devices: dict[str, Any] | None = None,
        end: str = "none",
        name: str | None = None,
        rehearsed: bool = False,
    ):
        """`end`: the state of its gradient in the end; `name`: what it was called where it was returned, None where it never was."""
        self.look = look = device_look(node, devices or {})
        self.node, self.saved, self.grad = node, saved, grads[-1] if grads else None
        self.state = end
        self.word = fit(state_word(self.state, name or "", rehearsed), TEXT, 150)
        self.said = [STATE_WORDS["contribution"][1] if rehearsed else "accumulated"]  # the longest words that will stand there
        self.said += [] if name is None else [fit(state_word("returned", name), TEXT, 150)]
        self.bare = node.kind == "data" and not node.name and not node.shape  # a number such as 3: nothing else to say
        kind = {"leaf": "leaf", "data": "" if self.bare else "data"}.get(node.kind, node.op)
        self.title, self.kind = fit(node.made or node.id, TITLE, 120, bold=True), fit(kind, TEXT, 120)
        self.value, self.thumb = self._value_words(), heat.thumb_size(node.shape, node.value)
        self.tabs = [self._tab_words(s) for s in saved[:MAX_TABS]]
        if len(saved) > MAX_TABS:
            self.tabs[-1] = f"and {len(saved) - MAX_TABS + 1} more"
        device = "" if look[0] is None else f"{node.device} simulated" if look[0] == "sim" else node.device
        self.wrong = [words for words in (node.error.partition(":")[0], node.mark) if words]
        self.notes = [*self.wrong] + [note for note in (f"cut: {node.cut}" if node.cut else "", fit(module, TEXT, 130), note, device) if note]
        numbers = (g.text if g.shape == () else heat.brief(g) for g in grads if g is not None)
        self.width = self._width(max((text_width(number, TEXT, True) for number in numbers), default=40))
        self.top = TAB * len(self.tabs)  # where the card itself begins, under its tabs
        over = LINE if self.value and self.thumb[1] > 24 else 0  # a tall thumbnail stands below its shape
        self.value_height = 0 if self.bare or node.error else max(LINE, self.thumb[1] + 4) + over
        self.strip = max(LINE, self.thumb[1] + 4) + LINE if node.requires_grad else 0
        self.height = self.top + 26 + self.value_height + LINE * len(self.notes) + (0 if self.bare else 2) + self.strip

    def _value_words(self) -> str:
        if self.bare or self.node.shape is None:
            return ""
        scalar = self.node.shape == () and self.node.value is not None
        return self.node.value.text if scalar else shape_text(self.node.shape)  # type: ignore[union-attr]

    @staticmethod
    def _tab_words(saved: Saved) -> str:
        parts = [saved.name, size_words(saved.bytes), "" if saved.version is None else f"version {saved.version}"]
        return fit(" · ".join(p for p in parts if p), TEXT, 180)

    def _width(self, number: float) -> float:
        rows = [text_width(self.title, TITLE, True) + 12 + text_width(self.kind, TEXT)]
        rows += [text_width(self.value, TEXT) + self.thumb[0] + 8]
        rows += [text_width(words, TEXT) for words in (*self.notes, *self.tabs)]
        rows += [text_width(f"{s.name} · {'modified' if s.state == 'modified' else 'freed'}", TEXT) for s in self.saved[:MAX_TABS]]
        if self.node.requires_grad:
            rows += [*(text_width(words, TEXT) for words in self.said), text_width("grad", TEXT) + 8 + (self.thumb[0] or number)]
        return round(max([34 if self.bare else 60, *rows]) + 2 * PAD)

    def draw(self) -> str:
        node, w, bottom = self.node, self.width, self.height - self.top
        border = (palette.BAD, 2.5) if self.wrong else (LEAF, 3) if node.kind == "leaf" else (RULE, 1.2)
        box = {"x": 0, "y": self.top, "width": w, "height": bottom, "rx": 6}
        parts = [self._tab(i, words) for i, words in enumerate(self.tabs)]
        paint = {"fill": self.look[1], "stroke": border[0], "stroke_width": border[1]}
        parts.append(element("rect", class_="al-card", data_device=self.look[0], **box, **paint))
        if self.wrong:
            parts.append(_double(w, self.top, bottom))
        y = self.top + 18
        parts.append(label("al-title", PAD, y, self.title, font_size=TITLE, font_weight="bold"))
        if self.kind:
            parts.append(label("al-kind", w - PAD, y, self.kind, text_anchor="end", fill=palette.MUTED))
        y += 6
        if not self.bare:
            parts.append(label("al-value", PAD, y + 14, self.value))
            if self.thumb[0]:
                parts.append(self._thumb("al-thumb", y + self.value_height - self.thumb[1] - 2, node.value))
        y += self.value_height
        for note in self.notes:
            name, color = ("al-cut", palette.ALARM) if note.startswith("cut: ") or note in self.wrong else ("al-where", palette.MUTED)
            parts.append(label(name, PAD, y + 14, note, fill=color))
            y += LINE
        if self.strip:
            parts.append(self._gradient(y + 4))
        return "".join(parts) + _rings(w, self.height)

    def _thumb(self, name: str, y: float, value: Value | None) -> str:
        w, h = self.thumb
        cells = heat.cells(value, self.thumb) if value is not None else ""
        place = f"translate({self.width - PAD - w} {y:g})"
        lines = {"stroke": RULE, "stroke_width": 0.5}
        return element("g", cells, class_=name, data_w=w, data_h=h, transform=place, **lines)

    def _gradient(self, y: float) -> str:
        w, h, grad, state = self.width, self.strip, self.grad, self.state
        fill = _GRADIENTS.get(state, PAPER)
        # Patterns have ids, of which two pictures on a page must not have the same: here a border of its own stands for them.
        border, dashes = _BORDERS.get(state, (None, None))
        drawn = grad is None or (grad.shape and self.thumb[0])
        number = "" if drawn or grad is None else grad.text if grad.shape == () else heat.brief(grad)
        outline = f"M1 {y:g}H{w - 1}V{y + h - 7:g}q0 6 -6 6H7q-6 0 -6 -6Z"
        return element(
            "g",
            element("path", class_="al-strip", d=outline, fill=fill, stroke=border, stroke_dasharray=dashes),
            element("path", class_="al-rule", d=f"M1 {y:g}H{w - 1}", stroke=RULE, fill="none"),
            label("al-gradname", PAD, y + 14, "grad"),
            label("al-number", w - PAD, y + 14, number, text_anchor="end"),
            self._thumb("al-gthumb", y + 3, grad) if self.thumb[0] else "",
            label("al-word", PAD, y + h - 5, self.word),
            class_="al-grad",
            data_state=state,
        )

    def _tab(self, i: int, words: str) -> str:
        y = i * TAB
        box = element("rect", x=3, y=y + 1, width=self.width - 6, height=TAB, fill=SAVED, stroke=RULE)
        name = label("al-tabname", PAD, y + 14.5, words)
        return element("g", box, name, class_="al-tab", data_saved=self.saved[i].id)


def gradients(trace: Trace) -> dict[str, list[Value | None]]:
    """Every gradient each node is known to have had, in order; last the one it kept (`.grad`), where it kept one."""
    grads: dict[str, list[Value | None]] = {node.id: [] for node in trace.nodes}
    old: set[str] = set()  # what they had is from before an update
    for frame in trace.frames:
        if frame.receiver is not None and frame.total is not None and frame.event != "clear":
            grads[frame.receiver].append(frame.total)
            old.discard(frame.receiver) if frame.event != "update" else old.add(frame.receiver)
    for node in trace.nodes:
        grads[node.id] += [node.grad] if node.grad is not None or node.id in old else []
    return grads


class PartCard:
    """What is drawn for a closed part: name, type, how much is in it, the shape of its result, how far its gradients are.

    As `Card`: `draw()` gives SVG, `width` and `height` its size."""

    def __init__(self, part: Part, look: tuple[str | None, str] = (None, PAPER), wrong: str = ""):
        self.part, self.top, self.look, self.wrong = part, 0, look, wrong
        self.title, self.kind = fit(part.name, TITLE, 150, bold=True), fit(part.type, TEXT, 160)
        self.size = part.amount + (f" · {count_words(part.parameters)} parameters" if part.parameters else "")
        self.shape = "" if part.shape is None else shape_text(part.shape)
        widest = max(text_width(words, TEXT) for words in (self.kind, self.size, self.shape, wrong))
        self.width = round(max(widest, text_width(self.title, TITLE, True) + 30, 96) + 2 * PAD)
        self.strip = LINE + 4 if part.requires_grad else 0
        self.height = 26 + (4 if wrong else 3) * LINE + 6 + self.strip

    def draw(self) -> str:
        w, h = self.width, self.height
        box = {"x": 0, "y": 0, "width": w, "height": h, "rx": 6}
        pile = element("path", class_="al-pile", d=f"M6 -5H{w - 1}q6 0 6 6V{h - 6}", fill="none", stroke=RULE)
        border = (palette.BAD, 2.5) if self.wrong else (FORWARD, 1.6)
        paint = {"fill": self.look[1], "stroke": border[0], "stroke_width": border[1]}
        parts = [pile, element("rect", class_="al-card", data_device=self.look[0], **box, **paint)]
        parts.append(label("al-title", PAD, 18, self.title, font_size=TITLE, font_weight="bold"))
        parts.append(_sign(w - PAD - 16, 5, "M3 8H13M8 3V13"))
        parts.append(label("al-kind", PAD, 38, self.kind, fill=palette.MUTED))
        parts.append(label("al-size", PAD, 56, self.size))
        parts.append(label("al-value", PAD, 74, self.shape))
        if self.wrong:
            parts += [label("al-cut", PAD, 92, self.wrong, fill=palette.ALARM), _double(w, 0, h)]
        if self.strip:
            y = h - self.strip
            outline = f"M1 {y:g}H{w - 1}V{h - 7:g}q0 6 -6 6H7q-6 0 -6 -6Z"
            strip = [
                element("path", class_="al-strip", d=outline, fill=PAPER),
                element("path", class_="al-rule", d=f"M1 {y:g}H{w - 1}", stroke=RULE, fill="none"),
                label("al-gradname", PAD, y + 15, "grad"),
                label("al-word", w - PAD, y + 15, "", text_anchor="end"),
            ]
            parts.append(element("g", *strip, class_="al-grad", data_state="none"))
        return "".join(parts) + _rings(w, h)


class Header:
    """The label of an open part's frame, at its top left corner: a button that closes it."""

    height = 26

    def __init__(self, part: Part):
        self.part = part
        self.title, self.kind = fit(part.name, TITLE, 200, bold=True), fit(part.type, TEXT, 160)
        self.split = PAD + round(text_width(self.title, TITLE, True)) + 8
        self.width = self.split + round(text_width(self.kind, TEXT)) + 16 + 2 * PAD

    def draw(self) -> str:
        box = {"x": 0, "y": 0, "width": self.width, "height": self.height, "rx": 6}
        return (
            element("rect", class_="al-card", **box, fill=PAPER, stroke=RULE)
            + label("al-title", PAD, 18, self.title, font_size=TITLE, font_weight="bold")
            + label("al-kind", self.split, 18, self.kind, fill=palette.MUTED)
            + _sign(self.width - PAD - 14, 5, "M3 8H13")
            + _rings(self.width, self.height)
        )


def _sign(x: float, y: float, path: str) -> str:
    """A plus or minus in a square: what a click does."""
    square = element("rect", class_="al-sign", width=16, height=16, rx=3, fill=PAPER, stroke=RULE)
    stroke = {"fill": "none", "stroke": INK, "stroke_width": 1.6}
    return element("g", square, element("path", class_="al-signline", d=path, **stroke), transform=f"translate({x} {y})")


def _double(w: float, y: float, h: float) -> str:
    """The inner line of the double border of what is wrong."""
    place = {"x": 3, "y": y + 3, "width": w - 6, "height": h - 6, "rx": 5}
    return element("rect", class_="al-wrongline", **place, fill="none", stroke=palette.BAD, stroke_width=1.2)


def _rings(w: float, h: float) -> str:
    """Outlines around the node that the step is about, and around the one selected."""
    parts = []
    for name, by in (("al-ring", 4), ("al-pick", 8)):
        size = {"width": w + 2 * by, "height": h + 2 * by, "rx": by + 5}
        parts.append(element("rect", class_=name, x=-by, y=-by, **size, fill="none", stroke="none"))
    return "".join(parts)


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
