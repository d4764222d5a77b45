"""Plot the distribution of a network's weights and gradients, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.core.errors import fail
from . import palette
from .panels import SMALL, broken, matplotlib, numbers, whole


def plot_weight_histograms(
    model: Any,
    *,
    only: str = "",
    bins: int = 40,
    shared: bool = False,
    log: bool = False,
    title: str = "Weights",
) -> dict[str, Any]:
    """Draw a histogram of each parameter of a network and return {parameter name: matplotlib Axes}, in their order.

    model  : a Module, or a dict {name: tensor} such as a state_dict().
    only   : draw only parameters whose name contains this, for example "weight" or "layer1".
    bins   : bars per histogram, between the smallest and the largest number.
    shared : one range for all, so that widths can be compared by eye; default: each its own.
    log    : logarithmic count axis, which makes rare values far from 0 visible.

    Under each name stand shape, mean and standard deviation (over n, not n - 1). NaN and infinite numbers are left out
    of the bars and counted in that line. Raises TypeError or ValueError naming the argument that does not fit."""
    tensors = {
        name: numbers(tensor, f"model[{name!r}]")
        for name, tensor in _parameters(model, only).items()
    }
    return _draw(tensors, palette.FORWARD, bins, shared, log, title)


def plot_gradient_histograms(
    model: Any,
    *,
    only: str = "",
    bins: int = 40,
    shared: bool = False,
    log: bool = False,
    title: str = "Gradients",
) -> dict[str, Any]:
    """Draw a histogram of each parameter's `.grad`; arguments and result as in `plot_weight_histograms`.

    A parameter whose `.grad` is None keeps its place, with the words "no gradient". Raises ValueError if all are
    None."""
    gradients = {
        name: None if tensor.grad is None else numbers(tensor.grad, f"model[{name!r}].grad")
        for name, tensor in _parameters(model, only, gradient=True).items()
    }
    if all(gradient is None for gradient in gradients.values()):
        raise fail(
            ValueError,
            "model has no gradients: .grad is None for every parameter",
            "Call loss.backward() first, and look before optimizer.zero_grad(), which sets .grad to None again.",
        )
    return _draw(gradients, palette.BACKWARD, bins, shared, log, title)


def _parameters(model: Any, only: str, gradient: bool = False) -> dict[str, Any]:
    if hasattr(model, "named_parameters"):
        parameters = dict(model.named_parameters())
    elif isinstance(model, Mapping):
        parameters = {str(name): tensor for name, tensor in model.items()}
    else:
        raise fail(
            TypeError,
            f"model must be a Module or a dict of name: tensor, got {type(model).__name__}",
            "For a single tensor, give it a name: {'w': w}.",
        )
    if not isinstance(only, str):
        raise fail(
            TypeError,
            f"only must be a part of a parameter's name, got {type(only).__name__}",
            'Such as "weight".',
        )
    named = {name: tensor for name, tensor in parameters.items() if only in name}
    if not named:
        what = f"no parameter with {only!r} in its name" if parameters else "no parameters"
        raise fail(
            ValueError, f"model has {what}", f"Its parameters: {', '.join(parameters) or 'none'}."
        )
    for name, tensor in named.items():
        if gradient and not hasattr(tensor, "grad"):
            kind = type(tensor).__name__
            raise fail(
                TypeError,
                f"model[{name!r}] must be a tensor with .grad, got {kind}",
                "Arrays have no gradient.",
            )
    return named


def _draw(
    tensors: Mapping[str, np.ndarray | None],
    colour: str,
    bins: int,
    shared: bool,
    log: bool,
    title: str,
) -> dict[str, Any]:
    whole(bins, "bins")
    finite = {
        name: t[np.isfinite(t)].astype(np.float64) for name, t in tensors.items() if t is not None
    }
    common = _span(np.concatenate(list(finite.values()))) if shared else None
    plt = matplotlib("pyplot")
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    columns = min(len(tensors), 4)
    rows = math.ceil(len(tensors) / columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(3.1 * columns, 2.3 * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for spare in grid.flat[len(tensors) :]:
        spare.remove()
    panels = dict(zip(tensors, grid.flat))
    for name, ax in panels.items():
        tensor = tensors[name]
        if tensor is None:
            ax.text(0.5, 0.5, "no gradient", ha="center", va="center", transform=ax.transAxes)
            ax.set(xticks=[], yticks=[])
            ax.set_title(name, fontsize=SMALL)
            continue
        counts, edges = np.histogram(finite[name], bins, common or _span(finite[name]))
        ax.stairs(counts, edges, fill=True, color=colour)
        ax.axvline(0, color=palette.INK, linewidth=0.8, linestyle=":")
        ax.set_xlim(edges[0], edges[-1])
        ax.locator_params(axis="x", nbins=4)
        ax.ticklabel_format(axis="x", scilimits=(-2, 4))
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        if log:
            # Starts at 0.5, so that a bar of height 1 is visible; labels 1, 10, 100, because `2 × 10⁰` would overlap
            # its neighbour.
            ax.set_yscale("log", nonpositive="clip")
            ax.set_ylim(0.5, max(12.0, 1.5 * counts.max()))
            ax.yaxis.set_major_locator(LogLocator(numticks=5))
            ax.yaxis.set_major_formatter("{x:,.0f}")
            ax.yaxis.set_minor_formatter(NullFormatter())
        ax.tick_params(labelsize=SMALL)
        ax.set_title(f"{name}\n{_summary(tensor, finite[name])}", fontsize=SMALL)
    for row in grid:
        row[0].set_ylabel("count")
    figure.suptitle(title)
    return panels


def _span(values: np.ndarray) -> tuple[float, float]:
    """Return the range of the bars; 1 wide around a constant, as in NumPy."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    narrow = high - low <= 1e-12 * max(abs(low), abs(high))
    return (low - 0.5, high + 0.5) if narrow else (low, high)


def _summary(tensor: np.ndarray, finite: np.ndarray) -> str:
    shape = f"shape {tensor.shape}"
    if not finite.size:
        return f"{shape}, no finite number"
    zero = "all 0" if finite.size == tensor.size else "the finite ones 0"
    what = zero if not finite.any() else f"mean {finite.mean():.2g}, std {finite.std():.2g}"
    return f"{shape}\n{what}{broken(tensor)}"
