"""The plots of the lessons. A cell says what is drawn; these functions contain how it is drawn.

Each function returns the Matplotlib Axes that it drew into (the last one if there are several).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..viz import palette
from ..viz.panels import matplotlib


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _axes(**size: Any) -> Any:
    return matplotlib("pyplot").subplots(layout="constrained", **size)[1]


def curves(
    x: Any,
    runs: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    log: str = "",
    title: str = "",
    mark: Mapping[str, float] | None = None,
) -> Any:
    """Draw lines over the same x values. x: numbers or words; up to 12 become ticks. runs: label ->
    one number for each x. log: "x", "y" or "xy" for logarithmic axes. mark: label -> the x at which
    a dotted line is drawn.

    Example:

        >>> from autolab.lessons import plots
        >>> axes = plots.curves([1, 2, 4], {"CPU": [1, 2, 4], "GPU": [2, 2, 2]}, xlabel="batch", ylabel="µs", log="xy")
        >>> [line.get_label() for line in axes.lines]
        ['CPU', 'GPU']
    """
    axes, places = _axes(), _array(x)
    if places.dtype.kind == "U":
        words, places = [str(p) for p in places], np.arange(len(places))
    else:
        words = [f"{p:g}" for p in places] if len(places) <= 12 else []
    for i, (label, values) in enumerate(runs.items()):
        colour, style = palette.LINES[i % len(palette.LINES)]
        axes.plot(
            places,
            _array(values),
            color=colour,
            linestyle=style,
            marker="o" if words else None,
            label=label,
        )
    for axis in log:
        getattr(axes, f"set_{axis}scale")("log")
    if words:
        axes.set_xticks(places, words)
        axes.minorticks_off()
    for word, place in (mark or {}).items():
        axes.axvline(place, color=palette.DATA, linestyle=":")
        axes.text(
            place, 1.01, word, transform=axes.get_xaxis_transform()
        )  # above the plot: the legend is inside
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.legend()
    return axes


def tangent(
    function: Callable[[Any], Any],
    at: float,
    slope: float,
    span: tuple[float, float],
    *,
    xlabel: str = "w",
    ylabel: str = "loss",
) -> Any:
    """Draw a function of one number, and the line with the given slope that touches it at one place.

    Example:

        >>> from autolab.lessons import plots
        >>> axes = plots.tangent(lambda w: w ** 2, 1.0, 2.0, (-2, 2))
        >>> len(axes.lines)
        3
    """
    axes, places = _axes(figsize=(6, 3.2)), np.linspace(*span, 101)
    height = float(function(at))
    near = np.array([at - 0.18 * (span[1] - span[0]), at + 0.18 * (span[1] - span[0])])
    (curve, _), (line, dashes) = palette.LINES[:2]
    axes.plot(places, [float(function(place)) for place in places], color=curve, label=ylabel)
    axes.plot(near, height + slope * (near - at), color=line, linestyle=dashes, label="tangent")
    axes.plot([at], [height], "o", color=line, label=f"{xlabel} = {at:g}, slope {slope:g}")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    return axes


def digit(image: Any, probabilities: Any, *, title: str = "") -> Any:
    """Draw an image (1, H, W) and, beside it, the probability of each digit from 0 to 9."""
    size = {"figsize": (9, 2.8), "gridspec_kw": {"width_ratios": [1, 2.6]}}
    _, (left, right) = matplotlib("pyplot").subplots(1, 2, layout="constrained", **size)
    left.imshow(_array(image)[0], cmap="gray_r", vmin=0, vmax=1)
    left.axis("off")
    right.bar(np.arange(10), _array(probabilities), color=palette.LINES[0][0])
    right.set_xticks(np.arange(10))
    right.set(xlabel="digit", ylabel="probability", ylim=(0, 1), title=title)
    return right


def images(pictures: Any, words: Sequence[str] = (), *, columns: int = 10, title: str = "") -> Any:
    """Draw grey images (n, 1, H, W) from 0 (paper) to 1 (ink) in rows, with `words` above each
    image."""
    array = _array(pictures)[:, 0]
    rows = -(-len(array) // columns)
    size = 0.85 * columns, (1.15 if words else 0.9) * rows + 0.4 * bool(title)
    figure, places = matplotlib("pyplot").subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained"
    )
    for i, axes in enumerate(places.flat):
        axes.axis("off")
        if i < len(array):
            axes.imshow(array[i], cmap="gray_r", vmin=0, vmax=1)
            axes.set_title(words[i] if i < len(words) else "", fontsize=10)
    figure.suptitle(title)
    return places.flat[-1]


def chances(probabilities: Mapping[str, Any], *, title: str = "") -> Any:
    """Draw the probabilities that a network gives to the digits 0 to 9 as bars. probabilities:
    label -> ten numbers from 0 to 1."""
    axes, width = _axes(figsize=(8, 3)), 0.8 / len(probabilities)
    for i, (label, values) in enumerate(probabilities.items()):
        colour, _ = palette.LINES[i % len(palette.LINES)]
        hatch = "" if i == 0 else "//"
        look = {"color": colour, "hatch": hatch, "edgecolor": palette.PAPER}
        axes.bar(np.arange(10) + i * width, _array(values), width, label=label, **look)
    axes.set_xticks(np.arange(10) + 0.4 - width / 2, [str(d) for d in range(10)])
    axes.set(xlabel="digit", ylabel="probability", ylim=(0, 1), title=title)
    if len(probabilities) > 1:
        axes.legend()
    return axes


def plane(points: Mapping[str, Any], labels: Any, names: Sequence[str]) -> Any:
    """Draw points in planes side by side, each point as the name of its class. points: title -> (n,
    2). labels: the class of each point, from 0."""
    classes = _array(labels)
    plt = matplotlib("pyplot")
    _, places = plt.subplots(
        1, len(points), figsize=(5.5 * len(points), 5), squeeze=False, layout="constrained"
    )
    for axes, (title, values) in zip(places.flat, points.items()):
        for k, name in enumerate(names):
            x, y = _array(values)[classes == k].T
            axes.scatter(
                x,
                y,
                marker=f"${name}$",
                color=palette.LINES[k % len(palette.LINES)][0],
                s=60,
                label=name,
            )
        axes.set(title=title, xlabel="strongest direction", ylabel="second direction")
    return places.flat[-1]


def seeds(found: Mapping[str, Sequence[float]], *, ylabel: str, title: str = "") -> Any:
    """Draw means as bars with their standard deviation, and a dot for each seed. found: label ->
    one number for each seed."""
    axes = _axes(figsize=(8, 4))
    for i, (label, values) in enumerate(found.items()):
        colour, _ = palette.LINES[i % len(palette.LINES)]
        spread = np.std(values, ddof=1) if len(values) > 1 else None
        axes.bar(label, np.mean(values), yerr=spread, color=colour, alpha=0.5, capsize=4)
        axes.plot([label] * len(values), values, "o", color=colour, markersize=5)
    axes.set(ylabel=ylabel, title=title)
    axes.tick_params(axis="x", rotation=20)
    return axes
