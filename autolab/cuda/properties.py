"""The available GPUs, their properties, and the current GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engine.devices import device as _devices
from ..engine.devices.device import DeviceLike
from ..engine.core.errors import fail


def backend(device: DeviceLike = None) -> Any:
    """Return the backend of a GPU, named as in `torch.cuda`: None (the current one), a number, a string such as 'sim:0'
    or a `torch.device`.

    Raise AssertionError if there is no GPU, ValueError for a device that is not a GPU."""
    if device is None:
        device = "cuda"
    d = _devices.device(device)
    if d.type == "cpu":
        raise fail(
            ValueError,
            f"Expected a cuda device, but got: {d}",
            "The CPU's memory and time are not counted here.",
        )
    return _devices.backend_of(d)


def is_available() -> bool:
    """Return whether a GPU can be used; True under `simulate()`. Source: torch.cuda.is_available"""
    return bool(_devices.backends("cuda"))


def device_count() -> int:
    """Return the number of GPUs. Source: torch.cuda.device_count"""
    return len(_devices.backends("cuda"))


def current_device() -> int:
    """Return the number of the current GPU, to which 'cuda' refers. Source: torch.cuda.current_device"""
    return backend().device.index


def set_device(device: DeviceLike) -> None:
    """Make this GPU the current one, to which 'cuda' refers. Source: torch.cuda.set_device"""
    b = backend(device)
    _devices.set_current_index(b.device.type, b.device.index)
    b.use()


class device:
    """Make another GPU the current one inside a block: `with torch.cuda.device(1):`. Source: torch.cuda.device"""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = backend(device).device.index

    def __enter__(self) -> device:
        self._before = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        set_device(self._before)


def synchronize(device: DeviceLike = None) -> None:
    """Wait until the GPU has finished all queued work. Source: torch.cuda.synchronize"""
    backend(device).synchronize()


def get_device_name(device: DeviceLike = None) -> str:
    """Return the GPU's name; the name of a simulated GPU says so ("Simulated T4"). Source:
    torch.cuda.get_device_name"""
    return backend(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """Return CUDA's compute capability as (major, minor). Source: torch.cuda.get_device_capability"""
    return backend(device).capability


@dataclass(frozen=True)
class _CudaDeviceProperties:
    """The properties of a GPU: name, compute capability, memory (bytes), number of multiprocessors. Only autolab has
    `is_simulated`."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_simulated: bool
    warp_size: int = 32

    def __repr__(self) -> str:
        simulated = ", is_simulated=True" if self.is_simulated else ""
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, total_memory="
            f"{self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}{simulated})"
        )


def get_device_properties(device: DeviceLike = None) -> _CudaDeviceProperties:
    """Return the properties of the GPU. Source: torch.cuda.get_device_properties"""
    b = backend(device)
    major, minor = b.capability
    return _CudaDeviceProperties(b.name, major, minor, b.pool.total, b.processors, b.simulated)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: NumPy has no bfloat16. Source: torch.cuda.is_bf16_supported"""
    return False
