"""How much of a GPU's memory is in use. All numbers are bytes.

Without any GPU the counts are 0, as in PyTorch. Source: https://docs.pytorch.org/docs/2.13/cuda.html#memory-management
"""

from collections import OrderedDict

from ..engine.devices import device as _devices
from .properties import backend


def _count(name):
    def read(device=None):
        return getattr(backend(device).pool, name) if _devices.backends("cuda") or device is not None else 0

    return read


memory_allocated = _count("allocated")
memory_allocated.__doc__ = "Bytes that tensors on the device occupy now. Source: torch.cuda.memory_allocated"
memory_reserved = _count("reserved")
memory_reserved.__doc__ = "Bytes that the device has given to the allocator, in use or not. Source: torch.cuda.memory_reserved"
max_memory_allocated = _count("peak_allocated")
max_memory_allocated.__doc__ = "The most that tensors occupied since the start or `reset_peak_memory_stats`. Source: torch.cuda.max_memory_allocated"
max_memory_reserved = _count("peak_reserved")
max_memory_reserved.__doc__ = "The most that was reserved. Source: torch.cuda.max_memory_reserved"
for _name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name


def reset_peak_memory_stats(device=None):
    """The peaks start again from what is in use now. Source: torch.cuda.reset_peak_memory_stats"""
    backend(device).pool.reset_peak()


def empty_cache():
    """Gives reserved memory that no tensor uses back to the device. Source: torch.cuda.empty_cache"""
    for b in _devices.backends("cuda"):
        b.pool.empty_cache()


def mem_get_info(device=None):
    """(free, total) bytes of the device. Source: torch.cuda.mem_get_info"""
    pool = backend(device).pool
    return pool.total - pool.reserved, pool.total


def memory_stats(device=None):
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
_COLUMNS = (("Cur Usage", "current"), ("Peak Usage", "peak"), ("Tot Alloc", "allocated"), ("Tot Freed", "freed"))


def _cell(value, is_bytes):
    if value is None:
        return "--"
    if not is_bytes:
        return str(value)
    for unit in ("B  ", "KiB", "MiB", "GiB"):
        if value < 10240 or unit == "GiB":
            return f"{int(value)} {unit}"
        value /= 1024


def memory_summary(device=None, abbreviated=False) -> str:
    """A table of what `memory_stats` knows: now, at the peak, allocated and freed so far ('--' where a real GPU's pool
    does not tell).

    Raises AssertionError without a GPU. abbreviated: only the bytes. Source: torch.cuda.memory_summary"""
    index = backend(device).device.index
    stats = memory_stats(device)
    width = 75
    lines = ["=" * width, f"PyTorch CUDA memory summary, device ID {index}".center(width), "-" * width]
    ooms = f"CUDA OOMs: {stats.get('num_ooms', '--')}".center(36)
    lines += [ooms + "|" + f"cudaMalloc retries: {stats.get('num_alloc_retries', '--')}".center(38), "=" * width]
    lines += ["Metric".center(23) + "|" + "|".join(title.center(12) for title, _ in _COLUMNS), "-" * width]
    for title, key, is_bytes in _ROWS:
        if is_bytes or not abbreviated:
            cells = (_cell(stats.get(f"{key}.all.{what}"), is_bytes).rjust(10) + "  " for _, what in _COLUMNS)
            lines.append(f" {title:<22}|" + "|".join(cells))
    return "".join(f"|{line}|\n" for line in [*lines, "=" * width])
