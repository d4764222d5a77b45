"""`torch.save`: zip files that PyTorch loads with `weights_only=True`.

The pickle in such a file names PyTorch's classes, so that nothing in it tells that autolab wrote it. A file under a
path is written beside it and then renamed: whoever reads the path finds the old file or the new one, whole, also when
the program is killed. Source: https://docs.pytorch.org/docs/2.13/generated/torch.save.html
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
import sys
import zipfile
from collections import OrderedDict
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from autolab.engine.devices.device import CPU, device
from autolab.engine.core.dtype import dtype
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.methods.size import Size
from autolab.engine.core.tensor import Tensor, materialise, wrap
from autolab.engine.exact.layout import layout
from autolab.nn.parameter import Parameter
from autolab.serialization.names import name_in_files
from autolab.serialization.reading import short_name
from autolab.serialization.rebuild import STORAGES
from autolab.serialization.settings import File

_ALIGNMENT = 64  # bytes, as PyTorch aligns storages, so that mmap gives aligned arrays
_STORAGE_OF = {kind: name for name, kind in STORAGES.items()}


def save(
    obj: object,
    f: File,
    pickle_module: ModuleType = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write `obj` (tensors, state dicts, and containers of them) into `f`: a path, or a binary file.

    Tensors that share memory share it in the file. Raises RuntimeError when the folder does not exist or two tensors
    view the same memory as different types, AttributeError when `f` cannot be written to; a file that was there is then
    unchanged.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise unsupported("save", "pickle_module", "Python's own pickle is used.")
    if not _use_new_zipfile_serialization:
        raise unsupported(
            "save",
            "_use_new_zipfile_serialization",
            "The format before PyTorch 1.6 is read, not written.",
        )
    if type(pickle_protocol) is not int or not 2 <= pickle_protocol <= 5:
        raise fail(
            ValueError,
            f"pickle_protocol should be 2 to 5, but got {pickle_protocol!r}",
            "2 is what torch.load expects.",
        )
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise fail(
            AttributeError,
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute",
            "torch.save(obj, 'name.pth').",
        )
    memory = _Memory()
    _Pickler(io.BytesIO(), pickle_protocol, memory.note).dump(
        obj
    )  # which tensors there are, and what they share
    memory.settle()
    content = io.BytesIO()
    _Pickler(content, pickle_protocol, memory.place).dump(obj)
    if is_path:
        with replacing(f) as file:
            _write(file, content.getbuffer(), memory, short_name(f))
    else:
        _write(f, content.getbuffer(), memory, "archive")


@contextlib.contextmanager
def replacing(path):
    """A new binary file that takes the place of `path` when the block ends without an error; else nothing has changed.

    Raises RuntimeError when the folder does not exist.
    """
    path = os.path.realpath(os.fspath(path))
    if os.path.isdir(path):
        raise fail(IsADirectoryError, f"[Errno 21] Is a directory: '{path}'", "Name a file in it.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device: nothing to replace
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise fail(
            RuntimeError,
            f"Parent directory {folder} does not exist.",
            "Make it first: os.makedirs(folder).",
        )
    beside = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(4)}.partial")
    rights = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else None
    file = open(
        beside,
        "xb",
        opener=lambda name, flags: os.open(name, flags, 0o666 if rights is None else rights),
    )
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if rights is not None:
            os.chmod(beside, rights)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(beside)
        raise


def _write(file, content, memory, folder):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _record(archive, f"{folder}/data.pkl", content)
        _record(archive, f"{folder}/byteorder", sys.byteorder.encode())
        for key, raw in memory.contents():
            _record(archive, f"{folder}/data/{key}", raw)
        _record(archive, f"{folder}/version", b"3\n")


def _record(archive, name, content):
    entry = zipfile.ZipInfo(
        name, (1980, 1, 1, 0, 0, 0)
    )  # no clock: the same object gives the same bytes
    start = archive.fp.tell() + 30 + len(name.encode()) + 4
    padding = -start % _ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(entry, content)


# what tensors share --------------------------------------------------------------------------------------------------


class _Span:
    """A piece of memory that becomes one storage of the file."""

    def __init__(self, low, high, kind, location, owner):
        self.low, self.high, self.kind, self.location, self.owners = (
            low,
            high,
            kind,
            location,
            [owner],
        )
        self.key = None

    def overlaps(self, other):
        return other.low < self.high and self.low < other.high


class _Memory:
    """The memory that the tensors of an object occupy, split into storages."""

    def __init__(self):
        self.spans, self._seen, self._on_host, self._layouts = [], {}, {}, {}

    def note(self, tensor):
        """Called for each tensor while the object is looked through."""
        owner, _, _ = self._layout(tensor)
        name = self._name(tensor, owner)
        if name not in self._seen:
            location = "cpu" if tensor.device.type != "cuda" else f"cuda:{tensor.device.index or 0}"
            self._seen[name] = _Span(name[0], name[1], tensor.dtype, location, owner)
            self.spans.append(self._seen[name])
        return None, 0, (), ()

    @staticmethod
    def _name(tensor, owner):
        low, high = np.lib.array_utils.byte_bounds(owner) if owner.size else (id(owner), id(owner))
        return low, high, tensor.dtype.name

    def _layout(self, tensor):
        """(array that owns the memory, address of the first element, strides in elements), all on the host."""
        array, storage = materialise(tensor), tensor._storage
        key = (id(storage), tensor.storage_offset(), array.shape, array.strides, tensor.dtype.name)
        if key not in self._layouts:
            self._layouts[key] = (*self._found(tensor, array), storage, array)
        return self._layouts[key][:3]

    def _found(self, tensor, array):
        if tensor.device != CPU:
            whole = wrap(tensor._storage.array, tensor.dtype)
            if id(tensor._storage) not in self._on_host:
                self._on_host[id(tensor._storage)] = materialise(whole.cpu())
            host = self._on_host[id(tensor._storage)]
            if whole.is_contiguous() and host.flags.c_contiguous:
                start = (
                    host.__array_interface__["data"][0]
                    + tensor.storage_offset() * tensor.dtype.itemsize
                )
                return host, start, tuple(tensor.stride())
            tensor = tensor.detach().cpu().contiguous()
            array = materialise(tensor)
        size = tensor.dtype.itemsize
        if any(s < 0 or s % size for s in array.strides):
            array = np.ascontiguousarray(array)
            return (
                array,
                array.__array_interface__["data"][0],
                tuple(s // size for s in array.strides),
            )
        address, owner = array.__array_interface__["data"][0], tensor._storage.array
        low, high = np.lib.array_utils.byte_bounds(owner)
        if any(s < 0 for s in owner.strides) or not low <= address <= high:
            owner = array
        return owner, address, tuple(tensor.stride())

    def settle(self):
        """Pieces that overlap become one storage; storages are numbered as they were met."""
        met = {id(span): number for number, span in enumerate(self.spans)}
        merged = {}
        current = None
        for span in sorted((s for s in self.spans if s.low < s.high), key=lambda s: s.low):
            if current is not None and current.overlaps(span):
                if span.kind is not current.kind or (span.low - current.low) % span.kind.itemsize:
                    raise fail(
                        RuntimeError,
                        "Cannot save multiple tensors or storages that view the same data as different types",
                        "Save a clone() of one of them.",
                    )
                current.high = max(current.high, span.high)
                current.owners += span.owners
                merged[id(span)] = current
            else:
                current = merged[id(span)] = span
        order: dict[int, tuple] = {}
        for span in self.spans:
            root = merged.get(id(span), span)
            order.setdefault(id(root), (met[id(span)], root))
        self.storages = [root for _, root in sorted(order.values(), key=lambda pair: pair[0])]
        for number, root in enumerate(self.storages):
            root.key = str(number)
        self._merged = merged

    def place(self, tensor):
        """(storage's name in the pickle, offset, size, stride) of a tensor that was noted."""
        owner, address, stride = self._layout(tensor)
        span = self._seen[self._name(tensor, owner)]
        span = self._merged.get(id(span), span)
        size = span.kind.itemsize
        numel = (span.high - span.low) // size
        offset = (address - span.low) // size if numel else 0
        kind = _STORAGE_OF.get(span.kind.name)
        if kind is None:
            named, numel = Global("torch.storage", "UntypedStorage"), numel * size
        else:
            named = Global("torch", kind)
        return (
            _Id(("storage", named, span.key, span.location, numel)),
            offset,
            tuple(tensor.shape),
            stride,
        )

    def contents(self):
        """(key, bytes) of each storage."""
        for span in self.storages:
            count = span.high - span.low
            yield span.key, np.asarray(_Bytes(span.low, count)).data if count else b""


class _Bytes:
    """`count` bytes from an address on, as NumPy reads it off an object; the storage's owners keep them."""

    def __init__(self, address: int, count: int) -> None:
        self.__array_interface__ = {
            "data": (address, True),
            "shape": (count,),
            "typestr": "|u1",
            "version": 3,
        }


# the pickle ----------------------------------------------------------------------------------------------------------


class _Id:
    """Stands for a storage: pickled as its name."""

    def __init__(self, name):
        self.name = name


class Global:
    """Stands for one of PyTorch's functions or classes: pickled as its name."""

    _all: dict = {}
    module: str
    name: str

    def __new__(cls, module, name):
        self = cls._all.get((module, name))
        if self is None:
            self = cls._all[module, name] = super().__new__(cls)
            self.module, self.name = module, name
        return self

    def __call__(self):  # pickle wants what it is to call to be callable
        raise TypeError(f"{self.module}.{self.name} is only a name here")


_Python: Any = (
    pickle._Pickler
)  # the one written in Python: the one in C looks up every name that it writes


class _Pickler(_Python):
    """Python's pickler, except that it writes PyTorch's names. place: see `_Memory`."""

    dispatch = _Python.dispatch.copy()

    def __init__(self, file, protocol, place):
        super().__init__(file, protocol)
        self._place = place

    def persistent_id(self, obj):
        return obj.name if type(obj) is _Id else None

    def reducer_override(self, obj):
        if not isinstance(obj, Tensor):
            return NotImplemented
        kind, attributes = type(obj), dict(obj.__dict__)
        if kind is Parameter:
            name = "_rebuild_parameter_with_state" if attributes else "_rebuild_parameter"
            arguments: tuple = (obj.detach(), bool(obj.requires_grad), OrderedDict())
            return Global("torch._utils", name), arguments + ((attributes,) if attributes else ())
        reduced = self._tensor(obj)
        if kind is Tensor and not attributes:
            return reduced
        return Global("torch._tensor", "_rebuild_from_type_v2"), (
            reduced[0],
            kind,
            reduced[1],
            attributes,
        )

    def _tensor(self, obj):
        arguments = (*self._place(obj), bool(obj.requires_grad), OrderedDict())
        if obj.dtype.name in _STORAGE_OF:
            return Global("torch._utils", "_rebuild_tensor_v2"), arguments
        return Global("torch._utils", "_rebuild_tensor_v3"), (
            *arguments,
            Global("torch", obj.dtype.name),
        )

    def _global(self, obj, name=None):
        module, name = (obj.module, obj.name) if type(obj) is Global else name_in_files(obj)
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_global(self, obj, name=None):
        module = getattr(obj, "__module__", None) or ""
        if module.split(".")[0] in ("autolab", "torch"):
            return self._global(obj)
        return super().save_global(obj, name)

    def save_type(self, obj):
        if obj in (type(None), type(NotImplemented), type(...)):
            return super().save_type(obj)
        return self.save_global(obj)

    dispatch[Global] = _global
    dispatch[type] = save_type
    dispatch[FunctionType] = lambda self, obj: self.save_global(obj)
    dispatch[dtype] = lambda self, obj: self._global(Global("torch", obj.name))
    dispatch[layout] = lambda self, obj: self.save_reduce(
        Global("torch.serialization", "_get_layout"), (repr(obj),), obj=obj
    )
    dispatch[Size] = lambda self, obj: self.save_reduce(
        Global("torch", "Size"), (tuple(obj),), obj=obj
    )
    dispatch[device] = lambda self, obj: self.save_reduce(
        Global("torch", "device"),
        (obj.type,) if obj.index is None else (obj.type, obj.index),
        obj=obj,
    )
