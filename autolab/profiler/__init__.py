"""`torch.profiler`: the profiler with activities. Source: https://docs.pytorch.org/docs/2.13/profiler.html"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterable
from typing import Any, Literal

from .profile import record_function, refuse
from .events import DeviceType, EventList
from .recorder import Recorder, simulated_clock
from .. import optim  # noqa: F401  modules that load first inside a profile have functions that report nothing
from ..nn import functional  # noqa: F401
from ..engine.core.errors import fail

__all__ = ["DeviceType", "ProfilerActivity", "profile", "record_function", "supported_activities"]


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
        refuse(others)
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

    def __enter__(self) -> profile:
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
