"""What is drawn for a node, a closed part and the label of an open one. `static/cards.js` mirrors it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..trace.layers.folding import Part
from ..trace.model import Node, Saved, Trace
from ..trace.records import rough
from ..trace.captions.text import count_words, shape_text
from ..trace.values import Value
from ..trace.captions.sentences import STATE_WORDS, state_word
from ..viz import palette
from ..viz.palette import BACKWARD, FORWARD, LEAF, PAPER, SAVED
from ..viz.palette import DATA as RULE
from . import heat
from .svg import (
    LINE,
    PAD,
    TAB,
    TEXT,
    TITLE,
    device_look,
    double,
    element,
    fit,
    label,
    rings,
    sign,
    size_words,
    text_width,
)

MAX_TABS = 3

GRADIENT_FILLS = {
    "accumulated": BACKWARD,
    "returned": palette.RETURNED[0],
    "contribution": palette.PARTIAL[0],
    "freed": palette.FREED[0],
}
GRADIENT_BORDERS = {
    "returned": (palette.RETURNED[1], "6 2"),
    "never": (palette.NEVER[1], "1.5 3"),
    "freed": (palette.FREED[1], "3 2"),
}


def result_words(node: Node) -> str:
    """A number, else the shape; of several results those of the first three."""
    if node.shape is None:
        return ""
    parts = [(o.shape, o.value) for o in node.results] or [(node.shape, node.value)]
    words = [
        "?"
        if shape is None
        else value.text
        if shape == () and value is not None
        else shape_text(shape)
        for shape, value in parts[:3]
    ]
    return ", ".join([*words, "…"] if len(parts) > 3 else words)


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
        """`end`: the state of its gradient in the end; `name`: what it was called where it was returned, None where it
        never was."""
        self.look = look = device_look(node, devices or {})
        self.node, self.saved, self.grad = node, saved, grads[-1] if grads else None
        self.state = end
        self.word = fit(state_word(self.state, name or "", rehearsed), TEXT, 150)
        self.said = [
            STATE_WORDS["contribution"][1] if rehearsed else "accumulated"
        ]  # the longest words that will stand there
        self.said += [] if name is None else [fit(state_word("returned", name), TEXT, 150)]
        self.bare = (
            node.kind == "data" and not node.name and not node.shape
        )  # a number such as 3: nothing else to say
        kind = {"leaf": "leaf", "data": "" if self.bare else "data"}.get(node.kind, node.op)
        self.title = fit(
            node.made or node.id, TITLE, 140 if node.kind == "leaf" else 120, bold=True
        )
        self.kind = fit(kind, TEXT, 120)
        self.value, self.thumb = (
            "" if self.bare else result_words(node),
            heat.thumb_size(node.shape, node.value),
        )
        if node.results:
            self.thumb, self.grad = (0, 0), None  # which would be those of one of them
        self.tabs = [self._tab_words(s) for s in saved[:MAX_TABS]]
        if len(saved) > MAX_TABS:
            self.tabs[-1] = f"and {len(saved) - MAX_TABS + 1} more"
        device = (
            ""
            if look[0] is None
            else f"{node.device} simulated"
            if look[0] == "sim"
            else node.device
        )
        self.wrong = [words for words in (node.error.partition(":")[0], node.mark) if words]
        self.notes = [*self.wrong] + [
            note
            for note in (
                f"cut: {node.cut}" if node.cut else "",
                fit(module, TEXT, 130),
                note,
                device,
            )
            if note
        ]
        numbers = (g.text if g.shape == () else heat.brief(g) for g in grads if g is not None)
        self.width = self._width(
            max((text_width(number, TEXT, True) for number in numbers), default=40)
        )
        self.top = TAB * len(self.tabs)  # where the card itself begins, under its tabs
        over = (
            LINE if self.value and self.thumb[1] > 24 else 0
        )  # a tall thumbnail stands below its shape
        self.value_height = 0 if self.bare or node.error else max(LINE, self.thumb[1] + 4) + over
        self.strip = max(LINE, self.thumb[1] + 4) + LINE if node.requires_grad else 0
        self.height = (
            self.top
            + 26
            + self.value_height
            + LINE * len(self.notes)
            + (0 if self.bare else 2)
            + self.strip
        )

    @staticmethod
    def _tab_words(saved: Saved) -> str:
        parts = [
            saved.name,
            size_words(saved.bytes),
            "" if saved.version is None else f"version {saved.version}",
        ]
        return fit(" · ".join(p for p in parts if p), TEXT, 180)

    def _width(self, number: float) -> float:
        rows = [text_width(self.title, TITLE, True) + 12 + text_width(self.kind, TEXT)]
        rows += [text_width(self.value, TEXT) + self.thumb[0] + 8]
        rows += [text_width(words, TEXT) for words in (*self.notes, *self.tabs)]
        rows += [
            text_width(f"{s.name} · {'modified' if s.state == 'modified' else 'freed'}", TEXT)
            for s in self.saved[:MAX_TABS]
        ]
        if self.node.requires_grad:
            rows += [
                *(text_width(words, TEXT) for words in self.said),
                text_width("grad", TEXT) + 8 + (self.thumb[0] or number),
            ]
        return round(max([34 if self.bare else 60, *rows]) + 2 * PAD)

    def draw(self) -> str:
        node, w, bottom = self.node, self.width, self.height - self.top
        border = (
            (palette.BAD, 2.5) if self.wrong else (LEAF, 3) if node.kind == "leaf" else (RULE, 1.2)
        )
        box = {"x": 0, "y": self.top, "width": w, "height": bottom, "rx": 6}
        parts = [self._tab(i, words) for i, words in enumerate(self.tabs)]
        paint = {"fill": self.look[1], "stroke": border[0], "stroke_width": border[1]}
        parts.append(element("rect", class_="al-card", data_device=self.look[0], **box, **paint))
        if self.wrong:
            parts.append(double(w, self.top, bottom))
        y = self.top + 18
        parts.append(label("al-title", PAD, y, self.title, font_size=TITLE, font_weight="bold"))
        if self.kind:
            parts.append(
                label("al-kind", w - PAD, y, self.kind, text_anchor="end", fill=palette.MUTED)
            )
        y += 6
        if not self.bare:
            parts.append(label("al-value", PAD, y + 14, self.value))
            if self.thumb[0]:
                parts.append(
                    self._thumb("al-thumb", y + self.value_height - self.thumb[1] - 2, node.value)
                )
        y += self.value_height
        for note in self.notes:
            name, color = (
                ("al-cut", palette.ALARM)
                if note.startswith("cut: ") or note in self.wrong
                else ("al-where", palette.MUTED)
            )
            parts.append(label(name, PAD, y + 14, note, fill=color))
            y += LINE
        if self.strip:
            parts.append(self._gradient(y + 4))
        return "".join(parts) + rings(w, self.height)

    def _thumb(self, name: str, y: float, value: Value | None) -> str:
        w, h = self.thumb
        cells = heat.cells(value, self.thumb) if value is not None else ""
        place = f"translate({self.width - PAD - w} {y:g})"
        lines = {"stroke": RULE, "stroke_width": 0.5}
        return element("g", cells, class_=name, data_w=w, data_h=h, transform=place, **lines)

    def _gradient(self, y: float) -> str:
        w, h, grad, state = self.width, self.strip, self.grad, self.state
        fill = GRADIENT_FILLS.get(state, PAPER)
        # Patterns have ids, of which two pictures on a page must not have the same: here a border of its own stands for
        # them.
        border, dashes = GRADIENT_BORDERS.get(state, (None, None))
        drawn = grad is None or (grad.shape and self.thumb[0])
        number = (
            "" if drawn or grad is None else grad.text if grad.shape == () else heat.brief(grad)
        )
        outline = f"M1 {y:g}H{w - 1}V{y + h - 7:g}q0 6 -6 6H7q-6 0 -6 -6Z"
        return element(
            "g",
            element(
                "path",
                class_="al-strip",
                d=outline,
                fill=fill,
                stroke=border,
                stroke_dasharray=dashes,
            ),
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
        box = element(
            "rect", x=3, y=y + 1, width=self.width - 6, height=TAB, fill=SAVED, stroke=RULE
        )
        name = label("al-tabname", PAD, y + 14.5, words)
        return element("g", box, name, class_="al-tab", data_saved=self.saved[i].id)


def gradients(trace: Trace) -> dict[str, list[Value | None]]:
    """Every gradient a node is known to have had, in order, where it had any; last the one it kept (`.grad`), where it
    kept one."""
    grads: defaultdict[str, list[Value | None]] = defaultdict(list)
    old: set[str] = set()  # what they had is from before an update
    for frame in rough(trace.frames):
        if frame.receiver is not None and frame.total is not None and frame.event != "clear":
            grads[frame.receiver].append(frame.total)
            if frame.event == "update":
                old.add(frame.receiver)
            elif old:
                old.discard(frame.receiver)
    for node in rough(trace.nodes):
        if node.grad is not None or node.id in old:
            grads[node.id].append(node.grad)
    return grads


class PartCard:
    """What is drawn for a closed part: name, type, how much is in it, the shape of its result, how far its gradients
    are.

    As `Card`: `draw()` gives SVG, `width` and `height` its size. said: the longest words for its gradients, where it is
    to be small: in two lines, as among cards with rows; lines that leave it say the shape, and the strip of the
    gradients says by its look what it is."""

    def __init__(
        self,
        part: Part,
        look: tuple[str | None, str] = (None, PAPER),
        wrong: str = "",
        said: list[str] | None = None,
    ):
        self.part, self.top, self.look, self.wrong, self.said = part, 0, look, wrong, said
        self.title, self.kind = fit(part.name, TITLE, 150, bold=True), fit(part.type, TEXT, 160)
        self.size = part.amount + (
            f" · {count_words(part.parameters)} parameters" if part.parameters else ""
        )
        self.shape = "" if part.shape is None else shape_text(part.shape)
        widest = max(text_width(words, TEXT) for words in (self.kind, self.size, self.shape, wrong))
        self.width = round(max(widest, text_width(self.title, TITLE, True) + 30, 96) + 2 * PAD)
        self.strip = LINE + 4 if part.requires_grad else 0
        self.height = 26 + (4 if wrong else 3) * LINE + 6 + self.strip
        if said is not None:
            self.split = PAD + round(text_width(self.title, TITLE, True)) + 6
            self.kind = " · ".join(words for words in (self.kind, part.amount) if words)
            self.size = f"{count_words(part.parameters)} parameters" if part.parameters else ""
            first = self.split - PAD + text_width(self.kind, TEXT) + 24
            second = max(
                text_width(words, TEXT)
                for words in (self.size, f"{part.ops:,} of {part.ops:,} computed")
            )
            second += max(text_width(word, TEXT) for word in said) + 16 if self.strip else 0
            self.width = round(max(first, second, text_width(wrong, TEXT), 96) + 2 * PAD)
            self.height = 23 + (2 if wrong else 1) * LINE + 1

    def draw(self) -> str:
        w, h = self.width, self.height
        if self.said is not None:
            return self._small()
        box = {"x": 0, "y": 0, "width": w, "height": h, "rx": 6}
        pile = element(
            "path", class_="al-pile", d=f"M6 -5H{w - 1}q6 0 6 6V{h - 6}", fill="none", stroke=RULE
        )
        border = (palette.BAD, 2.5) if self.wrong else (FORWARD, 1.6)
        paint = {"fill": self.look[1], "stroke": border[0], "stroke_width": border[1]}
        parts = [pile, element("rect", class_="al-card", data_device=self.look[0], **box, **paint)]
        parts.append(label("al-title", PAD, 18, self.title, font_size=TITLE, font_weight="bold"))
        parts.append(sign(w - PAD - 16, 5, "M3 8H13M8 3V13"))
        parts.append(label("al-kind", PAD, 38, self.kind, fill=palette.MUTED))
        parts.append(label("al-size", PAD, 56, self.size))
        parts.append(label("al-value", PAD, 74, self.shape))
        if self.wrong:
            parts += [label("al-cut", PAD, 92, self.wrong, fill=palette.ALARM), double(w, 0, h)]
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
        return "".join(parts) + rings(w, h)

    def _small(self) -> str:
        w, h, y = self.width, self.height, self.height - LINE - 1
        box = {"x": 0, "y": 0, "width": w, "height": h, "rx": 6}
        border = (palette.BAD, 2.5) if self.wrong else (FORWARD, 1.6)
        parts = [
            element(
                "path",
                class_="al-pile",
                d=f"M6 -4H{w - 1}q5 0 5 5V{h - 6}",
                fill="none",
                stroke=RULE,
            )
        ]
        paint = {"fill": self.look[1], "stroke": border[0], "stroke_width": border[1]}
        parts.append(element("rect", class_="al-card", data_device=self.look[0], **box, **paint))
        parts.append(label("al-title", PAD, 16.5, self.title, font_size=TITLE, font_weight="bold"))
        parts.append(label("al-kind", self.split, 16.5, self.kind, fill=palette.MUTED))
        parts.append(sign(w - 20, 3, "M3 8H13M8 3V13"))
        if self.wrong:
            parts += [label("al-cut", PAD, 37, self.wrong, fill=palette.ALARM), double(w, 0, h)]
        if self.strip:
            outline = f"M1 {y:g}H{w - 1}V{h - 7:g}q0 6 -6 6H7q-6 0 -6 -6Z"
            strip = [
                element("path", class_="al-strip", d=outline, fill=PAPER),
                element("path", class_="al-rule", d=f"M1 {y:g}H{w - 1}", stroke=RULE, fill="none"),
                label("al-word", w - PAD, y + 14, "", text_anchor="end"),
            ]
            parts.append(element("g", *strip, class_="al-grad", data_state="none"))
        parts.append(label("al-value", PAD, y + 14, self.size))
        return "".join(parts) + rings(w, h)


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
            + sign(self.width - PAD - 14, 5, "M3 8H13")
            + rings(self.width, self.height)
        )
