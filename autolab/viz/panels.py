"""Helpers shared by the matplotlib pictures: numbers from either library's tensors, colour scales, and a grid of
images."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from .. import installation
from ..engine.core.errors import fail
from . import palette

SMALL = 9
"""Points; 12.5 pixels at matplotlib's 100 dots per inch."""


def matplotlib(module: str) -> Any:
    """Return a module of Matplotlib, such as "pyplot"; raises ModuleNotFoundError that says how to get it.

    Example:

        >>> matplotlib("colors").is_color_like("red")
        True
    """
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ModuleNotFoundError as error:
        error.add_note(
            f"Plots are drawn by Matplotlib. Install it with: {installation.install('matplotlib')}"
        )
        raise


def numbers(value: Any, where: str) -> np.ndarray:
    """Return the real numbers in a tensor of autolab or PyTorch (gradient or not, any device), an array or nested
    lists.

    Raises TypeError naming the argument `where` when they are something else."""
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            if "bfloat16" in str(value.dtype):  # NumPy has no such type
                value = value.float()
            value = value.numpy()
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise fail(
            TypeError,
            f"{where} must be a tensor or an array of real numbers, got {type(value).__name__}",
            "Before its first forward a lazy layer has no numbers: call the network once."
            if type(value).__name__.startswith("Uninitialized")
            else "Rows of different lengths, text and complex numbers cannot be drawn.",
        )
    return array


def whole(value: Any, where: str, least: int = 1) -> int:
    """Return `value`, checked to be an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise fail(
            ValueError,
            f"{where} must be an int, at least {least}; got {value!r}",
            "Pass a whole number.",
        )
    return int(value)


def chosen(indices: Any, count: int, where: str, most: int) -> list[int]:
    """Return the positions to draw: `indices` as given, counted from 0 (or from -1 backwards), or the first `most` of
    `count`."""
    if indices is None:
        return list(range(min(count, most)))
    picked = np.atleast_1d(numbers(indices, where))
    if picked.dtype.kind not in "iu" or picked.ndim != 1 or not picked.size:
        raise fail(
            TypeError,
            f"{where} must be indices, for example [0, 3] or range(8); got {indices!r}",
            "Use ints.",
        )
    for index in picked:
        if not -count <= index < count:
            raise fail(
                IndexError,
                f"{where} has no index {index}: there are {count}",
                f"Indices go from 0 to {count - 1}.",
            )
    return [int(index) % count for index in picked]


def how_many(shown: int, count: int, things: str) -> str:
    """Return "6 filters", or "8 of 64 filters" if not all are drawn."""
    text = f"{shown} of {count} {things}" if shown < count else f"{count} {things}"
    return text.removesuffix("s") if count == 1 else text


def broken(array: np.ndarray) -> str:
    """Return ", 3 NaN or infinite" if there are such numbers, else ""."""
    count = int((~np.isfinite(array)).sum()) if array.dtype.kind == "f" else 0
    return f", {count} NaN or infinite" if count else ""


def signed_scale(array: np.ndarray) -> tuple[Any, Any]:
    """Return (colour map, norm) as in the explorer: purple negative, white 0, green positive. Both ends are equally far
    from 0; a scale without negative numbers starts at 0. Purple: NaN or infinite."""
    colors = matplotlib("colors")
    finite = array[np.isfinite(array)]
    top = float(np.abs(finite).max(initial=0)) or 1.0
    negative = bool((finite < 0).any())
    colours = [palette.NEGATIVE, palette.PAPER, palette.POSITIVE][0 if negative else 1 :]
    name = "signed" if negative else "positive"
    colour_map = colors.LinearSegmentedColormap.from_list(
        name, colours, N=257
    )  # odd: 0 is exactly white
    return colour_map.with_extremes(bad=palette.NOT_A_NUMBER), colors.Normalize(
        -top if negative else 0.0, top
    )


def axes(ax: Any, width: float, height: float) -> Any:
    """Return `ax`, checked, or the Axes of a new figure of that size in inches."""
    if ax is None:
        return matplotlib("pyplot").subplots(figsize=(width, height), layout="constrained")[1]
    if not hasattr(ax, "imshow"):
        raise fail(
            TypeError,
            f"ax must be a matplotlib Axes, got {type(ax).__name__}",
            "plt.subplots() makes axes.",
        )
    return ax


def mosaic(
    ax: Any,
    pictures: Sequence[np.ndarray] | np.ndarray,
    labels: Sequence[str],
    columns: int,
    *,
    inch: float = 1.1,
    title: str = "",
    **scale: Any,
) -> Any:
    """Draw pictures of equal shape (height, width[, 3]) in rows, each under its label, into one Axes and return it.

    ax.get_images() are the pictures, ax.texts their labels, in order. inch: width of a picture in a new figure. `scale`
    (cmap, norm) goes to imshow."""
    rows = math.ceil(len(pictures) / columns)
    ratio = pictures[0].shape[0] / pictures[0].shape[1]
    lines = max(label.count("\n") + 1 for label in labels)
    strip, gap = (0.17 * lines + 0.06) / inch, 0.12
    across, down = columns * (1 + gap) - gap, rows * (ratio + strip)
    width = max(across * inch, 2.5)
    title = fill(title, int(width / 0.1))  # a letter of the title is about 0.1 inch wide
    ax = axes(ax, width + 1.2, max(down * inch + 0.5 + 0.2 * title.count("\n"), 2.0))
    for i, (picture, label) in enumerate(zip(pictures, labels)):
        left, top = (i % columns) * (1 + gap), (i // columns) * (ratio + strip) + strip
        shown = np.ma.masked_invalid(picture)
        ax.imshow(
            shown, extent=(left, left + 1, top + ratio, top), interpolation="nearest", **scale
        )
        frame = ((left, left + 1, left + 1, left, left), (top, top, top + ratio, top + ratio, top))
        ax.plot(*frame, color=palette.DATA, linewidth=0.8, clip_on=False)
        ax.text(
            left + 0.5,
            top - 0.04 / inch,
            label,
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color=palette.INK,
        )
    ax.set(xlim=(0, across), ylim=(down, 0), aspect="equal")
    ax.set_axis_off()
    ax.set_title(title)
    return ax


def colour_bar(ax: Any, label: str) -> None:
    """Add the scale of the images in `ax`, which all share one."""
    ax.figure.colorbar(ax.get_images()[0], ax=ax, label=label, fraction=0.08, aspect=30)
