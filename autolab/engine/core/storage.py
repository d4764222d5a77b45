"""`Storage`: what all views of one memory share."""
from __future__ import annotations

from typing import Any


class Storage:
    """Version counter and device shared by a tensor and its views.

    version: how often the memory was modified in place. The graph remembers the version it saved and refuses a stale value.
    array: the array that owns the memory, set once a view of it is taken (a 0-d result is a NumPy scalar until then).

    """

    # No __init__: two plain stores after object.__new__ cost 75 ns, a call of __init__ 145 ns, and one is made per op.
    __slots__ = ("version", "device", "array", "__weakref__")
    version: int
    device: Any
    array: Any


class InferenceStorage(Storage):
    """Memory of a tensor made under `inference_mode`: it must not enter a graph."""

    __slots__ = ()
