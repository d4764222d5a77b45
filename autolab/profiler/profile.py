"""The profiler: how long each op, each backward node and each named piece of code takes.

Source: https://docs.pytorch.org/docs/2.13/profiler.html, https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterable
from typing import Any, Literal, Self

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
from .recorder import Recorder, clock, in_this_thread, simulated_clock

_NOT_HERE = {
    "profile_memory": "torch.cuda.memory_allocated() counts the bytes of a GPU, and autolab's explorer shows what a graph keeps.",
} | dict.fromkeys(
    """
    acc_events activity_filters custom_trace_id_callback execution_trace_observer experimental_config on_trace_ready
    post_processing_timeout_s schedule use_kineto with_flops with_modules with_stack
    """.split(),
    "This profiler measures times and shapes. To measure single steps, put `with profile()` around them.",
)


def _refuse(options: dict[str, Any]) -> None:
    """Raise NotImplementedError for options that only PyTorch has, TypeError for names that are no option."""
    for name, value in options.items():
        if name not in _NOT_HERE:
            message = f"profile.__init__() got an unexpected keyword argument '{name}'"
            raise fail(TypeError, message, "See help(torch.profiler.profile).")
        if value:
            raise unsupported("profile", name, _NOT_HERE[name])


class ProfilerActivity(enum.Enum):
    """The measured activities: the CPU, and CUDA while it is simulated."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set:
    """Return the activities that can be measured. Source: torch.profiler.supported_activities."""
    cuda = {ProfilerActivity.CUDA} if simulated_clock() is not None else set()
    return {ProfilerActivity.CPU} | cuda


class profile:
    """`with profile(activities=[ProfilerActivity.CPU]) as prof:` measures what runs inside, in this thread.

    record_shapes: note the shapes of arguments. Raises AssertionError when no activity is left that can be measured,
    NotImplementedError for PyTorch's other options, such as schedule and profile_memory. Source:
    torch.profiler.profile."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        use_cuda: bool | None = None,
        **others: Any,
    ) -> None:
        _refuse(others)
        self.activities = supported_activities() if activities is None else set(activities)
        if use_cuda is not None:
            message = "`use_cuda` is deprecated, use `activities` argument instead"
            warnings.warn(message, FutureWarning, stacklevel=2)
        if not self.activities or not self.activities <= set(ProfilerActivity):
            message = "No valid profiler activities found"
            raise fail(AssertionError, message, "Activities are members of ProfilerActivity.")
        self.record_shapes = record_shapes
        self._recorder: Recorder | None = None
        self._events = EventList()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        self.stop()
        return False

    def start(self) -> None:
        """Start measuring. CPU time counts only if the CPU is among the activities."""
        cuda, available = ProfilerActivity.CUDA in self.activities, simulated_clock() is not None
        if cuda and not available:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=3)
        if ProfilerActivity.CPU not in self.activities:
            message = "No activities specified for the profiler"
            raise fail(AssertionError, message, "Only ProfilerActivity.CPU can be measured here.")
        self._recorder = Recorder(self.record_shapes, cuda and available)
        self._recorder.start()

    def stop(self) -> None:
        """End measuring; the events can be read now."""
        recorder = self._started("stopping trace")
        recorder.stop()
        self._events = EventList(recorder.events())

    def _started(self, doing: str) -> Recorder:
        if self._recorder is None:
            message = f"Profiler must be initialized before {doing}"
            raise fail(AssertionError, message, "Run code inside `with profile() as prof:` first.")
        return self._recorder

    def events(self) -> EventList:
        """Return all calls that were measured. Raises AssertionError before there are any."""
        self._started("accessing events")
        return self._events

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return one FunctionEventAvg per name. Raises AssertionError before anything was measured."""
        self._started("getting key averages")
        return self._events.key_averages(group_by_input_shape)


class older_profile(profile):
    """The profiler as `torch.autograd.profiler` has it: `use_cuda=True`, now `use_device="cuda"`, times simulated GPUs,
    too. `function_events`, `table()` and `self_cpu_time_total` are those of `events()`. Source:
    torch.autograd.profiler.profile."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        **others: Any,
    ) -> None:
        if not enabled or use_device not in ("cuda", None):
            raise unsupported("profile", "use_device" if enabled else "enabled")
        activities = {ProfilerActivity.CPU}
        if use_cuda:
            message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
            warnings.warn(message, FutureWarning, stacklevel=2)
        if use_cuda or use_device:
            activities.add(ProfilerActivity.CUDA)
        super().__init__(activities=activities, record_shapes=record_shapes, **others)

    @property
    def function_events(self) -> EventList:
        """Return all calls that were measured."""
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """Return the µs in all events together, with nothing counted twice."""
        return self._events.self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return the events as text; see `EventList.table`."""
        return self._events.table(*args, **kwargs)

    def __repr__(self) -> str:
        return str(self._events)


older_profile.__name__ = older_profile.__qualname__ = "profile"


class record_function(contextlib.ContextDecorator):
    """`with record_function("name"):` or `@record_function("name")`: an event of that name around the code. Source:
    torch.profiler.record_function."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._rows: list[list] = []

    def __enter__(self) -> record_function:
        self._rows.append([r.open(self.name, scope=USER_SCOPE) for r in in_this_thread()])
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        now = clock()
        for row in self._rows.pop():
            row.end = row.end or now
        return False
