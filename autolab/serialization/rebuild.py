"""Rebuild tensors from storages: autolab's versions of the functions that PyTorch's pickles name, with every argument
checked.

A storage is memory that several tensors of a file may share; they also share it after loading.
"""

import math
import warnings

import numpy as np

from autolab.engine.devices import device as devices
from autolab.engine.core import dtype as dtypes
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor, wrap
from autolab.serialization.errors import AGAIN, refuse

STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
"""PyTorch's storage classes and the dtype of their elements."""


class StorageType:
    """Represents one of PyTorch's storage classes and its dtype."""

    def __init__(self, kind):
        self.kind = kind
        self.itemsize = 2 if kind == "bfloat16" else dtypes.BY_NAME[kind].itemsize


class Unsupported:
    """Represents a PyTorch feature that autolab lacks; raises when it is used."""

    def __init__(self, message, note):
        self.message, self.note = message, note

    def __call__(self, *args):
        raise fail(NotImplementedError, self.message, self.note)


class UntypedStorage:
    """The bytes of a storage and their target device. A callable `map_location` gets one and returns one."""

    def __init__(self, raw, device=devices.CPU):
        self.raw, self.device = raw, device

    def nbytes(self):
        """Return its size in bytes."""
        return self.raw.size

    size = __len__ = nbytes

    def to(self, *, device):
        """Return the same bytes on another device. Raises RuntimeError if there is no such device."""
        return UntypedStorage(self.raw, device_at(str(device)))

    def cpu(self):
        """Return the same bytes on the CPU."""
        return UntypedStorage(self.raw)

    def cuda(self, device=None):
        """Return the same bytes on a GPU."""
        index = getattr(device, "index", device)
        return self.to(device="cuda" if index is None else f"cuda:{index}")

    def __repr__(self):
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def device_at(location):
    """Return the device that a file or `map_location` names. Raises RuntimeError with torch's message if it is not
    available."""
    try:
        target = devices.device(location)
    except RuntimeError:
        target = None
    if target is not None and target.type == "cuda":
        import autolab

        if not autolab.cuda.is_available():
            raise fail(
                RuntimeError,
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on "
                "a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the "
                "CPU.",
                "The file was saved from a GPU. map_location='cpu' loads the same numbers into this computer's memory.",
            )
        count = autolab.cuda.device_count()
        if (target.index or 0) >= count:
            raise fail(
                RuntimeError,
                f"Attempting to deserialize object on CUDA device {target.index} but torch.cuda.device_count() is {count}. "
                "Please use torch.load with map_location to map your storages to an existing device.",
                f"The GPUs here are numbered from 0 to {count - 1}.",
            )
    try:
        if target is not None:
            return devices.usable(target)
    except RuntimeError:
        pass
    raise fail(
        RuntimeError,
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})",
        "There is no such device here; map_location='cpu' always works.",
    )


def restorer(map_location):
    """Return a function (storage, location) -> storage on its device, according to `map_location`."""

    def usual(storage, location):
        return storage.to(device=location)

    if map_location is None:
        return usual
    if isinstance(map_location, dict):
        return lambda storage, location: usual(storage, map_location.get(location, location))
    if isinstance(map_location, (str, devices.device)):
        return lambda storage, location: usual(storage, str(map_location))
    if not callable(map_location):
        raise fail(
            TypeError,
            f"'{type(map_location).__name__}' object is not callable",
            "map_location is a device or its name, a dict of names, or a function (storage, location) -> storage.",
        )

    def called(storage, location):
        result = map_location(storage, location)
        if result is None:
            return usual(storage, location)
        if not isinstance(result, UntypedStorage):
            raise fail(
                TypeError,
                f"Argument 'wrap_storage' must be UntypedStorage, but got {type(result)}",
                "The function given as map_location returns the storage it got, moved or not: lambda storage, location: storage.",
            )
        return result

    return called


class Storage:
    """A storage in memory, from which tensors are made. kind: its dtype in the file."""

    def __init__(self, untyped, kind):
        self.raw, self.device, self.kind = untyped.raw, untyped.device, kind
        self._flat = {}

    def flat(self, kind):
        """Return the whole storage as a 1-d tensor of dtype `kind`, on its device."""
        if kind not in self._flat:
            raw = self.raw
            if kind == "bfloat16" and kind not in dtypes.BY_NAME:
                array = _widened(raw)
            else:
                if kind not in dtypes.BY_NAME or raw.size % dtypes.BY_NAME[kind].itemsize:
                    raise refuse(f"a storage of {raw.size} bytes cannot hold {kind} elements")
                array = raw.view(dtypes.BY_NAME[kind].np)
                if not array.flags.aligned:
                    array = array.copy()
            flat = wrap(array)
            self._flat[kind] = flat if self.device == devices.CPU else flat.to(self.device)
        return self._flat[kind]

    def tensor(self, offset, size, stride, kind):
        """Return a tensor that shares its memory; offset and strides in elements. Raises UnpicklingError if it would
        exceed the storage."""
        flat = self.flat(kind)
        _check_place(offset, size, stride, flat.numel(), flat.dtype.itemsize)
        count = math.prod(size)
        if _is_contiguous(size, stride):
            array = flat._array[offset : offset + count].reshape(size)
        else:
            steps = [s * flat.dtype.itemsize for s in stride]
            with flat.device.backend:
                tricks = flat.device.xp.lib.stride_tricks
                array = tricks.as_strided(flat._array[offset:], size, steps)
        result = wrap(array, flat.dtype)
        result._storage.array = flat._array
        return result


