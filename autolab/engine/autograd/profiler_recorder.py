"""What a profiler notes while it runs: a row per call of an op, a backward node, a custom function or a named block.

A recorder is an observer, and nothing in the engine is slower while none runs. What the observer's events do not tell
is when an op began: so, while one runs, every kernel is called through a function that notes the time. An op's time is
its kernel, the wrapping of its result and the recording of its node; the microsecond in which its arguments were looked
at counts to what surrounds it.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from .. import observe
from ..tensor import Tensor
from . import namespaces
from .grad_mode import per_thread
from .node import Node
from .profiler_events import BACKWARD_SCOPE, FUNCTION_SCOPE, events_of

clock = time.perf_counter_ns
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
running: list[Recorder] = []
_untimed: list[namespaces.Namespace] = []  # what the timed namespace stands in for


def _timed(run):
    """`run` of a thread's state, noting for the recorders of this thread when a kernel begins."""
    thread = threading.get_ident()

    @functools.wraps(run)
    def timed(kernel, *args):
        if kernel is not np.copyto:  # the second half of an in-place op
            now = clock()
            for recorder in running:
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
            mine = [r for r in running if r.thread == threading.get_ident()]
            rows = [r.open(label, r.shapes_of(args)) for r in mine]
            try:
                result = call(*args, **kwargs)
            finally:
                for row in rows:
                    row.end = clock()
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
        if not running:
            _untimed.append(namespaces.raw(np))
            namespaces._raw[np] = _TimedNamespace(False, np)
        running.append(self)
        observe.add(self)
        self.base_ns, self.origin = time.time_ns(), clock()
        self.mark = self.origin

    def stop(self):
        """Stops watching. Calls that are still running end now."""
        now = clock()
        observe.remove(self)
        running.remove(self)
        if not any(r.state is self.state for r in running):
            self.state.run = self.state.run.__wrapped__
        if not running:
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
        row = _Row(name, clock(), shapes=list(shapes), **more)
        self.rows.append(row)
        return row

    # -- forward -----------------------------------------------------------------------------------------------------------
    @_in_its_thread
    def begin(self, node):
        self.functions.append((node, self.open(type(node).function_class.__name__)))

    @_in_its_thread
    def forward(self, op, args, attrs, outputs, node, inplace=False):
        now = clock()
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
        self.mark = clock()

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
        self.mark = clock()

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
        self.node_row.end = clock()
        self.allocate(self.node_row, [g for g in grad_inputs if _memory(g) is g], ())
        self.node_row, self.fresh = None, []
        self.mark = clock()

    @_in_its_thread
    def contribution(self, node, slot, target, target_nr, grad):
        self.mark = clock()

    @_in_its_thread
    def accumulate(self, tensor, grad, total):
        now, start = clock(), self.mark
        self._close(start)
        self.rows.append(_Row(_EVALUATE + _ACCUMULATE, start, now, backward=True))
        self.rows.append(_Row(_ACCUMULATE, start, now, BACKWARD_SCOPE, backward=True, shapes=self.shapes_of((grad,))))
        self.mark = clock()

    @_in_its_thread
    def free(self, node):
        self.mark = clock()
        self._close(self.mark)

    @_in_its_thread
    def backward_end(self, error):
        now = clock()
        self._close(now if error is not None else self.mark)
        if self.node_row is not None:  # the node that raised
            self.node_row.end, self.node_row, self.fresh = now, None, []


def _memory(array):
    """The array that owns the memory of `array`."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array
