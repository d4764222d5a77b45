"""The profiler: how long each op, each backward node and each named piece of code takes.

Source: https://docs.pytorch.org/docs/2.13/profiler.html, https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

from __future__ import annotations

import contextlib
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


def refuse(options: dict[str, Any]) -> None:
    """Raise NotImplementedError for options that only PyTorch has, TypeError for names that are no option."""
    for name, value in options.items():
        if name not in _NOT_HERE:
            message = f"profile.__init__() got an unexpected keyword argument '{name}'"
            raise fail(TypeError, message, "See help(torch.profiler.profile).")
        if value:
            raise unsupported("profile", name, _NOT_HERE[name])


class profile:
    """`with profile() as prof:` measures what runs inside, in this thread; `print(prof.key_averages().table())` shows
    it.

    enabled: False measures nothing. record_shapes: note the shapes of arguments. use_device='cuda' (formerly
    use_cuda=True): simulated GPUs are timed too; a real one is not, and asking warns. Raises RuntimeError when entered
    twice, NotImplementedError for PyTorch's other options. Source: torch.autograd.profiler.profile."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        **others: Any,
    ) -> None:
        refuse(others)
        self.enabled, self.entered, self._finished = enabled, False, False
        self.function_events = EventList() if enabled else None
        if enabled and use_cuda:
            message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
            warnings.warn(message, FutureWarning, stacklevel=2)
            use_device = "cuda"
        if enabled and use_device == "cuda" and simulated_clock() is None:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        elif enabled and use_device not in ("cuda", None):
            warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=2)
        self._recorder = Recorder(record_shapes, use_device == "cuda")

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            message = "Profiler context manager is not reentrant"
            raise fail(RuntimeError, message, "Make a new profile() for each block.")
        self.entered = True
        self._recorder.start()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        if self.enabled:
            self._recorder.stop()
            self.function_events, self._finished = EventList(self._recorder.events()), True
        return False

    def __repr__(self) -> str:
        return (
            str(self.function_events) if self._finished else "<unfinished torch.autograd.profile>"
        )

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return one FunctionEventAvg per name (and per input shapes, if wanted)."""
        return self.__getattr__("key_averages")(group_by_input_shape)

    def __getattr__(self, name: str) -> Any:
        """Return what `function_events` has under this name: `table` and `self_cpu_time_total`."""
        if name not in ("key_averages", "table", "self_cpu_time_total"):
            note = "A profile has key_averages(), table() and function_events."
            raise fail(AttributeError, f"'profile' object has no attribute '{name}'", note)
        if self.function_events is None:
            message = f"'NoneType' object has no attribute '{name}'"
            note = "This profiler was made with enabled=False: it has no events."
            raise fail(AttributeError, message, note)
        return getattr(self.function_events, name)


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