def _widened(raw):
    """Return bfloat16 as float32, which represents each of its numbers exactly."""
    if raw.size % 2:
        raise refuse(f"a storage of {raw.size} bytes cannot hold bfloat16 elements")
    warnings.warn(
        "autolab has no bfloat16: the tensors of this file are read as float32, which holds the same numbers exactly",
        stacklevel=2,
    )
    return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _is_contiguous(size, stride):
    step = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def _check_place(offset, size, stride, numel, itemsize):
    whole = (
        type(size) is tuple
        and type(stride) is tuple
        and all(type(n) is int for n in (offset, *size, *stride))
    )
    if not whole or len(size) != len(stride):
        raise refuse(f"a tensor has size {size!r}, stride {stride!r} and storage offset {offset!r}")
    if len(size) > 64:
        raise refuse(f"a tensor has {len(size)} dimensions", "autolab has at most 64.")
    for what, numbers in (("size", size), ("stride", stride), ("storage offset", (offset,))):
        if any(n < 0 for n in numbers):
            text = numbers[0] if what == "storage offset" else numbers
            raise refuse(f"Trying to create tensor with negative {what}: {text}")
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1 if 0 not in size else offset
    if reach > numel:
        raise refuse(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} requiring "
            f"a storage size of {reach * itemsize} are out of bounds for storage of size {numel * itemsize}",
            "The tensor would look beyond its memory. " + AGAIN,
        )
    if math.prod(size) * itemsize >= 1 << 62:
        raise refuse(f"a tensor of size {list(size)} cannot be addressed")


# functions that pickles name -----------------------------------------------------------------------------------------


def tensor(
    storage, storage_offset, size, stride, requires_grad=False, backward_hooks=None, metadata=None
):
    """Rebuild a tensor as `torch._utils._rebuild_tensor_v2` does. Hooks are not restored: they are code."""
    if not isinstance(storage, Storage):
        raise refuse(f"a tensor is made of a storage, but got {type(storage).__name__}")
    t = storage.tensor(storage_offset, size, stride, storage.kind)
    if metadata:
        message = "conjugated and negated tensors are not supported by autolab"
        raise fail(NotImplementedError, message, "Save t.resolve_conj().resolve_neg().")
    return _asking(t, requires_grad)


def tensor_with_dtype(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    """Rebuild a tensor as `torch._utils._rebuild_tensor_v3` does: the storage has bytes, the tensor has the dtype."""
    if not isinstance(storage, Storage):
        raise refuse(f"a tensor is made of a storage, but got {type(storage).__name__}")
    if isinstance(dtype, Unsupported):
        dtype()
    if not isinstance(dtype, dtypes.dtype):
        raise refuse(f"a tensor has dtype {dtype!r}")
    return _asking(storage.tensor(storage_offset, size, stride, dtype.name), requires_grad)


def _asking(t, requires_grad):
    if type(requires_grad) is not bool:
        raise refuse(f"requires_grad is a {type(requires_grad).__name__}")
    t.requires_grad = requires_grad
    return t


def parameter(data, requires_grad, backward_hooks, state=None):
    """Rebuild a parameter as `torch._utils._rebuild_parameter` does, also with attributes (`_with_state`)."""
    from autolab.nn.parameter import Parameter

    if not isinstance(data, Tensor) or type(requires_grad) is not bool:
        raise refuse(f"a parameter is made of a tensor, but got {type(data).__name__}")
    return _with_attributes(Parameter(data, requires_grad), state)


def from_type(function, new_type, arguments, state):
    """Rebuild a tensor with attributes, or of an allowed subclass, as `torch._tensor._rebuild_from_type_v2` does."""
    if function not in (tensor, tensor_with_dtype, parameter) or not _is_tensor_class(new_type):
        raise refuse(f"_rebuild_from_type_v2 got {function!r} for {new_type!r}")
    t = function(*arguments)
    if type(t) is not new_type:
        t.__class__ = new_type
    return _with_attributes(t, state)


def _is_tensor_class(kind):
    return isinstance(kind, type) and issubclass(kind, Tensor)


def _with_attributes(t, state):
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
        if slots:
            raise refuse("a tensor has slots of its own")
    if state is None:
        return t
    if type(state) is not dict or not all(
        type(name) is str and not name.startswith("__") for name in state
    ):
        raise refuse("a tensor's attributes are no dict of names")
    hidden = [name for name in state if hasattr(type(t), name)]
    if hidden:
        raise refuse(f"a tensor's attribute '{hidden[0]}' would hide one of its own")
    t.__dict__.update(state)
    return t
