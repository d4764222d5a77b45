"""GPU memory statistics. All numbers are bytes.

Without any GPU the counts are 0, as in PyTorch. Source: https://docs.pytorch.org/docs/2.13/cuda.html#memory-management
"""

from __future__ import annotations

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
    """Return the bytes that tensors on the device use now. Source: torch.cuda.memory_allocated"""
    return _count("allocated", device)


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the bytes that the device has given to the allocator, in use or not. Source: torch.cuda.memory_reserved"""
    return _count("reserved", device)


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the largest number of bytes that tensors used since the start or `reset_peak_memory_stats`. Source:
    torch.cuda.max_memory_allocated"""
    return _count("peak_allocated", device)


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Return the largest number of reserved bytes. Source: torch.cuda.max_memory_reserved"""
    return _count("peak_reserved", device)


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Reset the peaks to the memory in use now. Source: torch.cuda.reset_peak_memory_stats"""
    backend(device).pool.reset_peak()


def empty_cache() -> None:
    """Release the reserved memory that no tensor uses. Source: torch.cuda.empty_cache"""
    for b in _devices.backends("cuda"):
        b.pool.empty_cache()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return (free, total) bytes of the device. Source: torch.cuda.mem_get_info"""
    pool = backend(device).pool
    return pool.total - pool.reserved, pool.total
