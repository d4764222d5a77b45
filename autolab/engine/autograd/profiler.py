"""The profiler: how long each op, each backward node and each named piece of code takes, and how many bytes it
allocates.

It is an observer, and nothing in the engine is slower while none runs. What the observer's events do not tell is when
an op began: so, while it runs, every kernel is called through a function that notes the time. An op's time is its
kernel, the wrapping of its result and the recording of its node; the microsecond in which its arguments were looked at
counts to what surrounds it. Source: https://docs.pytorch.org/docs/2.13/profiler.html,
https://docs.pytorch.org/docs/2.13/autograd.html#profiler"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
import warnings
from dataclasses import dataclass, field

import numpy as np

from .. import observe
from ..errors import fail
from ..tensor import Tensor
from . import namespaces
from .grad_mode import per_thread
from .node import Node
from .profiler_events import (  # noqa: F401 (names of torch.autograd.profiler)
    BACKWARD_SCOPE,
    FUNCTION_SCOPE,
    USER_SCOPE,
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    events_of,
    without_stack,
    write_chrome_trace,
)

_clock = time.perf_counter_ns
_EVALUATE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"

_PYTORCH_NAMES = {
    "unsafe_view": "_unsafe_view",
    "reshape_raw": "_reshape_alias",
    "to_copy": "_to_copy",
    "narrow_raw": "narrow",
    "matmul_raw": "matmul",
    "sum_to": "sum",
    "index_spread": "index_put",
    "index_select_spread": "index_select_backward",
    "masked_spread": "masked_scatter",
    "strided_take": "as_strided",
    "strided_spread": "as_strided_scatter",
    "strided_put": "as_strided_scatter",
    "max_pool2d_indices": "max_pool2d_with_indices",
    "remainder_of_number": "remainder",
    "floor_divide_scalar": "floor_divide",
    "floor_divide_tensor": "floor_divide",
    "unique_values": "_unique2",
}
"""What PyTorch calls the ops whose name or node does not tell."""


@functools.cache
def aten_name(op) -> str:
    """PyTorch's name of an op: 'aten::mul', also for the variant that multiplies by a number."""
    found = _PYTORCH_NAMES.get(op.name, op.name)
    base = re.sub(r"Backward\d*$", "", op.node)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", base).lower()
    if op.name.startswith(snake + "_") or (base.endswith("Backward") and not op.name.endswith("backward")):
        found = snake
    return "aten::" + found


@dataclass(eq=False, slots=True)
class _Row:
    """One call: when it began and ended (ns; `end` is 0 while it runs), and what is known about it."""

    name: str
    start: int
    end: int = 0
    scope: int = FUNCTION_SCOPE
    sequence_nr: int = -1
    backward: bool = False
    shapes: list = field(default_factory=list)
    allocated: int = 0


# -- kernels tell when they begin ------------------------------------------------------------------------------------------
_running: list[Recorder] = []
_untimed: list[namespaces.Namespace] = []  # what the timed namespace stands in for


def _timed(run):
    """`run` of a thread's state, noting for the recorders of this thread when a kernel begins."""
    thread = threading.get_ident()

    @functools.wraps(run)
    def timed(kernel, *args):
        if kernel is not np.copyto:  # the second half of an in-place op
            now = _clock()
            for recorder in _running:
                if recorder.thread == thread:
                    recorder.kernel_start = now
        return run(kernel, *args)

    return timed


class _TimedNamespace(namespaces.Namespace):
    """The raw `m` of a backward rule; each of its calls is an event."""

    def __getattr__(self, name):
        call = super().__getattr__(name)
        from ..registry import OPS

        label = aten_name(OPS[name])

        @functools.wraps(call)
        def timed(*args, **kwargs):
            mine = [r for r in _running if r.thread == threading.get_ident()]
            rows = [r.open(label, r.shapes_of(args)) for r in mine]
            try:
                result = call(*args, **kwargs)
            finally:
                for row in rows:
                    row.end = _clock()
            for recorder, row in zip(mine, rows):
                recorder.allocate(row, result, args)
            return result

        setattr(self, name, timed)
        return timed


def _in_its_thread(event):
    """An observer's event that is heard only in the thread that the recorder watches."""

    @functools.wraps(event)
    def heard(self, *args, **kwargs):
        if threading.get_ident() == self.thread:
            event(self, *args, **kwargs)

    return heard


