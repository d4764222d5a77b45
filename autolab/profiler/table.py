"""A profiler's events as text, in PyTorch's columns. Source: torch.autograd.profiler.EventList.table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_SIZES = (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024))
_WIDTH = 12
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(us, unit=None):
    """A time given in µs, in the unit that suits it or in `unit`: '1.234ms'."""
    if unit not in _UNITS:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def format_memory(count):
    """A number of bytes: '132 B', '1.50 KB'."""
    for unit, size in _SIZES:
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def format_share(us, total):
    """`us` as a percentage of `total`; NaN when there is no time at all."""
    return f"{us * 100 / total:.2f}%" if total else "NaN"


def _width(texts, limit):
    width = max(map(len, texts)) + 4
    return width if limit is None else min(width, limit)


def table(
    events,
    *,
    row_limit,
    name_width,
    shapes_width,
    source_width,
    header,
    top_level_only,
    unit,
    memory,
    flops,
):
    """The table of `events`, which are in order; '' when there are none."""
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    columns = [
        _Column(
            "Name",
            lambda e: _shortened(e.key, name_width),
            _width([e.key for e in events], name_width),
        ),
        _Column("Self CPU %", lambda e: format_share(e.self_cpu_time_total, total)),
        _Column("Self CPU", lambda e: format_time(e.self_cpu_time_total, unit)),
        _Column("CPU total %", lambda e: format_share(e.cpu_time_total, total)),
        _Column("CPU total", lambda e: format_time(e.cpu_time_total, unit)),
        _Column("CPU time avg", lambda e: format_time(e.cpu_time, unit)),
    ]
    # an event that ran on a device counts; a call shows the same time once more, as its own
    device_total = sum(
        event.self_device_time_total for event in events if event.device_type.name != "CPU"
    )
    device = (events[0].use_device or "cuda").upper()
    if device_total:
        columns += [
            _Column(f"Self {device}", lambda e: format_time(e.self_device_time_total, unit)),
            _Column(
                f"Self {device} %", lambda e: format_share(e.self_device_time_total, device_total)
            ),
            _Column(f"{device} total", lambda e: format_time(e.device_time_total, unit)),
            _Column(f"{device} time avg", lambda e: format_time(e.device_time, unit)),
        ]
    if memory:
        columns.append(_Column("CPU Mem", lambda e: format_memory(e.cpu_memory_usage)))
        columns.append(_Column("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage)))
        if any(event.self_device_memory_usage > 0 for event in events):
            columns.append(_Column(f"{device} Mem", lambda e: format_memory(e.device_memory_usage)))
            columns.append(
                _Column(f"Self {device} Mem", lambda e: format_memory(e.self_device_memory_usage))
            )
    columns.append(_Column("# of Calls", lambda e: e.count))
    if any(event.input_shapes for event in events):
        wide = _width([str(event.input_shapes) for event in events], shapes_width)
        columns.append(_Column("Input Shapes", lambda e: str(e.input_shapes)[:wide], wide))
    sources = None
    if any(event.stack for event in events):
        sources = _width([call for event in events for call in event.stack], source_width)
        columns.append(
            _Column(
                _SOURCE, lambda e: _clipped(e.stack[0], sources) if e.stack else "", sources, "<"
            )
        )
    counted = [event.flops for event in events if event.flops > 0] if flops else []
    if counted:
        power = max(0, min(int(math.log10(min(counted)) / 3), len(_FLOPS) - 1))
        text = lambda e: f"{e.flops / 1000**power:8.3f}" if e.flops > 0 else "--"
        columns.append(_Column(f"Total {_FLOPS[power]}", text))
    rule = "".join("-" * column.width + "  " for column in columns)
    thick = "=" * (len(rule) - 2)
    lines = [] if header is None else [thick, header]
    lines += [thick, "This report only display top-level ops statistics"] if top_level_only else []
    lines += [rule, _line(columns, [column.title for column in columns]), rule]
    shown = [event for event in events if not (top_level_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(_line(columns, [column.text(event) for column in columns]))
        if sources is not None:  # the other callers below the first, and an empty line
            for call in [*(_clipped(call, sources) for call in event.stack[1:]), ""]:
                lines.append(
                    _line(columns, [call if column.title == _SOURCE else "" for column in columns])
                )
    totals = [f"Self CPU time total: {format_time(total, unit)}"]
    totals += (
        [f"Self {device} time total: {format_time(device_total, unit)}"] if device_total else []
    )
    return "\n".join([*lines, rule, *totals, ""])


_SOURCE = "Source Location"


class _Column(NamedTuple):
    title: str
    text: Callable  # of an event
    width: int = _WIDTH
    align: str = ">"


def _shortened(key, width):
    return key[: width - 3] + "..." if width is not None and len(key) >= width - 3 else key


def _clipped(text, width):
    return "..." + text[len(text) - width + 3 :] if len(text) > width else text


def _line(columns, cells):
    return "".join(
        f"{cell: {column.align}{column.width}}  " for column, cell in zip(columns, cells)
    )
