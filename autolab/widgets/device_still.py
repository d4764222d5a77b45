"""Draw the timeline of a device recording as one static picture, for notebooks that are read without a kernel."""

from __future__ import annotations

from typing import Any

from ..trace.devices.model import DeviceInfo, DeviceTrace, queue_of
from ..trace.devices.text import duration, size
from ..viz import palette
from .charts import ticks
from .svg import FONT, element, fit, label

WIDTH, LEFT, RIGHT, ROW, MEMORY, TOP = 820, 90, 14, 26, 66, 54
LEAST = 26  # px: narrower bars have no label
SMALL = 12
HALO = {"paint_order": "stroke", "stroke": palette.PAPER, "stroke_width": 3}


def still(trace: DeviceTrace) -> str:
    """Return an SVG with the host's work and waits, and for each device its copies, kernels and memory with the
    peak."""
    end = max(trace.end, 1e-9)
    across = lambda when: LEFT + (WIDTH - LEFT - RIGHT) * when / end
    parts = [label("al-name", 12, 20, _summary(trace), font_size=14)]
    y: float = TOP
    parts += _host(trace, y, across)
    y += ROW + 8
    for device in trace.devices[1:]:
        drawn, height = _device(trace, device, y, across)
        parts += drawn
        y += height
    axis = []
    for tick in ticks(0.0, end, 6):
        axis.append(element("path", d=f"M{across(tick):.1f} {TOP - 8}V{y}", stroke=palette.SOFT))
        anchor = "end" if across(tick) > WIDTH - 30 else "middle"
        axis.append(
            label(
                "al-tick",
                across(tick),
                TOP - 12,
                duration(tick),
                font_size=SMALL,
                text_anchor=anchor,
            )
        )
    paper = element("rect", width=WIDTH, height=y + 8, fill=palette.PAPER)
    box = {"viewBox": f"0 0 {WIDTH} {y + 8}", "width": WIDTH, "height": y + 8}
    head = {
        "xmlns": "http://www.w3.org/2000/svg",
        "role": "img",
        "aria_label": "What the devices did",
        "font_family": FONT,
    }
    return element("svg", stripes(), paper, *axis, *parts, **box, **head)


def stripes() -> str:
    """Return the fill patterns for simulated devices (light green stripes) and for the host's waits, with the ids
    al-simulated and al-waits."""
    return element(
        "defs",
        _hatch("al-simulated", palette.CUDA, palette.PAPER, 9),
        _hatch("al-waits", *palette.FREED, 6),
    )


def _hatch(name: str, paper: str, ink: str, step: int) -> str:
    turned = {
        "patternUnits": "userSpaceOnUse",
        "patternTransform": "rotate(45)",
        "width": step,
        "height": step,
    }
    square = element("rect", width=step, height=step, fill=paper)
    return element(
        "pattern", square, element("rect", width=step / 3, height=step, fill=ink), id=name, **turned
    )


def _summary(trace: DeviceTrace) -> str:
    copied = sum(c.bytes for c in trace.copies)
    kernels, copies = len(trace.kernels), len(trace.copies)
    return (
        f"{kernels} {'kernel' if kernels == 1 else 'kernels'}, {copies} {'copy' if copies == 1 else 'copies'} ({size(copied)}); "
        f"the host took {duration(trace.host_end)}, {duration(trace.waited)} of it waiting"
    )


def _host(trace: DeviceTrace, y: float, across: Any) -> list[str]:
    parts = [label("al-row", 12, y + 17, "CPU", font_weight="bold")]
    parts.append(
        _bar(
            across(0),
            across(trace.host_end),
            y,
            palette.PAPER,
            palette.DATA,
            "at work" if not trace.waited else "",
        )
    )
    waits = [(w.start, w.end) for w in trace.waits] + [
        (c.queued, c.queued + c.waited) for c in trace.copies if c.waited
    ]
    parts += [
        _bar(
            across(a), across(b), y, "url(#al-waits)", palette.DATA, "waits", halo=palette.FREED[0]
        )
        for a, b in waits
        if b > a
    ]
    return parts