class Recorder(observe.Observer):
    """Notes a row per call in the thread that started it."""

    def __init__(self, record_shapes=False, profile_memory=False):
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.rows = []
        self.thread = self.kernel_start = self.evaluating = self.node_row = None
        self.fresh, self.functions = [], []
        self.origin = self.mark = self.base_ns = 0

    def start(self):
        """Begins to watch the current thread."""
        self.thread, self.state = threading.get_ident(), per_thread.state
        if not hasattr(self.state.run, "__wrapped__"):
            self.state.run = _timed(self.state.run)
        if not _running:
            _untimed.append(namespaces.raw(np))
            namespaces._raw[np] = _TimedNamespace(False, np)
        _running.append(self)
        observe.add(self)
        self.base_ns, self.origin = time.time_ns(), _clock()
        self.mark = self.origin

    def stop(self):
        """Stops watching. Calls that are still running end now."""
        now = _clock()
        observe.remove(self)
        _running.remove(self)
        if not any(r.state is self.state for r in _running):
            self.state.run = self.state.run.__wrapped__
        if not _running:
            namespaces._raw[np] = _untimed.pop()
        unfinished = {id(row) for _, row in self.functions}  # custom functions that raised: nobody told when
        self.rows = [row for row in self.rows if id(row) not in unfinished]
        for row in self.rows:
            row.end = row.end or now

    def events(self, thread=1):
        """The FunctionEvents of all rows."""
        return events_of(self.rows, self.origin, thread)

    def open(self, name, shapes=(), **more):
        """A row that begins now."""
        row = _Row(name, _clock(), shapes=list(shapes), **more)
        self.rows.append(row)
        return row

    # -- forward -----------------------------------------------------------------------------------------------------------
    @_in_its_thread
    def begin(self, node):
        self.functions.append((node, self.open(type(node).function_class.__name__)))

    @_in_its_thread
    def forward(self, op, args, attrs, outputs, node, inplace=False):
        now = _clock()
        sequence_nr = -1 if node is None else node.sequence_nr
        if isinstance(op, Node):
            self._end_function(op, args, sequence_nr, now)
        else:
            start = now if self.kernel_start is None else self.kernel_start
            self.kernel_start = None
            row = _Row(aten_name(op) + "_" * inplace, start, now, sequence_nr=sequence_nr)
            if self.record_shapes:
                row.shapes = self.shapes_of(args) + [[] for _ in op.constants]
            if self.profile_memory and not (inplace or op.view):
                self.allocate(row, tuple(o._d for o in outputs), [a._d for a in args if isinstance(a, Tensor)])
            self.rows.append(row)
        self.mark = _clock()

    def _end_function(self, node, args, sequence_nr, now):
        while self.functions:  # those above it in the list were left by an exception
            found, row = self.functions.pop()
            row.end = now
            if found is node:
                row.sequence_nr = sequence_nr
                row.shapes = self.shapes_of(a for a in args if isinstance(a, Tensor))
                return

    def shapes_of(self, values):
        """The shape of each tensor or array, [] for anything else; nothing unless shapes are recorded."""
        if not self.record_shapes:
            return []
        return [list(getattr(v, "shape", ())) for v in values]

    def allocate(self, row, result, args):
        """Counts to `row` the bytes of new arrays in `result`: not those that came in, those that share memory, or
        those counted before."""
        if not self.profile_memory:
            return
        known = [_memory(array) for array in (*args, *self.fresh)]
        for array in result if isinstance(result, (tuple, list)) else (result,):
            memory = _memory(array)
            if isinstance(memory, (np.ndarray, np.generic)) and not any(memory is other for other in known):
                row.allocated += memory.nbytes
                known.append(memory)
                if self.node_row is not None:
                    self.fresh.append(memory)

    # -- backward ----------------------------------------------------------------------------------------------------------
    def _close(self, at):
        if self.evaluating is not None:
            self.evaluating.end = at
            self.evaluating = None

    @_in_its_thread
    def seed(self, node, output_nr, grad):
        self.mark = _clock()

    @_in_its_thread
    def before_node(self, node, grads):
        self._close(self.mark)
        name, about = node.name(), {"sequence_nr": node.sequence_nr, "backward": True}
        self.evaluating = self.open(_EVALUATE + name, **about)
        self.fresh = [g for g in grads if g is not None] if self.profile_memory else []
        self.node_row = self.open(
            name, self.shapes_of(g for g in grads if g is not None), scope=BACKWARD_SCOPE, **about
        )

    @_in_its_thread
    def after_node(self, node, grad_inputs):
        if self.node_row is None:  # watching began inside it
            return
        self.node_row.end = _clock()
        self.allocate(self.node_row, [g for g in grad_inputs if _memory(g) is g], ())
        self.node_row, self.fresh = None, []
        self.mark = _clock()

    @_in_its_thread
    def contribution(self, node, slot, target, target_nr, grad):
        self.mark = _clock()

    @_in_its_thread
    def accumulate(self, tensor, grad, total):
        now, start = _clock(), self.mark
        self._close(start)
        self.rows.append(_Row(_EVALUATE + _ACCUMULATE, start, now, backward=True))
        self.rows.append(_Row(_ACCUMULATE, start, now, BACKWARD_SCOPE, backward=True, shapes=self.shapes_of((grad,))))
        self.mark = _clock()

    @_in_its_thread
    def free(self, node):
        self.mark = _clock()
        self._close(self.mark)

    @_in_its_thread
    def backward_end(self, error):
        now = _clock()
        self._close(now if error is not None else self.mark)
        if self.node_row is not None:  # the node that raised
            self.node_row.end, self.node_row, self.fresh = now, None, []


