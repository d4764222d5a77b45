"""How files without a byte order of their own are read. Source: torch.serialization."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import IO, Any, TypeAlias

from autolab.engine.core.errors import fail
from autolab.engine.devices.device import device

File: TypeAlias = str | os.PathLike[str] | IO[bytes]
MapLocation: TypeAlias = str | device | Mapping[str, str] | Callable[[Any, str], Any] | None
"""Where storages go: where they were saved from, to one device, to others by name, or as a function (storage, location)
says."""


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs (written before PyTorch 2.1)."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not say theirs; None means little-endian."""
    return _default


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets that byte order: a `LoadEndianness` or None. Raises TypeError for anything else."""
    global _default
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise fail(
            TypeError,
            "Invalid argument type in function set_default_load_endianness",
            "Pass torch.serialization.LoadEndianness.LITTLE, .BIG, .NATIVE or None.",
        )
    _default = endianness
