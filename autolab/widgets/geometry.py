"""Where Graphviz put things: its SVG for `Picture.dot`, read into numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from math import atan2, degrees
from typing import Any

SVG = "{http://www.w3.org/2000/svg}"
MARGIN = 6

Point = tuple[float, float]


def geometry(svg: str) -> dict[str, Any]:
    """Sizes and places by id: `width`, `height`, centres of `nodes` and `pills`, `edges` as SVG path data, `heads`, and
    `frames` as [x, y, width, height].

    A head is [x, y, direction in degrees] of the arrow at the end of an edge. Ids are those that `Picture.dot` gives:
    the line of edge e0 is e0a where it has no pill, and e0a, e0, e0b where it has one.

    Raises ValueError when `svg` is not such a picture.
    """
    root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", svg))
    graph = next((g for g in root.iter(f"{SVG}g") if g.get("class") == "graph"), None)
    moved = re.search(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", graph.get("transform", "") if graph is not None else "")
    view = [float(v) for v in root.get("viewBox", "").split()]
    if graph is None or moved is None or len(view) != 4:
        raise ValueError("not an SVG made by Graphviz: no graph, translate or viewBox in it")
    shift = (float(moved[1]) + MARGIN, float(moved[2]) + MARGIN)
    # A half goes up, as in `placesIn` of draw.js; Python's `round` takes it to the even number.
    found: dict[str, Any] = {"width": int(view[2] + 2 * MARGIN + 0.5), "height": int(view[3] + 2 * MARGIN + 0.5)}
    found |= {"nodes": {}, "pills": {}, "edges": {}, "heads": {}, "frames": {}}
    lines: dict[str, list[Point]] = {}
    for g in graph.iter(f"{SVG}g"):
        name = g.get("id", "")
        if g.get("class") == "node":
            xs, ys = zip(*_points(g, "polygon", "points", shift), strict=True)
            center = [round((min(xs) + max(xs)) / 2, 1), round((min(ys) + max(ys)) / 2, 1)]
            found["pills" if name.startswith("e") else "nodes"][name] = center
        elif g.get("class") == "cluster":
            xs, ys = zip(*_points(g, "polygon", "points", shift), strict=True)
            box = [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)]
            found["frames"][name] = [round(v, 1) for v in box]
        elif g.get("class") == "edge":
            lines[name] = _points(g, "path", "d", shift)
    for name, points in lines.items():
        if name.endswith("a"):
            edge = name[:-1]
            rest = lines.get(f"{edge}b")
            found["edges"][edge] = _curve(points) + ("L" + _curve(rest)[1:] if rest else "")
            found["heads"][edge] = _head(rest or points)
    return found


def _points(g: ET.Element, shape: str, attribute: str, shift: Point) -> list[Point]:
    element = g.find(f"{SVG}{shape}")
    words = element.get(attribute, "") if element is not None else ""
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", words)]
    return [(round(x + shift[0], 1), round(y + shift[1], 1)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _curve(points: list[Point]) -> str:
    (x, y), *rest = points
    return f"M{x:g},{y:g}C" + " ".join(f"{px:g},{py:g}" for px, py in rest)


def _head(points: list[Point]) -> list[float]:
    x1, y1 = next((p for p in reversed(points[:-1]) if p != points[-1]), points[0])
    x2, y2 = points[-1]
    return [x2, y2, round(degrees(atan2(y2 - y1, x2 - x1)), 1)]
