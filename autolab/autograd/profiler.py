"""`torch.autograd.profiler`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#profiler"""

from ..profiler.profile import (  # noqa: F401
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    older_profile as profile,
    record_function,
)
from .. import optim  # noqa: F401  modules that load first inside a profile have functions that report nothing
from ..nn import functional  # noqa: F401

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "profile",
    "record_function",
]
