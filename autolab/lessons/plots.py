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
    axes.plot([at], [height], "o", color=line, label=f"{xlabel} = {at:g}, slope {slope:.3g}")
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


def bars(
    words: Sequence[Any], runs: Mapping[str, Any], *, xlabel: str, ylabel: str, title: str = ""
) -> Any:
    """Draw bars side by side. words: what stands below each group. runs: label -> one number for each group.

    Example:

        >>> from autolab.lessons import plots
        >>> axes = plots.bars(["before", "after"], {"old": [96, 0], "new": [0, 46]}, xlabel="", ylabel="%")
        >>> len(axes.patches)
        4
    """
    axes, width, places = _axes(figsize=(8, 3)), 0.8 / len(runs), np.arange(len(words))
    for i, (label, values) in enumerate(runs.items()):
        colour, _ = palette.LINES[i % len(palette.LINES)]
        look = {"color": colour, "hatch": "" if i == 0 else "//", "edgecolor": palette.PAPER}
        axes.bar(places + i * width, _array(values), width, label=label, **look)
    axes.set_xticks(places + 0.4 - width / 2, [str(word) for word in words])
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if len(runs) > 1:
        axes.legend()
    return axes


def chances(probabilities: Mapping[str, Any], *, title: str = "") -> Any:
    """Draw what a network gives each digit from 0 to 9. probabilities: label -> ten numbers from 0 to 1."""
    axes = bars(range(10), probabilities, xlabel="digit", ylabel="probability", title=title)
    axes.set_ylim(0, 1)
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


def modes(inputs: int = 4) -> Any:
    """Draw a small network twice: what one pass of forward mode finds, and what one pass of reverse mode finds.

    Example:

        >>> from autolab.lessons import plots
        >>> print(plots.modes(4).get_title())
        reverse mode: one pass for all 4 inputs
    """
    _, places = matplotlib("pyplot").subplots(1, 2, figsize=(9, 2.8), layout="constrained")
    columns = [[(x, y - (n - 1) / 2) for y in range(n)] for x, n in enumerate((inputs, 3, 1))]
    for axes, reverse in zip(places, (False, True)):
        for left, right in zip(columns, columns[1:]):
            for start in left:
                for end in right:
                    reached = reverse or start[0] == 1 or start == columns[0][-1]
                    look = {
                        "color": palette.BACKWARD if reached else palette.NOT_A_NUMBER,
                        "shrinkA": 9,
                        "shrinkB": 9,
                    }
                    tail, tip = (end, start) if reverse else (start, end)
                    axes.annotate("", tip, tail, arrowprops={"arrowstyle": "->", **look})
        for column in columns:
            axes.plot(*zip(*column), "o", color=palette.LINES[0][0], markersize=12)
        axes.set(xlim=(-0.4, 2.4), ylim=(-inputs / 2, inputs / 2))
        axes.set_xticks(range(3), ["inputs", "in the middle", "result"])
        axes.set_yticks([])
        found = (
            f"one pass for all {inputs} inputs"
            if reverse
            else f"one pass for each of {inputs} inputs"
        )
        axes.set_title(f"{'reverse' if reverse else 'forward'} mode: {found}", fontsize=11)
    return places[1]


def machine(memory: Mapping[str, float], bus: float) -> Any:
    """Draw two devices, each with its memory, and the bus between them; a thicker line carries more.

    memory: name of a device -> billions of bytes that its memory carries per second. bus: the same of the bus.

    Example:

        >>> from autolab.lessons import plots
        >>> print(plots.machine({"CPU": 20, "GPU": 224}, 6).texts[0].get_text())
        CPU
    """
    axes = _axes(figsize=(8, 2.6))
    box = {
        "boxstyle": "round,pad=0.8",
        "facecolor": palette.PAPER,
        "edgecolor": palette.LINES[0][0],
    }
    for x, (name, speed) in zip((0.2, 0.8), memory.items()):
        axes.text(x, 0.8, name, ha="center", va="center", bbox=box)
        axes.text(x, 0.2, f"memory of the {name}", ha="center", va="center", bbox=box)
        axes.plot([x, x], [0.34, 0.66], color=palette.BLUE, linewidth=speed / 12)
        axes.text(x + 0.05, 0.5, f"{speed:g} GB/s", va="center")
    axes.plot([0.35, 0.65], [0.2, 0.2], color=palette.VERMILLION, linewidth=max(bus / 12, 1))
    axes.text(0.5, 0.26, f"bus, {bus:g} GB/s", ha="center")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    return axes


def layers(model: Any, head: str = "fc") -> Any:
    """Draw the layers of a network in a row, with the count of their numbers; the body is frozen, the head is new.

    Example:

        >>> from autolab.lessons import hand, plots
        >>> axes = plots.layers(hand.network())
        >>> print(axes.texts[5].get_text())
        fc
        650 numbers
    """
    axes = _axes(figsize=(9, 1.9))
    counts = {
        name: sum(p.numel() for p in layer.parameters()) for name, layer in model.named_children()
    }
    counts = {name: count for name, count in counts.items() if count}
    for x, (name, count) in enumerate(counts.items()):
        colour = palette.LINES[1][0] if name == head else palette.LINES[0][0]
        box = {"boxstyle": "round,pad=0.6", "facecolor": palette.PAPER, "edgecolor": colour}
        axes.text(
            x, 0.5, f"{name}\n{count:,} numbers", ha="center", va="center", fontsize=9, bbox=box
        )
    last = len(counts) - 1
    for start, end, word in (
        (-0.5, last - 0.5, "body: what you keep"),
        (last - 0.4, last + 0.5, "head: new"),
    ):
        axes.plot([start, end], [0.95, 0.95], color=palette.DATA)
        axes.text((start + end) / 2, 1.02, word, ha="center")
    axes.set(xlim=(-0.6, last + 0.6), ylim=(0, 1.2))
    axes.axis("off")
    return axes
