"""Draw the dashboard's curves as one static picture, for notebooks that are read without a kernel."""

from __future__ import annotations

import math
from typing import Any

from ..viz import palette
from .svg import FONT, element, label

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 200, 64, 150, 28, 30
DASHES = {palette.LINES[0][0]: None, palette.LINES[1][0]: "6 4"}
NAMES = {
    "train_loss": ("loss", "train", palette.BLUE), "val_loss": ("loss", "validation", palette.VERMILLION),
    "train_accuracy": ("accuracy", "train", palette.BLUE), "val_accuracy": ("accuracy", "validation",
    palette.VERMILLION),
}  # fmt: skip


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return about `count` round numbers between low and high; `ticks` in charts.js is the same function."""
    span = (high - low) or abs(high) or 1.0
    size = 10.0 ** math.floor(math.log10(span / count))
    step = next(size * m for m in (1, 2, 5, 10) if size * m * count >= span * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]


def still(data: dict[str, Any], title: str) -> str:
    """Return one SVG picture of loss, accuracy and learning rates, with their last numbers."""
    panels: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for name, series in data["series"].items():
        panel, words, color = NAMES[name]
        panels.setdefault(panel, []).append((words, color, series))
    for i, (name, series) in enumerate(data["rates"].items()):
        panels.setdefault("learning rate", []).append(
            (name, palette.LINES[i % len(palette.LINES)][0], series)
        )
    parts = [label("al-name", 12, 22, title)]
    if not panels:
        parts.append(label("al-name", 12, 50, "No record yet: run the training."))
    y = 34
    for name, lines in panels.items():
        parts.append(element("g", *_panel(name, lines), transform=f"translate(0 {y})"))
        y += HEIGHT
    height = max(y, 70)
    paper = element("rect", width=WIDTH, height=height, fill=palette.PAPER)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return f'{head} role="img" aria-label="Training curves" font-family="{FONT}">{paper}{"".join(parts)}</svg>'


def _panel(name: str, lines: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    xs = [x for _, _, series in lines for x in series["x"]] or [0.0, 1.0]
    ys = [y for _, _, series in lines for y in series["y"]] or [0.0, 1.0]
    (x0, x1), (y0, y1) = _span(xs), (0.0, 1.0) if name == "accuracy" else _span(ys)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    across = lambda x: LEFT + (right - LEFT) * (x - x0) / (x1 - x0)
    up = lambda y: bottom - (bottom - TOP) * (y - y0) / (y1 - y0)
    parts = [label("al-title", LEFT, 18, name, font_weight="bold")]
    for tick in ticks(y0, y1):
        parts.append(element("path", d=f"M{LEFT} {up(tick):.1f}H{right}", stroke=palette.SOFT))
        parts.append(
            label("al-tick", LEFT - 6, up(tick) + 4, f"{tick:g}", font_size=12, text_anchor="end")
        )
    parts.append(label("al-tick", 12, bottom + 16, "step", font_size=12))
    for tick in ticks(x0, x1, 6):
        parts.append(
            label(
                "al-tick",
                across(tick),
                bottom + 16,
                f"{tick:g}",
                font_size=12,
                text_anchor="middle",
            )
        )
    for i, (words, color, series) in enumerate(lines):
        points = [f"{across(x):.1f} {up(y):.1f}" for x, y in zip(series["x"], series["y"])]
        look = {
            "fill": "none",
            "stroke": color,
            "stroke_width": 2,
            "stroke_dasharray": DASHES.get(color, "2 3"),
        }
        if len(points) == 1:
            cx, cy = points[0].split()
            parts.append(element("circle", cx=cx, cy=cy, r=3, fill=color))
        elif points:
            parts.append(element("path", d="M" + "L".join(points), **look))
        at = TOP + 10 + 18 * i
        parts.append(element("path", d=f"M{right + 8} {at - 4}h22", **look))
        parts.append(label("al-key", right + 36, at, f"{words} {series['last']}", font_size=12))
        for x in series["bad"]:
            parts.append(
                label(
                    "al-bad", across(x), bottom - 2, "×", fill=palette.ALARM, text_anchor="middle"
                )
            )
    return parts


def _span(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
