"""The results of a profiler: one event per call, their averages by name, and both as a table.

Source: https://docs.pytorch.org/docs/2.13/profiler.html"""

from __future__ import annotations

import enum
from typing import Any

from .devices import give_kernels
from .names import INLINED
from .table import table


class DeviceType(enum.Enum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class Interval:
    """From `start` to `end`, in µs since the profiler was started."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return the length in µs."""
        return self.end - self.start


class _Sums:
    """Fields that events and averages share."""

    device_type = DeviceType.CPU
    cpu_time_total: float = 0
    self_cpu_time_total: float = 0
    device_time_total: float = 0
    self_device_time_total: float = 0


_SUMS = [name for name in vars(_Sums) if name.endswith("_total")]
FUNCTION_SCOPE, BACKWARD_SCOPE, USER_SCOPE = 0, 1, 7


class FunctionEvent(_Sums):
    """One call of one op: its `name`, its `time_range` in µs, and the calls inside it (`cpu_children`)."""

    count = 1

    def __init__(self, id: int, row: Any, origin: float, thread: int) -> None:
        start, end = (round((moment - origin) / 1000, 5) for moment in (row.start, row.end))
        self.id, self.thread = id, thread
        self.name = self.key = row.name
        self.time_range = Interval(start, end)
        self.input_shapes, self.sequence_nr, self.scope = row.shapes, row.sequence_nr, row.scope
        self.fwd_thread = thread if row.backward else 0
        self.is_user_annotation = row.scope == USER_SCOPE
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Any] = []

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Return the µs from its start to its end."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def device_time(self) -> float:
        """Return the µs that a device was busy for this call."""
        return self.device_time_total

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Return the µs spent in the call itself, outside the calls inside it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)


class DeviceEvent(_Sums):
    """A kernel or a copy that ran on a device: an event beside the call that launched it."""

    count, device_type = 1, DeviceType.CUDA
    cpu_time, sequence_nr, scope, fwd_thread = 0, -1, FUNCTION_SCOPE, 0
    is_user_annotation, cpu_parent = False, None

    def __init__(self, id, kernel):
        self.id, self.thread = id, kernel.device
        self.name = self.key = kernel.name
        self.time_range = Interval(kernel.start, kernel.start + kernel.duration)
        self.device_index, self.device_resource_id = kernel.device, kernel.stream
        self.device_time = self.device_time_total = kernel.duration
        self.self_device_time_total = kernel.duration
        self.input_shapes, self.cpu_children, self.kernels = [], [], []


class FunctionEventAvg(_Sums):
    """All calls under one `key`: how many (`count`), their times in µs, summed; `cpu_time` is the mean."""

    def __init__(self, first: Any) -> None:
        self.key, self.count = first.key, 0
        self.input_shapes: Any = ""
        self.device_type = first.device_type
        self.scope, self.is_user_annotation = first.scope, first.is_user_annotation

    def add(self, event: Any) -> None:
        """Add an event to the sums."""
        self.count += 1
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(event, name))

    @property
    def cpu_time(self) -> float:
        """Return the mean µs of one call."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Return the mean µs that a device was busy for one call."""
        return self.device_time_total / self.count


class EventList(list):
    """Events, or averages of events. `str(events)` is their table."""

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Return the µs in all events together, with nothing counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        *,
        max_name_column_width: int | None = 55,
    ) -> str:
        """Return the events as text, one a line.

        sort_by: an attribute, largest first: 'cpu_time', 'cpu_time_total', 'self_cpu_time_total', 'count'; of devices
        'cuda_time', 'cuda_time_total', 'self_cuda_time_total'. row_limit: how many, -1 for all. Raises AttributeError
        for another sort_by. Source: torch.autograd.profiler.EventList.table."""
        events: list[Any] = self
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            events = sorted(self, key=lambda event: getattr(event, name), reverse=True)
        return table(events, row_limit, max_name_column_width)

    def key_averages(self, group_by_input_shapes: bool = False) -> EventList:
        """Return one FunctionEventAvg per name, in the order of first calls; per name and shapes if wanted."""
        averages: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ""
            key = event.key, event.device_type, str(shapes)
            if key not in averages:
                averages[key] = FunctionEventAvg(event)
                averages[key].input_shapes = shapes
            averages[key].add(event)
        return EventList(averages.values())


def _shown(rows):
    """Return the rows in order, outer ones before inner ones, without functions that only call an op of the same
    name."""
    rows = sorted(
        rows, key=lambda row: (row.start, -row.end)
    )  # stable: of two equal intervals, the one opened first is the outer
    hidden: set[int] = set()
    inside: list[Any] = []
    for row in rows:
        while inside and inside[-1].end < row.end:
            inside.pop()
        if inside and inside[-1].composed and inside[-1].name == row.name:
            hidden.add(id(inside[-1]))
        if inside and row.composed and (inside[-1].name, row.name) in INLINED:
            hidden.add(id(row))
        inside.append(row)
    return [row for row in rows if id(row) not in hidden]


def events_of(rows, origin, thread=1, kernels=()):
    """Return the FunctionEvents of a profiler's rows, each with the calls inside it; times from `origin` (ns).

    kernels: (when it was launched, name, device, stream, start, duration), in ns; they follow as events of their
    own."""
    rows = _shown(rows)
    events: list[FunctionEvent] = []
    inside: list[tuple[int, FunctionEvent]] = []
    for id, row in enumerate(rows, 1):
        event = FunctionEvent(id, row, origin, thread)
        while inside and inside[-1][0] < row.end:
            inside.pop()
        if inside:
            event.cpu_parent = inside[-1][1]
            event.cpu_parent.cpu_children.append(event)
        inside.append((row.end, event))
        events.append(event)
    launched = give_kernels(events, rows, kernels, origin)
    for event in reversed(events):  # children come after their parents
        event.self_device_time_total = sum(kernel.duration for kernel in event.kernels)
        inside_it = sum(child.device_time_total for child in event.cpu_children)
        event.device_time_total = event.self_device_time_total + inside_it
    return events + [DeviceEvent(id, k) for id, k in enumerate(launched, len(events) + 1)]
