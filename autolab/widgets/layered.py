"""A layered drawing of the explorer's picture without Graphviz: for stills where only the reader's browser could draw.

Boxes stand in layers by the longest way that leads to them, and within a layer by where their neighbours stand; what is
in a frame first, then the frame as one box. K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of
hierarchical system structures, 1981.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any

from .geometry import MARGIN

if TYPE_CHECKING:
    from ..trace.layers.folding import Link
    from .picture import Picture

GAP, FRAME, BEND = (
    14,
    12,
    10,
)  # px between neighbours, inside a frame, and that a line takes which passes a layer
ARROW = 30  # px between an update and what it made
Point = tuple[float, float]


def layered(picture: Picture, rankdir: str) -> dict[str, Any]:
    """Sizes and places by id, in px, as `geometry` gives them of Graphviz's layout; `rankdir` "LR" or "TB".

    Example:

        >>> from autolab.trace import trace
        >>> x = torch.tensor(3., requires_grad=True)
        >>> from autolab.widgets.picture import Picture
        >>> places = layered(Picture(trace(x * x)), "LR")
        >>> sorted(places["nodes"]), places["nodes"]["n0"][0] < places["nodes"]["n1"][0]
        (['n0', 'n1'], True)
    """
    return _Layered(picture, rankdir == "TB").geometry()


class _Layered:
    def __init__(self, picture: Picture, down: bool):
        self.picture, self.down = picture, down
        self.folded = picture.folded
        self.sizes: dict[str, Point] = {}
        for key, box in self.folded.boxes.items():
            card = picture.cards(box.of)
            self.sizes[key] = (card.width, card.height)
        self.paths = {
            key: [*self._around(box.frame), key] for key, box in self.folded.boxes.items()
        }
        self.inside: dict[str | None, list[str]] = {}  # frame -> what stands in it
        for path in self.paths.values():
            for frame, item in zip([None, *path], path, strict=False):
                if item not in (items := self.inside.setdefault(frame, [])):
                    items.append(item)
        self.updates = picture.updates  # their lines run beside the picture
        rows: dict[str, str] = self.updates.rows() if self.updates else {}
        self.made: dict[str, str] = {made: update for update, made in rows.items()}
        drawn = [(link.id, link.start, link.end) for link in self._drawn()]
        self.levels: dict[
            str | None, list[tuple[str, str, str]]
        ] = {}  # frame -> (link, item, item)
        for link, a, b in [*drawn, *((f"{a} {b}", a, b) for a, b in self._under())]:
            start, end = self.paths[a], self.paths[b]
            same = next(
                i for i, pair in enumerate(zip(start, end, strict=False)) if pair[0] != pair[1]
            )
            level = start[same - 1] if same else None
            self.levels.setdefault(level, []).append((link, start[same], end[same]))
        self.main = {
            link.id for link in self.folded.links if (link.start, link.end) in picture.backbone
        }
        self.straight: dict[
            str, list[str]
        ] = {}  # item of the backbone -> those of it before and after
        self.at: dict[str, Point] = {}  # centres, in the frame until all is done
        self.bends: dict[
            str, list[str]
        ] = {}  # link -> items of its own in the layers that it passes

    def _drawn(self) -> list[Link]:
        return [
            link
            for link in self.folded.links
            if not self.updates or link.id not in self.updates.lines
        ]

    def _under(self) -> list[tuple[str, str]]:
        """Boxes of which the second stands below the first, though no line leads there: what an optimizer changed
        stands in a column after the loss, and what uses it then below."""
        if self.updates is None:
            return []
        used = [
            (self.made[link.start], link.end) for link in self._drawn() if link.start in self.made
        ]
        below, after = self.updates.under()
        return list(dict.fromkeys([*below, *after, *self.updates.order, *used]))

    def _around(self, frame: str | None) -> list[str]:
        found: list[str] = []
        while frame is not None:
            found.insert(0, frame)
            frame = self.picture._frame_around(frame)
        return found

    def _place(self, item: str) -> Any:
        box = self.folded.boxes.get(item)
        return self.picture.folding.place(item if box is None else box.of)

    def _lay(self, frame: str | None) -> Point:
        """Lays out what is in a frame, and returns the size of that."""
        links = self.levels.get(frame, [])
        used = {end for _, _, end in links}
        items = sorted(
            self.inside.get(frame, ()), key=lambda item: (item in used, self._place(item))
        )
        for item in items:
            if item not in self.folded.boxes:
                width, height = self._lay(item)
                header = self.picture.headers[item]
                self.sizes[item] = (
                    max(width, header.width) + 2 * FRAME,
                    height + header.height + 2 * FRAME,
                )
        layers, before, after = self._layers(items, links)
        order = {item: i for layer in layers for i, item in enumerate(layer)}
        for around in (before, after) * 3:
            for layer in layers if around is before else reversed(layers):
                layer.sort(
                    key=lambda item: (
                        fmean(order[o] for o in around[item]) if around[item] else order[item]
                    )
                )
                order.update((item, i) for i, item in enumerate(layer))
        for layer in layers:
            layer.sort(
                key=lambda item: order[self.made[item]] - 0.5 if item in self.made else order[item]
            )
        across = dict.fromkeys(order, 0.0)
        for around in (before, after, before, after, {i: before[i] + after[i] for i in order}):
            for layer in layers if around is not after else reversed(layers):
                wanted = [self._wanted(i, around[i], across) for i in layer]
                across.update(zip(layer, self._apart(layer, wanted), strict=True))
        room, along = self._room(links), 0.0
        least = min((across[i] - self._size(i)[1] / 2 for i in order), default=0.0)
        for layer in layers:
            depth = max(self._size(item)[0] for item in layer)
            for item in layer:
                place = (along + depth / 2, across[item] - least)
                self.at[item] = place[::-1] if self.down else place
            along += depth + room
        most = max((across[i] + self._size(i)[1] / 2 for i in order), default=0.0)
        size = along - room if layers else 0.0, most - least
        return size[::-1] if self.down else size

    def _layers(
        self, items: list[str], links: list[tuple[str, str, str]]
    ) -> tuple[list[list[str]], dict[str, list[str]], dict[str, list[str]]]:
        """Items layer by layer, and what each is joined to in the layers before and after."""
        place = {item: i for i, item in enumerate(items)}
        joined = [(link, *sorted((a, b), key=place.__getitem__)) for link, a, b in links]
        into: dict[str, list[str]] = {item: [] for item in items}
        out: dict[str, list[str]] = {item: [] for item in items}
        for _, a, b in joined:
            into[b].append(a)
            out[a].append(b)
        rank: dict[str, int] = {}
        for item in items:
            rank[item] = max((rank[a] + 1 for a in into[item]), default=0)
        for item in reversed(items):  # what nothing leads to stands beside what uses it
            if not into[item] and out[item]:
                rank[item] = min(rank[b] for b in out[item]) - 1
        rank.update({made: rank[update] for made, update in self.made.items() if update in rank})
        layers: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
        for item in items:
            layers[rank[item]].append(item)
        before: dict[str, list[str]] = {item: [] for item in items}
        after: dict[str, list[str]] = {item: [] for item in items}
        for link, a, b in joined:
            way = [a, *(f"{link} {r}" for r in range(rank[a] + 1, rank[b])), b]
            for r, bend in enumerate(way[1:-1], rank[a] + 1):
                self.sizes[bend] = (BEND, BEND)
                layers[r].append(bend)
                before[bend], after[bend] = [], []
            self.bends[link] = way[1:-1]
            for one, other in zip(way, way[1:], strict=False):
                after[one].append(other)
                before[other].append(one)
                for a, b in ((one, other), (other, one)) if link in self.main else ():
                    self.straight.setdefault(a, []).append(b)
        return layers, before, after

    def _size(self, item: str) -> Point:
        """Along the way of the data, and across it."""
        return self.sizes[item][::-1] if self.down else self.sizes[item]

    def _wanted(self, item: str, around: list[str], across: dict[str, float]) -> float:
        """Where what an item is joined to draws it: along the backbone, else to all in the middle; what an update made
        stands at its left."""
        if item in self.made:
            update = self.made[item]
            return across[update] - (self._size(item)[1] + self._size(update)[1]) / 2 - ARROW
        drawn = [other for other in around if other in self.straight.get(item, ())] or around
        return fmean(across[other] for other in drawn) if drawn else across[item]

    def _room(self, links: list[tuple[str, str, str]]) -> float:
        """Between two layers: a line needs some, and more what stands on it."""
        ids = {link for link, _, _ in links}
        pills = [
            self.picture._pill_width(link)
            for link in self.folded.links
            if link.id in ids & self.picture.pills
        ]
        return 34.0 if self.down else max(pills, default=14) + 40.0

    def _apart(self, layer: list[str], wanted: list[float]) -> list[float]:
        """Places in this order, nearest to the wanted ones (least squares): neighbours that touch are one pool."""
        steps, at = [], 0.0
        for i, item in enumerate(layer):
            at += 0.0 if i == 0 else (self._size(layer[i - 1])[1] + self._size(item)[1]) / 2 + GAP
            steps.append(at)
        pools: list[
            tuple[float, int, int]
        ] = []  # mean, weight, how many: what is straight stays so
        for item, want, step in zip(layer, wanted, steps, strict=True):
            mean, weight, count = want - step, 1000 if item in self.straight else 1, 1
            while pools and pools[-1][0] > mean:
                other, heavy, more = pools.pop()
                mean, weight, count = (
                    (mean * weight + other * heavy) / (weight + heavy),
                    weight + heavy,
                    count + more,
                )
            pools.append((mean, weight, count))
        means = [mean for mean, _, count in pools for _ in range(count)]
        return [mean + step for mean, step in zip(means, steps, strict=True)]

    def geometry(self) -> dict[str, Any]:
        width, height = self._lay(None)
        found: dict[str, Any] = {
            "width": int(width + 2 * MARGIN + 0.5),
            "height": int(height + 2 * MARGIN + 0.5),
        }
        found |= {"nodes": {}, "pills": {}, "edges": {}, "heads": {}, "frames": {}, "labels": {}}
        self._descend(None, MARGIN, MARGIN, found)
        found["nodes"] = {key: list(self.at[key]) for key in self.folded.boxes}
        for link in self._drawn():
            self._line(link, found)
        if self.updates:
            self.updates.place(found, self.picture.cards)
        return found

    def _descend(self, frame: str | None, x: float, y: float, found: dict[str, Any]) -> None:
        """From places in a frame to places on the page."""
        bends = (bend for link, _, _ in self.levels.get(frame, ()) for bend in self.bends[link])
        for item in [*self.inside.get(frame, ()), *bends]:
            cx, cy = self.at[item]
            self.at[item] = round(cx + x, 1), round(cy + y, 1)
            if item in self.picture.headers:
                w, h = self.sizes[item]
                left, top = round(cx + x - w / 2, 1), round(cy + y - h / 2, 1)
                found["frames"][item] = [left, top, w, h]
                self._descend(
                    item, left + FRAME, top + FRAME + self.picture.headers[item].height, found
                )

    def _line(self, link: Link, found: dict[str, Any]) -> None:
        flip: Callable[[Point], Point] = (lambda p: p[::-1]) if self.down else (lambda p: p)
        start, *bends, end = (
            flip(self.at[key]) for key in (link.start, *self.bends[link.id], link.end)
        )
        bends = bends if start[0] < end[0] else bends[::-1]
        twins = [
            other.id
            for other in self.folded.links
            if (other.start, other.end) == (link.start, link.end)
        ]
        aside = (twins.index(link.id) - (len(twins) - 1) / 2) * 22
        right, left = start[0] + self._size(link.start)[0] / 2, end[0] - self._size(link.end)[0] / 2
        points = [
            (right, start[1] + aside),
            *((x, y + aside) for x, y in bends),
            (left, end[1] + aside),
        ]
        path = "M{:g},{:g}".format(*flip(points[0]))
        for (a, b), (c, d) in zip(points, points[1:], strict=False):
            middle = (a + c) / 2
            path += "C" + " ".join(
                "{:g},{:g}".format(*flip(p)) for p in ((middle, b), (middle, d), (c, d))
            )
        half = len(points) // 2
        (a, b), (c, d) = points[half - 1], points[half]
        x, y = flip(((a + c) / 2, (b + d) / 2))
        found["edges"][link.id], found["heads"][link.id] = (
            path,
            [*flip(points[-1]), 90.0 if self.down else 0.0],
        )
        found["labels"][link.id] = [x - 3, y] if self.down else [x - 20, y - 9]
        if link.id in self.picture.pills:
            found["pills"][link.id] = [x, y]
