"""Small heat maps: purple for negative, white for 0, green for positive; `static/values.js` draws the same."""

from __future__ import annotations

from typing import Any

from ..trace.values import Value, extent
from ..viz import palette

NEGATIVE, ZERO, POSITIVE = (
    bytes.fromhex(color[1:]) for color in (palette.NEGATIVE, palette.PAPER, palette.POSITIVE)
)
THUMB, CELL, MOST = (
    32,
    12,
    8,
)  # a thumbnail's largest side, its largest cell, its maximum number of rows or columns


def color(value: Any, scale: float) -> str:
    """Return the `#rrggbb` colour of a number on the scale from -scale to scale; grey for a number that is not
    finite."""
    if isinstance(value, str) or value != value:
        return palette.NOT_A_NUMBER
    part = max(-1.0, min(1.0, float(value) / scale)) if scale > 0 else 0.0
    end = POSITIVE if part > 0 else NEGATIVE
    return "#" + "".join(
        f"{int(z + (e - z) * abs(part) + 0.5):02x}" for z, e in zip(ZERO, end, strict=True)
    )


def rows(value: Value | None) -> list[list[Any]] | None:
    """Return the numbers as rows if they are a whole vector or matrix, else None."""
    if value is None or value.data is None or len(value.shape) not in (1, 2) or 0 in value.shape:
        return None
    return [value.data] if len(value.shape) == 1 else value.data


def scale(table: list[list[Any]]) -> float:
    """Return the largest magnitude among the finite numbers."""
    return max((abs(float(v)) for row in table for v in row if not isinstance(v, str)), default=0.0)


def thumb_size(shape: tuple[int, ...] | None, value: Value | None) -> tuple[int, int]:
    """Return width and height of a thumbnail; (0, 0) if there is none (scalars, unknown, more than 8 rows or
    columns)."""
    table = rows(value)
    if not shape or table is None or len(table) > MOST or len(table[0]) > MOST:
        return (0, 0)
    cell = min(CELL, THUMB // max(len(table), len(table[0])))
    return (cell * len(table[0]), cell * len(table))


def cells(value: Value, size: tuple[int, int]) -> str:
    """Return the thumbnail as SVG squares starting at (0, 0), on a slightly larger white background, which keeps a
    vermillion square visible on vermillion."""
    table = rows(value)
    if table is None:
        return ""
    w, h, top = size[0] // len(table[0]), size[1] // len(table), scale(table)
    paper = f'<path fill="{palette.PAPER}" d="M-2 -2h{size[0] + 4}v{size[1] + 4}h-{size[0] + 4}z"/>'
    return paper + "".join(
        f'<path fill="{color(v, top)}" d="M{c * w} {r * h}h{w}v{h}h-{w}z"/>'
        for r, row in enumerate(table)
        for c, v in enumerate(row)
    )


def brief(value: Value) -> str:
    """Return a short description of a tensor that is too large to draw: "within ±0.031"."""
    return extent(value.stats) if value.stats else ""
