"""A profiler's events as text, in PyTorch's columns. Source: torch.autograd.profiler.EventList.table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_WIDTH, _SHAPES_WIDTH = 12, 80


def format_time(us):
    """Return a time given in µs in a suitable unit: '1.234ms'."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def format_share(us, total):
    """Return `us` as a percentage of `total`; NaN if the total is 0."""
    return f"{us * 100 / total:.2f}%" if total else "NaN"


class _Column(NamedTuple):
    title: str
    text: Callable  # a function of an event
    width: int = _WIDTH


def _width(texts, limit):
    width = max(map(len, texts)) + 4
    return width if limit is None else min(width, limit)


def _time_columns(prefix, kind, total):
    """Return the columns of own and total times on the CPU or a device; `kind` is the prefix of the event
    attributes."""
    own, whole = f"self_{kind}_time_total", f"{kind}_time_total"
    columns = [
        _Column(f"Self {prefix} %", lambda e: format_share(getattr(e, own), total)),
        _Column(f"Self {prefix}", lambda e: format_time(getattr(e, own))),
        _Column(f"{prefix} total %", lambda e: format_share(getattr(e, whole), total)),
        _Column(f"{prefix} total", lambda e: format_time(getattr(e, whole))),
        _Column(f"{prefix} time avg", lambda e: format_time(getattr(e, f"{kind}_time"))),
    ]
    return columns if kind == "cpu" else [columns[1], columns[0], *columns[3:]]


def table(events, row_limit, name_width):
    """Return the table of `events`, in the given order; '' if there are none."""
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    # Count events that ran on a device; the call that launched one has the same time again.
    device_total = sum(
        event.self_device_time_total for event in events if event.device_type.name != "CPU"
    )
    name = _Column(
        "Name",
        lambda e: _shortened(e.key, name_width),
        _width([e.key for e in events], name_width),
    )
    columns = [name, *_time_columns("CPU", "cpu", total)]
    if device_total:
        columns += _time_columns("CUDA", "device", device_total)
    columns.append(_Column("# of Calls", lambda e: e.count))
    if any(event.input_shapes for event in events):
        wide = _width([str(event.input_shapes) for event in events], _SHAPES_WIDTH)
        columns.append(_Column("Input Shapes", lambda e: str(e.input_shapes)[:wide], wide))
    rule = "".join("-" * column.width + "  " for column in columns)
    lines = [rule, _line(columns, [column.title for column in columns]), rule]
    for event in events if row_limit < 0 else events[:row_limit]:
        lines.append(_line(columns, [column.text(event) for column in columns]))
    lines += [rule, f"Self CPU time total: {format_time(total)}"]
    if device_total:
        lines.append(f"Self CUDA time total: {format_time(device_total)}")
    return "\n".join([*lines, ""])


def _shortened(key, width):
    return key[: width - 3] + "..." if width is not None and len(key) >= width - 3 else key


def _line(columns, cells):
    return "".join(f"{cell: >{column.width}}  " for column, cell in zip(columns, cells))
