"""`device`: the name of the place where a tensor's memory is, and the host, the one place that the core itself knows.

The one object that stands for a device in use, such as `CPU`, also has its `backend`, which computes there. Operations
compare such objects with `is`. `engine/devices/` adds GPUs, real and simulated, and how a name is written and shown.
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
    if TYPE_CHECKING:  # what `engine/devices/` adds

        def __init__(self, type: Any, index: int | None = None) -> None: ...
        def __enter__(self) -> device: ...
        def __exit__(self, *error: object) -> None: ...

    @property
    def xp(self) -> Any:
        """The array module that computes on this device."""
        return self.backend.xp


def named(kind: str, index: int | None, backend: Any = None) -> device:
    """Return the name of device number `index` of a kind, or with `backend` the object that stands for it.

    >>> str(named("cuda", 1))
    'cuda:1'
    """
    self = object.__new__(device)
    for attribute, value in (("type", kind), ("index", index), ("backend", backend)):
        object.__setattr__(self, attribute, value)
    return self


class Host(nullcontext[None]):
    """The CPU as a backend: NumPy. The backend of another device has the same methods, and decides what may cross to
    it; arrays that are made inside `with backend:` lie there.

    >>> CPU.backend.xp.__name__, CPU.backend.adopt(None, 1.0)
    ('numpy', array(1.))
    """

    simulated, host, alive = False, True, True
    xp, array = np, np.ndarray

    def run(self, state: Any, kernel: Callable[..., Any], *args: Any) -> Any:
        """Return `kernel(*args)`, computed with NumPy's warnings off."""
        return state.run(kernel, *args)

    def adopt(self, op: Any, result: Any) -> Any:
        """Return what the kernel of `op` gave as an array (or NumPy scalar) of this device."""
        return (
            result
            if result.__class__ is np.ndarray or isinstance(result, np.generic)
            else np.asarray(result)
        )

    def preview(self, array: Any, most: int) -> Any:
        """Return what the explorer shows of a result: itself if it has at most `most` elements, else (shape, dtype)."""
        return (
            array
            if array.__class__ is not np.ndarray or array.size <= most
            else (array.shape, array.dtype)
        )


HOST = Host()
CPU = named("cpu", None, HOST)
ARRAY_CLASSES: dict[type, Callable[[Any], device]] = {np.ndarray: lambda array: CPU}
"""The classes of arrays in use, each with a function that tells on which device an array of the class is."""


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
    """Return a raw array with the same number everywhere. dtype: a `dtype` of the engine.

    >>> filled(CPU, 1, (2,), torch.float32)
    array([1., 1.], dtype=float32)
    """
    with where.backend:
        return where.xp.full(shape, value, dtype.np)
