"""Parse the arguments of `Module.to`, and types for arguments of modules."""

from collections.abc import Sequence
from types import FunctionType
from typing import TypeAlias

from autolab.engine.devices.device import DeviceLike, device as device_class  # noqa: F401 (DeviceLike is found here)
from autolab.engine.core.dtype import dtype as dtype_class
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.tensor import Tensor

Sizes: TypeAlias = int | Sequence[int]
"""One number for all dimensions, or one for each dimension."""


_FORMS = "Write to(device), to(dtype), to(device, dtype) or to(tensor)."


def parse_to(*args, device=None, dtype=None, tensor=None, non_blocking=False, **others):
    """Return (device, dtype, non_blocking) from the arguments of `to`: a device, a dtype, or a tensor with both."""
    for name, value in others.items():
        if name not in ("memory_format", "copy"):
            raise fail(TypeError, f"to() got an unexpected keyword argument '{name}'", _FORMS)
        if value:
            raise unsupported("to", name)
    for arg in args:
        if isinstance(arg, Tensor):
            tensor = arg
        elif isinstance(arg, dtype_class):
            dtype = arg
        elif isinstance(arg, bool):
            non_blocking = arg
        elif isinstance(arg, (str, int, device_class)):
            device = arg
        elif arg is not None:
            kind = type(arg).__name__
            raise fail(TypeError, f"to() received an invalid argument of type {kind}", _FORMS)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return None if device is None else device_class(device), dtype, non_blocking


def name_methods_after(cls, *names):
    """Copy inherited methods to `cls`, so that Python's own errors name the class: `Conv2d.__init__()`."""
    for name in names:
        method = getattr(cls, name)
        copy = FunctionType(
            method.__code__, method.__globals__, name, method.__defaults__, method.__closure__
        )
        copy.__kwdefaults__, copy.__doc__ = method.__kwdefaults__, method.__doc__
        copy.__annotations__, copy.__module__ = method.__annotations__, method.__module__
        copy.__qualname__ = f"{cls.__name__}.{name}"
        setattr(cls, name, copy)
