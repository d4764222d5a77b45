"""`torch.profiler`: the profiler with activities, steps and schedules. Source:
https://docs.pytorch.org/docs/2.13/profiler.html"""

from __future__ import annotations

import enum
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from .profile import check_options, record_function
from .events import DeviceType, EventList, write_chrome_trace
from .recorder import Recorder, simulated_clock
from .. import optim  # noqa: F401  modules that load first inside a profile have functions that report nothing
from ..nn import functional  # noqa: F401
from ..engine.core.errors import fail

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


_T = TypeVar("_T")


class ProfilerActivity(enum.Enum):
    """What is measured: the CPU, and CUDA while it is simulated."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does during a step: nothing, get ready, measure, or measure and hand the events over at the
    step's end."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_MEASURING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
_INCORRECT = (
    (ProfilerAction.WARMUP, ProfilerAction.NONE),
    (ProfilerAction.RECORD, ProfilerAction.NONE),
    (ProfilerAction.RECORD, ProfilerAction.WARMUP),
)


def supported_activities() -> set:
    """What can be measured. Source: torch.profiler.supported_activities."""
    return {ProfilerActivity.CPU} | (
        {ProfilerActivity.CUDA} if simulated_clock() is not None else set()
    )


def kineto_available() -> bool:
    """False: PyTorch's tracing library is not used."""
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from step number to ProfilerAction: after `skip_first` steps, cycles of `wait` idle, `warmup`
    unmeasured and `active` measured steps, `repeat` times (0: for ever); the first cycle has no `wait` when
    skip_first_wait is not 0.

    Raises AssertionError for negative numbers or active=0. Source: torch.profiler.schedule."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise fail(
            AssertionError,
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} (need > 0), "
            f"repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).",
            "At least one step of each cycle must be active, or there is nothing to look at.",
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results",
            UserWarning,
            stacklevel=2,
        )
    length = wait + warmup + active

    def action(step):
        if step < 0:
            raise fail(
                AssertionError, f"Step must be non-negative. Got {step}.", "Steps count from 0."
            )
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each trace to `dir_name` as <worker>.<time in ns>.pt.trace.json, for TensorBoard,
    chrome://tracing or https://ui.perfetto.dev. Raises RuntimeError when the folder cannot be made. Source:
    torch.profiler.tensorboard_trace_handler."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(prof):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise fail(
                RuntimeError,
                "Can't create directory: " + str(dir_name),
                "Name a folder that you may write to.",
            ) from error
        prof.export_chrome_trace(
            os.path.join(
                dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + ".gz" * bool(use_gzip)
            )
        )

    return write


