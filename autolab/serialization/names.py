"""The names of classes and functions in PyTorch's files, and the list of names that a file may use.

A pickle names the functions to call. With `weights_only=True` only the names here can be used, and each refers to a
function that checks its arguments; a file never causes an import.
"""

from __future__ import annotations

import _compat_pickle  # the table that Python's own pickle uses
import importlib
from collections import Counter, OrderedDict
from types import BuiltinFunctionType, FunctionType
from collections.abc import Iterable
from typing import Any

from autolab.engine.core import dtype as dtypes
from autolab.engine.devices.device import device
from autolab.engine.core.errors import fail
from autolab.engine.methods.size import Size
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.layout import strided
from autolab.serialization import rebuild
from autolab.serialization.errors import refuse

BLOCKED = ("sys", "os", "posix", "nt")
"""Modules that stay closed even when the user allows something from them."""

_ELSEWHERE = (
    "torch.bfloat16 torch.complex32 torch.complex64 torch.complex128 torch.ComplexFloatStorage torch.ComplexDoubleStorage "
    "torch.quint8 torch.qint8 torch.qint32 torch.float8_e4m3fn torch.float8_e5m2 "
    "torch.QUInt8Storage torch.QInt8Storage torch.QInt32Storage torch._utils._rebuild_qtensor "
    "torch._utils._rebuild_sparse_tensor torch._utils._rebuild_meta_tensor_no_storage torch._utils._rebuild_nested_tensor "
    "torch._utils._rebuild_wrapper_subclass"
).split()
"""What PyTorch's files may name for tensors that are not dense, or whose numbers NumPy does not have."""


def _unsupported(name):
    note = "Save dense tensors of usual numbers: .to_dense(), .dequantize() or .float() before torch.save."
    return rebuild.Unsupported(f"'{name}' is not supported by autolab", note)


def _encode(text, encoding="utf-8"):
    """Return text as latin1 bytes: protocol 2 writes bytes this way."""
    if type(text) is not str or encoding not in ("latin1", "utf-8", "ascii"):
        raise refuse(
            f"_codecs.encode got {type(text).__name__}, {encoding!r}",
            "Only text becomes bytes this way.",
        )
    return text.encode(encoding)


def _size(numbers=()):
    if type(numbers) is not tuple or not all(type(n) is int for n in numbers):
        raise refuse(
            f"torch.Size got {type(numbers).__name__}", "A size is a tuple of whole numbers."
        )
    return Size(numbers)


def _get_layout(name):
    if name != "torch.strided":
        raise fail(
            NotImplementedError,
            f"layout '{name}' is not supported by autolab",
            "Only dense tensors are supported.",
        )
    return strided


_allowed: dict = {}


def allowed_globals():
    """Return the objects that a file may refer to, by full name in PyTorch."""
    if not _allowed:
        from autolab.nn.parameter import Parameter

        _allowed.update(
            {
                "collections.OrderedDict": OrderedDict,
                "collections.Counter": Counter,
                "torch.nn.parameter.Parameter": Parameter,
                "torch.serialization._get_layout": _get_layout,
                "torch.Size": _size,
                "torch.Tensor": Tensor,
                "torch.device": device,
                "_codecs.encode": _encode,
                "builtins.set": set,
                "builtins.complex": complex,
                "torch._utils._rebuild_tensor": rebuild.tensor,
                "torch._utils._rebuild_tensor_v2": rebuild.tensor,
                "torch._utils._rebuild_tensor_v3": rebuild.tensor_with_dtype,
                "torch._utils._rebuild_parameter": rebuild.parameter,
                "torch._utils._rebuild_parameter_with_state": rebuild.parameter,
                "torch._tensor._rebuild_from_type_v2": rebuild.from_type,
                "torch.storage.UntypedStorage": rebuild.StorageType("uint8"),
            }
        )
        for d in dtypes.BY_NAME.values():
            _allowed[f"torch.{d.name}"] = d
        for name in _ELSEWHERE:
            _allowed.setdefault(name, _unsupported(name))
        for name, kind in rebuild.STORAGES.items():
            _allowed[f"torch.{name}"] = _allowed[f"torch.cuda.{name}"] = rebuild.StorageType(kind)
    return _allowed


# names that the user allows ------------------------------------------------------------------------------------------

_safe: set = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files loaded with `weights_only=True` name these classes and functions: a list of them, or of (object, name)
    pairs."""
    _safe.update(safe_globals)


class safe_globals:
    """`with torch.serialization.safe_globals([MyClass]): torch.load(file)` allows the class for this block only."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = set(_safe)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        _safe.clear()
        _safe.update(self._before)


def user_globals():
    """Return the objects that the user allows, by full name in a file."""
    by_name = {}
    for entry in _safe:
        thing, name = entry if isinstance(entry, tuple) else (entry, ".".join(name_in_files(entry)))
        by_name[name] = thing
    return by_name


# both directions -----------------------------------------------------------------------------------------------------


def name_in_files(thing):
    """Return PyTorch's (module, name) for a class or function; autolab's get the names of PyTorch's counterparts."""
    module, name = thing.__module__, thing.__qualname__
    if module == "autolab" or module.startswith("autolab."):
        for place in ("nn", "optim", "optim.lr_scheduler"):
            if getattr(importlib.import_module(f"autolab.{place}"), name, None) is thing:
                return f"torch.{place}", name
        if module.startswith("autolab.vision"):
            return "torchvision" + module[len("autolab.vision") :], name
        module = "torch" + module[len("autolab") :]
    return module, name


def in_python3(module, name):
    """Return the Python 3 name for a Python 2 name in a pickle of protocol 2."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


def find_here(module, name):
    """Return the object that a trusted file names; PyTorch's classes are looked up in autolab."""
    module, name = in_python3(module, name)
    full = f"{module}.{name}"
    if full in allowed_globals():
        return allowed_globals()[full]
    for prefix, place in (("torchvision", "autolab.vision"), ("torch", "autolab")):
        if module == prefix or module.startswith(f"{prefix}."):
            return _find_class(place + module[len(prefix) :], name, full)
    value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _find_class(module, name, full):
    places = [module, *(f"autolab.{place}" for place in ("nn", "optim", "optim.lr_scheduler"))]
    for place in places:
        try:
            value = getattr(importlib.import_module(place), name, None)
        except ImportError:
            continue
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            return value
    raise fail(
        AttributeError,
        f"Can't get attribute '{name}' on <module '{full.rpartition('.')[0]}'>",
        f"The file holds a {full}, which autolab does not have. Save the state_dict() where the file was written.",
    )
