"""Which GPUs there are, what they are like, and which one is current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engine.devices import device as _devices
from ..engine.devices.device import DeviceLike
from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor


def backend(device: DeviceLike = None) -> Any:
    """The backend of a GPU given as in `torch.cuda`: None (the current one), a number, a string or a `torch.device`;
    'sim:0' too.

    Raises AssertionError where there is no GPU, ValueError for a device that is none."""
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
    """Whether a GPU can be used; True under `simulate()`. Source: torch.cuda.is_available"""
    return bool(_devices.backends("cuda"))


def device_count() -> int:
    """How many GPUs can be used. Source: torch.cuda.device_count"""
    return len(_devices.backends("cuda"))


def init() -> None:
    """Makes the GPU ready; happens by itself. Raises AssertionError where there is none. Source: torch.cuda.init"""
    backend()


def is_initialized() -> bool:
    """Whether a GPU was used already. Source: torch.cuda.is_initialized"""
    return bool(_devices.backends("cuda"))


def current_device() -> int:
    """The number of the GPU that 'cuda' means. Source: torch.cuda.current_device"""
    return backend().device.index


def set_device(device: DeviceLike) -> None:
    """Makes 'cuda' mean this GPU; a negative number changes nothing. Source: torch.cuda.set_device"""
    if isinstance(device, int) and device < 0:
        return
    b = backend(device)
    _devices.set_current_index(b.device.type, b.device.index)
    b.use()


class device:
    """`with torch.cuda.device(1):` makes 'cuda' mean that GPU inside the block. Source: torch.cuda.device"""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = (
            None
            if device is None or (isinstance(device, int) and device < 0)
            else backend(device).device.index
        )
        self._before: int | None = None

    def __enter__(self) -> device:
        if self.idx is not None:
            self._before = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        if self.idx is not None:
            set_device(self._before)


class device_of(device):
    """`with torch.cuda.device_of(tensor):` makes 'cuda' mean the tensor's GPU; nothing for a tensor of the CPU. Source:
    torch.cuda.device_of"""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def synchronize(device: DeviceLike = None) -> None:
    """Waits until the GPU has done all that was asked of it. Source: torch.cuda.synchronize"""
    backend(device).synchronize()


def get_device_name(device: DeviceLike = None) -> str:
    """The GPU's name; a simulated one says that it is ("Simulated T4"). Source: torch.cuda.get_device_name"""
    return backend(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """CUDA's compute capability as (major, minor). Source: torch.cuda.get_device_capability"""
    p = get_device_properties(device)
    return p.major, p.minor


@dataclass(frozen=True)
class _CudaDeviceProperties:
    """What a GPU is like: its name, compute capability, memory (bytes), number of multiprocessors. `is_simulated` is
    autolab's own."""

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
    """What the GPU is like. Source: torch.cuda.get_device_properties"""
    b = backend(device)
    major, minor = b.capability
    return _CudaDeviceProperties(b.name, major, minor, b.pool.total, b.processors, b.simulated)


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one GPU can read the memory of another directly. Source: torch.cuda.can_device_access_peer"""
    return backend(device) is not backend(peer_device)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 can be used: never, NumPy has no such type. Source: torch.cuda.is_bf16_supported"""
    return False
