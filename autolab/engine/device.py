"""`device`: where a tensor's memory is. Only `cpu` (NumPy) and `meta` (shapes without values) names exist here so far."""

from __future__ import annotations

import numpy

from .errors import fail

_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """`torch.device('cpu')`, `torch.device('cuda:0')`, `torch.device('cuda', 0)`.

    Raises RuntimeError for a type torch does not know. Source: torch.device."""

    __slots__ = ("type", "index")

    def __new__(cls, type="cpu", index=None):
        if type.__class__ is device:
            return type
        if isinstance(type, int):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise fail(
                TypeError,
                f"device(): argument 'type' must be str, not {type.__class__.__name__}",
                "Write torch.device('cpu').",
            )
        name, colon, number = type.partition(":")
        if name not in _TYPES.split(", "):
            raise fail(
                RuntimeError,
                f"Expected one of {_TYPES} device type at start of device string: {name}",
                "The usual devices are 'cpu' and 'cuda' (a GPU; 'cuda:0' is the first one).",
            )
        if colon:
            if not number.isdigit():
                raise fail(
                    RuntimeError,
                    f"Invalid device string: '{type}'",
                    "A device is written name:number, for example 'cuda:0'.",
                )
            index = int(number)
        self = object.__new__(cls)
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)
        return self

    @property
    def xp(self):
        """The array module that computes on this device."""
        return numpy

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __repr__(self):
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return other.__class__ is device and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return (device, (self.type, self.index))


CPU = device("cpu")
_default = CPU


def get_default_device() -> device:
    return _default


def set_default_device(d) -> None:
    """Where new tensors go when no device is named. Source: torch.set_default_device."""
    global _default
    _default = usable(d)


def usable(d) -> device:
    """The device that `device=d` names, checked to be there: None is the default device.

    Raises AssertionError for cuda without CUDA (torch's words), RuntimeError for devices this engine does not have."""
    if d is None:
        return _default
    d = device(d)
    if d.type == "cpu":
        return CPU
    if d.type == "cuda":
        raise fail(
            AssertionError,
            "Torch not compiled with CUDA enabled",
            "No GPU is usable here; choose the device with 'cuda' if torch.cuda.is_available() else 'cpu'.",
        )
    raise fail(
        RuntimeError, f"device '{d}' is not supported by autolab", "autolab computes on 'cpu'; see docs/differences.md."
    )
