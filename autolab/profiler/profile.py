"""The profiler: how long each op, each backward node and each named piece of code takes, and how much it allocates.

Source: https://docs.pytorch.org/docs/2.13/profiler.html, https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import Any, Literal

from ..engine.core.errors import fail
from ..engine.exact.refusals import unsupported
from .events import (  # noqa: F401 (names of torch.autograd.profiler)
    USER_SCOPE,
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
)
from .recorder import Recorder, clock, running, simulated_clock


def refuse(options: dict[str, Any]) -> None:
    """Raise NotImplementedError for options that only PyTorch has, TypeError for names that are no option."""
    for name, value in options.items():
        if name not in _NOT_HERE:
            message = f"profile.__init__() got an unexpected keyword argument '{name}'"
            raise fail(TypeError, message, "See help(torch.profiler.profile).")
        if value:
            note = "This profiler measures times, shapes and bytes. To measure single steps, put `with profile()` around them."
            raise unsupported("profile", name, note)


_NOT_HERE = frozenset(
    """
    acc_events activity_filters custom_trace_id_callback execution_trace_observer experimental_config on_trace_ready
    post_processing_timeout_s schedule use_kineto with_flops with_modules with_stack
    """.split()
)


class profile:
    """`with profile() as prof:` measures what runs inside, in this thread; `print(prof.key_averages().table())` shows
    it.

    enabled: False measures nothing. record_shapes: note the shapes of arguments. profile_memory: note the bytes that
    each call allocated for its results, less those that were freed meanwhile. use_device='cuda' (formerly
    use_cuda=True) or 'sim': simulated GPUs are timed too; a real one is not, and asking warns. Raises RuntimeError when
    entered twice, NotImplementedError for PyTorch's other options. Source: torch.autograd.profiler.profile."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        **others: Any,
    ) -> None:
        refuse(others)
        self.enabled, self.entered, self._finished = enabled, False, False
        self.function_events = EventList() if enabled else None
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self._recorder: Recorder | None = None
        self.use_device: str | None = None
        if not enabled:
            return
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if use_device == "cuda" and simulated_clock() is None:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        elif use_device in ("cuda", "sim"):
            self.use_device = use_device
        elif use_device is not None:
            warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=2)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            message = "Profiler context manager is not reentrant"
            raise fail(RuntimeError, message, "Make a new profile() for each block.")
        self.entered = True
        self._recorder = Recorder(self.record_shapes, self.profile_memory, self.use_device)
        self._recorder.start()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        if self._recorder is not None:
            self._recorder.stop()
            events = self._recorder.events()
            self.function_events = EventList(events, profile_memory=self.profile_memory)
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

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return one FunctionEventAvg per name (and per input shapes, when asked)."""
        return self._events("key_averages").key_averages(group_by_input_shape)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        *,
        max_name_column_width: int | None = 55,
    ) -> str:
        """Return all calls, one a line; see EventList.table."""
        events = self._events("table")
        return events.table(sort_by, row_limit, max_name_column_width=max_name_column_width)

    @property
    def self_cpu_time_total(self) -> float:
        """µs in all calls, none counted twice."""
        return self._events("self_cpu_time_total").self_cpu_time_total


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
