"""One picture of a node, as plain data for the script: heat maps of a tensor, or a table of statistics.

A tensor that is too large is reduced here, and the caption says how.
"""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...engine.kernels import pooling as kernels
from ...engine.ops.pooling import windows
from . import cards
from ..values import number

POOL = (4, 16)  # (channels, numbers along a side): windows and their maxima must stay visible
MOST_INPUTS = 4  # channels of one kernel
MOST_ROWS = 16  # channels in a table of statistics
# up to this count, store numbers; above it, one byte each, in units of 1/127 of the largest
EXACT = 640
KINDS = {
    "convolution": "convolution",
    "max_pool2d": "max pooling",
    "max_pool2d_with_indices": "max pooling",
    "avg_pool2d": "average pooling",
    "_adaptive_avg_pool2d": "average pooling",
    "native_batch_norm": "batch norm",
}
TITLES = {
    ("x", False): "x, feature maps in",
    ("w", False): "w, kernels",
    ("y", False): "y, feature maps out",
    ("x", True): "gradient of x, sent back",
    ("w", True): "gradient of w, from this layer",
    ("y", True): "gradient of y, as it arrived",
}


# -- one picture -------------------------------------------------------------------------------------------------------
@dataclass
class Maps:
    """Heat maps of one tensor on one scale, as the script draws them.

    what    : "x", "w" or "y"; with `run` > 0, its gradient in that backward pass.
    edge    : the edge that the gradient was sent along; None for the gradient of y.
    shape   : [maps, rows, columns] of the stored numbers. `names` has one word for each map.
    scale   : largest magnitude. numbers: [map][row][column], NaN and inf as words, or None and
    bytes   : base64 of signed bytes, 127 the scale, -128 what is not finite.
    windows : [top, left, height, width] of each pooling window, in rows and columns of the picture.
    marks   : for each map [[row, column, number of windows won], …].
    """

    what: str
    title: str
    caption: str
    label: str
    names: list[str]
    shape: list[int]
    scale: float
    numbers: list[Any] | None
    bytes: str | None
    columns: int = 0
    run: int = 0
    edge: str | None = None
    windows: list[list[float]] = field(default_factory=list)
    marks: list[list[list[int]]] = field(default_factory=list)
    type: str = "maps"


@dataclass
class Statistics:
    """A table with one row per channel. Columns are {name, values, used, run, edge}; `used` marks the values that y was
    computed with. `interval`: [name of a mean, name of its variance] to draw beside each other."""

    title: str
    caption: str
    label: str
    names: list[str]
    columns: list[dict[str, Any]]
    intervals: list[list[str]]
    run: int = 0
    edge: str | None = None
    type: str = "statistics"

    def __call__(self) -> Statistics:
        """Return the table with its numbers as JSON."""
        columns = [
            column | {"values": [_four(v) for v in column["values"]]} for column in self.columns
        ]
        return replace(self, columns=columns)


def _shared(count: int, side: int) -> int:
    return max(1, math.ceil(count / side))


def reduced(maps: np.ndarray, side: int) -> tuple[np.ndarray, int]:
    """Return (maps, factor): squares of factor x factor numbers are averaged so that no map is longer than `side`."""
    factor = _shared(max(maps.shape[-2:]), side)
    if factor == 1:
        return np.array(maps, np.float64), 1
    total = np.asarray(maps, np.float64)
    for axis in (-2, -1):
        starts = np.arange(0, maps.shape[axis], factor)
        counts = np.diff([*starts, maps.shape[axis]])
        if maps.shape[axis] % factor:
            total = np.add.reduceat(total, starts, axis) / (
                counts[:, None] if axis == -2 else counts
            )
        else:  # the same sums, several times faster
            parts = [
                total[..., k::factor, :] if axis == -2 else total[..., k::factor]
                for k in range(factor)
            ]
            total = functools.reduce(np.add, parts) / factor
    return total, factor


