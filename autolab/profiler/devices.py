"""What a profiler says about devices: kernels and copies as events of their own and beside the calls that launched
them, bytes of a device's memory, and the device's lanes in a Chrome trace. Source: torch.autograd.profiler_util,
https://docs.pytorch.org/docs/2.13/profiler.html"""

from __future__ import annotations

import bisect
from typing import NamedTuple


class Kernel(NamedTuple):
    """What one call put into a device's queue: a kernel or a copy, on which device and stream; when it ran, µs since
    the profiler was started."""

    name: str
    device: int
    duration: float
    stream: int
    start: float


def copy_name(source, target, pinned):
    """What CUDA calls a copy between two devices."""
    host = "Pinned" if pinned else "Pageable"
    ends = [host if d.type == "cpu" else "Device" for d in (source, target)]
    way = "to".join("H" if d.type == "cpu" else "D" for d in (source, target)).replace(
        "DtoD", "PtoP"
    )
    return f"Memcpy {way} ({ends[0]} -> {ends[1]})"


def innermost(rows, moments):
    """For each of `moments` (ns) the number of the innermost of `rows` that ran then; None where none did. rows: in
    order of their start."""
    starts = [row.start for row in rows]
    for at in moments:
        k = bisect.bisect_right(starts, at) - 1
        while k >= 0 and rows[k].end < at:
            k -= 1
        yield k if k >= 0 else None


def with_bytes(rows, changes):
    """`rows` with the bytes of `changes` (when in ns, 'allocated' or 'on_device', bytes) counted to the innermost one
    that ran at that time, or to rows of their own, called [memory]."""
    alone = []
    for k, (at, kind, nbytes) in zip(innermost(rows, [c[0] for c in changes]), changes):
        if k is not None:
            setattr(rows[k], kind, getattr(rows[k], kind) + nbytes)
        elif rows:
            alone.append(type(rows[0])("[memory]", at, at, **{kind: nbytes}))
    return sorted([*rows, *alone], key=lambda row: (row.start, -row.end)) if alone else rows


def give_kernels(events, rows, kernels, origin):
    """Hands each kernel to the innermost of `events` (one for each of `rows`, in order) that ran when it was launched.
    Returns all Kernels.

    kernels: (when it was launched, name, device, stream, start, duration), in ns."""
    all_kernels = []
    for k, (_, name, device, stream, start, duration) in zip(
        innermost(rows, [kernel[0] for kernel in kernels]), kernels
    ):
        all_kernels.append(
            Kernel(name, device, duration / 1000, stream, round((start - origin) / 1000, 5))
        )
        if k is not None:
            events[k].kernels.append(all_kernels[-1])
    return all_kernels
