"""Read files of PyTorch before 1.6: five pickles in a row, then the storages."""

import io
import sys

import numpy as np
from typing import Any

from autolab.engine.core.errors import fail
from autolab.serialization import pickles, reading
from autolab.serialization.errors import AGAIN, UNSAFE, kind_note, refuse
from autolab.serialization.rebuild import Storage, UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def load(file, restore, weights_only):
    """Return the content of the file. Raises like `torch.load`."""
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
    ):  # don't pass data that is not a pickle to Python's unpickler
        message = f"invalid load key, '{content[:1].decode('latin1')}'."
        raise refuse(message, kind_note(content[:64]))
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
    reading.check_order("little" if little else "big")
    start = stream.tell()
    declared: dict[Any, Any] = {}
    roots: dict[Any, Any] = {}

    def read(storage):
        stream.seek(start)
        if weights_only:
            return pickles.load(stream, storage)
        return reading.trusting(stream, storage).load()

    def declare(pid):
        """Register a storage and return one filled with zeros: its content comes later in the file."""
        kind, key, _, numel = _checked(pid)
        if numel * kind.itemsize > len(content):
            raise fail(RuntimeError, "unexpected EOF. The file might be corrupted.", AGAIN)
        if declared.setdefault(key, (kind, numel))[1] != numel:
            raise refuse(f"storage {key} is named twice with different sizes")
        return Storage(UntypedStorage(np.zeros(numel * kind.itemsize, np.uint8)), kind.kind)

    def storage(pid):
        kind, key, location, _ = _checked(pid)
        if key not in roots:
            roots[key] = Storage(restore(UntypedStorage(raw[key]), location), kind.kind)
        return roots[key]

    read(declare)
    raw = _storages(stream, declared)
    return read(storage)


def _no_storage(pid):
    raise refuse("a storage is named where none can be")


def _checked(pid):
    if len(pid) != 6:
        raise refuse(f"a storage is named by 6 things, but got {len(pid)}")
    _, kind, key, location, numel, view = pid
    reading.checked_id(kind, key, location, numel)
    if view is not None:
        raise refuse(
            f"storage {key} is a view of another one", "Only PyTorch before 0.4 wrote such files."
        )
    return kind, key, location, numel


def _storages(stream, declared):
    """Return the bytes of each storage by key. In the file they follow the list of keys, each after its number of
    elements."""
    keys = pickles.load(stream, _no_storage)
    if type(keys) is not list or sorted(map(str, keys)) != sorted(declared):
        message = "the list of storages does not name those that the tensors need"
        raise fail(RuntimeError, message, AGAIN)
    contents = {}
    for key in keys:
        kind, numel = declared[key]
        size = numel * kind.itemsize
        count = int.from_bytes(stream.read(8), sys.byteorder, signed=True)
        content = stream.read(size)
        if count != numel or len(content) != size:
            message = f"storage has wrong byte size: expected {size} got {count * kind.itemsize}"
            if count == numel:
                message = f"unexpected EOF, expected {size - len(content)} more bytes. The file might be corrupted."
            raise fail(RuntimeError, message, "The file ends too early. " + AGAIN)
        contents[key] = np.frombuffer(bytearray(content), np.uint8)
    return contents