def encoded(maps: np.ndarray) -> dict[str, Any]:
    """Return `scale`, `numbers` and `bytes` of Maps."""
    finite = np.isfinite(maps)
    scale = float(np.abs(maps[finite]).max(initial=0))
    if maps.size <= EXACT:
        numbers = [[list(map(_four, row)) for row in plane] for plane in maps.tolist()]
        return {"scale": _four(scale), "numbers": numbers, "bytes": None}
    part = np.where(finite, maps, 0) / (scale or 1) * 127
    packed = np.where(finite, np.rint(part), -128).astype(np.int8)
    return {
        "scale": _four(scale),
        "numbers": None,
        "bytes": base64.b64encode(packed.tobytes()).decode(),
    }


def _four(value: float) -> Any:
    rounded = float(f"{value:.4g}") + 0.0
    return rounded if math.isfinite(rounded) else number(rounded)


def described(title: str, maps: np.ndarray, names: list[str]) -> str:
    """Return a short description of the picture for a screen reader."""
    count, rows, columns = maps.shape
    what = f"{title}: {count} {'map' if count == 1 else 'maps'} of {rows} by {columns} numbers"
    finite = np.isfinite(maps)
    if not finite.any():
        return f"{what}, none of them finite."
    shown = np.where(finite, maps, 0)
    broken = "" if finite.all() else f" {int((~finite).sum()):,} of them NaN or infinite."
    if not shown.any():
        return f"{what}, all 0." if finite.all() else f"{what}, the finite ones 0.{broken}"
    at = np.unravel_index(np.abs(shown).argmax(), maps.shape)
    low, high = (float(f"{v:.3g}") for v in (maps[finite].min(), maps[finite].max()))
    place = f"{names[at[0]]}, row {at[1]}, column {at[2]}"
    return f"{what}, from {low:g} to {high:g}; the largest in magnitude in {place}.{broken}"


def _some(count: int, shown: int, word: str, words: str = "") -> str:
    words = words or f"{word}s"
    if shown == count:
        return f"all {count} {words}" if count > 1 else f"the only {word}"
    return f"{words} 0 to {shown - 1} of {count}" if shown > 1 else f"{word} 0 of {count}"


def _averaged(factor: int, rows: int) -> str:
    return f"each square is the mean of {min(factor, rows)}×{factor} numbers" if factor > 1 else ""


def _caption(*parts: str) -> str:
    text = "; ".join(part for part in parts if part)
    return text[:1].upper() + text[1:] + "."


# -- the windows of a pooling ------------------------------------------------------------------------------------------
@dataclass
class Crop:
    """The visible part of a pooled map: `rows` and `columns` are slices of the map, `out` slices of the windows
    inside."""

    rows: slice
    columns: slice
    out: tuple[slice, slice]
    windows: list[list[float]]
    factor: int
    caption: str


def _edges(
    op: str, size: tuple[int, ...], out: tuple[int, ...], attrs: dict[str, Any]
) -> list[tuple[Any, Any]]:
    """Return (starts, ends) of the windows along rows and columns, clipped at the border."""
    found: list[tuple[Any, Any]] = []
    if op.removeprefix("_").startswith("adaptive"):
        for n, o in zip(size, out):
            starts, ends = kernels.adaptive_edges(n, o)
            found.append((np.asarray(starts), np.asarray(ends)))
        return found
    win = _windows(size, attrs)
    for n, o, k, s, p, d in zip(size, out, win.kernel, win.stride, win.padding, win.dilation):
        starts = np.arange(o) * s - p
        found.append((np.maximum(starts, 0), np.minimum(starts + d * (k - 1) + 1, n)))
    return found


def _windows(size: tuple[int, ...], attrs: dict[str, Any]) -> Any:
    """Return the pooling sizes (`Windows`) for a map of this size."""
    kernel, stride, padding, dilation = (
        cards.per_side(attrs.get(name) or default, 2)
        for name, default in (
            ("kernel_size", 1),
            ("stride", attrs["kernel_size"]),
            ("padding", 0),
            ("dilation", 1),
        )
    )
    return windows(
        np.empty((0, *size)), kernel, stride, padding, dilation, bool(attrs.get("ceil_mode"))
    )


