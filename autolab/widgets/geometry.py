"""Where Graphviz put things: its SVG for `Picture.dot`, read into numbers."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from math import atan2, degrees
from typing import Any

SVG = "{http://www.w3.org/2000/svg}"
MARGIN = 6

Point = tuple[float, float]


def geometry(svg: str) -> dict[str, Any]:
    """Sizes and places by id: `width`, `height`, centres of `nodes` and `pills`, `edges` as SVG path data, `heads`,
    `labels`, and `frames` as [x, y, width, height].

    Of a label, its left end and the middle of its height.

    A head is [x, y, direction in degrees] of the arrow at the end of an edge. Ids are those that `Picture.dot` gives:
    the line of edge e0 is e0a where it has no pill, and e0a, e0, e0b where it has one.

    Raises ValueError when `svg` is not such a picture.
    """
    root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", svg))
    graph = next((g for g in root.iter(f"{SVG}g") if g.get("class") == "graph"), None)
    if graph is None:
        raise ValueError("not an SVG made by Graphviz: no graph in it")
    drawn = [
        (g, _points(g))
        for g in graph.iter(f"{SVG}g")
        if g.get("class") in ("node", "cluster", "edge")
    ]
    everything = [point for g, points in drawn for point in (*points, *(_corners(g) or ()))] or [
        (0.0, 0.0)
    ]
    left, top = min(x for x, _ in everything), min(y for _, y in everything)
    right, bottom = max(x for x, _ in everything), max(y for _, y in everything)
    # A half goes up, as in `placesIn` of draw.js; Python's `round` takes it to the even number.
    found: dict[str, Any] = {
        "width": int(right - left + 2 * MARGIN + 0.5),
        "height": int(bottom - top + 2 * MARGIN + 0.5),
    }
    found |= {"nodes": {}, "pills": {}, "edges": {}, "heads": {}, "frames": {}, "labels": {}}
    lines: dict[str, list[Point]] = {}
    for g, raw in drawn:
        name, points = (
            g.get("id", ""),
            [(_tenths(x - left + MARGIN), _tenths(y - top + MARGIN)) for x, y in raw],
        )
        if g.get("class") == "edge":
            lines[name] = points
            if (corners := _corners(g)) is not None:
                xs, ys = zip(*corners, strict=True)
                found["labels"][name[:-1]] = [
                    _tenths(min(xs) - left + MARGIN),
                    _tenths((min(ys) + max(ys)) / 2 - top + MARGIN),
                ]
            continue
        xs, ys = zip(*points, strict=True)
        if g.get("class") == "node":
            center = [_tenths((min(xs) + max(xs)) / 2), _tenths((min(ys) + max(ys)) / 2)]
            found["pills" if name.startswith("e") else "nodes"][name] = center
        else:
            box = [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)]
            found["frames"][name] = [_tenths(v) for v in box]
    for name, points in lines.items():
        if name.endswith("a"):
            edge = name[:-1]
            rest = lines.get(f"{edge}b")
            found["edges"][edge] = _curve(points) + ("L" + _curve(rest)[1:] if rest else "")
            found["heads"][edge] = _head(rest or points)
    return found


def _points(g: ET.Element) -> list[Point]:
    """The corners of a box, or the points of a curve."""
    curve = g.find(f"{SVG}path")
    return (_corners(g) or []) if curve is None else _pairs(curve.get("d", ""))


def _corners(g: ET.Element) -> list[Point] | None:
    """Of the box that is drawn, or that keeps room for an edge's label."""
    box = g.find(f"{SVG}polygon")
    return None if box is None else _pairs(box.get("points", ""))


def _pairs(words: str) -> list[Point]:
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", words)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _tenths(value: float) -> float:
    return math.floor(value * 10 + 0.5) / 10


def _curve(points: list[Point]) -> str:
    (x, y), *rest = points
    return f"M{x:g},{y:g}C" + " ".join(f"{px:g},{py:g}" for px, py in rest)


def _head(points: list[Point]) -> list[float]:
    x1, y1 = next((p for p in reversed(points[:-1]) if p != points[-1]), points[0])
    x2, y2 = points[-1]
    return [x2, y2, round(degrees(atan2(y2 - y1, x2 - x1)), 1)]
