"""What a profiler measured: one event per call, their averages by name, and both as a table or a Chrome trace.

Source: https://docs.pytorch.org/docs/2.13/profiler.html; the trace's format: "Trace Event Format", Google (2016)."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable
from typing import Any

from ..engine.core.errors import fail
from .devices import give_kernels, lanes, with_bytes
from .names import INLINED
from .table import format_time, table


class DeviceType(enum.Enum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class Interval:
    """From `start` to `end`, in µs since the profiler was started."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length in µs."""
        return self.end - self.start


def _as_text(name: str) -> property:
    return property(
        lambda self: format_time(getattr(self, name)), doc=f"`{name}` as text, with its unit."
    )


class _Formatted:
    """The times of an event or an average as text: `cpu_time_str` for `cpu_time`."""

    device_type, node_id, overload_name = DeviceType.CPU, -1, ""
    use_device: str | None = None
    device_time_total: float = 0
    self_device_time_total: float = 0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False

    cpu_time_str, cpu_time_total_str = _as_text("cpu_time"), _as_text("cpu_time_total")
    self_cpu_time_total_str = _as_text("self_cpu_time_total")
    device_time_str, device_time_total_str = _as_text("device_time"), _as_text("device_time_total")
    self_device_time_total_str = _as_text("self_device_time_total")


class FunctionEvent(_Formatted):
    """One call of one op: its `name`, its `time_range` in µs, the bytes that it allocated, and the calls inside it
    (`cpu_children`)."""

    count = 1

    def __init__(self, id: int, row: Any, origin: float, thread: int) -> None:
        start, end = (round((moment - origin) / 1000, 5) for moment in (row.start, row.end))
        self.id, self.thread, self.trace_name = id, thread, row.name
        self.name = self.key = "ProfilerStep*" if row.name.startswith("ProfilerStep#") else row.name
        self.time_range = Interval(start, end)
        self.input_shapes, self.self_cpu_memory_usage = row.shapes, row.allocated
        self.sequence_nr, self.scope, self.flops = row.sequence_nr, row.scope, row.flops
        self.is_python_function = row.python
        self.fwd_thread = thread if row.backward else 0
        self.is_user_annotation = row.scope == USER_SCOPE
        self.stack: list[str] = []
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Any] = []
        self.cpu_memory_usage = self.device_time_total = self.self_device_time_total = 0
        self.self_device_memory_usage = row.on_device

    @property
    def cpu_time_total(self) -> float:
        """µs from its start to its end."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    device_time = property(
        lambda self: self.device_time_total, doc="µs that a device was busy for this call."
    )

    @property
    def self_cpu_time_total(self) -> float:
        """µs that were spent in it and in none of the calls inside it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {self.use_device}_time={self.device_time_str} name={self.name} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


FUNCTION_SCOPE, BACKWARD_SCOPE, USER_SCOPE = 0, 1, 7


class DeviceEvent(FunctionEvent):
    """A kernel or a copy that ran on a device: an event beside the call that launched it."""

    device_type = DeviceType.CUDA
    cpu_time = cpu_time_total = self_cpu_time_total = 0

    def __init__(self, id, kernel, use_device):
        self.id, self.thread, self.use_device = id, kernel.device, use_device
        self.name = self.key = self.trace_name = kernel.name
        self.time_range = Interval(kernel.start, kernel.start + kernel.duration)
        self.device_index, self.device_resource_id = kernel.device, kernel.stream
        self.device_time_total = self.self_device_time_total = kernel.duration
        self.input_shapes, self.stack, self.cpu_parent, self.cpu_children, self.kernels = (
            [],
            [],
            None,
            [],
            [],
        )
        self.self_cpu_memory_usage = self.cpu_memory_usage = self.flops = self.fwd_thread = 0
        self.sequence_nr, self.scope, self.is_python_function, self.is_user_annotation = (
            -1,
            FUNCTION_SCOPE,
            False,
            False,
        )


