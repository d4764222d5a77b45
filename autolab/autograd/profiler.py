"""`torch.autograd.profiler`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#profiler"""

from ..engine.autograd.profiler import (  # noqa: F401
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    profile,
    record_function,
)
