"""Draw a profile: which ops took the time, and when each ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import palette
from .panels import matplotlib

_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_ENGINE = "autograd::engine::evaluate_function: "
_KINDS = {
    "op": (palette.FORWARD, ""),
    "backward": (palette.BACKWARD, "///"),
    "your block": (palette.LEAF, "..."),
}  # colour and hatch, so that a kind is recognisable in print
_CHARACTERS = 85  # number that fits into the width of the timeline, at the size of its labels
_SHORTEST = 4  # characters: a narrower bar has no label


def plot_profile(
    prof: Any, *, row_limit: int = 12, axes: Any = None, title: str = "Profile"
) -> Any:
    """Draw a profile and return its two matplotlib Axes.

    prof      : the result of `profile()` (autolab's or PyTorch's), or its events().
    row_limit : how many names get a bar, those with the most time of their own.
    axes      : two Axes to draw into; default: a new figure.

    Above, a bar per name: the filled part is its own time, the pale part the time of the calls inside it. Below, every
        call on a time axis, with the calls inside it underneath; at the bottom the GPU's kernels and copies (only a
    simulated GPU is timed). Raises TypeError or ValueError naming the argument that does not fit."""
    events = _events(prof)
    if isinstance(row_limit, bool) or not isinstance(row_limit, int) or row_limit < 1:
        raise ValueError(f"row_limit must be a positive integer, got {row_limit!r}")
    averages = [average for average in events.key_averages() if _called(average)]
    averages.sort(key=lambda average: average.self_cpu_time_total, reverse=True)
    events = [event for event in events if _called(event)]
    shown = averages[:row_limit]
    if axes is None:
        axes = _figure(len(shown), 1 + max(_depths(events)) + 1.5 * len(_queues(events)))
    elif not isinstance(axes, Sequence) and not hasattr(axes, "__len__") or len(axes) != 2:
        raise TypeError(f"axes must be two matplotlib Axes, got {axes!r}")
    bars, timeline = axes
    _draw_bars(bars, shown, len(averages) - len(shown), title)
    _draw_timeline(timeline, events)
    return bars, timeline


def _events(prof: Any) -> Any:
    events = getattr(prof, "function_events", prof)
    if callable(getattr(events, "events", None)):
        events = events.events()
    if not hasattr(events, "key_averages") or not isinstance(events, list):
        raise TypeError(f"prof must be a profile or its events, got {type(prof).__name__}")
    if not events:
        raise ValueError(
            "prof has no events: nothing ran in the profiled block, or it is not over yet"
        )
    if not hasattr(events[0], "time_range"):
        raise TypeError(
            "prof must be a profile or its events(), not its key_averages(): the timeline needs every call"
        )
    return events


def _called(event: Any) -> bool:
    """Return whether it is a call on the CPU; work on a device is shown with the call that launched it."""
    return event.device_type.name == "CPU"


def _figure(rows: int, depth: float) -> Any:
    heights = (0.9 + 0.3 * rows, 0.9 + 0.36 * depth)
    _, axes = matplotlib("pyplot").subplots(
        2,
        1,
        figsize=(9, sum(heights)),
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    return axes


def kind(event: Any) -> str:
    """Return the kind of an event or an average: an "op", "backward" (a node, or the engine running it), or "your
    block"."""
    if event.is_user_annotation:
        return "your block"
    return "backward" if event.scope == 1 or event.key.startswith("autograd::engine::") else "op"


def short(name: str) -> str:
    """Return the name without the namespaces that all names share."""
    return ("engine: " if name.startswith(_ENGINE) else "") + name.removeprefix(_ENGINE).rpartition(
        "::"
    )[2]


def _unit(longest: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in _UNITS if longest >= size), _UNITS[-1])


def _words(time: float) -> str:
    size, unit = _unit(time)
    return f"{time / size:.3g} {unit}"