class FunctionEventAvg(_Formatted):
    """All calls under one `key`: how many (`count`), their times in µs and the bytes they allocated, summed; `cpu_time`
    is the mean."""

    def __init__(self, key: str, first: FunctionEvent | None = None) -> None:
        self.key, self.count = key, 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.cpu_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.device_time_total = self.self_device_time_total = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.device_type = DeviceType.CPU if first is None else first.device_type
        self.use_device = None if first is None else first.use_device
        self.scope = 0 if first is None else first.scope
        self.is_user_annotation = first is not None and first.is_user_annotation
        self.cpu_parent = None if first is None else first.cpu_parent
        self.cpu_children = [] if first is None else first.cpu_children

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Counts an event, or another average, in."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.device_time_total += other.device_time_total
        self.self_device_time_total += other.self_device_time_total
        self.device_memory_usage += other.device_memory_usage
        self.self_device_memory_usage += other.self_device_memory_usage
        self.flops += other.flops
        return self

    @property
    def cpu_time(self) -> float:
        """µs of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """µs that a device was busy for one call, on average."""
        return self.device_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f" self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """Events, or averages of events. `str(events)` is their table."""

    def __init__(
        self,
        *args: Iterable[Any],
        profile_memory: bool = False,
        with_flops: bool = False,
        with_stack: bool = False,
    ) -> None:
        super().__init__(*args)
        self.profile_memory, self.with_flops, self.with_stack = (
            profile_memory,
            with_flops,
            with_stack,
        )

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """µs in all events together, none counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, one a line.

        sort_by: an attribute, largest first: 'cpu_time', 'cpu_time_total', 'self_cpu_time_total', 'cpu_memory_usage',
        'self_cpu_memory_usage', 'count'; of devices 'cuda_time', 'cuda_time_total', 'self_cuda_time_total',
        'cuda_memory_usage', 'self_cuda_memory_usage'. row_limit: how many, -1 for all. time_unit: 's', 'ms', 'us' for
        one unit in all rows. Raises AttributeError for another sort_by. Source:
        torch.autograd.profiler.EventList.table."""
        events: list[Any] = self
        if sort_by is not None:
            name = (
                sort_by.replace("cuda", "device")
                .replace("xpu", "device")
                .replace("privateuse1", "device")
            )
            events = sorted(self, key=lambda event: getattr(event, name), reverse=True)
        return table(
            events,
            row_limit=row_limit,
            name_width=max_name_column_width,
            shapes_width=max_shapes_column_width,
            header=header,
            top_level_only=top_level_events_only,
            unit=time_unit,
            source_width=max_src_column_width,
            memory=self.profile_memory,
            flops=self.with_flops,
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One FunctionEventAvg per name, in the order of their first calls; when asked per name and shapes, and per the
        `group_by_stack_n` innermost callers (with_stack)."""
        averages: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            stack = event.stack[:group_by_stack_n] if group_by_stack_n > 0 else []
            key = (
                event.key,
                event.device_type,
                str(event.input_shapes) if group_by_input_shapes else "",
                *stack,
            )
            if key not in averages:
                averages[key] = FunctionEventAvg(event.key, event)
                averages[key].stack = stack
                if group_by_input_shapes:
                    averages[key].input_shapes = event.input_shapes
            averages[key].add(event)
        return EventList(averages.values(), **self._kinds())

    def _kinds(self) -> dict[str, bool]:
        return {
            kind: getattr(self, kind) for kind in ("profile_memory", "with_flops", "with_stack")
        }

    def total_average(self) -> FunctionEventAvg:
        """All events as one FunctionEventAvg with the key 'Total'."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events to the file `path` for chrome://tracing and https://ui.perfetto.dev. Source:
        torch.autograd.profiler.profile."""
        write_chrome_trace(self, path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Writes a line per call with its callers, outermost first, and its `metric` ('self_cpu_time_total') to the
        file `path`, as flame graph tools read them. Raises AssertionError unless the profile was made with_stack,
        ValueError for another metric."""
        if not self.with_stack:
            raise fail(
                AssertionError,
                "export_stacks() requires with_stack=True",
                "Only then the callers are recorded.",
            )
        known = [
            "self_cpu_time_total",
            "self_cuda_time_total",
            "self_xpu_time_total",
            "self_privateuse1_time_total",
        ]
        if metric not in known:
            raise fail(ValueError, f"metric should be one of: {known}", "Only the CPU is timed.")
        name = metric if metric == known[0] else "self_device_time_total"
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                if event.stack and int(getattr(event, name)) > 0:
                    callers = ";".join(
                        call.translate(_NO_SEPARATORS) for call in reversed(event.stack)
                    )
                    file.write(f"{callers} {int(getattr(event, name))}\n")


_NO_SEPARATORS = str.maketrans(" ;\t\n", "____")


def _shown(rows):
    """The rows in order, outer ones before those inside; without functions that only hand on to an op of the same
    name."""
    rows = sorted(
        rows, key=lambda row: (row.start, -row.end)
    )  # stable: of two that coincide, the one opened first is the outer
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


def events_of(rows, origin, thread=1, changes=(), kernels=(), use_device=None):
    """The FunctionEvents of a profiler's rows, each with the calls inside it; times from `origin` (ns).

    changes: (when in ns, 'allocated' or 'on_device', bytes). kernels: (when it was launched, name, device, stream,
    start, duration), in ns; they follow as events of their own."""
    rows = with_bytes(_shown(rows), changes)
    events: list[FunctionEvent] = []
    inside: list[tuple[int, FunctionEvent]] = []
    for id, row in enumerate(rows, 1):
        event = FunctionEvent(id, row, origin, thread)
        event.use_device = use_device
        while inside and inside[-1][0] < row.end:
            inside.pop()
        if inside:
            event.cpu_parent = parent = inside[-1][1]
            parent.cpu_children.append(event)
            event.stack = (
                [parent.name, *parent.stack] if parent.is_python_function else parent.stack
            )
        inside.append((row.end, event))
        events.append(event)
    launched = give_kernels(events, rows, kernels, origin)
    for event in reversed(events):  # children stand behind their parents
        event.cpu_memory_usage = event.self_cpu_memory_usage + sum(
            child.cpu_memory_usage for child in event.cpu_children
        )
        event.device_memory_usage = event.self_device_memory_usage + sum(
            child.device_memory_usage for child in event.cpu_children
        )
        event.self_device_time_total = sum(kernel.duration for kernel in event.kernels)
        event.device_time_total = event.self_device_time_total + sum(
            child.device_time_total for child in event.cpu_children
        )
    return events + [
        DeviceEvent(id, kernel, use_device) for id, kernel in enumerate(launched, len(events) + 1)
    ]


_CATEGORIES = {FUNCTION_SCOPE: "cpu_op", BACKWARD_SCOPE: "cpu_op", USER_SCOPE: "user_annotation"}


def write_chrome_trace(
    events: EventList,
    path: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    base_ns: int = 0,
) -> None:
    """Writes complete events ('X', times in µs), and an arrow ('s' to 'f') from each forward op to its backward node;
    gzipped if `path` ends in .gz."""
    import gzip
    import json
    import socket

    pid = os.getpid()
    place = {"pid": pid, "tid": pid}
    entries = [
        {"ph": "M", "name": f"{what}_name", "ts": 0, **place, "args": {"name": name}}
        for what, name in (("process", "python"), ("thread", f"thread {pid} (python)"))
    ]
    entries += lanes(events, place)
    forward = {}
    for number, event in enumerate(events):
        if event.device_type is not DeviceType.CPU:
            continue
        start = event.time_range.start
        args = {"External id": event.id, "Ev Idx": number}
        if event.sequence_nr >= 0:
            args |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.cpu_memory_usage:
            args["Bytes"] = event.cpu_memory_usage
        entries.append(
            {
                "ph": "X",
                "cat": _CATEGORIES[event.scope],
                "name": event.trace_name,
                **place,
                "ts": start,
                "dur": event.cpu_time_total,
                "args": args,
            }
        )
        if event.sequence_nr < 0:
            continue
        if event.fwd_thread == 0:
            forward[event.sequence_nr] = start
        elif event.scope == BACKWARD_SCOPE and event.sequence_nr in forward:
            arrow = {"id": event.sequence_nr, **place, "cat": "fwdbwd", "name": "fwdbwd"}
            entries.append({"ph": "s", **arrow, "ts": forward.pop(event.sequence_nr)})
            entries.append({"ph": "f", "bp": "e", **arrow, "ts": start})
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        **(metadata or {}),
        "traceEvents": entries,
        "traceName": str(path),
    }
    with (
        gzip.open(path, "wt")
        if str(path).endswith(".gz")
        else open(path, "w", encoding="utf-8") as file
    ):
        json.dump(trace, file)
