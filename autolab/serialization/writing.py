"""`torch.save`: zip files that PyTorch loads with `weights_only=True`.

The pickle in such a file names PyTorch's classes, so a file does not show that autolab wrote it. A file is written
under another name first and then renamed: a reader of the path always finds a complete file, the old or the new one,
even if the program is killed. Source: https://docs.pytorch.org/docs/2.13/generated/torch.save.html
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

from autolab.engine.devices.device import CPU, address, device, to_host
from autolab.engine.core.dtype import dtype
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.methods.size import Size
from autolab.engine.core.tensor import Tensor, materialise
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
    if pickle_module is not pickle or not _use_new_zipfile_serialization:
        name = "pickle_module" if pickle_module is not pickle else "_use_new_zipfile_serialization"
        raise unsupported("save", name, "Files are written as PyTorch writes them since 1.6.")
    if pickle_protocol != 2:
        raise unsupported("save", "pickle_protocol", "Leave it out; torch.load expects protocol 2.")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        message = "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        raise fail(AttributeError, message, "torch.save(obj, 'name.pth').")
    storages, content = _Storages(), io.BytesIO()
    _Pickler(content, storages.place).dump(obj)
    with replacing(f) if is_path else contextlib.nullcontext(f) as file:
        _write(file, content.getbuffer(), storages, short_name(f) if is_path else "archive")


@contextlib.contextmanager
def replacing(path):
    """Yield a new binary file that replaces `path` if the block ends without an error; otherwise nothing changes.

    Raises RuntimeError if the folder does not exist.
    """
    path = os.path.realpath(os.fspath(path))
    if os.path.isdir(path):
        raise fail(
            IsADirectoryError,
            f"[Errno 21] Is a directory: '{path}'",
            "Name a file inside this folder.",
        )
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        message = f"Parent directory {folder} does not exist."
        raise fail(RuntimeError, message, "Make it first: os.makedirs(folder).")
    beside = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(4)}.partial")
    rights = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o666
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, rights)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(beside, rights)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(beside)
        raise


def _write(file, content, storages, folder):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _record(archive, f"{folder}/data.pkl", content)
        _record(archive, f"{folder}/byteorder", sys.byteorder.encode())
        for key, raw in storages.contents():
            _record(archive, f"{folder}/data/{key}", raw)
        _record(archive, f"{folder}/version", b"3\n")


def _record(archive, name, content):
    entry = zipfile.ZipInfo(
        name, (1980, 1, 1, 0, 0, 0)
    )  # no time stamp: the same object gives the same bytes
    start = archive.fp.tell() + 30 + len(name.encode()) + 4
    padding = -start % _ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(entry, content)


# shared memory -------------------------------------------------------------------------------------------------------


class _Storages:
    """The arrays that own the memory of an object's tensors; each becomes a storage of the file."""

    def __init__(self):
        self._found = {}  # id of an owner -> (its number, dtype, the owner, its numbers on the host)

    def place(self, tensor):
        """Return (storage's name in the pickle, offset, size, stride) of a tensor."""
        array, kind = materialise(tensor), tensor.dtype
        owner, stride = tensor._storage.array, tuple(tensor.stride())
        if tensor.device == CPU:
            offset, rest = divmod(address(array) - address(owner), kind.itemsize)
            dense = owner.flags.forc and min(owner.strides, default=0) >= 0
            copied = rest or not dense or any(s % kind.itemsize for s in array.strides)
        else:
            offset, copied = tensor.storage_offset(), not owner.flags.c_contiguous
        if copied:
            owner, offset = materialise(tensor.detach().contiguous().clone()), 0
            stride = tuple(s // kind.itemsize for s in np.empty(array.shape, kind.np).strides)
        if not array.size:
            offset = 0
        if id(owner) not in self._found:
            self._found[id(owner)] = len(self._found), kind, owner, to_host(owner)
        number, known, _, host = self._found[id(owner)]
        if known is not kind:
            message = "Cannot save multiple tensors or storages that view the same data as different types"
            raise fail(RuntimeError, message, "Save a clone() of one of them.")
        name, numel = _STORAGE_OF.get(kind.name), host.size
        named = Global("torch", name) if name else Global("torch.storage", "UntypedStorage")
        location = "cpu" if tensor.device.type != "cuda" else f"cuda:{tensor.device.index or 0}"
        numel *= 1 if name else kind.itemsize
        pid = _Id(("storage", named, str(number), location, numel))
        return pid, offset, tuple(tensor.shape), stride

    def contents(self):
        """Yield (key, bytes) of each storage."""
        for number, _, _, host in self._found.values():
            yield str(number), host.ravel("K").view(np.uint8).data if host.size else b""


# the pickle ----------------------------------------------------------------------------------------------------------


class _Id:
    """Represents a storage; pickled as its name."""

    def __init__(self, name):
        self.name = name


class Global:
    """Represents one of PyTorch's functions or classes; pickled as its name."""

    _all: dict = {}
    module: str
    name: str

    def __new__(cls, module, name):
        self = cls._all.get((module, name))
        if self is None:
            self = cls._all[module, name] = super().__new__(cls)
            self.module, self.name = module, name
        return self

    def __call__(self):  # pickle requires a callable
        raise TypeError(f"{self.module}.{self.name} is only a name here")


_Python: Any = (
    pickle._Pickler
)  # the version in Python: the C version looks up every name that it writes


class _Pickler(_Python):
    """Python's pickler, except that it writes PyTorch's names. place: see `_Storages`."""

    dispatch = _Python.dispatch.copy()

    def __init__(self, file, place):
        super().__init__(file, 2)
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
