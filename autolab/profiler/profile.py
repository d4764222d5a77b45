"""The profiler: how long each op, each backward node and each named piece of code takes, and how many bytes it
allocates.

Source: https://docs.pytorch.org/docs/2.13/profiler.html, https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal

from ..engine.core.errors import fail
from .events import (  # noqa: F401 (names of torch.autograd.profiler)
    USER_SCOPE,
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    write_chrome_trace,
)
from .recorder import Recorder, clock, running, simulated_clock


def _warn(message: str, category: type[Warning] = UserWarning) -> None:
    warnings.warn(message, category, stacklevel=4)


def check_options(**others: object) -> None:
    """Raises NotImplementedError for what this profiler does not measure."""
    for name, value in others.items():
        if value:
            raise fail(
                NotImplementedError,
                f"{name}={value!r} is not supported by autolab's profiler",
                "It measures times, shapes, bytes and floating-point operations.",
            )


class profile:
    """`with profile() as prof:` measures what runs inside, in this thread; `print(prof.key_averages().table())` shows
    it.

    enabled: False measures nothing. record_shapes: note the shapes of arguments. profile_memory: note the bytes that
    each call allocated for its results, less those that were freed meanwhile. with_flops: count floating-point
    operations of products and 2-d convolutions, additions and multiplications. with_stack: Python functions are events
    too, and every event knows its callers. with_modules: for compiled modules only, so without effect, as in PyTorch.
    use_device='cuda' (formerly use_cuda=True) or 'sim': simulated GPUs are timed too; a real one is not, and asking
    warns. Raises RuntimeError when entered twice, NotImplementedError for experimental_config. Source:
    torch.autograd.profiler.profile."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        self.entered, self.function_events, self._finished = (
            False,
            EventList() if enabled else None,
            False,
        )
        self._recorder: Recorder | None = None
        self.record_shapes, self.profile_memory, self.acc_events = (
            record_shapes,
            profile_memory,
            acc_events,
        )
        self.with_flops, self.with_stack, self.with_modules = with_flops, with_stack, with_modules
        self.use_device: str | None = None
        if not enabled:
            return
        check_options(
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
            activity_filters=activity_filters,
        )
        if not use_cpu:
            raise fail(
                AssertionError,
                "Device-only events supported only with Kineto (use_kineto=True)",
                "Leave use_cpu out: only the CPU is timed.",
            )
        if use_cuda:
            _warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
            )
            use_device = "cuda"
        if use_device == "cuda":
            if simulated_clock() is None:
                _warn("CUDA is not available, disabling CUDA profiling")
            else:
                self.use_device = "cuda"
        elif use_device == "sim":
            self.use_device = "sim"
        elif use_device is not None:
            _warn(f"The {use_device} is not a valid device option.")

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise fail(
                RuntimeError,
                "Profiler context manager is not reentrant",
                "Make a new profile() for each block.",
            )
        self.entered = True
        self._recorder = Recorder(
            self.record_shapes,
            self.profile_memory,
            self.with_flops,
            self.with_stack,
            self.use_device,
        )
        self._recorder.start()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        if self._recorder is not None:
            self._recorder.stop()
            self.function_events = EventList(
                self._recorder.events(),
                profile_memory=self.profile_memory,
                with_flops=self.with_flops,
                with_stack=self.with_stack,
            )
            self._finished = True
        return False

    def __repr__(self) -> str:
        return (
            str(self.function_events) if self._finished else "<unfinished torch.autograd.profile>"
        )

    def _events(self, name: str) -> EventList:
        if self.function_events is None:
            raise fail(
                AttributeError,
                f"'NoneType' object has no attribute '{name}'",
                "This profiler was made with enabled=False: it has no events.",
            )
        return self.function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One FunctionEventAvg per name (and per input shapes, when asked). Source:
        torch.autograd.profiler.profile.key_averages."""
        return self._events("key_averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

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
        """All calls, one a line; see EventList.table."""
        widths = max_src_column_width, max_name_column_width, max_shapes_column_width
        return self._events("table").table(
            sort_by, row_limit, *widths, header, top_level_events_only, time_unit
        )

    def total_average(self) -> FunctionEventAvg:
        """All calls as one average."""
        return self._events("total_average").total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """µs in all calls, none counted twice."""
        return self._events("self_cpu_time_total").self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes `path` for chrome://tracing and https://ui.perfetto.dev."""
        if self._recorder is None:
            raise fail(
                AttributeError,
                "'NoneType' object has no attribute 'save'",
                "Nothing was measured yet: run code inside `with` first.",
            )
        write_chrome_trace(self._events("save"), path, base_ns=self._recorder.base_ns)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes the callers of all events; see EventList.export_stacks."""
        return self._events("export_stacks").export_stacks(path, metric)


class record_function(contextlib.ContextDecorator):
    """`with record_function("name"):` or `@record_function("name")`: an event of that name around the code. Source:
    torch.profiler.record_function."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._rows: list[list] = []

    def __enter__(self) -> record_function:
        thread = threading.get_ident()
        self._rows.append(
            [r.open(self.name, scope=USER_SCOPE) for r in running if r.thread == thread]
        )
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        now = clock()
        for row in self._rows.pop():
            row.end = row.end or now
        return False