def _span(starts: Any, ends: Any, n: int, most: int) -> tuple[int, int, int, int]:
    """Return (first position, end position; first window, end window) of the middle windows that fit into `most`
    positions."""
    if n <= most:
        return 0, n, 0, len(starts)
    count = len(starts)
    while count > 1:
        first = (len(starts) - count) // 2
        if ends[first + count - 1] - starts[first] <= most:
            break
        count -= 1
    first = (len(starts) - count) // 2
    return int(starts[first]), int(ends[first + count - 1]), first, first + count


def crop_of(sizes: cards.Sizes) -> Crop:
    """Return the middle of a pooled map with few enough windows that each can be seen."""
    size = sizes.x[-2:]
    edges = _edges(sizes.op, size, sizes.y[-2:], sizes.attrs)
    (top, bottom, i0, i1), (left, right, j0, j1) = (
        _span(*e, n, POOL[1]) for e, n in zip(edges, size)
    )
    factor = _shared(max(bottom - top, right - left), 2 * POOL[1])
    apart = all((e[1][:-1] <= e[0][1:]).all() for e in edges)
    frames = []
    for i in range(i0, i1) if apart else ():
        for j in range(j0, j1):
            y, x = edges[0][0][i], edges[1][0][j]
            frame = (y - top, x - left, edges[0][1][i] - y, edges[1][1][j] - x)
            frames.append([int(v) if factor == 1 else float(v) / factor for v in frame])
    whole = (bottom - top, right - left) == tuple(size)
    caption = (
        ""
        if whole
        else f"rows {top} to {bottom - 1} of {size[0]}, columns {left} to {right - 1} of {size[1]}"
    )
    if not apart:
        caption += f"{'; ' if caption else ''}windows overlap"
    return Crop(
        slice(top, bottom),
        slice(left, right),
        (slice(i0, i1), slice(j0, j1)),
        frames,
        factor,
        caption,
    )


def winners(sizes: cards.Sizes, x: np.ndarray, crop: Crop) -> list[Any]:
    """Return for each map the positions that are the maximum of a window in the crop: [[row, column, how many windows],
    …]."""
    planes = np.ascontiguousarray(images(sizes.op, x)[: POOL[0]])
    won = kernels.max_indices(planes, _windows(planes.shape[-2:], sizes.attrs))
    marks = []
    for plane in won[:, crop.out[0], crop.out[1]]:
        counts: dict[tuple[int, int], int] = {}
        for index in plane.ravel():
            row, column = divmod(int(index), planes.shape[-1])
            place = (
                (row - crop.rows.start) // crop.factor,
                (column - crop.columns.start) // crop.factor,
            )
            counts[place] = counts.get(place, 0) + 1
        marks.append([[*place, n] for place, n in sorted(counts.items())])
    return marks


@dataclass
class View:
    """How one node is shown: `detail` is (maps, numbers along a side); `crop` and `marks` for pooling."""

    sizes: cards.Sizes
    detail: tuple[int, int]
    crop: Crop | None = None
    marks: list[Any] = field(default_factory=list)


# -- feature maps and kernels ------------------------------------------------------------------------------------------
def feature_maps(
    view: View, what: str, array: np.ndarray, run: int, edge: str | None
) -> Callable[[], Maps]:
    """Return a function that makes the picture when the trace is made; only a small copy of `array` is kept for it."""
    sizes, crop, (most, side) = view.sizes, view.crop, view.detail
    planes = images(sizes.op, array)
    channels, height, count = (
        *planes.shape[:2],
        array.shape[0] if array.ndim == 4 or sizes.op == "convolution" else 1,
    )
    place: tuple[Any, Any] = (slice(None), slice(None))
    if crop is not None:
        place, side = (crop.rows, crop.columns) if what == "x" else crop.out, 2 * side
    small, factor = reduced(planes[:most, place[0], place[1]], side)

    def picture() -> Maps:
        names, title = [f"channel {i}" for i in range(len(small))], TITLES[what, run > 0]
        cut = (
            ""
            if crop is None
            else crop.caption
            if what == "x"
            else "the windows above"
            if crop.caption
            else ""
        )
        marks = view.marks if what == "x" else []
        notes = [
            f"image 0 of {count}" if count > 1 else "",
            _some(channels, len(small), "channel"),
            cut,
            _averaged(factor, height),
        ]
        if marks:
            notes.append("dots mark the winner of each window")
        elif crop is not None and run and what == "x":
            notes.append("all numbers of a window have the same share")
        windows = crop.windows if crop is not None and what == "x" else []
        return Maps(
            what, title, _caption(*notes), described(title, small, names), names, list(small.shape), **encoded(small),
            run=run, edge=edge, windows=windows, marks=marks,
        )  # fmt: skip

    return picture


