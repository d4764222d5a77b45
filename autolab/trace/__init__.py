"""What a computation did, as data: `trace` a result, `record` code while it runs, read either as text."""

from .graph import trace
from .model import Edge, Frame, Group, Node, Output, Saved, Source, Trace
from .record import Recording, record
from .values import Value

__all__ = [
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
    "trace",
]
