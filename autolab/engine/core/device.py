"""`device`: where a tensor's memory is. The core itself knows only the host.

One object stands for each device in use, such as `CPU`; operations compare these objects with `is`. The object has a
`backend`, which computes on the device. `engine/devices/` adds real and simulated GPUs, and the syntax of device names.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np


class device:
    """`torch.device('cpu')`, `torch.device('cuda:0')`, `torch.device('cuda', 0)`; 'sim:0' is a simulated GPU.

    Raises RuntimeError for a type torch does not know. Source: torch.device.

    >>> torch.device("cuda", 1).index
    1
    """

    __slots__ = ("type", "index", "backend")
    type: str
    index: int | None
    backend: Any
    if TYPE_CHECKING:  # added by `engine/devices/`

        def __init__(self, type: Any, index: int | None = None) -> None: ...
        def __enter__(self) -> device: ...
        def __exit__(self, *error: object) -> None: ...

    @property
    def xp(self) -> Any:
        """The array module that computes on this device."""
        return self.backend.xp


def named(kind: str, index: int | None, backend: Any = None) -> device:
    """Return the name of device number `index` of a kind; with `backend`, return the object that stands for the device.

    >>> str(named("cuda", 1))
    'cuda:1'
    """
    self = object.__new__(device)
    for attribute, value in (("type", kind), ("index", index), ("backend", backend)):
        object.__setattr__(self, attribute, value)
    return self


class Host(nullcontext[None]):
    """The CPU as a backend: NumPy. The backend of another device has the same methods, and decides which values may
    move to it. Arrays made inside `with backend:` are on its device.

    >>> CPU.backend.xp.__name__, CPU.backend.adopt(None, 1.0)
    ('numpy', array(1.))
    """

    simulated, host, alive = False, True, True
    xp, array = np, np.ndarray

    def run(self, state: Any, kernel: Callable[..., Any], *args: Any) -> Any:
        """Return `kernel(*args)`, computed with NumPy's warnings off."""
        return state.run(kernel, *args)

    def adopt(self, op: Any, result: Any) -> Any:
        """Return the result of `op`'s kernel as an array (or NumPy scalar) of this device."""
        return (
            result
            if result.__class__ is np.ndarray or isinstance(result, np.generic)
            else np.asarray(result)
        )

    def preview(self, array: Any, most: int) -> Any:
        """Return what the explorer shows for a result: the array if it has at most `most` elements, else (shape,
        dtype)."""
        return (
            array
            if array.__class__ is not np.ndarray or array.size <= most
            else (array.shape, array.dtype)
        )


HOST = Host()
CPU = named("cpu", None, HOST)
ARRAY_CLASSES: dict[type, Callable[[Any], device]] = {np.ndarray: lambda array: CPU}
"""The array classes in use. Each maps to a function that returns the device of an array."""


def of(array: Any) -> device:
    """Return the device of a raw array or NumPy scalar.

    >>> of(np.ones(3)) is CPU
    True
    """
    kind = array.__class__
    return (
        CPU if kind is np.ndarray or isinstance(array, np.generic) else ARRAY_CLASSES[kind](array)
    )


def copied(array: Any) -> Any:
    """Return a row-major copy of a raw array, with memory of its own, on the same device.

    >>> copied(np.ones((2, 3)).T).flags.c_contiguous
    True
    """
    with of(array).backend:
        return array.copy()


def plus(a: Any, b: Any) -> Any:
    """Return the sum of two raw arrays of one device.

    >>> plus(np.ones(2), np.ones(2))
    array([2., 2.])
    """
    if a.__class__ is np.ndarray or isinstance(a, np.generic):
        return a + b
    with of(a).backend:
        return a + b


def filled(where: device, value: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a raw array filled with one number. dtype: a `dtype` of the engine.

    >>> filled(CPU, 1, (2,), torch.float32)
    array([1., 1.], dtype=float32)
    """
    with where.backend:
        return where.xp.full(shape, value, dtype.np)
