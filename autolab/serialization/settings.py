"""Types for the sources of files and for the devices of tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeAlias

from autolab.engine.devices.device import device

File: TypeAlias = str | os.PathLike[str] | IO[bytes]
MapLocation: TypeAlias = str | device | Mapping[str, str] | Callable[[Any, str], Any] | None
"""Where storages go: where they were saved from, to one device, to others by name, or as a function (storage, location)
says."""
