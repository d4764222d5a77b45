"""Plot a classifier's mistakes: the confusion matrix, and the images it got wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from ..engine.core.errors import fail
from . import palette
from .panels import SMALL, axes, colour_bar, matplotlib, mosaic, numbers, whole


def plot_confusion(
    matrix: Any,
    *,
    classes: Sequence[str] | None = None,
    normalize: bool = False,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw a confusion matrix, the number of examples by true and predicted class, and return the matplotlib Axes.

    matrix    : counts (classes, classes), row: true class, column: predicted class; or a tuple (targets, predictions)
                of class indices (examples,). Predictions may be scores (examples, classes): the highest counts.
    classes   : names of the classes.
    normalize : divide each row by its sum: the fraction of a true class per predicted class. A class without examples
        is 0.
    ax        : Axes to draw into; default: a new figure.

    With up to 20 classes, the cells contain the numbers (0 is left out). The title states the accuracy. Raises
    TypeError or
    ValueError naming the argument that does not fit."""
    if isinstance(matrix, tuple):
        if len(matrix) != 2:
            raise fail(
                ValueError,
                f"matrix must be counts or (targets, predictions), got {len(matrix)} items",
                "Give two.",
            )
        counts = confusion_matrix(*matrix, classes=None if classes is None else len(classes))
    else:
        counts = _counts(matrix)
    names = _names(classes, len(counts))
    total, right = counts.sum(), np.trace(counts)
    shown = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) if normalize else counts
    size = 2.5 + 0.45 * len(counts)
    ax = axes(ax, size + 1, size)
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colours = LinearSegmentedColormap.from_list("counts", [palette.PAPER, palette.BLUE])
    norm = Normalize(0, 1 if normalize else max(counts.max(), 1))
    ax.imshow(shown, cmap=colours, norm=norm, interpolation="nearest")
    if len(counts) <= 20:
        for row, column in zip(*np.nonzero(shown)):
            value = shown[row, column]
            text = f"{value:.2f}" if normalize else f"{value:.10g}"
            ink = palette.ink(colours(norm(value)))
            ax.text(column, row, text, ha="center", va="center", fontsize=SMALL, color=ink)
    ticks = (
        range(len(counts))
        if len(counts) <= 40
        else range(0, len(counts), math.ceil(len(counts) / 20))
    )
    labels = [names[i] for i in ticks]
    long = max(map(len, labels)) > 3
    ax.set_xticks(
        ticks,
        labels,
        rotation=45 if long else 0,
        ha="right" if long else "center",
        rotation_mode="anchor",
    )
    ax.set_yticks(ticks, labels)
    accuracy = f"accuracy {right / total:.1%} ({right:.10g} of {total:.10g})"
    ax.set(xlabel="predicted class", ylabel="true class", title=title or accuracy)
    colour_bar(ax, "share of the true class" if normalize else "examples")
    return ax


