"""What every backend but the host is: where an op runs, PyTorch's errors for operands on different devices, and the few
operands that may lie elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.apply import unwrap
from ..core.device import CPU, named
from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.tensor import Tensor, wrap


class AcceleratorError(RuntimeError):
    """The device says no. Source: torch.AcceleratorError."""


class OutOfMemoryError(RuntimeError):
    """A device has no room left. Source: torch.OutOfMemoryError."""


AcceleratorError.__module__ = OutOfMemoryError.__module__ = "torch"


def new_canonical(kind, index, make):
    """Return the backend that `make(device)` makes for the `device` that stands for it."""
    d = named(kind, index)
    backend = make(d)
    object.__setattr__(d, "backend", backend)
    return backend


_INDEXES = {"index", "index_put"}
"""Ops whose second argument is a list of indices, which may stay on the CPU."""


def common_device(op, args, tensors):
    """Return the device that `op` runs on; 0-d tensors of the CPU, and indices, may lie elsewhere.

    Raises RuntimeError in torch's words when the tensors are on different devices."""
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
"""Ops for which torch says which argument is elsewhere, with the name of its kernel."""


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
        if op.name == "embedding":  # PyTorch's index_select
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
    """Return the arguments with what lies on the CPU brought along: a number as a number, or as a copy if it needs a
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
    """What every backend but the host answers `core/apply.py`: which of an operation's arguments may lie elsewhere, and
    how they come here."""

    device: Any
    xp: Any
    array: type

    def together(self, op, args, raws, tensors):
        """Where `op` runs, of which some operands are here; arguments and raw values, those from elsewhere brought
        along.

        Raises RuntimeError in torch's words where tensors may not lie on different devices."""
        device = common_device(op, args, tensors)
        if any(t._storage.device is not device for t in tensors):
            args = gathered(op, args, device)
        return device, args, unwrap(op, args)[1]

    def elsewhere(self, op, args, other):
        """Return PyTorch's error for an in-place operation whose target is on another device."""
        return device_error(op, args, self.device, other)

    def adopt(self, op, result):
        """What a kernel returned, as an array of this device. Raises RuntimeError if it computed on the host: nothing
        falls back silently."""
        if result.__class__ is self.array:
            return result
        if result.__class__ is np.ndarray or isinstance(result, np.generic):
            raise fail(
                RuntimeError,
                f"{op.name}(): the kernel for {self.device} returned an array of the host",
                "This operation does not run on devices yet; move its arguments with .cpu() first.",
            )
        return self.run(per_thread.state, self.xp.asarray, result)
