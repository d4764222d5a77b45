"""Lines of the explorer's picture that Graphviz is not asked for, in what runs from top to bottom: those from one call
of a recurrent module to the next, and those of an optimizer's steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..trace.layers.folding import Box, Folded, Folding, Link

if TYPE_CHECKING:
    from .cards import Card, PartCard
    from .rows import RowsCard

ROUND = 8  # of a corner
LANE = 10  # between the lines of two steps
LINE = 15  # that a line takes between two boxes
ROOM = 480  # as high as a picture may be that is seen whole in JupyterLab on a screen of 768 px
BETWEEN = 14  # between two halves
Size = Callable[[str], "Card | PartCard | RowsCard"]


class Updates:
    """What an optimizer changed, beside the picture: updates stand in a column, each at the right of what it made, and
    all lines of a step run down along one way at the right of everything. `lines`: those, by link -> its step."""

    def __init__(self, folding: Folding, folded: Folded):
        self.folding, self.boxes = folding, folded.boxes
        found = {
            link.id: self.step(link.start) or self.step(link.end)
            for link in folded.links
            if link.update
        }
        self.lines = {link: step for link, step in found.items() if step}
        self.links = [link for link in folded.links if link.id in self.lines]
        columns: dict[str, list[str]] = {}
        for key, box in self.boxes.items():
            if self._is_update(box):
                columns.setdefault(self.step(key), []).append(key)
        self.below = [pair for column in columns.values() for pair in zip(column, column[1:])]
        under = {
            key for _, key in self.below
        }  # it is enough that the first one stands after the loss
        self.order = [pair for pair in folded.order if pair[1] not in under]

    def _is_update(self, box: Box) -> bool:
        return (
            box.of not in self.folding.parts
            and self.folding.nodes[int(box.of[1:])].kind == "update"
        )

    def step(self, key: str) -> str:
        """The step that a box is, or is of; "" for others."""
        box = self.boxes[key]
        around = (
            part for part in [*self.folding.opening(box.of), box.of] if part in self.folding.parts
        )
        found = next((part for part in around if self.folding.parts[part].kind == "step"), "")
        return found or (box.of if self._is_update(box) else "")

    def _place(self, key: str) -> int:
        return self.folding.place(self.boxes[key].of)

    def _made(self, link: Link) -> bool:
        """Whether a line leads from an update to what it made, which stands beside it."""
        start, end = self.boxes[link.start], self.boxes[link.end]
        made = end.of not in self.folding.parts and not self.folding.nodes[int(end.of[1:])].ran
        return self._is_update(start) and made and start.frame == end.frame

    def under(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Pairs of boxes of which the second is to stand below the first: an update and the next; the last of a step
        and what comes then."""
        after: dict[str, tuple[str, str]] = {}
        for link in self.links:
            if self.step(link.start) and not self._made(link):
                _, first = after.get(self.lines[link.id], ("", link.end))
                after[self.lines[link.id]] = link.start, min(first, link.end, key=self._place)
        return self.below, list(after.values())

    def rows(self) -> dict[str, str]:
        """Updates -> the box of what each made, which stands at its left."""
        return {link.start: link.end for link in self.links if self._made(link)}

    def dot(self, inside: dict[str | None, list[str]]) -> list[str]:
        """What is not seen, and keeps boxes in their places."""
        below, after = self.under()
        middle: dict[str, str] = {}  # of a row, which stands below the loss
        for update, made in self.rows().items():
            gap = middle[update] = f"gap_{made}"
            row = f"{gap} [style=invis, width=0.1, height=0]; {{rank=same; {made} -> {gap} -> {update} [style=invis];}}"
            inside.setdefault(self.boxes[update].frame, []).append(row)
        lines = [f"{start} -> {end} [style=invis, weight=50];" for start, end in below]
        lines += [f"{start} -> {end} [style=invis, weight=10];" for start, end in after]
        return lines + [
            f"{start} -> {middle.get(end, end)} [style=invis, weight=20];"
            for start, end in self.order
        ]

    def place(self, found: dict[str, Any], card: Size, halves: Halves | None = None) -> None:
        """Adds the lines to what `geometry` has found. `card`: the card of what a box is of. Those of the first of two
        columns (`halves`) run down between both."""
        lanes: dict[str, float] = {}
        for link in self.links:
            (x, y), (end, down) = (found["nodes"][key] for key in (link.start, link.end))
            widths = [card(self.boxes[key].of).width / 2 for key in (link.start, link.end)]
            end += widths[1]
            if self._made(link):
                x -= widths[0]
                found["edges"][link.id] = (
                    f"M{x:g},{y:g}C{(x + end) / 2:g},{y:g} {(x + end) / 2:g},{down:g} {end:g},{down:g}"
                )
            elif halves and link.start not in halves.second:
                x, end = x + widths[0], end - 2 * widths[1]
                found["edges"][link.id] = across(x, y, end, down, halves.turn(found) - LANE)
                found["heads"][link.id] = [end, down, 0.0]
                continue
            else:
                x += widths[0]
                turn = lanes.setdefault(self.lines[link.id], found["width"] + LANE * len(lanes))
                found["edges"][link.id] = around(x, y, end, down, turn)
            found["heads"][link.id] = [end, down, 180.0]
        found["width"] += LANE * len(lanes)