def _device(
    trace: DeviceTrace, device: DeviceInfo, y: float, across: Any
) -> tuple[list[str], float]:
    fill = "url(#al-simulated)" if device.simulated else palette.CUDA
    parts = [element("rect", x=0, y=y, width=WIDTH, height=22, fill=fill, stroke=palette.DATA)]
    simulated = "" if not device.simulated or "imulated" in device.title else ", simulated"
    words = f"{device.title}{simulated}, {size(device.memory or 0)}"
    parts.append(label("al-row", 12, y + 16, device.name, font_weight="bold", **HALO))
    parts.append(label("al-row", LEFT, y + 16, words, **HALO))
    top, y = y, y + 26
    copies = [c for c in trace.copies if queue_of(c) == device.name]
    kernels = [k for k in trace.kernels if k.device == device.name]
    if copies:
        parts.append(label("al-row", 12, y + 17, "copies"))
        for c in copies:
            parts.append(
                _bar(across(c.start), across(c.end), y, palette.PAPER, palette.INK, size(c.bytes))
            )
        y += ROW
    rows: dict[int, float] = {}
    for stream in sorted({k.stream for k in kernels}):
        parts.append(label("al-row", 12, y + 17, "kernels" if stream == 0 else f"stream {stream}"))
        rows[stream] = y
        drawn_to = 0.0
        for k in (k for k in kernels if k.stream == stream):
            if across(k.end) - drawn_to < 0.5:
                continue  # it would overlap the one before it
            drawn_to = across(k.end)
            paper, ink = (
                (palette.WORK_BACK, palette.BACKWARD)
                if k.phase == "backward"
                else (palette.WORK, palette.FORWARD)
            )
            parts.append(_bar(across(k.start), across(k.end), y, paper, ink, k.name))
        y += ROW
    booked = min(
        (k for k in kernels if k.queued > device.peak_at), key=lambda k: k.queued, default=None
    )
    if booked is not None and device.peak > device.before:
        place = across(booked.start), rows[booked.stream] + ROW - 4
    else:
        place = None
    parts += _memory(trace, device, y, across, place)
    return parts, y + MEMORY + 8 - top


def _bar(
    left: float, right: float, y: float, fill: str, ink: str, words: str, halo: str = ""
) -> str:
    width = max(1.5, right - left)
    bar = element(
        "rect",
        x=round(left, 2),
        y=y,
        width=round(width, 2),
        height=ROW - 4,
        rx=3,
        fill=fill,
        stroke=ink,
    )
    room = fit(words, SMALL, width - 8) if width >= LEAST else "…"
    look: dict[str, Any] = (
        {"paint_order": "stroke", "stroke": halo, "stroke_width": 3} if halo else {}
    )
    return bar + (
        ""
        if room in ("", "…")
        else label("al-word", left + 4, y + 15, room, font_size=SMALL, **look)
    )


def _memory(
    trace: DeviceTrace,
    device: DeviceInfo,
    y: float,
    across: Any,
    booked: tuple[float, float] | None,
) -> list[str]:
    """Return the memory curve, on the host's clock. `booked`: the drawn position, on the GPU's clock, of the kernel for
    which the peak was allocated."""
    near = device.memory is not None and device.memory <= 4 * device.peak
    most = device.memory if near and device.memory else max(device.peak, 1)
    top, bottom = y + 18, y + MEMORY
    up = lambda nbytes: bottom - (bottom - top) * nbytes / most
    path = f"M{across(0):.1f} {up(device.before):.1f}"
    for when, _, allocated, _ in trace.memory.get(device.name, ()):
        path += f"H{across(when):.1f}V{up(allocated):.1f}"
    path += f"H{across(trace.end):.1f}"
    at, late = across(device.peak_at), device.peak_at > trace.end / 2
    parts = [
        label("al-row", 12, y + 34, "memory"),
        element("path", d=f"{path}V{bottom}H{across(0):.1f}Z", fill=palette.CUDA, stroke="none"),
        element("path", d=path, fill="none", stroke=palette.LEAF, stroke_width=2),
        element("path", d=f"M{at - 4:.1f} {up(device.peak) - 8:.1f}h8l-4 7Z", fill=palette.INK),
        label("al-peak", at - 8 if late else at + 8, max(top - 5, up(device.peak) - 2),
              f"peak {size(device.peak)}, by the host's clock", font_size=SMALL,
              text_anchor="end" if late else "start"),
    ]  # fmt: skip
    if booked is not None:
        way = f"M{at:.1f} {up(device.peak) - 8:.1f}L{booked[0]:.1f} {booked[1]:.1f}"
        parts.append(
            element("path", d=way, fill="none", stroke=palette.INK, stroke_dasharray="2 3")
        )
    if near and device.memory:
        line = {"stroke": palette.BAD, "stroke_width": 2, "stroke_dasharray": "8 3"}
        parts.append(element("path", d=f"M{LEFT} {up(device.memory):.1f}H{WIDTH - RIGHT}", **line))
        x, anchor = (LEFT, "start") if late else (WIDTH - RIGHT, "end")
        parts.append(
            label(
                "al-limit",
                x,
                top - 5,
                f"limit {size(device.memory)}",
                font_size=SMALL,
                text_anchor=anchor,
            )
        )
    for refusal in (o for o in trace.refusals if o.device == device.name):
        x = across(refusal.time)
        parts.append(
            element(
                "path",
                d=f"M{x - 6:.1f} {y + 30}l12 12m0 -12l-12 12",
                stroke=palette.ALARM,
                stroke_width=3.5,
            )
        )
        look: dict[str, Any] = {
            "font_size": SMALL,
            "fill": palette.ALARM,
            "text_anchor": "end",
            **HALO,
        }
        parts.append(label("al-refused", x - 10, y + 42, f"{size(refusal.bytes)} refused", **look))
    return parts
