"""The card of an operation that is drawn with its parameters: one row for each. `static/rows.js` mirrors it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..trace.model import Node
from ..trace.captions.text import shape_text
from ..viz import palette
from ..viz.palette import DATA as RULE
from ..viz.palette import LEAF, PAPER, SAVED
from .cards import GRADIENT_BORDERS, GRADIENT_FILLS
from .svg import LINE, TEXT, TITLE, double, element, fit, label, rings, sign, text_width

TOP = 22  # where the rows begin
SIDE, GAP = 6, 6  # beside a row; between what is at its left and at its right


@dataclass
class Row:
    """A gradient in a card: that of the operation's result, or of a parameter. said: the longest words that will stand
    at its right; grads: those it is known to have had, whose numbers stand in the row of the result."""

    of: str
    name: str
    word: str
    state: str
    said: list[str]
    numbers: list[str] = field(default_factory=list)

    @property
    def width(self) -> float:
        number = max((text_width(n, TEXT, True) + GAP for n in self.numbers), default=0)
        return (
            text_width(self.name, TEXT)
            + number
            + GAP
            + max(text_width(w, TEXT) for w in [*self.said, self.word])
        )


class RowsCard:
    """As `Card`: `draw()` gives SVG, `width` and `height` its size.

    title, kind : what is in its first line: module and type, or result and operation.
    rows        : gradients, from the top.
    others      : names of buffers and constants in it, in one line.
    notes       : what is wrong, (words, whether they are an alarm), a device ...
    value       : the result, where no line that leaves the card says its shape.
    saved       : ids of what it saved.
    closes      : the module that it stands for, which it can be closed to; "" for none.
    """

    top = 0

    def __init__(
        self,
        node: Node,
        title: str,
        kind: str,
        rows: list[Row],
        others: list[str],
        notes: list[tuple[str, bool]],
        value: str,
        saved: list[str],
        look: tuple[str | None, str],
        closes: str = "",
    ):
        self.closes = closes
        self.node, self.rows, self.notes, self.value, self.saved, self.look = (
            node,
            rows,
            notes,
            value,
            saved,
            look,
        )
        self.title, self.kind = fit(title, TITLE, 130, bold=True), fit(kind, TEXT, 130)
        all_of = ", ".join(others)
        self.others = (
            all_of
            if text_width(all_of, TEXT) <= 190
            else f"{fit(others[0], TEXT, 120)} and {len(others) - 1} more"
        )
        self.split = SIDE + round(text_width(self.title, TITLE, True)) + 6
        self.tab = round(text_width(saved_words(len(saved), "modified"), TEXT)) + 8 if saved else 0
        self.end = 24 if closes else 4  # what stands right of the tab
        widths = [
            self.split - SIDE + text_width(self.kind, TEXT) + GAP + self.tab + self.end - 4,
            text_width(self.others, TEXT),
        ]
        widths += [text_width(words, TEXT) for words, _ in notes] + [
            text_width(value, TEXT),
            *(row.width for row in rows),
        ]
        self.width = round(max(60, *widths) + 2 * SIDE)
        lines = len(notes) + bool(self.value) + bool(self.others) + len(rows)
        self.height = TOP + LINE * lines + 2

    def draw(self) -> str:
        w, h, wrong = self.width, self.height, any(alarm for _, alarm in self.notes)
        stroke = {"stroke": palette.BAD if wrong else RULE, "stroke_width": 2.5 if wrong else 1.2}
        box = {"x": 0, "y": 0, "width": w, "height": h, "rx": 6}
        parts = [
            element(
                "rect",
                class_="al-card",
                data_device=self.look[0],
                **box,
                fill=self.look[1],
                **stroke,
            )
        ]
        if wrong:
            parts.append(double(w, 0, h))
        parts.append(label("al-title", SIDE, 16.5, self.title, font_size=TITLE, font_weight="bold"))
        parts.append(label("al-kind", self.split, 16.5, self.kind, fill=palette.MUTED))
        if self.closes:
            parts.append(
                element("g", sign(w - 20, 3, "M3 8H13"), class_="al-close", data_part=self.closes)
            )
        if self.saved:
            parts.append(self._tab())
        y = TOP
        for words, alarm in self.notes:
            parts.append(
                label(
                    "al-cut" if alarm else "al-where",
                    SIDE,
                    y + 14,
                    words,
                    fill=palette.ALARM if alarm else palette.MUTED,
                )
            )
            y += LINE
        for name, words in (("al-value", self.value), ("al-where", self.others)):
            if words:
                parts.append(
                    label(
                        name,
                        SIDE,
                        y + 14,
                        words,
                        fill=palette.MUTED if name == "al-where" else palette.INK,
                    )
                )
                y += LINE
        for row in self.rows:
            parts.append(self._row(row, y))
            y += LINE
        return "".join(parts) + rings(w, h)

    def _tab(self) -> str:
        place = {"x": self.width - self.end - self.tab, "y": 2, "width": self.tab, "height": LINE}
        words = label("al-tabname", place["x"] + 4, 15.5, saved_words(len(self.saved)))
        rect = element("rect", **place, fill=SAVED, stroke=RULE)
        return element("g", rect, words, class_="al-tab", data_saved=" ".join(self.saved))

    def _row(self, row: Row, y: float) -> str:
        w, last = self.width, row is self.rows[-1]
        outline = (
            f"M1 {y:g}H{w - 1}V{y + LINE - 5:g}q0 6 -6 6H7q-6 0 -6 -6Z"
            if last
            else f"M1 {y:g}H{w - 1}v{LINE}H1Z"
        )
        border, dashes = GRADIENT_BORDERS.get(row.state, (None, None))
        fill = GRADIENT_FILLS.get(row.state, PAPER)
        number = row.numbers[-1] if row.numbers else ""
        at = SIDE + round(text_width(row.name, TEXT)) + GAP
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
            ""
            if row.of == self.node.id
            else element("rect", class_="al-leafmark", x=1, y=y, width=3, height=LINE, fill=LEAF),
            label("al-gradname", SIDE, y + 14, row.name),
            label("al-number", at, y + 14, number) if row.of == self.node.id else "",
            label("al-word", w - SIDE, y + 14, row.word, text_anchor="end"),
            class_="al-grad",
            data_of=row.of,
            data_state=row.state,
        )


def saved_words(count: int, state: str = "saved") -> str:
    return f"{count} {state}"


def row_name(node: Node) -> str:
    """What a parameter is called inside its module, or what an operation on it made; and its shape."""
    name = (
        node.name.removeprefix(f"{node.module}.")
        if node.kind != "op"
        else f"{node.made or node.id} · {node.op}"
    )
    shape = "" if node.shape is None else shape_text(node.shape)
    return f"{fit(name or node.label, TEXT, 130)} {shape}"