def _draw_bars(ax: Any, averages: list[Any], hidden: int, title: str) -> None:
    size, unit = _unit(max(average.cpu_time_total for average in averages))
    for row, average in enumerate(averages):
        colour, hatch = _KINDS[kind(average)]
        total, own = average.cpu_time_total / size, average.self_cpu_time_total / size
        ax.barh(row, total, color=colour, alpha=0.25, height=0.72)
        ax.barh(
            row, own, color=colour, hatch=hatch, edgecolor=palette.PAPER, linewidth=0, height=0.72
        )
        words = _words(average.self_cpu_time_total)
        if total > own * 1.005:
            words += f" of {_words(average.cpu_time_total)}"
        calls = "1 call" if average.count == 1 else f"{average.count:,} calls"
        ax.annotate(
            f"{words}, {calls}",
            (total, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8, color=palette.INK,
        )  # fmt: skip
    ax.set_yticks(range(len(averages)), [short(average.key) for average in averages])
    ax.set_ylim(len(averages) - 0.5, -0.5)
    ax.set_xlim(
        0, max(average.cpu_time_total for average in averages) / size * 1.4
    )  # room for the longest label
    ax.set(title=title, xlabel=f"time in {unit}: own (filled), with the calls inside (pale)")
    if hidden:
        ax.text(
            1,
            0,
            f"{hidden} more",
            transform=ax.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            color=palette.DATA,
        )
    ax.grid(True, axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _depths(events: Any) -> list[int]:
    depths: dict[int, int] = {}
    for event in events:  # parents come before what they contain
        parent = event.cpu_parent
        depths[event.id] = 0 if parent is None else depths[parent.id] + 1
    return [depths[event.id] for event in events]


def _queues(events: Any) -> dict[tuple[int, int], list[Any]]:
    """Return the kernels and copies on devices, by device and stream."""
    queues: dict[tuple[int, int], list[Any]] = {}
    for event in events:
        for kernel in event.kernels:
            if hasattr(kernel, "start"):  # PyTorch's kernels have no start time
                queues.setdefault((kernel.device, kernel.stream), []).append(kernel)
    return dict(sorted(queues.items()))


def _draw_timeline(ax: Any, events: Any) -> None:
    from matplotlib.patches import Patch

    depths = _depths(events)
    start = min(event.time_range.start for event in events)
    queues = _queues(events)
    ends = [k.start + k.duration for work in queues.values() for k in work]
    span = max([event.time_range.end for event in events] + ends) - start
    size, unit = _unit(span)
    used = {name: [d for e, d in zip(events, depths) if kind(e) == name] for name in _KINDS}
    for name, (colour, hatch) in _KINDS.items():
        for depth in sorted(set(used[name])):
            ranges = [
                ((e.time_range.start - start) / size, e.cpu_time / size)
                for e, d in zip(events, depths)
                if d == depth and kind(e) == name
            ]
            ax.broken_barh(
                ranges,
                (depth + 0.06, 0.88),
                facecolor=colour,
                hatch=hatch,
                edgecolor=palette.PAPER,
                linewidth=0.4,
            )
    for event, depth in zip(events, depths):
        room = int(_CHARACTERS * event.cpu_time / span) if span else _CHARACTERS
        name = short(event.key)
        if room >= _SHORTEST:
            text = name if len(name) <= room else name[: room - 1] + "…"
            _label(
                ax, text, (event.time_range.start - start + event.cpu_time / 2) / size, depth + 0.5
            )
    ax.set_xlim(0, span / size or 1)
    bottom = max(depths) + 1.0
    ax.set_yticks([])
    for (device, stream), work in queues.items():
        ranges = [((k.start - start) / size, k.duration / size) for k in work]
        ax.broken_barh(
            ranges,
            (bottom + 0.6, 0.8),
            facecolor=palette.CUDA,
            hatch="//",
            edgecolor=palette.DATA,
            linewidth=0.1,
        )
        name = f"cuda:{device}" + f", stream {stream}" * bool(stream)
        ax.annotate(name, (0, bottom + 0.56), fontsize=8, color=palette.INK, va="bottom")
        bottom += 1.5
    ax.set_ylim(bottom, 0)
    ax.set(
        xlabel=f"time in {unit}",
        ylabel="calls, and the calls inside",
        title=f"{len(events):,} calls in order",
    )
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=palette.PAPER, label=name)
        for name, (colour, hatch) in _KINDS.items()
        if used[name]
    ]
    if queues:
        handles.append(
            Patch(facecolor=palette.CUDA, hatch="//", edgecolor=palette.DATA, label="on the GPU")
        )
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _label(ax: Any, text: str, x: float, y: float) -> None:
    box = {"facecolor": palette.PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1}
    ax.text(
        x, y, text, ha="center", va="center", fontsize=7, color=palette.INK, bbox=box, clip_on=True
    )
