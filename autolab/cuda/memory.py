"""How much of a GPU's memory is in use. All numbers are bytes.

Without any GPU the counts are 0, as in PyTorch. Source: https://docs.pytorch.org/docs/2.13/cuda.html#memory-management
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..engine.devices import device as _devices
from ..engine.devices.device import DeviceLike
from .properties import backend


def _count(name: str, device: DeviceLike) -> int:
    return (
        getattr(backend(device).pool, name)
        if _devices.backends("cuda") or device is not None
        else 0
    )


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes that tensors on the device occupy now. Source: torch.cuda.memory_allocated"""
    return _count("allocated", device)


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that the device has given to the allocator, in use or not. Source: torch.cuda.memory_reserved"""
    return _count("reserved", device)


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most that tensors occupied since the start or `reset_peak_memory_stats`. Source:
    torch.cuda.max_memory_allocated"""
    return _count("peak_allocated", device)


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The most that was reserved. Source: torch.cuda.max_memory_reserved"""
    return _count("peak_reserved", device)


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """The peaks start again from what is in use now. Source: torch.cuda.reset_peak_memory_stats"""
    backend(device).pool.reset_peak()


def empty_cache() -> None:
    """Gives reserved memory that no tensor uses back to the device. Source: torch.cuda.empty_cache"""
    for b in _devices.backends("cuda"):
        b.pool.empty_cache()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """(free, total) bytes of the device. Source: torch.cuda.mem_get_info"""
    pool = backend(device).pool
    return pool.total - pool.reserved, pool.total


def memory_stats(device: DeviceLike = None) -> OrderedDict[str, Any]:
    """The counts as a dict with PyTorch's keys: `allocated_bytes.all.current`, `….peak`, `reserved_bytes.all.…`; of a
    simulated GPU also how much was allocated and freed so far, how many blocks there are and how often there was no
    room. Empty without a GPU.

    Source: torch.cuda.memory_stats"""
    if not _devices.backends("cuda") and device is None:
        return OrderedDict()
    pool = backend(device).pool
    return OrderedDict(
        {
            "allocated_bytes.all.current": pool.allocated,
            "allocated_bytes.all.peak": pool.peak_allocated,
            "reserved_bytes.all.current": pool.reserved,
            "reserved_bytes.all.peak": pool.peak_reserved,
            **(pool.more_stats() if hasattr(pool, "more_stats") else {}),
        }
    )


_ROWS = (
    ("Allocated memory", "allocated_bytes", True), ("GPU reserved memory", "reserved_bytes", True),
    ("Allocations", "allocation", False), ("GPU reserved segments", "segment", False),
)  # fmt: skip
_COLUMNS = (
    ("Cur Usage", "current"),
    ("Peak Usage", "peak"),
    ("Tot Alloc", "allocated"),
    ("Tot Freed", "freed"),
)


def _cell(value: float | None, is_bytes: bool) -> str:
    if value is None:
        return "--"
    if not is_bytes:
        return str(value)
    for unit in ("B  ", "KiB", "MiB"):
        if value < 10240:
            return f"{int(value)} {unit}"
        value /= 1024
    return f"{int(value)} GiB"


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of what `memory_stats` knows: now, at the peak, allocated and freed so far ('--' where a real GPU's pool
    does not tell).

    Raises AssertionError without a GPU. abbreviated: only the bytes. Source: torch.cuda.memory_summary"""
    index = backend(device).device.index
    stats = memory_stats(device)
    width = 75
    lines = [
        "=" * width,
        f"PyTorch CUDA memory summary, device ID {index}".center(width),
        "-" * width,
    ]
    ooms = f"CUDA OOMs: {stats.get('num_ooms', '--')}".center(36)
    lines += [
        ooms + "|" + f"cudaMalloc retries: {stats.get('num_alloc_retries', '--')}".center(38),
        "=" * width,
    ]
    lines += [
        "Metric".center(23) + "|" + "|".join(title.center(12) for title, _ in _COLUMNS),
        "-" * width,
    ]
    for title, key, is_bytes in _ROWS:
        if is_bytes or not abbreviated:
            cells = (
                _cell(stats.get(f"{key}.all.{what}"), is_bytes).rjust(10) + "  "
                for _, what in _COLUMNS
            )
            lines.append(f" {title:<22}|" + "|".join(cells))
    return "".join(f"|{line}|\n" for line in [*lines, "=" * width])
