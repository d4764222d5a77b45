"""`torch.accelerator`: the GPU of this machine, whatever its kind; here always 'cuda'. Source:
https://docs.pytorch.org/docs/2.13/accelerator.html"""

from __future__ import annotations

from . import cuda as _cuda
from .engine.devices import device as _devices
from .engine.core.errors import fail as _fail

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a GPU; True under `autolab.cuda.simulate()`. Source: torch.accelerator.is_available"""
    return _cuda.is_available()


def device_count() -> int:
    """How many GPUs there are. Source: torch.accelerator.device_count"""
    return _cuda.device_count()


def current_accelerator(check_available: bool = False) -> _devices.device | None:
    """`device(type='cuda')` where there is a GPU, else None. Source: torch.accelerator.current_accelerator"""
    return _devices.device("cuda") if is_available() else None


def _checked():
    if not is_available():
        raise _fail(
            RuntimeError,
            "Cannot access accelerator device when none is available.",
            "autolab.cuda.simulate() gives a simulated GPU.",
        )


def current_device_index() -> int:
    """The number of the GPU that is used. Raises RuntimeError where there is none. Source:
    torch.accelerator.current_device_index"""
    _checked()
    return _cuda.current_device()


def set_device_index(device: _devices.DeviceLike) -> None:
    """Chooses the GPU. Raises RuntimeError where there is none. Source: torch.accelerator.set_device_index"""
    _checked()
    _cuda.set_device(device)


def synchronize(device: _devices.DeviceLike = None) -> None:
    """Waits for the GPU. Raises RuntimeError where there is none. Source: torch.accelerator.synchronize"""
    _checked()
    _cuda.synchronize(device)
