"""A profiler's data about devices: kernels and copies as events of their own and with the calls that launched them.
Source: torch.autograd.profiler_util, https://docs.pytorch.org/docs/2.13/profiler.html"""

from __future__ import annotations

import bisect
from typing import NamedTuple


class Kernel(NamedTuple):
    """A kernel or a copy that one call put into a device's queue: on which device and stream, and when it ran, in µs
    since the profiler was started."""

    name: str
    device: int
    duration: float
    stream: int
    start: float


def copy_name(source, target, pinned):
    """Return CUDA's name for a copy between two devices."""
    host = "Pinned" if pinned else "Pageable"
    ends = [host if d.type == "cpu" else "Device" for d in (source, target)]
    way = "to".join("H" if d.type == "cpu" else "D" for d in (source, target)).replace(
        "DtoD", "PtoP"
    )
    return f"Memcpy {way} ({ends[0]} -> {ends[1]})"


def give_kernels(events, rows, kernels, origin):
    """Assign each kernel to the innermost of `events` (one for each of `rows`, in order of their start) that was
    running at its launch. Return all Kernels.

    kernels: (when it was launched, name, device, stream, start, duration), in ns."""
    all_kernels, starts = [], [row.start for row in rows]
    for launched, name, device, stream, start, duration in kernels:
        began = round((start - origin) / 1000, 5)
        all_kernels.append(Kernel(name, device, duration / 1000, stream, began))
        k = bisect.bisect_right(starts, launched) - 1
        while k >= 0 and rows[k].end < launched:
            k -= 1
        if k >= 0:
            events[k].kernels.append(all_kernels[-1])
    return all_kernels
