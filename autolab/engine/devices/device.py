"""The devices besides the host, the meaning of device names, and the device of new tensors.

`core/device.py` defines device names, the host and the interface of a backend. This file adds the other devices:
`SimDevice` (`simulated/`) for a simulated GPU, `CupyDevice` (`cupy.py`) for a real one. Each is made when a program
first names it.
"""

from __future__ import annotations

import functools
import re
import threading
from typing import TypeAlias

import numpy

from ..core.device import ARRAY_CLASSES, CPU, HOST, Host, copied, device, filled, named, of, plus  # noqa: F401 (found here with the others)
from ..core.errors import bad_argument, fail
from ..core.tensor import attach
from . import cupy, events  # noqa: F401 (events: what observers are told)
from .backend import AcceleratorError, OutOfMemoryError  # noqa: F401 (found here with the others)

_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)
_KNOWN = {*_TYPES.split(", "), "sim"}
DeviceLike: TypeAlias = device | str | int | None
"""The accepted types of an argument `device`: a device, its name, the number of a GPU, or None for the current
device."""


# -- names -------------------------------------------------------------------------------------------------------------
@functools.partial(attach, to=device)
class _DeviceNames:
    """Methods of `device`: parse and show a name, and set the default device with `with device:`."""

    def __new__(cls, type, index=None):
        if type.__class__ is device and index is None:
            return type
        if isinstance(type, int) and index is None and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise bad_argument("device", "type", 1, "str", type)
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise bad_argument("device", "index", 2, "int", index)
        return _parsed(type, index)

    def __enter__(self):
        _push(usable(self))
        return self

    def __exit__(self, *error):
        _per_thread.stack.pop()

    def __init_subclass__(cls):
        raise TypeError("type 'torch.device' is not an acceptable base type")

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __delattr__(self, name):
        self.__setattr__(name, None)

    def __repr__(self):
        return (
            f"device(type='{self.type}')"
            if self.index is None
            else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)


@functools.partial(attach, to=Host)
class _HostTransfers:
    """The host's version of the methods that copy data or wait on other devices."""

    def synchronize(self):
        """Wait until all queued work is done."""

    def to_host(self, array, pinned=False, non_blocking=False):
        """Return the array in host memory."""
        return array