def images(op: str, array: np.ndarray) -> np.ndarray:
    """Return the maps of the first image, (channels, rows, columns); a sequence is a map of one row."""
    if op == "convolution":
        image = array[0]
        return image[:, None, :] if image.ndim == 2 else image
    return array[0] if array.ndim == 4 else array


def kernel_maps(
    view: View, what: str, weight: np.ndarray, run: int, edge: str | None
) -> Callable[[], Maps]:
    """Draw the kernels of the first filters and channels; each filter is a row."""
    groups = view.sizes.attrs["groups"]
    weight = weight[:, :, None] if weight.ndim == 3 else weight
    first, second, height, _ = weight.shape
    rows, columns = min(first, view.detail[0]), min(second, MOST_INPUTS, view.detail[0])
    small, factor = reduced(weight[:rows, :columns].reshape(-1, *weight.shape[2:]), view.detail[1])

    def name(a: int, b: int) -> str:
        other = a // (first // groups) * second + b
        return f"filter {a}" if second == 1 == groups else f"filter {a} ← channel {other}"

    def picture() -> Maps:  # holds no reference to the weight
        names, title = (
            [name(a, b) for a in range(rows) for b in range(columns)],
            TITLES[what, run > 0],
        )
        notes = [
            _some(first, rows, "filter"),
            _some(second, columns, "input channel") + (" of a group" if groups > 1 else "")
            if second > 1
            else "",
            _averaged(factor, height),
        ]
        return Maps(
            what, title, _caption(*notes), described(title, small, names), names, list(small.shape), **encoded(small),
            columns=columns if second > 1 else 0, run=run, edge=edge,
        )  # fmt: skip

    return picture


# -- statistics --------------------------------------------------------------------------------------------------------
def rows_of(x: np.ndarray) -> np.ndarray:
    """Return what each mean is taken over as the rows of a matrix; only the first rows."""
    part = np.moveaxis(x[:, :MOST_ROWS], 1, 0)
    return np.asarray(part, np.float64).reshape(part.shape[0], -1)


def column(
    name: str, values: Any, used: bool, rows: int, run: int = 0, edge: str | None = None
) -> dict[str, Any]:
    """Return one column; its values are a copy, which the finished table writes out."""
    return {
        "name": name,
        "values": np.array(np.ravel(values)[:rows]),
        "used": used,
        "run": run,
        "edge": edge,
    }


def statistics(view: View, columns: dict[str, tuple[Any, bool]]) -> Statistics:
    """Return a table of `columns`: name -> (one number per channel, whether y was computed with it)."""
    training, total = bool(view.sizes.attrs.get("training", True)), view.sizes.x[1]
    scale = not any("mean" in name for name in columns)
    title = "scale and shift" if scale else "mean and variance"
    used = "training: the batch's own mean and variance were used" if training else (
        "evaluation: the running mean and variance were used, not the batch's"
    )  # fmt: skip
    if training and "running mean" in columns:
        used += "; the running ones are shown as they are after this step"
    shown = min(total, MOST_ROWS)
    return Statistics(
        title,
        _caption(used, _some(total, shown, "channel")),
        f"{title}, {shown} {'channel' if shown == 1 else 'channels'}; {used}.",
        [f"channel {i}" for i in range(shown)],
        [column(name, values, of_y, shown) for name, (values, of_y) in columns.items()],
        [[f"{p}mean", f"{p}variance"] for p in ("batch ", "running ") if f"{p}mean" in columns],
    )