class profile:
    """`with profile(activities=[ProfilerActivity.CPU]) as prof:` measures what runs inside, in this thread.

    schedule: a function from step number to ProfilerAction; call `prof.step()` after each step. on_trace_ready: called
    with the profiler when a cycle of it, or the block, is over. record_shapes, profile_memory: note shapes of
    arguments, bytes of results. with_stack: Python functions are events too. with_flops: count floating-point
    operations. with_modules: for compiled modules only, so without effect, as in PyTorch. acc_events: keep the events
    of earlier cycles. Raises AssertionError when no activity is left that can be measured, NotImplementedError for
    experimental_config and execution_trace_observer. Source: torch.profiler.profile."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        check_options(
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self.activities = supported_activities() if activities is None else set(activities)
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
                stacklevel=2,
            )
        if not self.activities or not self.activities <= set(ProfilerActivity):
            raise fail(
                AssertionError,
                "No valid profiler activities found",
                "Activities are members of ProfilerActivity.",
            )
        self.record_shapes, self.profile_memory, self.acc_events = (
            record_shapes,
            profile_memory,
            acc_events,
        )
        self.with_flops, self.with_stack, self.with_modules = with_flops, with_stack, with_modules
        self.schedule, self.on_trace_ready = (
            schedule or (lambda step: ProfilerAction.RECORD),
            on_trace_ready,
        )
        self.record_steps = schedule is not None
        self.step_num, self.current_action = 0, self.schedule(0)
        self._recorder: Recorder | None = None
        self._step_name: record_function | None = None
        self._events: EventList | None = None
        self._earlier: list = []  # events of earlier cycles, with acc_events
        self._metadata: dict[str, str] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        self.stop()
        return False

    def start(self) -> None:
        """Begins step 0."""
        self._turn(ProfilerAction.NONE, self.current_action)
        self._name_step()

    def stop(self) -> None:
        """Ends measuring, and hands the events to `on_trace_ready`."""
        self._leave_step()
        self._turn(self.current_action, None)
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """Says that the next step begins. Raises ValueError when the schedule answers DEVICE_STOPPED."""
        self._leave_step()
        action = self.schedule(self.step_num + 1)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise fail(
                ValueError,
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a user-provided schedule",
                "A schedule answers NONE, WARMUP, RECORD or RECORD_AND_SAVE.",
            )
        self.step_num += 1
        before, self.current_action = self.current_action, action
        self._turn(before, action)
        self._name_step()

    def _name_step(self) -> None:
        if self.record_steps:
            self._step_name = record_function(f"ProfilerStep#{self.step_num}")
            self._step_name.__enter__()

    def _leave_step(self) -> None:
        if self._step_name is not None:
            self._step_name.__exit__(None, None, None)
            self._step_name = None

    def _turn(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """From one step's action to the next one's; `after` is None at the end."""
        if after is not None and (before, after) in _INCORRECT:
            warnings.warn(
                f"Incorrect schedule: {before.name} followed by {after.name}",
                UserWarning,
                stacklevel=4,
            )
        saving = before is ProfilerAction.RECORD_AND_SAVE or after is None
        if before in _MEASURING and (saving or after not in _MEASURING):
            self.stop_trace()
            if saving and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in (*_MEASURING, ProfilerAction.WARMUP) and (
            saving or before is ProfilerAction.NONE
        ):
            self.prepare_trace()
        if after in _MEASURING and (saving or before not in _MEASURING):
            self.start_trace()

    def prepare_trace(self) -> None:
        """Makes what the measuring needs. The CPU's time counts only where the CPU is among the activities."""
        cuda = ProfilerActivity.CUDA in self.activities
        if cuda and simulated_clock() is None:
            warnings.warn(
                "CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=5
            )
        if ProfilerActivity.CPU not in self.activities:
            raise fail(
                AssertionError,
                "No activities specified for the profiler",
                "Only ProfilerActivity.CPU can be measured here.",
            )
        use_device = "cuda" if cuda and simulated_clock() is not None else None
        self._recorder = Recorder(
            self.record_shapes, self.profile_memory, self.with_flops, self.with_stack, use_device
        )

    def start_trace(self) -> None:
        """Begins to measure."""
        self._must("starting trace", self._recorder).start()

    def stop_trace(self) -> None:
        """Ends measuring; the events can be read now."""
        recorder = self._must("stopping trace", self._recorder)
        recorder.stop()
        events = recorder.events()
        if self.acc_events:
            self._earlier = events = events + self._earlier
        self._events = EventList(
            events,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            with_stack=self.with_stack,
        )

    def _must(self, doing: str, value: _T | None) -> _T:
        if value is None:
            raise fail(
                AssertionError,
                f"Profiler must be initialized before {doing}",
                "Run code inside `with profile() as prof:` first.",
            )
        return value

    def events(self) -> EventList:
        """All calls that were measured, an EventList. Raises AssertionError before there are any."""
        self._must("accessing events", self._recorder)
        return self._events if self._events is not None else EventList()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One FunctionEventAvg per name. Raises AssertionError before anything was measured."""
        self._must("getting key averages", self._recorder)
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Puts a text under `key` into the traces that are written."""
        self._metadata[key] = value

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes `path` for chrome://tracing and https://ui.perfetto.dev; gzipped if it ends in .gz."""
        recorder = self._must("exporting chrome trace", self._recorder)
        write_chrome_trace(self.events(), path, self._metadata, recorder.base_ns)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes the callers of all events; see EventList.export_stacks."""
        return self.events().export_stacks(path, metric)
