"""Files of PyTorch before 1.6: five pickles in a row, then the storages."""

import io
import sys
from typing import Any

import numpy as np

from autolab.engine.core.errors import fail
from autolab.serialization import pickles, reading
from autolab.serialization.errors import AGAIN, UNSAFE, kind_note, refuse
from autolab.serialization.names import allowed_globals
from autolab.serialization.rebuild import Storage, UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def load(file, restore, weights_only, pickle_load_args):
    """What the file holds. Raises as `torch.load` does."""
    content = file.read()
    if content[257:262] == b"ustar":
        note = "Written by PyTorch before 0.1.11, or a tar archive. Load it in PyTorch and save it again; an archive has to be unpacked."
        if weights_only:
            message = (
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
                + UNSAFE
            )
            raise fail(RuntimeError, message, note)
        raise fail(
            NotImplementedError,
            "files saved in the legacy .tar format are not supported by autolab",
            note,
        )
    stream = io.BytesIO(content)
    if (
        not weights_only and content[:1] != b"\x80"
    ):  # Python's unpickler is not asked about what is no pickle
        raise refuse(
            f"invalid load key, '{content[:1].decode('latin1')}'.", kind_note(content[:64])
        )
    magic = pickles.load(stream, _no_storage)
    if type(magic) is not int or magic != MAGIC_NUMBER:
        note = (
            "A pickle, but not one that torch.save wrote: read it with the library that made it. "
        )
        raise fail(RuntimeError, "Invalid magic number; corrupt file?", note)
    version = pickles.load(stream, _no_storage)
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise fail(RuntimeError, f"Invalid protocol version: {version}", AGAIN)
    system = pickles.load(stream, _no_storage)
    little = system.get("little_endian", True) if isinstance(system, dict) else True
    start = stream.tell()
    ids, _ = pickles.scan(
        stream
    )  # which storages there are: their content comes after the pickle that needs it
    raw = _storages(stream, ids, "little" if little else "big")
    stream.seek(start)
    roots, views = {}, {}

    def storage(pid):
        _, kind, key, location, numel, view = _checked(pid)
        if key not in roots:
            roots[key] = restore(UntypedStorage(raw[key]), location)
        whole = roots[key]
        view_key, first, count = (None, 0, numel) if view is None else view
        name = key, kind.kind, view_key
        if name not in views:
            part = whole.raw[first * kind.itemsize : (first + count) * kind.itemsize]
            views[name] = Storage(UntypedStorage(part, whole.device), kind.kind)
        return views[name]

    if weights_only:
        return pickles.load(stream, storage)
    return reading.trusting(stream, storage, pickle_load_args).load()


def _no_storage(pid):
    raise refuse("a storage is named where none can be")


def _checked(pid):
    if len(pid) != 6:
        raise refuse(f"a storage is named by 6 things, but got {len(pid)}")
    _, kind, key, location, numel, view = pid
    reading.checked_id(kind, key, location, numel)
    if view is not None and not (
        type(view) is tuple
        and len(view) == 3
        and type(view[0]) is str
        and all(type(n) is int and n >= 0 for n in view[1:])
        and view[1] + view[2] <= numel
    ):
        raise refuse(f"a view of storage {key} lies outside of it: {view!r}")
    return pid


def _storages(stream, ids, order):
    """The bytes of each storage by key; they follow the list of keys, each after its number of elements."""
    declared: dict[str, tuple[Any, int]] = {}
    for pid in ids:
        if type(pid) is not tuple or len(pid) != 6 or not isinstance(pid[1], pickles.Named):
            raise refuse(f"a storage is named by {pid!r}")
        kind = allowed_globals().get(str(pid[1].name), pid[1].name)
        key = reading.checked_id(kind, pid[2], pid[3], pid[4])
        if declared.setdefault(key, (kind, pid[4]))[1] != pid[4]:
            raise refuse(f"storage {key} is named twice with different sizes")
    keys = pickles.load(stream, _no_storage)
    if type(keys) is not list or sorted(map(str, keys)) != sorted(declared):
        raise fail(
            RuntimeError, "the list of storages does not name those that the tensors need", AGAIN
        )
    contents = {}
    position, size = stream.tell(), stream.getbuffer().nbytes
    for key in keys:
        kind, numel = declared[key]
        stream.seek(position)
        count = int.from_bytes(stream.read(8), order, signed=True)
        if count != numel:
            message = f"storage has wrong byte size: expected {numel * kind.itemsize} got {count * kind.itemsize}"
            raise fail(
                RuntimeError,
                message,
                "A tensor's memory has another size than the tensor needs. " + AGAIN,
            )
        position += 8
        missing = position + numel * kind.itemsize - size
        if missing > 0:
            message = f"unexpected EOF, expected {missing} more bytes. The file might be corrupted."
            raise fail(RuntimeError, message, "The file ends too early. " + AGAIN)
        raw = np.frombuffer(stream.getbuffer(), np.uint8, numel * kind.itemsize, position).copy()
        contents[key] = raw if order == sys.byteorder else reading.swapped(raw, kind)
        position += numel * kind.itemsize
    return contents
