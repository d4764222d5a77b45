"""What a computation did, as data: `trace` a result, `record` code while it runs, read either as text."""

import sys
import types

from ..engine.ops.functions import NAMESPACES
from .devices.model import DeviceTrace
from .devices.recording import DeviceRecording, record_devices
from .graph import trace
from .model import Edge, Frame, Group, Node, Output, Saved, Source, Trace
from .record import Recording, record
from .values import Value

__all__ = [
    "DeviceRecording",
    "DeviceTrace",
    "Edge",
    "Frame",
    "Group",
    "Node",
    "Output",
    "Recording",
    "Saved",
    "Source",
    "Trace",
    "Value",
    "record",
    "record_devices",
    "trace",
]


class _Package(types.ModuleType):
    """`autolab.trace` is this package, and `torch.trace(matrix)` a function.

    Calling the package sums a matrix's diagonal.
    """

    def __call__(self, input):
        return NAMESPACES[""]["trace"](input)


sys.modules[__name__].__class__ = _Package