_FORM = re.compile(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?")


def _parsed(text, index):
    """Return the device for a string such as 'cuda' or 'cuda:0', with the index if it was passed separately. Raise
    RuntimeError in torch's words."""
    if not text:
        raise fail(
            RuntimeError,
            "Device string must not be empty",
            "The usual devices are 'cpu' and 'cuda'.",
        )
    form = _FORM.fullmatch(text)
    if form is None:
        note = "A device is written name:number, for example 'cuda:0'."
        raise fail(RuntimeError, f"Invalid device string: '{text}'", note)
    name, number = form.groups()
    if name not in _KNOWN:
        message = f"Expected one of {_TYPES} device type at start of device string: {name}"
        note = "The usual devices are 'cpu' and 'cuda' (a GPU; 'cuda:0' is the first one). 'sim' is a simulated GPU."
        raise fail(RuntimeError, message, note)
    if number is not None and index is not None:
        message = (
            f"type (string) must not include an index because index was passed explicitly: {text}"
        )
        raise fail(
            RuntimeError, message, "Write torch.device('cuda:0') or torch.device('cuda', 0)."
        )
    if index is not None and index < 0:
        note = "Devices of a type are numbered from 0."
        raise fail(RuntimeError, "Device index must not be negative", note)
    return named(name, index if number is None else int(number))


_backends: dict = {}  # type -> list of backends, set on first use
_lock = threading.RLock()


# -- the available devices ---------------------------------------------------------------------------------------------
def register_backends(kind, backends):
    """Make `kind` ('cuda', 'sim') refer to these backends. Return the backends before the change (None: not set
    yet)."""
    before = _backends.get(kind)
    if backends is None:
        _backends.pop(kind, None)
    else:
        _backends[kind] = backends
        ARRAY_CLASSES.update(dict.fromkeys([b.array for b in backends], _owner))
    return before


def _owner(array):
    """Return the one device object for an array that a device's backend made."""
    where = array.device  # a SimDevice or a CuPy Device
    return where.device if hasattr(where, "profile") else backends("cuda")[where.id].device


def backends(kind) -> list:
    """Return the backends of a type, made or detected on first use; an empty list if there are none."""
    found = _backends.get(kind)
    if found is None:
        with _lock:
            found = _simulated() if kind == "sim" else cupy.found() if kind == "cuda" else []
            if found:
                register_backends(kind, found)
    return found


def in_use() -> list:
    """Return the backends of all devices that have been used so far, except the CPU."""
    return [b for there in _backends.values() for b in there]


def accelerator():
    """Return the backend of the first CUDA GPU, or None. `pin_memory()` allocates its memory there."""
    there = backends("cuda")
    return there[0] if there else None


SIM_DEVICES = 2
"""The number of 'sim' devices without `autolab.cuda.simulate`: T4s with 1 GiB each."""


def _simulated():
    from .simulated.device import simulation

    return simulation("sim", SIM_DEVICES, 1 << 30, "T4")


def current_index(kind) -> int:
    """Return the index that `kind` means without a number: the device set by `torch.cuda.set_device`."""
    return _per_thread.current.get(kind, 0)


def set_current_index(kind, index):
    _per_thread.current[kind] = index


def backend_of(d):
    """Return the backend of a device other than the CPU. Raise AssertionError or RuntimeError in torch's words if there
    is none."""
    if d.backend is not None and d.backend.alive:
        return d.backend
    if d.type == "sim" or d.type == "cuda":
        there = backends(d.type)
        index = current_index(d.type) if d.index is None else d.index
        if index < len(there):
            return there[index]
        if not there:
            raise fail(
                AssertionError,
                "Torch not compiled with CUDA enabled",
                "No GPU is usable here: choose the device with 'cuda' if torch.cuda.is_available() else 'cpu', or call "
                "autolab.cuda.simulate() first, which makes 'cuda' a simulated GPU.",
            )
        raise fail(
            AcceleratorError,
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\nCUDA kernel errors might be "
            "asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider "
            "passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
            f"There are {len(there)} '{d.type}' devices, numbered from 0.",
        )
    raise fail(
        RuntimeError,
        f"device '{d}' is not supported by autolab",
        "autolab computes on 'cpu', 'cuda' (a GPU, by CuPy) and 'sim' (a simulated GPU); see docs/differences.md.",
    )


# -- the default device ------------------------------------------------------------------------------------------------
class _PerThread(threading.local):
    """The device settings of one thread: its default device, the devices of its active `with` blocks, and the current
    index of each type."""

    def __init__(self):
        self.chosen, self.stack, self.current = CPU, [], {}


_per_thread = _PerThread()
_looked_up = False
"""Whether any thread has set a default device. Until then, every new tensor skips the look-up and saves 0.15 µs."""


def _push(d):
    global _looked_up
    _looked_up = True
    _per_thread.stack.append(d)


def get_default_device() -> device:
    """Return the device of this thread's new tensors if the program names none. Source: torch.get_default_device."""
    if not _looked_up:
        return CPU
    here = _per_thread
    d = here.stack[-1] if here.stack else here.chosen
    return d if d.backend.alive else CPU  # its simulation has ended


def set_default_device(d) -> None:
    """Set the device of this thread's new tensors if the program names none; None means the CPU. Source:
    torch.set_default_device."""
    global _looked_up
    _per_thread.chosen = CPU if d is None else usable(d)
    _looked_up = True


def usable(d) -> device:
    """Return the device that the argument `device=d` names, after a check that it exists; None means the default
    device.

    Raise AssertionError for cuda without CUDA (torch's words), RuntimeError for devices that this engine does not
    have."""
    if d is None:
        return get_default_device() if _looked_up else CPU
    d = device(d)
    if d.backend is not None and d.backend.alive:
        return d
    return CPU if d.type == "cpu" else backend_of(d).device


# -- arrays ------------------------------------------------------------------------------------------------------------
def address(array) -> int:
    """Return the address at which the memory of a raw array begins."""
    pointer = getattr(array.data, "ptr", None)
    return array.__array_interface__["data"][0] if pointer is None else pointer


def is_host(array) -> bool:
    """Return whether a raw value is in host memory: a NumPy array or number, or a value that is not an array."""
    return array.__class__ is numpy.ndarray or array.__class__ not in ARRAY_CLASSES


def stand_in(array):
    """Return an uninitialized NumPy array with the shape and dtype of a raw array; random numbers for a device are
    drawn into it."""
    return array if is_host(array) else numpy.empty(array.shape, array.dtype)


def peek(array):
    """Return a raw array as a NumPy array for an observer. On a simulated GPU the copy takes no time and is not
    counted, because observing must not change the measurements."""
    return array if is_host(array) else of(array).backend.peek(array)


def to_host(array):
    """Return a raw array as a NumPy array: unchanged if it is on the host, else a copy from its device."""
    return array if is_host(array) else of(array).backend.to_host(array)
