"""What every backend but the host is: where an op runs, PyTorch's errors for operands on different devices, and the few
operands that may lie elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import CPU, named
from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..autograd.packing import Packed
from ..core.tensor import Tensor


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
    """The device that `op` runs on, and whether some of `tensors` lie elsewhere (0-d ones of the CPU, and indices,
    may).

    Raises RuntimeError in torch's words when the tensors are on different devices."""
    device = tensors[0]._storage.device
    mixed = False
    for t in tensors:
        if t._storage.device is not device:
            mixed = True
            if device is CPU:
                device = t._storage.device
    if not mixed:
        return device, False
    indexes = op.name in _INDEXES
    if indexes and tensors[0]._storage.device is CPU:
        raise fail(
            RuntimeError,
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
            "Move the indices to the CPU, or the tensor to the device of the indices.",
        )
    movable = {id(t) for t in args[1] if t is not None} if indexes else ()
    for t in tensors:
        here = t._storage.device
        number = (op.broadcast or op.name == "index_put") and not t._array.ndim
        if here is not device and not (here is CPU and (number or id(t) in movable)):
            raise device_error(op, args, device, here)
    return device, True


_NAMES_ARGUMENT = {
    "mm": "mm", "addmm": "addmm", "bmm": "bmm", "baddbmm": "baddbmm", "mv": "addmv", "addmv": "addmv", "dot": "_dot",
    "gather": "gather",
    "cat": "cat", "index_select": "_index_select", "embedding": "_index_select", "nll_loss": "nll_loss_forward",
    "scatter": "scatter_src",
}  # fmt: skip
"""Ops for which torch says which argument is elsewhere, with the name of its kernel."""


def device_error(op, args, device, other):
    """Torch's words for tensors on different devices. device: where the op would run; other: where one of `args` is."""
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
    note = "Nothing is copied between devices unless you say so: move one of them with .to(device) first."
    return fail(RuntimeError, f"{_SAME_DEVICE}, {text}", note)


_SAME_DEVICE = "Expected all tensors to be on the same device"


def _two_devices(device, other):
    return f"but found at least two devices, {device} and {other}!"


def two_devices(device, other, note):
    """Torch's error for tensors on two devices, with a note of the caller's."""
    return fail(RuntimeError, f"{_SAME_DEVICE}, {_two_devices(device, other)}", note)


def gathered(op, args, device):
    """Arguments and raw values with what may lie on the CPU brought along: numbers as numbers, indices as copies on the
    device."""

    def brought(a):
        if not isinstance(a, Tensor) or a._storage.device is device:
            return a
        return a.to(device)

    if op.name in _INDEXES:
        args = tuple(
            [brought(x) for x in a] if a.__class__ in (list, tuple) else brought(a) for a in args
        )
    raws = []
    for a in args:
        if isinstance(a, Tensor):
            raws.append(a._array if a._storage.device is device else a._array[()])
        else:
            raws.append(
                [x._array if isinstance(x, Tensor) else x for x in a]
                if a.__class__ in (list, tuple)
                else a
            )
    return args, raws


class Elsewhere(tuple):
    """(shape, dtype) of an operand on another device than its op's: its gradient goes there."""

    device: Any


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
        device, mixed = common_device(op, args, tensors)
        return device, *(gathered(op, args, device) if mixed else (args, raws))

    def elsewhere(self, op, args, other):
        """Torch's error for an operation in place that would run here, where its target is not."""
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

    def across(self, node, sources):
        """Numbers (0-d tensors) of the CPU took part in an op here: their gradients go back, rules see copies of
        them."""
        device = self.device
        if all(not isinstance(s, Tensor) or s._storage.device is device for s in sources):
            return
        metas = []
        for s in sources:
            meta = (s._array.shape, s.dtype) if isinstance(s, Tensor) else None
            if meta is not None and s._storage.device is not device:
                meta = Elsewhere(meta)
                meta.device = s._storage.device
            metas.append(meta)
        node.fix = tuple(metas)

        def moved(entry):
            """A saved tensor of another device, to be copied here when a rule reads it."""
            away = (
                entry.__class__ is tuple
                and isinstance(entry[0], Tensor)
                and entry[0]._storage.device is not device
            )
            return Packed(entry, lambda entry: entry[0].to(device)) if away else entry

        node.saved = [moved(entry) for entry in node.entries()]