class Halves:
    """Two columns of what is closed, where it is too high for one and whole in two: `link` leads from the first of them
    to the second, and is None where one is enough or nothing can be cut. What an optimizer changed ends the second."""

    def __init__(
        self,
        folding: Folding,
        folded: Folded,
        updates: Updates,
        backbone: set[tuple[str, str]],
        card: Size,
    ):
        self.boxes, self.card, self.link = folded.boxes, card, None
        self.second: set[str] = set()
        self.way, self.lanes = _in_order(backbone), set(updates.lines.values())
        goes_on = len(self.lanes) > 1 or any(updates.step(link.start) for link in updates.links)
        if (
            folded.frames
            or goes_on
            or not any(box.of in folding.parts for box in self.boxes.values())
        ):
            return
        last = {link.end for link in updates.links}
        heights = [card(self.boxes[key].of).height + LINE for key in self.way]
        whole = sum(heights) + sum(card(self.boxes[key].of).height + LINE for key in last)
        above, best = 0.0, float("inf")
        if not ROOM < whole <= 2 * ROOM:
            return
        for i, pair in enumerate(zip(self.way, self.way[1:])):
            above += heights[i]
            between = [link for link in folded.links if (link.start, link.end) == pair]
            others = [
                link
                for link in folded.links
                if link not in between and link.id not in updates.lines
            ]
            other = [(link.start, link.end) for link in others]
            second = _connected(pair[1], other) | last
            if len(between) == 1 and pair[0] not in second and max(above, whole - above) < best:
                best, self.link, self.second = max(above, whole - above), between[0], second

    def dot(self) -> list[str]:
        """What is not seen above both, so that the first is at the left; as wide as they are where lines run between,
        the first with room for these."""
        assert self.link is not None
        wide = {False: 0.0, True: 0.0}
        for key in self.way:
            side = key in self.second
            room = 0 if side else 2 * LANE
            wide[side] = max(
                wide[side], (self.card(self.boxes[key].of).width + room) / 72 if self.lanes else 0.0
            )
        heads = {
            "above_first": (self.way[0], wide[False]),
            "above_second": (self.link.end, wide[True]),
        }
        lines = [
            f"{above} [style=invis, width={w:.3f}, height=0]; {above} -> {key} [style=invis, weight=20];"
            for above, (key, w) in heads.items()
        ]
        return ["{rank=same; above_first -> above_second [style=invis];}", *lines]

    def turn(self, found: dict[str, Any]) -> float:
        """Where the line from one to the other runs up."""
        lefts = (
            found["nodes"][key][0] - self.card(self.boxes[key].of).width / 2 for key in self.second
        )
        return min(lefts) - BETWEEN / 2

    def place(self, found: dict[str, Any]) -> None:
        """Adds the line to what `geometry` has found: from below its box to the left side of the other."""
        assert self.link is not None
        (x, y), (end, down) = (found["nodes"][key] for key in (self.link.start, self.link.end))
        start, other = (self.card(self.boxes[key].of) for key in (self.link.start, self.link.end))
        y += start.height / 2
        end -= other.width / 2
        low, turn = y + LINE, self.turn(found)
        path = f"M{x:g},{y:g}V{low - ROUND:g}Q{x:g},{low:g} {x + ROUND:g},{low:g}H{turn - ROUND:g}Q{turn:g},{low:g} {turn:g},{low - ROUND:g}"
        path += f"V{down + ROUND:g}Q{turn:g},{down:g} {turn + ROUND:g},{down:g}H{end:g}"
        found["edges"][self.link.id], found["heads"][self.link.id] = path, [end, down, 0.0]
        found["labels"][self.link.id] = [x, y + LINE / 2]
        found["height"] = max(found["height"], int(low) + 4)


def _in_order(pairs: set[tuple[str, str]]) -> list[str]:
    """A chain of pairs as a list, from its first."""
    after = dict(pairs)
    way = [start for start in after if start not in set(after.values())][:1]
    while way and way[-1] in after:
        way.append(after[way[-1]])
    return way


def _connected(start: str, pairs: list[tuple[str, str]]) -> set[str]:
    """What is connected to `start`, in whichever direction."""
    beside: dict[str, list[str]] = {}
    for a, b in pairs:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    seen, todo = {start}, [start]
    while todo:
        new = set(beside.get(todo.pop(), ())) - seen
        seen |= new
        todo += new
    return seen


def across(x: float, y: float, end: float, down: float, turn: float) -> str:
    """The path of a line from the right side of a box to the left side of one in the next column: it goes up or down at
    `turn`."""
    way = 1 if down > y else -1
    if abs(down - y) < 2 * ROUND or turn < x + ROUND:
        middle = (x + end) / 2
        return f"M{x:g},{y:g}C{middle:g},{y:g} {middle:g},{down:g} {end:g},{down:g}"
    first = f"M{x:g},{y:g}H{turn - ROUND:g}Q{turn:g},{y:g} {turn:g},{y + way * ROUND:g}"
    return f"{first}V{down - way * ROUND:g}Q{turn:g},{down:g} {min(turn + ROUND, end):g},{down:g}H{end:g}"


def around(x: float, y: float, end: float, down: float, turn: float) -> str:
    """The path of a line from the right side of a box to the right side of another: it goes up or down at `turn`."""
    way = min(ROUND, abs(down - y) / 2) * (1 if down > y else -1)
    first = f"M{x:g},{y:g}H{turn - ROUND:g}Q{turn:g},{y:g} {turn:g},{y + way:g}"
    return f"{first}V{down - way:g}Q{turn:g},{down:g} {turn - ROUND:g},{down:g}H{end:g}"
