"""The base of all backends but the host: which device runs an op, PyTorch's errors for operands on different devices,
and the few operands that may be on another device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.apply import unwrap
from ..core.device import CPU, named
from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.tensor import Tensor, wrap


class AcceleratorError(RuntimeError):
    """An error that the device reports. Source: torch.AcceleratorError."""


class OutOfMemoryError(RuntimeError):
    """The device has too little free memory. Source: torch.OutOfMemoryError."""


AcceleratorError.__module__ = OutOfMemoryError.__module__ = "torch"


def new_canonical(kind, index, make):
    """Return a backend made by `make(device)`, where `device` is the new object that stands for the backend's
    device."""
    d = named(kind, index)
    backend = make(d)
    object.__setattr__(d, "backend", backend)
    return backend


_INDEXES = {"index", "index_put"}
"""Operations whose second argument is a list of indices, which may stay on the CPU."""


def common_device(op, args, tensors):
    """Return the device that `op` runs on. Only 0-d CPU tensors and indices may be on another device.

    Raise RuntimeError in torch's words if the tensors are on different devices."""
    places = [t._storage.device for t in tensors]
    device = next((d for d in places if d is not CPU), CPU)
    indexes = op.name in _INDEXES
    if indexes and places[0] is CPU and device is not CPU:
        message = (
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
        )
        note = "Move the indices to the CPU, or the tensor to the device of the indices."
        raise fail(RuntimeError, message, note)
    movable = {id(t) for t in args[1] if t is not None} if indexes else ()
    for t, here in zip(tensors, places):
        number = (op.broadcast or op.name == "index_put") and not t._array.ndim
        if here is not device and not (here is CPU and (number or id(t) in movable)):
            raise device_error(op, args, device, here)
    return device


_NAMES_ARGUMENT = {
    "mm": "mm", "addmm": "addmm", "bmm": "bmm", "mv": "addmv", "addmv": "addmv", "dot": "_dot",
    "gather": "gather",
    "cat": "cat", "index_select": "_index_select", "embedding": "_index_select", "nll_loss": "nll_loss_forward",
    "scatter": "scatter_src",
}  # fmt: skip
"""Operations for which torch's error names the argument on the other device and the kernel."""


def device_error(op, args, device, other):
    """Return PyTorch's error for tensors on different devices. device: where the operation would run; other: the device
    of one of `args`."""
    text = _two_devices(device, other)
    if op.name in _NAMES_ARGUMENT:
        given = [
            (p, x)
            for p, a in zip(op.params, args)
            for x in (a if isinstance(a, (list, tuple)) else (a,))
        ]
        places = [(p, x._storage.device) for p, x in given if isinstance(x, Tensor)]
        name, where = next((p, d) for p, d in places if d is not places[0][1])
        if op.name == "embedding":  # PyTorch's kernel is index_select
            name = "index"
        text = (
            f"but got {name} is on {where}, different from other tensors on {places[0][1]} (when checking argument in method "
            f"wrapper_CUDA_{_NAMES_ARGUMENT[op.name]})"
        )
    note = "The tensors are on different devices. Move one of them with .to(device)."
    return fail(RuntimeError, f"{_SAME_DEVICE}, {text}", note)


_SAME_DEVICE = "Expected all tensors to be on the same device"


def _two_devices(device, other):
    return f"but found at least two devices, {device} and {other}!"


def two_devices(device, other, note):
    """Return PyTorch's error for tensors on two devices, with the given note."""
    return fail(RuntimeError, f"{_SAME_DEVICE}, {_two_devices(device, other)}", note)


def gathered(op, args, device):
    """Return the arguments with CPU tensors moved to the device: a 0-d tensor as a number, or as a copy if it needs a
    gradient; indices as copies."""

    def brought(a):
        if a.__class__ in (list, tuple):
            return [brought(x) for x in a]
        if not isinstance(a, Tensor) or a._storage.device is device:
            return a
        copies = a.requires_grad or op.name in _INDEXES
        return a.to(device) if copies else wrap(a._array[()], a.dtype)

    return tuple(map(brought, args))


class Accelerator:
    """The base of all backends but the host. `core/apply.py` asks it which arguments may be on another device, and lets
    it move them to this one."""

    device: Any
    xp: Any
    array: type

    def together(self, op, args, raws, tensors):
        """Return the device on which `op` runs, its arguments and its raw values, moved to that device. At least one
        operand is on this device.

        Raise RuntimeError in torch's words if the tensors must be on one device."""
        device = common_device(op, args, tensors)
        if any(t._storage.device is not device for t in tensors):
            args = gathered(op, args, device)
        return device, args, unwrap(op, args)[1]

    def elsewhere(self, op, args, other):
        """Return PyTorch's error for an in-place operation whose target is on another device."""
        return device_error(op, args, self.device, other)

    def adopt(self, op, result):
        """Return the result of a kernel as an array of this device. Raise RuntimeError if the kernel computed on the
        host: an operation never falls back to the CPU silently."""
        if result.__class__ is self.array:
            return result
        if result.__class__ is np.ndarray or isinstance(result, np.generic):
            raise fail(
                RuntimeError,
                f"{op.name}(): the kernel for {self.device} returned an array of the host",
                "This operation does not run on devices yet; move its arguments with .cpu() first.",
            )
        return self.run(per_thread.state, self.xp.asarray, result)
