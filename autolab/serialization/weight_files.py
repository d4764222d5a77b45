"""Weights from files: .safetensors, and checkpoints of PyTorch. Source: https://huggingface.co/docs/safetensors"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from autolab.engine.devices import device as devices
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor, materialise
from autolab.serialization.errors import AGAIN, kind_note
from autolab.serialization.rebuild import Storage, UntypedStorage, device_at
from autolab.serialization.writing import replacing
from autolab.serialization.settings import MapLocation

_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}


def _library():
    try:
        import safetensors
    except ImportError as error:
        message = "reading weights from a file needs the package safetensors"
        raise fail(ImportError, message, "Install it with: pip install safetensors") from error
    return safetensors


def read_weights(
    path: str | os.PathLike[str], map_location: MapLocation = None
) -> OrderedDict[str, Tensor]:
    """Return the tensors of a file by name: an OrderedDict, as `state_dict()` gives it.

    path: .safetensors, or a checkpoint of PyTorch (.pth, .pt, .bin) that holds a state dict. Raises OSError if a file
        is missing, ValueError or pickle.UnpicklingError if it is damaged or contains anything but named tensors.
    """
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise fail(FileNotFoundError, f"no weights file '{path}'", "Is the path right?")
    if path.endswith(".index.json"):
        message = f"'{path}' is an index of several files, which autolab does not put together"
        raise fail(NotImplementedError, message, "Read each of them, and merge the dicts.")
    if path.endswith(".safetensors"):
        return load_safetensors(path, map_location)
    from autolab.serialization.reading import load

    return _only_tensors(load(path, map_location, weights_only=True), path)


def _only_tensors(state, path):
    if not isinstance(state, dict):
        note = f"The file holds a {type(state).__name__}. Load it with torch.load(path) and look."
        raise fail(ValueError, f"'{path}' does not hold tensors by name", note)
    others = [
        name
        for name, value in state.items()
        if not (isinstance(name, str) and isinstance(value, Tensor))
    ]
    if others:
        inner = next((name for name in others if isinstance(state[name], dict)), None)
        note = f"It holds {', '.join(map(repr, list(state)[:8]))}. "
        if inner is not None:
            note += (
                f"Perhaps torch.load(path)[{inner!r}] is what you want: load_state_dict takes it."
            )
        raise fail(
            ValueError,
            f"'{path}' holds more than tensors by name: {others[0]!r} is a {type(state[others[0]]).__name__}",
            note,
        )
    return state if isinstance(state, OrderedDict) else OrderedDict(state)


# safetensors ---------------------------------------------------------------------------------------------------------


def load_safetensors(
    path: str | os.PathLike[str], map_location: MapLocation = None
) -> OrderedDict[str, Tensor]:
    """Return the tensors of a .safetensors file by name.

    Raises ImportError without the package safetensors, FileNotFoundError, ValueError for a damaged file, RuntimeError
    for an unavailable device.
    """
    place = _one_device(map_location)
    library = _library()
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        raise fail(FileNotFoundError, f"no weights file '{path}'", "Is the path right?") from None
    _check_header(path, content)
    try:
        entries = library.deserialize(content)
    except library.SafetensorError as error:
        raise fail(
            ValueError, f"'{path}' is not a whole .safetensors file: {error}", AGAIN
        ) from error
    tensors = OrderedDict()
    for name, entry in sorted(entries, key=lambda pair: pair[0]):
        kind = _NAMES.get(entry["dtype"])
        if kind is None:
            message = f"dtype '{entry['dtype']}' is not supported by autolab"
            note = f"'{name}' in '{path}' has it; NumPy has no such numbers. Convert the file to F32 or F16."
            raise fail(NotImplementedError, message, note)
        size = tuple(entry["shape"])
        strides = tuple(math.prod(size[i + 1 :]) for i in range(len(size)))
        raw = np.frombuffer(bytearray(entry["data"]), np.uint8)
        tensors[name] = Storage(UntypedStorage(raw, place), kind).tensor(0, size, strides, kind)
    return tensors


def _one_device(map_location):
    if isinstance(map_location, dict) or (
        callable(map_location) and not isinstance(map_location, devices.device)
    ):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise fail(
            RuntimeError,
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device "
            "instead.",
            "Such a file does not say which device its tensors were on.",
        )
    return devices.CPU if map_location is None else device_at(str(map_location))


def _check_header(path, content):
    """Check the header (8 bytes of length, then JSON), to raise clearer errors than the library's."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or content[8:9] != b"{":
        raise fail(
            ValueError,
            f"'{path}' is not a whole .safetensors file: it has no header",
            kind_note(content[:64]),
        )
    if length > len(content) - 8:
        message = f"'{path}' is not a whole .safetensors file: a header of {length:,} bytes in a file of {len(content):,}"
        raise fail(
            ValueError,
            message,
            "The file ends too early, or it was made to fill a computer's memory. " + AGAIN,
        )


def save_safetensors(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
) -> None:
    """Write named tensors into a .safetensors file (atomically, as `torch.save` does).

    tensors: a dict of names. metadata: a dict of texts. Raises TypeError for anything but tensors, RuntimeError when
    two share memory, because the format cannot say so.
    """
    _library()
    entries: dict[str, Any] = {}
    memory: dict[Any, Any] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            note = "This format holds named tensors and nothing else; torch.save writes anything."
            raise fail(
                TypeError, f"'{name}' is a {type(tensor).__name__}, expected a tensor by name", note
            )
        if tensor.dtype.name not in _NAMES.values():
            raise fail(
                TypeError,
                f"'{name}' has dtype {tensor.dtype}, which .safetensors files cannot hold",
                "Convert it.",
            )
        array = np.asarray(materialise(tensor.detach().cpu()), order="C")
        key = (
            (tensor.device, materialise(tensor).__array_interface__["data"][0])
            if tensor.device == devices.CPU
            else None
        )
        other = memory.setdefault(key, name) if key is not None and tensor.numel() else name
        if other != name:
            message = f"Some tensors share memory, this will lead to duplicate memory on disk: {other!r}, {name!r}"
            raise fail(
                RuntimeError,
                message,
                "Leave one out, or write clone(); torch.save keeps them shared.",
            )
        entries[name] = array
    from safetensors.numpy import save

    content = save(entries, metadata)
    with replacing(path) as file:
        file.write(content)
