"""A profiler's events as text, in PyTorch's columns. Source: torch.autograd.profiler.EventList.table."""

from __future__ import annotations

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_SIZES = (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024))
_WIDTH = 12


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


def table(events, *, row_limit, name_width, shapes_width, header, top_level_only, unit, memory):
    """The table of `events`, which are in order; '' when there are none."""
    if not events:
        return ""
    with_shapes = any(event.input_shapes for event in events)
    widths = [_width([event.key for event in events], name_width)]
    names = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    names += ["CPU Mem", "Self CPU Mem"] * memory + ["# of Calls"]
    widths += [_WIDTH] * (len(names) - 1)
    if with_shapes:
        names.append("Input Shapes")
        widths.append(_width([str(event.input_shapes) for event in events], shapes_width))
    total = sum(event.self_cpu_time_total for event in events)
    rule = "".join("-" * width + "  " for width in widths)
    thick = "=" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [] if header is None else [thick, header]
    lines += [thick, "This report only display top-level ops statistics"] if top_level_only else []
    lines += [rule, _line(names, widths), rule]
    shown = [event for event in events if not (top_level_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        key = event.key
        if name_width is not None and len(key) >= name_width - 3:
            key = key[: name_width - 3] + "..."
        cells = [
            key,
            format_share(event.self_cpu_time_total, total),
            format_time(event.self_cpu_time_total, unit),
            format_share(event.cpu_time_total, total),
            format_time(event.cpu_time_total, unit),
            format_time(event.cpu_time, unit),
        ]
        if memory:
            cells += [format_memory(event.cpu_memory_usage), format_memory(event.self_cpu_memory_usage)]
        cells.append(event.count)
        if with_shapes:
            cells.append(str(event.input_shapes)[: widths[-1]])
        lines.append(_line(cells, widths))
    return "\n".join([*lines, rule, f"Self CPU time total: {format_time(total, unit)}", ""])


def _line(cells, widths):
    return "".join(f"{cell: >{width}}  " for cell, width in zip(cells, widths))
