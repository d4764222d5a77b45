"""What a profiler notes while it runs: a row per call of an op, a backward node, a custom function or a named block.

A recorder is an observer, and nothing in the engine is slower while none runs. What the observer's events do not tell
is when an op began: so, while one runs, every kernel is called through a function that notes the time. An op's time is
its kernel, the wrapping of its result and the recording of its node; the microsecond in which its arguments were looked
at counts to what surrounds it.

While 'cuda' means simulated GPUs, times are simulated ones: the same on every run.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
import weakref
from dataclasses import dataclass, field

import numpy as np

from ..engine.devices import device as devices
from ..engine.core import observe
from ..engine.kernels.reuse import Lease
from ..engine.devices.simulated.host import HostWork
from ..engine.core.tensor import Tensor
from ..engine.core import namespaces
from . import functions as profiler_functions
from ..engine.core.grad_mode import per_thread
from ..engine.core.node import Node
from .devices import copy_name
from .events import BACKWARD_SCOPE, FUNCTION_SCOPE, USER_SCOPE, events_of
from .names import COMPUTED_WHOLE, LAYERS, MADE_BY, aten_name

_ticks = time.perf_counter_ns


def clock():
    """Now, in ns: the computer's clock, or the host's in a simulation."""
    return _ticks()


def simulated_clock(kind="cuda"):
    """The clock of the simulated GPUs that `kind` means now; None where it means something else."""
    there = devices.backends(kind)
    return there[0].clock if there and there[0].simulated else None


def _ordered(simulated):
    """Readings of a simulated clock in ns, each a millionth of a ns later: calls that take no time still have an
    order."""
    readings = itertools.count()
    return lambda: simulated.now * 1e9 + next(readings) * 1e-6


_EVALUATE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"


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
    on_device: int = 0  # bytes of devices
    composed: bool = (
        False  # a function made of ops: not shown where it only hands on to an op of the same name
    )


# -- kernels tell when they begin --------------------------------------------------------------------------------------
running: list[Recorder] = []
_untimed: dict[object, namespaces.Namespace] = {}  # what the timed namespace stands in for


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
        from ..engine.core.record import OPS

        label = aten_name(OPS[name])

        @functools.wraps(call)
        def timed(*args, **kwargs):
            mine = [r for r in running if r.thread == threading.get_ident()]
            rows = [r.open_part(label, args) for r in mine]
            try:
                result = call(*args, **kwargs)
            finally:
                now = clock()
                for row in itertools.chain.from_iterable(rows):
                    row.end = now
            for recorder, row in zip(mine, rows):
                recorder.count_new(row[-1], result, args)
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

    def __init__(self, record_shapes=False, profile_memory=False, use_device=None):
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.rows, self.freed, self._alive, self._owners = [], [], {}, set()
        self.use_device, self.kernels, self.device_bytes, self._copying = use_device, [], [], False
        self.thread = self.kernel_start = self.evaluating = self.evaluated = self.node_row = None
        self.fresh, self.functions, self.blocks, self.host_work = [], [], [], None
        self.origin = self.mark = 0

    def start(self):
        """Begins to watch the current thread."""
        self.thread, self.state = threading.get_ident(), per_thread.state
        if not hasattr(self.state.run, "__wrapped__"):
            self.state.run = _timed(self.state.run)
        if not running:
            global _ticks
            simulated = simulated_clock(self.use_device or "cuda")
            _ticks = time.perf_counter_ns if simulated is None else _ordered(simulated)
            for xp in {np, *(b.xp for b in devices.in_use())}:
                _untimed[xp] = namespaces.raw(xp)
                namespaces._raw[xp] = _TimedNamespace(False, xp)
            profiler_functions.exchange(_composed_call)
        running.append(self)
        if self.use_device == "sim":  # `simulate()` counts what the CPU takes by itself
            self.host_work = HostWork(simulated_clock("sim"))
            observe.add(self.host_work)
        observe.add(self)
        self.origin = self.mark = clock()

    def stop(self):
        """Stops watching. Calls that are still running end now."""
        now = clock()
        self._alive = {}
        observe.remove(self)
        if self.host_work is not None:
            observe.remove(self.host_work)
        running.remove(self)
        if not any(r.state is self.state for r in running):
            self.state.run = self.state.run.__wrapped__  # type: ignore[attr-defined]
        if not running:
            namespaces._raw.update(_untimed)
            _untimed.clear()
            profiler_functions.put_back()
        unfinished = {
            id(row) for _, row in self.functions
        }  # custom functions that raised: nobody told when
        self.rows = [row for row in self.rows if id(row) not in unfinished]
        for row in self.rows:
            row.end = row.end or now

    def events(self, thread=1):
        """The FunctionEvents of all rows."""
        changes = [*((at, "allocated", -nbytes) for at, nbytes in self.freed), *self.device_bytes]
        return events_of(self.rows, self.origin, thread, changes, self.kernels, self.use_device)

    def open(self, name, shapes=(), **more):
        """A row that begins now."""
        row = _Row(name, clock(), shapes=list(shapes), **more)
        self.rows.append(row)
        return row

    def _layers(self, row):
        """Appends `row`, and before it rows for the calls in which PyTorch nests it. Returns all of these."""
        names = LAYERS.get(row.name)
        if names is None:
            self.rows.append(row)
            return [row]
        outer = [
            _Row(name, row.start, row.end, backward=row.backward, shapes=row.shapes)
            for name in names[:-1]
        ]
        outer[0].sequence_nr, row.sequence_nr, row.name = row.sequence_nr, -1, names[-1]
        self.rows += [*outer, row]
        return [*outer, row]

    def open_part(self, name, args):
        """Rows of a call inside a backward rule, begun now: one for all parts of what PyTorch computes in one call."""
        last = self.rows[-1] if self.rows else None
        if (
            name == "aten::convolution_backward"
            and last is not None
            and last.name == name
            and last.end > self._node_start()
        ):
            return [last]
        return self._layers(_Row(name, clock(), shapes=self.shapes_of(args)))

    def _node_start(self):
        return self.node_row.start if self.node_row is not None else clock()

    # -- forward -------------------------------------------------------------------------------------------------------
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
            name = aten_name(op) + "_" * inplace
            row = _Row(name, start, now, sequence_nr=sequence_nr)
            if self.record_shapes:
                row.shapes = self.shapes_of(args) + [[] for _ in op.constants]
            if self.profile_memory and not (inplace or op.view):
                self.count_new(row, outputs, [a._array for a in args if isinstance(a, Tensor)])
            self._layers(row)
        self.mark = clock()

    def _end_function(self, node, args, sequence_nr, now):
        while self.functions:  # those above it in the list were left by an exception
            begun, row = self.functions.pop()
            row.end = now
            if begun is node:
                row.sequence_nr = sequence_nr
                row.shapes = self.shapes_of(a for a in args if isinstance(a, Tensor))
                return

    def made(self, row, result):
        """Rows for the parts of a function that makes a tensor of nothing, and the bytes it allocated."""
        parts, owner = MADE_BY.get(row.name, ()), row
        if parts:
            owner = _Row(parts[0], row.start, row.start + 1)
            self.rows += [owner, *(_Row(part, row.start + 1, row.end) for part in parts[1:])]
        elif row.name != "aten::empty":
            return
        if result._view is None:
            self.count_new(owner, (result,), ())

    def shapes_of(self, values):
        """The shape of each tensor or array, [] for anything else; nothing unless shapes are recorded."""
        if not self.record_shapes:
            return []
        return [list(getattr(v, "shape", ())) for v in values]

    def count_new(self, row, result, args):
        """Counts to `row` the bytes of new arrays in `result`: not those that came in, those that share memory, or
        those counted before."""
        if not self.profile_memory:
            return
        known = [_memory(array) for array in args] + [ref() for ref in self.fresh]
        for item in result if isinstance(result, (tuple, list)) else (result,):
            memory = _memory(item._array if isinstance(item, Tensor) else item)
            if id(memory) in self._owners or any(memory is other for other in known):
                continue
            if isinstance(memory, (np.ndarray, np.generic)):
                row.allocated += memory.nbytes
                known.append(memory)
                self._watch(
                    item._storage
                    if isinstance(memory, np.generic) and isinstance(item, Tensor)
                    else memory,
                    memory.nbytes,
                )
                if self.node_row is not None and isinstance(memory, np.ndarray):
                    self.fresh.append(weakref.ref(memory))

    def _watch(self, owner, nbytes):
        """Notes when `owner` of `nbytes` bytes is gone. NumPy's scalars are not told of: they are counted as freed at
        once."""
        if isinstance(owner, np.generic):
            self.freed.append((clock(), nbytes))
            return

        key = id(owner)

        def gone(ref):
            self._owners.discard(key)
            if self._alive.pop(id(ref), None) is not None and threading.get_ident() == self.thread:
                now, last = clock(), self.evaluated
                # what a node received lives on until the next one begins: it counts to the node
                self.freed.append(
                    (now if last is None or not last.end else min(now, last.end - 1), nbytes)
                )

        self._owners.add(key)
        ref = weakref.ref(owner, gone)
        self._alive[id(ref)] = ref

    # -- optimizers: named blocks, as in PyTorch -----------------------------------------------------------------------
    @_in_its_thread
    def step(self, optimizer, over):
        self._block(optimizer, "step", over)

    @_in_its_thread
    def zero_grad(self, owner, over):
        if hasattr(owner, "param_groups"):  # else it is a module's
            self._block(owner, "zero_grad", over)

    def _block(self, optimizer, name, over):
        if not over:
            title = f"Optimizer.{name}#{type(optimizer).__name__}.{name}"
            self.blocks.append(self.open(title, scope=USER_SCOPE))
        elif self.blocks:  # else watching began inside it
            self.blocks.pop().end = clock()

    # -- devices -------------------------------------------------------------------------------------------------------
    @_in_its_thread
    def launch(self, device, stream, name, start, duration, nbytes):
        if self.use_device == device.type:
            self.kernels.append((clock(), name, device.index, stream, start * 1e9, duration * 1e9))

    @_in_its_thread
    def transfer(self, source, target, nbytes, start, duration, pinned):
        device = target if source.type == "cpu" else source
        if self.use_device == device.type:
            now, began = clock(), start * 1e9
            self.kernels.append(
                (now, copy_name(source, target, pinned), device.index, 0, began, duration * 1e9)
            )
            self.kernel_start = now - device.backend.profile.launch * 1e9
            self._copying = True

    @_in_its_thread
    def synchronize(self, device, waited, stream=None):
        if self.use_device == device.type and waited:
            whole = stream is None and not self._copying
            now = clock()
            self.rows.append(
                _Row(f"cuda{'Device' if whole else 'Stream'}Synchronize", now - waited * 1e9, now)
            )
        self._copying = False

    @_in_its_thread
    def allocate(self, device, nbytes, allocated, reserved, address, what):
        if self.use_device == device.type and self.profile_memory:
            self.device_bytes.append((clock(), "on_device", nbytes))

    @_in_its_thread
    def free_memory(self, device, nbytes, allocated, reserved, address):
        if self.use_device == device.type and self.profile_memory:
            self.device_bytes.append((clock(), "on_device", -nbytes))

    # -- backward ------------------------------------------------------------------------------------------------------
    def _close(self, at):
        if self.evaluating is not None:
            self.evaluated = self.evaluating
            self.evaluating.end = at
            self.evaluating = None

    @_in_its_thread
    def seed(self, node, output_nr, grad):
        self.mark = clock()

    @_in_its_thread
    def before_node(self, node, grads):
        self._close(self.mark)
        self.evaluated = None
        name, about = node.name(), {"sequence_nr": node.sequence_nr, "backward": True}
        self.evaluating = self.open(_EVALUATE + name, **about)
        owners = [_memory(g) for g in grads if g is not None] if self.profile_memory else []
        self.fresh = [weakref.ref(g) for g in owners if isinstance(g, np.ndarray)]
        self.node_row = self.open(
            name, self.shapes_of(g for g in grads if g is not None), scope=BACKWARD_SCOPE, **about
        )

    @_in_its_thread
    def after_node(self, node, grad_inputs):
        if self.node_row is None:  # watching began inside it
            return
        now = clock()
        self.node_row.end = now
        computed, whole = self.node_row, COMPUTED_WHOLE.get(node.name())
        if whole is not None and self.rows[-1] is computed:
            computed = _Row(whole, computed.start, now, backward=True, shapes=computed.shapes)
            self.rows.append(computed)
        self.count_new(computed, [g for g in grad_inputs if _memory(g) is g], ())
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
        shapes = self.shapes_of((grad,))
        self.rows.append(
            _Row(_ACCUMULATE, start, now, BACKWARD_SCOPE, backward=True, shapes=shapes)
        )
        for name in _how_accumulated(tensor, grad, total):
            self.rows.append(
                _Row(
                    name,
                    start,
                    now,
                    backward=True,
                    shapes=shapes * (2 if name == "aten::add_" else 1),
                )
            )
        self.count_new(self.rows[-1], (total,), ())
        self.mark = clock()

    @_in_its_thread
    def free(self, node):
        self.mark = clock()
        self._close(self.mark)

    @_in_its_thread
    def backward_end(self, error):
        now = clock()
        self._close(now if error is not None else self.mark)
        self.evaluated = None
        if self.node_row is not None:  # the node that raised
            self.node_row.end, self.node_row, self.fresh = now, None, []


def _in_this_thread():
    thread = threading.get_ident()
    return [r for r in running if r.thread == thread]


def _composed_call(name, original, args, kwargs):
    """Calls a function made of ops, with a row around it."""
    mine = _in_this_thread()
    if not mine:
        return original(*args, **kwargs)
    arguments = _given(original, args, kwargs)
    composed = name not in MADE_BY
    rows = [r.open(name, r.shapes_of(arguments), composed=composed) for r in mine]
    counts = [len(r.rows) for r in mine]
    try:
        result = original(*args, **kwargs)
    finally:
        now = clock()
        for row in rows:
            row.end = now
    for recorder, row, count in zip(mine, rows, counts):
        if len(recorder.rows) == count and isinstance(result, Tensor):
            recorder.made(row, result)
        recorder.kernel_start, recorder.mark = None, clock()
    return result


def _given(f, args, kwargs):
    """All positional arguments of `f` in order, defaults filled in."""
    names = f.__code__.co_varnames[len(args) : f.__code__.co_argcount]
    defaults = dict(
        zip(f.__code__.co_varnames[: f.__code__.co_argcount][::-1], (f.__defaults__ or ())[::-1])
    )
    return [*args, *(kwargs.get(name, defaults.get(name)) for name in names)]


def _how_accumulated(tensor, grad, total):
    """What PyTorch calls how `grad` came into `tensor.grad`, which is now `total`."""
    if total is grad:
        return ("aten::detach", "detach")
    own = tensor._grad
    return (
        ("aten::clone",)
        if isinstance(own, Tensor) and not own._storage.version
        else ("aten::add_",)
    )


def _memory(array):
    """The array that owns the memory of `array`, or has it on lease."""
    while (
        isinstance(array, np.ndarray)
        and isinstance(array.base, np.ndarray)
        and not isinstance(array.base, Lease)
    ):
        array = array.base
    return array