def plot_misclassified(
    images: Any,
    targets: Any,
    predictions: Any,
    *,
    n: int = 12,
    classes: Sequence[str] | None = None,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw images whose predicted class is wrong and return the matplotlib Axes.

    images      : (examples, height, width), (examples, 1, height, width) or, in colour, (examples, 3, height, width).
    targets     : true classes (examples,).
    predictions : predicted classes (examples,) or scores before softmax (examples, classes). With scores, the mistakes
                  that the network was surest of come first, with their probability.
    n           : how many at most.
    classes     : names of the classes.
    ax          : Axes to draw into; default: a new figure.

    Grey images share one scale: the range of the numbers in `images`, widened to reach 0. Colour images are drawn as
    they are when they lie in 0..1 (integers: 0..255), else stretched to that range, which the title then says. Raises
    TypeError or ValueError naming the argument that does not fit."""
    pictures = _images(images)
    truth, guess, sure = _answers(targets, predictions)
    if len(pictures) != len(truth):
        raise fail(
            ValueError,
            f"images and targets must be equally many, got {len(pictures)} and {len(truth)}",
            "Each image has one true class; keep the order of the two the same.",
        )
    whole(n, "n")
    names = _names(classes, 1 + max(truth.max(), guess.max()), exact=False)
    wrong = np.flatnonzero(truth != guess)
    if sure is not None:
        wrong = wrong[np.argsort(-sure[wrong], kind="stable")]
    title = title or f"{len(wrong)} of {len(truth)} wrong" + (
        f", {n} drawn" if len(wrong) > n else ""
    )
    if not len(wrong):
        ax = axes(ax, 4, 2)
        ax.text(
            0.5,
            0.5,
            f"No mistake among {len(truth)} images",
            ha="center",
            va="center",
            transform=ax.transAxes,
        )
        ax.set_axis_off()
        ax.set_title(title)
        return ax
    labels = []
    for i in wrong[:n]:
        share = "" if sure is None else f" ({sure[i]:.0%})"
        labels.append(
            fill(f"true: {names[truth[i]]}", 28)
            + "\n"
            + fill(f"predicted: {names[guess[i]]}{share}", 28)
        )
    columns = min(4, len(labels))
    if pictures.ndim == 4:
        pictures, stretched = _visible(pictures)
        return mosaic(ax, pictures[wrong[:n]], labels, columns, inch=1.9, title=title + stretched)
    finite = pictures[np.isfinite(pictures)]
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    norm = matplotlib("colors").Normalize(low, high if high > low else 1.0)
    ax = mosaic(
        ax, pictures[wrong[:n]], labels, columns, inch=1.9, title=title, cmap="gray", norm=norm
    )
    colour_bar(ax, "pixel")
    return ax


def confusion_matrix(targets: Any, predictions: Any, classes: int | None = None) -> np.ndarray:
    """Return counts (classes, classes): row i, column j holds how many examples of class i were predicted to be class
    j.

    classes: how many there are; default: one more than the largest index."""
    truth, guess, _ = _answers(targets, predictions)
    scores = numbers(predictions, "predictions")
    largest = 1 + int(max(truth.max(), guess.max()))
    count = classes or max(largest, scores.shape[1] if scores.ndim == 2 else 0)
    if largest > count:
        raise fail(
            ValueError,
            f"classes has {count} names, but class {largest - 1} occurs",
            "Classes are counted from 0: the name of class i is classes[i].",
        )
    return np.bincount((truth * count + guess).astype(np.intp), minlength=count * count).reshape(
        count, count
    )


def _answers(targets: Any, predictions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return (true classes, predicted classes, probability of the predicted class if there are scores)."""
    truth, guess, sure = numbers(targets, "targets"), numbers(predictions, "predictions"), None
    if guess.ndim == 2 and guess.shape[1] > 1:
        scores = guess.astype(np.float64)
        guess = scores.argmax(axis=1)
        with np.errstate(invalid="ignore"):  # a score may be NaN or infinite
            sure = 1 / np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)
    for where, classes in (("targets", truth), ("predictions", guess)):
        if classes.dtype.kind == "f" or classes.ndim != 1 or not classes.size or classes.min() < 0:
            raise fail(
                ValueError,
                f"{where} must be class indices 0, 1, 2, ... of shape (examples,), got {classes.dtype} {classes.shape}"
                + (f" with {classes.min()}" if classes.size and classes.min() < 0 else ""),
                "Predictions may also be scores (examples, classes). One-hot targets: take .argmax(1) first.",
            )
    if len(truth) != len(guess):
        raise fail(
            ValueError,
            f"targets and predictions must be equally many, got {len(truth)} and {len(guess)}",
            "The last batch may be smaller than the others: collect targets and predictions in the same loop.",
        )
    return truth.astype(np.int64), guess.astype(np.int64), sure


def _counts(matrix: Any) -> np.ndarray:
    counts = numbers(matrix, "matrix")
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size:
        raise fail(
            ValueError,
            f"matrix must have as many rows as columns, got shape {counts.shape}",
            "One row for each true class, one column for each predicted class. Answers go in a tuple: "
            "plot_confusion((targets, predictions)).",
        )
    if not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise fail(
            ValueError,
            "matrix must hold counts: finite, not negative, and not all 0",
            "To see proportions, pass the counts with normalize=True.",
        )
    return counts.astype(np.int64) if counts.dtype.kind == "b" else counts


def _names(classes: Sequence[str] | None, count: int, exact: bool = True) -> list[str]:
    if classes is None:
        return [str(i) for i in range(count)]
    names = [] if isinstance(classes, str) else [str(name) for name in classes]
    if len(names) < count or (exact and len(names) > count):
        raise fail(
            ValueError,
            f"classes must be a list of {count} names{'' if exact else ' at least'}, got {classes!r}",
            "Classes are counted from 0: the name of class i is classes[i].",
        )
    return names


def _images(images: Any) -> np.ndarray:
    """Return (examples, height, width), or in colour (examples, height, width, 3)."""
    pictures = numbers(images, "images")
    if pictures.ndim == 4 and pictures.shape[1] in (1, 3) and pictures.size:
        return pictures[:, 0] if pictures.shape[1] == 1 else pictures.transpose(0, 2, 3, 1)
    if pictures.ndim == 3 and pictures.size:
        return pictures
    raise fail(
        ValueError,
        f"images must have shape (examples, height, width) or (examples, 1 or 3, height, width), got {pictures.shape}",
        "Channels come before height and width, as in every tensor of images; a flat image needs .reshape first.",
    )


def _visible(pictures: np.ndarray) -> tuple[np.ndarray, str]:
    """Return colour images scaled to 0..1, and a sentence if they had to be stretched."""
    if pictures.dtype.kind != "f":
        return pictures / 255, ""
    finite = pictures[np.isfinite(pictures)]
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    if 0 <= low and high <= 1:
        return pictures, ""
    return (pictures - low) / (
        (high - low) or 1
    ), f" (colours stretched from {low:.3g}..{high:.3g})"