def _memory(array):
    """The array that owns the memory of `array`."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


# -- the public names ------------------------------------------------------------------------------------------------------
def _warn(message, category=UserWarning):
    warnings.warn(message, category, stacklevel=4)


def check_options(with_flops=False, with_stack=False, with_modules=False, experimental_config=None, **others):
    """Raises NotImplementedError for what this profiler does not measure."""
    if with_stack:
        raise without_stack("with_stack=True")
    for name, value in {
        "with_flops": with_flops,
        "with_modules": with_modules,
        "experimental_config": experimental_config,
        **others,
    }.items():
        if value:
            raise fail(
                NotImplementedError,
                f"{name}={value!r} is not supported by autolab's profiler",
                "It measures times, shapes and bytes.",
            )


class profile:
    """`with profile() as prof:` measures what runs inside, in this thread; `print(prof.key_averages().table())` shows
    it.

    enabled: False measures nothing. record_shapes: note the shapes of arguments. profile_memory: note the bytes of the
    results that each call allocated (what is freed is not subtracted). use_cuda, use_device: there is nothing to time
    but the CPU; asking for CUDA warns. Raises RuntimeError when entered twice, NotImplementedError for with_flops,
    with_stack and with_modules. Source: torch.autograd.profiler.profile."""

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        self.entered, self.function_events, self._recorder, self._finished = (
            False,
            EventList() if enabled else None,
            None,
            False,
        )
        self.record_shapes, self.profile_memory, self.acc_events = record_shapes, profile_memory, acc_events
        self.use_device = None
        if not enabled:
            return
        check_options(
            with_flops,
            with_stack,
            with_modules,
            experimental_config,
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
            _warn("CUDA is not available, disabling CUDA profiling")
        elif use_device is not None:
            _warn(f"The {use_device} is not a valid device option.")

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise fail(
                RuntimeError, "Profiler context manager is not reentrant", "Make a new profile() for each block."
            )
        self.entered = True
        self._recorder = Recorder(self.record_shapes, self.profile_memory)
        self._recorder.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._recorder.stop()
            self.function_events = EventList(self._recorder.events(), profile_memory=self.profile_memory)
            self._finished = True
        return False

    def __repr__(self):
        return str(self.function_events) if self._finished else "<unfinished torch.autograd.profile>"

    def _events(self, name):
        if self.function_events is None:
            raise fail(
                AttributeError,
                f"'NoneType' object has no attribute '{name}'",
                "This profiler was made with enabled=False: it has no events.",
            )
        return self.function_events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """One FunctionEventAvg per name (and per input shapes, when asked). Source:
        torch.autograd.profiler.profile.key_averages."""
        return self._events("key_averages").key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, sort_by=None, row_limit=100, **options):
        """All calls, one a line; see EventList.table."""
        return self._events("table").table(sort_by, row_limit, **options)

    def total_average(self):
        """All calls as one average."""
        return self._events("total_average").total_average()

    @property
    def self_cpu_time_total(self):
        """µs in all calls, none counted twice."""
        return self._events("self_cpu_time_total").self_cpu_time_total

    def export_chrome_trace(self, path):
        """Writes `path` for chrome://tracing and https://ui.perfetto.dev."""
        if self._recorder is None:
            raise fail(
                AttributeError,
                "'NoneType' object has no attribute 'save'",
                "Nothing was measured yet: run code inside `with` first.",
            )
        write_chrome_trace(self.function_events, path, base_ns=self._recorder.base_ns)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Raises AssertionError: stacks are not recorded."""
        return self._events("export_stacks").export_stacks(path, metric)


class record_function(contextlib.ContextDecorator):
    """`with record_function("name"):` or `@record_function("name")`: an event of that name around the code. Source:
    torch.profiler.record_function."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._rows = []

    def __enter__(self):
        thread = threading.get_ident()
        self._rows.append([r.open(self.name, scope=USER_SCOPE) for r in _running if r.thread == thread])
        return self

    def __exit__(self, *exc):
        now = _clock()
        for row in self._rows.pop():
            row.end = row.end or now
        return False
