"""Loss curves with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..engine.core.errors import fail
from . import palette
from .panels import matplotlib


def plot_losses(
    runs: Any, *, log: bool = False, smooth: float = 0, ax: Any = None, title: str = "Loss"
) -> Any:
    """Draw one or more training runs and return the matplotlib Axes.

    runs   : losses step by step (numbers or one-element tensors), or several such runs: a dict {label: losses}, or a
             list of losses.
    log    : logarithmic loss axis. Every loss must be positive then.
    smooth : 0 draws the losses as they are; s in (0, 1) draws their exponential moving average with weight s on the
             past (corrected for its start, as in Adam), above the losses themselves in a faint line.
    ax     : Axes to draw into; default: a new figure.

    NaN and infinite losses interrupt the curve and are marked on the step axis. Each run has its own colour and line
    style. Raises ValueError or TypeError naming the argument that does not fit."""
    labelled = _runs(runs)
    if isinstance(smooth, bool) or not isinstance(smooth, (int, float)) or not 0 <= smooth < 1:
        raise ValueError(f"smooth must be a number from 0 up to, not including, 1; got {smooth!r}")
    if log:
        _check_positive(labelled)
    if ax is None:
        _, ax = matplotlib("pyplot").subplots(layout="constrained")
    elif not hasattr(ax, "plot"):
        raise TypeError(f"ax must be a matplotlib Axes, got {type(ax).__name__}")
    for i, (label, losses) in enumerate(labelled.items()):
        _draw(ax, label, losses, smooth, *palette.LINES[i % len(palette.LINES)])
    _decorate(ax, labelled, log, smooth, title)
    return ax


def smoothed(losses: Sequence[float], weight: float) -> list[float]:
    """Return the exponential moving average m_t = weight * m_(t-1) + (1 - weight) * loss_t, divided by 1 - weight^t.

    Steps whose loss is not finite stay as they are and do not enter the average. Source: Kingma and Ba (2015), section
    3."""
    mean, seen, out = 0.0, 0, []
    for loss in losses:
        if not math.isfinite(loss):
            out.append(loss)
            continue
        seen += 1
        mean = weight * mean + (1 - weight) * loss
        out.append(mean / (1 - weight**seen))
    return out


def _runs(runs: Any) -> dict[str, list[float]]:
    if isinstance(runs, Mapping):
        labelled = {
            str(label): _losses(losses, f"runs[{label!r}]") for label, losses in runs.items()
        }
    elif (
        isinstance(runs, str) or not hasattr(runs, "__iter__") or getattr(runs, "shape", None) == ()
    ):
        one = "a single number" if hasattr(runs, "shape") else type(runs).__name__
        raise fail(
            TypeError,
            f"runs must be losses, a dict of label: losses, or a list of losses; got {one}",
            "Collect them while you train: losses.append(loss.item()).",
        )
    else:
        items = list(runs)
        nested = [_is_run(item) for item in items]
        if any(nested) and not all(nested):
            raise TypeError(
                f"runs mixes single losses and lists of losses (position {nested.index(not nested[0])})"
            )
        labelled = (
            {f"run {i + 1}": _losses(item, f"runs[{i}]") for i, item in enumerate(items)}
            if any(nested)
            else {"": _losses(items, "runs")}
        )
    if not labelled or not any(labelled.values()):
        raise ValueError("runs is empty: there is no loss to draw")
    return labelled


def _is_run(item: Any) -> bool:
    shape = getattr(item, "shape", None)
    return len(shape) > 0 if shape is not None else isinstance(item, (list, tuple, Mapping))


def _losses(losses: Any, where: str) -> list[float]:
    if isinstance(losses, str) or not hasattr(losses, "__iter__"):
        raise TypeError(f"{where} must be a sequence of losses, got {type(losses).__name__}")
    out = []
    for step, loss in enumerate(losses):
        try:
            out.append(float(loss.item() if hasattr(loss, "item") else loss))
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(
                f"{where}[{step}] must be a number or a one-element tensor, got {loss!r}"
            ) from None
    return out


def _check_positive(labelled: dict[str, list[float]]) -> None:
    for label, losses in labelled.items():
        for step, loss in enumerate(losses):
            if loss <= 0:
                which = f" of {label!r}" if label else ""
                raise ValueError(
                    f"log=True needs positive losses, but the loss{which} is {loss:g} at step {step}"
                )


def _draw(ax: Any, label: str, losses: list[float], smooth: float, colour: str, style: Any) -> None:
    steps = range(len(losses))
    finite = [loss if math.isfinite(loss) else math.nan for loss in losses]
    name = label or "_loss"  # a leading underscore keeps it out of the legend
    if smooth:
        ax.plot(steps, finite, color=colour, alpha=0.3, linewidth=1, label="_raw")
        ax.plot(
            steps,
            [v if math.isfinite(v) else math.nan for v in smoothed(losses, smooth)],
            color=colour,
            linestyle=style,
            label=name,
        )
    else:
        # A single point draws no line.
        ax.plot(
            steps,
            finite,
            color=colour,
            linestyle=style,
            label=name,
            marker="o" if len(losses) == 1 else None,
        )
    broken = [step for step, loss in enumerate(losses) if not math.isfinite(loss)]
    if broken:
        ax.plot(
            broken,
            [0.02] * len(broken),
            transform=ax.get_xaxis_transform(),
            linestyle="none",
            marker="X",
            markersize=8,
            color=palette.BAD,
            label=f"{label + ': ' if label else ''}NaN or infinite (first at step {broken[0]})",
            clip_on=False,
        )


def _decorate(
    ax: Any, labelled: dict[str, list[float]], log: bool, smooth: float, title: str
) -> None:
    from matplotlib.ticker import MaxNLocator

    if log:
        ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlabel="step",
        ylabel=f"loss (smoothed, weight {smooth:g})" if smooth else "loss",
        title=title,
    )
    ax.grid(True, alpha=0.3)
    if any(not str(handle.get_label()).startswith("_") for handle in ax.get_lines()):
        ax.legend()
