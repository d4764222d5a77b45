"""`torch.load`: zip files of PyTorch 1.6 and later. `legacy.py` reads older files.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.load.html
"""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.serialization import legacy, pickles
from autolab.serialization.errors import AGAIN, UNSAFE, corrupted, refuse, weights_only_failed
from autolab.serialization.names import find_here
from autolab.serialization.rebuild import (
    Storage,
    StorageType,
    Unsupported,
    UntypedStorage,
    restorer,
)
from autolab.serialization.settings import File, MapLocation

_DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    ValueError,
    OverflowError,
    EOFError,
    OSError,
    struct.error,
)
_SHORTEST = 22  # bytes of an empty zip archive
_TRUST = (
    "torch.load with weights_only=False runs whatever code the file names: do it only with a file from a source you trust. "
    "A file with nothing but a state_dict() loads with weights_only=True."
)


def load(
    f: File,
    map_location: MapLocation = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Return the object that `torch.save` wrote into `f`: a path, or a binary file that can seek.

    map_location: where storages go: None (where they were saved from), a device or its name, a dict of names, or a
    function (storage, location) -> storage. weights_only: True unless said otherwise; False runs code that the file
    names. Raises NotImplementedError for mmap, pickle.UnpicklingError for content that weights_only does not allow,
    RuntimeError for a damaged file, OSError for one that cannot be opened.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save(torch.arange(3), file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        tensor([0, 1, 2])
    """
    weights_only = weights_only is None or bool(weights_only)
    if weights_only and pickle_module is not None:
        message = "Can not safely load weights when explicit pickle_module is specified"
        raise fail(RuntimeError, message, "Leave pickle_module out.")
    if pickle_module not in (None, pickle):
        raise unsupported("load", "pickle_module", "Python's own pickle is used.")
    if pickle_load_args:
        raise unsupported("load", next(iter(pickle_load_args)), "Pickles of Python 3 need none.")
    if not weights_only:
        warnings.warn(_TRUST, UserWarning, stacklevel=2)
    if mmap:
        raise unsupported("load", "mmap", "autolab reads all tensors at once; leave mmap out.")
    restore = restorer(map_location)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with open(path, "rb") as file:
            return _read(file, restore, weights_only)
    if not (hasattr(f, "seek") and hasattr(f, "read") and hasattr(f, "tell")):
        missing = next(name for name in ("seek", "tell", "read") if not hasattr(f, name))
        raise fail(
            AttributeError,
            f"'{type(f).__name__}' object has no attribute '{missing}'. You can only torch.load from a file that is seekable. "
            "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead.",
            "torch.load takes a path or an open binary file.",
        )
    content = f.read()
    if not isinstance(content, (bytes, bytearray)):
        raise fail(
            TypeError,
            "a bytes-like object is required, not 'str'",
            "Open the file in binary mode: open(path, 'rb').",
        )
    return _read(io.BytesIO(content), restore, weights_only)


def _read(file, restore, weights_only):
    head = file.read(4)
    file.seek(0)
    try:
        if head == b"PK\x03\x04":
            return _load_zip(Archive(file), restore, weights_only)
        return legacy.load(file, restore, weights_only)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise weights_only_failed(error) from None


# the archive ---------------------------------------------------------------------------------------------------------


class Archive:
    """A checked zip file: uncompressed records of known size in one folder."""

    def __init__(self, file):
        size = file.seek(0, os.SEEK_END)
        try:
            self.zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            note = "The file ends too early: downloading or copying was interrupted. " + AGAIN
            why = "not a ZIP archive" if size < _SHORTEST else "failed finding central directory"
            raise corrupted(f"reading zip archive: {why}", note) from error
        self.records = self._checked(self.zip.infolist(), size)

    def _checked(self, entries, size):
        """Return the entries by name within the archive's folder, after checking them."""
        folders, records, total = set(), {}, 0
        for entry in entries:
            folder, slash, name = entry.filename.partition("/")
            parts = entry.filename.split("/")
            if (
                not slash
                or ".." in parts
                or "" in parts[:-1]
                or "\\" in entry.filename
                or ":" in folder
            ):
                why = f"reading zip archive: unsafe record name {entry.filename!r}"
                raise corrupted(
                    why,
                    "Records lie in one folder of the archive; this one points elsewhere. Do not use the file.",
                )
            if name in records:
                raise corrupted(
                    f"reading zip archive: two records {entry.filename!r}",
                    "Which is meant cannot be known.",
                )
            if entry.flag_bits & 1:
                raise corrupted(
                    f"reading record {entry.filename!r}: it is encrypted",
                    "PyTorch does not encrypt.",
                )
            if entry.compress_type != zipfile.ZIP_STORED:
                raise corrupted(
                    f"reading record {entry.filename!r}: it is compressed ({entry.file_size:,} bytes from {entry.compress_size:,})",
                    "PyTorch stores records as they are. Unpack the archive and pack it again with `zip -0 -r`.",
                )
            total += entry.file_size
            if entry.file_size != entry.compress_size or total > size:
                raise corrupted(
                    f"reading zip archive: records of {total:,} bytes declared in a file of {size:,} bytes",
                    "Such an archive is made to fill a computer's memory, or it is damaged. Do not use it.",
                )
            folders.add(folder)
            records[name] = entry
        if len(folders) > 1:
            raise corrupted(
                f"reading zip archive: records in {len(folders)} folders", "A checkpoint has one."
            )
        if "data.pkl" not in records:
            note = "It is a zip archive, but not one that torch.save wrote. "
            raise corrupted(
                "locating file data.pkl: file not found",
                note + "Unpack it and look what is inside.",
            )
        return records

    def read(self, name):
        """Return the content of a small record. Raises RuntimeError if it is damaged."""
        try:
            return self.zip.read(self.records[name])
        except _DAMAGE as error:
            raise corrupted(f"reading file {name}: {error}") from error

    def array(self, name, nbytes):
        """Return a record as an array of bytes. Raises RuntimeError if it is missing, damaged, or not of this size."""
        entry = self.records.get(name)
        if entry is None:
            raise corrupted(
                f"locating file {name}: file not found", "A storage is missing. " + AGAIN
            )
        if entry.file_size != nbytes:
            raise fail(
                RuntimeError,
                f"record size ({entry.file_size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * 1 "
                "bytes/element) for dtype Byte",
                f"The record {name}, a tensor's memory, has another size than the tensor needs. "
                + AGAIN,
            )
        array = np.empty(nbytes, np.uint8)
        try:
            with self.zip.open(entry) as record:
                if record.readinto(array.data) != nbytes or record.read(1):  # type: ignore[attr-defined]
                    raise EOFError("it ends too early")
        except _DAMAGE as error:
            raise corrupted(f"reading file {name}: {error}") from error
        return array

    def check_byteorder(self):
        """Do `check_order` for the order that the file names; files of PyTorch before 2.1 name none."""
        if "byteorder" in self.records:
            check_order(self.read("byteorder").decode("latin1"))


def _load_zip(archive, restore, weights_only):
    if "constants.pkl" in archive.records:
        note = "It holds a compiled program. In PyTorch, torch.save(torch.jit.load(path).state_dict(), 'weights.pth') makes a file of weights."
        if weights_only:
            message = (
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
                + UNSAFE
            )
            raise fail(RuntimeError, message, note)
        raise fail(NotImplementedError, "TorchScript archives are not supported by autolab", note)
    archive.check_byteorder()
    storages: dict[str, Storage] = {}

    def storage(pid):
        if len(pid) != 5:
            raise refuse(f"a storage is named by 5 things, but got {len(pid)}")
        _, kind, key, location, numel = pid
        key = checked_id(kind, key, location, numel)
        if key not in storages:
            raw = archive.array(f"data/{key}", numel * kind.itemsize)
            storages[key] = Storage(restore(UntypedStorage(raw), location), kind.kind)
        elif storages[key].kind != kind.kind or storages[key].raw.size != numel * kind.itemsize:
            raise refuse(f"storage {key} is named twice with different types or sizes")
        return storages[key]

    content = archive.read("data.pkl")
    if weights_only:
        return pickles.load(io.BytesIO(content), storage)
    return trusting(io.BytesIO(content), storage).load()


def checked_id(kind, key, location, numel):
    """Return the key of a storage if its description is consistent. Raises UnpicklingError otherwise,
    NotImplementedError for quantised storages."""
    if isinstance(kind, Unsupported):
        kind()
    if not isinstance(kind, StorageType):
        raise refuse(f"a storage's type is {kind!r}")
    if type(location) is not str or type(numel) is not int or type(key) is not str:
        raise refuse(f"a storage is named by {key!r}, {location!r}, {numel!r}")
    if numel < 0:
        raise refuse(f"Trying to create a storage with a negative number of elements: {numel}")
    return key


def check_order(order):
    """Raise NotImplementedError unless numbers in the byte order `order` can be read as they are."""
    if order != sys.byteorder:
        message = f"a file in byte order '{order}' is not supported by autolab"
        raise fail(NotImplementedError, message, "Save it again on a usual computer.")


def trusting(stream, persistent_load):
    """Load with Python's own unpickler, for trusted files; PyTorch's classes are looked up in autolab."""
    unpickler = _Trusting(stream, encoding="utf-8")
    unpickler.storage = persistent_load
    return unpickler


class _Trusting(pickle.Unpickler):
    storage: Callable[[Any], Any]

    def find_class(self, module, name):
        return find_here(module, name)

    def persistent_load(self, pid):
        return self.storage(pid)


def short_name(path):
    """Return the file's name without its extension, in a form allowed for the folder within an archive."""
    return (
        re.sub(r"[^\w.-]", "_", os.path.splitext(os.path.basename(os.fspath(path)))[0]) or "archive"
    )
