"""Record calls while a profiler runs: one row per call of an op, a backward node, a custom function or a named block.

A recorder is an observer, and without one the engine is not slowed down. The observer's events don't tell when an op
began, so while a recorder runs, every kernel is called through a function that notes the time. An op's time covers its
kernel, the wrapping of its result and the recording of its node; the microsecond spent checking its arguments counts
for the surrounding call.

While 'cuda' means simulated GPUs, times are simulated ones: the same on every run.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from ..engine.devices import device as devices
from ..engine.core import observe
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
    """Return the time now in ns: the computer's clock, or the host's in a simulation."""
    return _ticks()


def simulated_clock():
    """Return the clock of the simulated GPUs that 'cuda' means now; None if it means something else."""
    there = devices.backends("cuda")
    return there[0].clock if there and there[0].simulated else None


def _ordered(simulated):
    """Yield readings of a simulated clock in ns, each a millionth of a ns later, so that calls of zero duration still
    have an order."""
    readings = itertools.count()
    return lambda: simulated.now * 1e9 + next(readings) * 1e-6


_EVALUATE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"


@dataclass(eq=False, slots=True)
class _Row:
    """One call: its start and end (ns; `end` is 0 while it runs), and further data."""

    name: str
    start: int
    end: int = 0
    scope: int = FUNCTION_SCOPE
    sequence_nr: int = -1
    backward: bool = False
    shapes: list = field(default_factory=list)
    composed: bool = False  # a function made of ops: hidden if it only calls an op of the same name


# -- kernels report their start --------------------------------------------------------------------------------------
running: list[Recorder] = []
_untimed: dict[object, namespaces.Namespace] = {}  # the namespaces that the timed ones replace


def _timed(run):
    """Return `run` of a thread's state, extended to note the start of each kernel for this thread's recorders."""

    @functools.wraps(run)
    def timed(kernel, *args):
        if kernel is not np.copyto:  # copyto is the second half of an in-place op
            now = clock()
            for recorder in in_this_thread():
                recorder.kernel_start = now
        return run(kernel, *args)

    return timed


class _TimedNamespace(namespaces.Namespace):
    """The raw `m` of a backward rule, in which each call is an event."""

    def __getattr__(self, name):
        call = super().__getattr__(name)
        from ..engine.core.record import OPS

        label = aten_name(OPS[name])

        @functools.wraps(call)
        def timed(*args, **kwargs):
            mine = in_this_thread()
            rows = [r.open_part(label, args) for r in mine]
            try:
                return call(*args, **kwargs)
            finally:
                now = clock()
                for row in itertools.chain.from_iterable(rows):
                    row.end = now

        setattr(self, name, timed)
        return timed


def _in_its_thread(event):
    """Return an observer's event handler that ignores threads other than the recorder's."""

    @functools.wraps(event)
    def heard(self, *args, **kwargs):
        if threading.get_ident() == self.thread:
            event(self, *args, **kwargs)

    return heard


class Recorder(observe.Observer):
    """Records a row per call in the thread that started it."""

    def __init__(self, record_shapes=False, cuda=False):
        self.record_shapes, self.cuda = record_shapes, cuda
        self.rows, self.kernels, self.functions, self.blocks = [], [], [], []
        self.thread = self.kernel_start = self.evaluating = self.node_row = None
        self.origin, self.mark, self._copying = 0, 0, False

    def start(self):
        """Begin to watch the current thread."""
        self.thread, self.state = threading.get_ident(), per_thread.state
        if not hasattr(self.state.run, "__wrapped__"):
            self.state.run = _timed(self.state.run)
        if not running:
            global _ticks
            simulated = simulated_clock()
            _ticks = time.perf_counter_ns if simulated is None else _ordered(simulated)
            for xp in {np, *(b.xp for b in devices.in_use())}:
                _untimed[xp] = namespaces.raw(xp)
                namespaces._raw[xp] = _TimedNamespace(False, xp)
            profiler_functions.exchange(_composed_call)
        running.append(self)
        observe.add(self)
        self.origin = self.mark = clock()

    def stop(self):
        """Stop recording. Calls that are still running end now."""
        now = clock()
        observe.remove(self)
        running.remove(self)
        if not any(r.state is self.state for r in running):
            self.state.run = self.state.run.__wrapped__  # type: ignore[attr-defined]
        if not running:
            namespaces._raw.update(_untimed)
            _untimed.clear()
            profiler_functions.put_back()
        unfinished = {
            id(row) for _, row in self.functions
        }  # custom functions that raised, whose end was not reported
        self.rows = [row for row in self.rows if id(row) not in unfinished]
        for row in self.rows:
            row.end = row.end or now

    def events(self, thread=1):
        """Return the FunctionEvents of all rows."""
        return events_of(self.rows, self.origin, thread, self.kernels)

    def open(self, name, shapes=(), **more):
        """Return a new row that begins now."""
        row = _Row(name, clock(), shapes=list(shapes), **more)
        self.rows.append(row)
        return row

    def _layers(self, row):
        """Append `row`, after rows for the calls in which PyTorch nests it. Return all of these."""
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
        """Return rows, begun now, of a call inside a backward rule; a computation that is one call in PyTorch is one
        row."""
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
            self._layers(row)
        self.mark = clock()

    def _end_function(self, node, args, sequence_nr, now):
        while self.functions:  # an exception left the functions above it in the list
            begun, row = self.functions.pop()
            row.end = now
            if begun is node:
                row.sequence_nr = sequence_nr
                row.shapes = self.shapes_of(a for a in args if isinstance(a, Tensor))
                return

    def made(self, row):
        """Add rows for the parts of a function that creates a tensor without inputs."""
        first, *others = MADE_BY.get(row.name, (None,))
        if first:
            self.rows.append(_Row(first, row.start, row.start + 1))
            self.rows += [_Row(part, row.start + 1, row.end) for part in others]

    def shapes_of(self, values):
        """Return the shape of each tensor or array, [] for anything else; [] if shapes are not recorded."""
        if not self.record_shapes:
            return []
        return [list(getattr(v, "shape", ())) for v in values]

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
        elif self.blocks:  # else recording began inside it
            self.blocks.pop().end = clock()

    # -- devices -------------------------------------------------------------------------------------------------------
    @_in_its_thread
    def launch(self, device, stream, name, start, duration, nbytes):
        if self.cuda and device.type == "cuda":
            self.kernels.append((clock(), name, device.index, stream, start * 1e9, duration * 1e9))

    @_in_its_thread
    def transfer(self, source, target, nbytes, start, duration, pinned):
        device = target if source.type == "cpu" else source
        if self.cuda and device.type == "cuda":
            now, began = clock(), start * 1e9
            self.kernels.append(
                (now, copy_name(source, target, pinned), device.index, 0, began, duration * 1e9)
            )
            self.kernel_start = now - device.backend.profile.launch * 1e9
            self._copying = True

    @_in_its_thread
    def synchronize(self, device, waited, stream=None):
        if self.cuda and device.type == "cuda" and waited:
            whole = stream is None and not self._copying
            now = clock()
            self.rows.append(
                _Row(f"cuda{'Device' if whole else 'Stream'}Synchronize", now - waited * 1e9, now)
            )
        self._copying = False

    # -- backward ------------------------------------------------------------------------------------------------------
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
        self.node_row = self.open(
            name, self.shapes_of(g for g in grads if g is not None), scope=BACKWARD_SCOPE, **about
        )

    @_in_its_thread
    def after_node(self, node, grad_inputs):
        if self.node_row is None:  # recording began inside it
            return
        now = clock()
        self.node_row.end = now
        whole, row = COMPUTED_WHOLE.get(node.name()), self.node_row
        if whole is not None and self.rows[-1] is row:
            self.rows.append(_Row(whole, row.start, now, backward=True, shapes=row.shapes))
        self.node_row = None
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
            self.node_row.end, self.node_row = now, None


def in_this_thread():
    """Return the recorders that watch this thread."""
    thread = threading.get_ident()
    return [r for r in running if r.thread == thread]


def _composed_call(name, original, args, kwargs):
    """Call a function made of ops, and record a row around it."""
    mine = in_this_thread()
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
            recorder.made(row)
        recorder.kernel_start, recorder.mark = None, clock()
    return result


def _given(f, args, kwargs):
    """Return all positional arguments of `f` in order, including defaults."""
    names = f.__code__.co_varnames[len(args) : f.__code__.co_argcount]
    defaults = dict(
        zip(f.__code__.co_varnames[: f.__code__.co_argcount][::-1], (f.__defaults__ or ())[::-1])
    )
    return [*args, *(kwargs.get(name, defaults.get(name)) for name in names)]


def _how_accumulated(tensor, grad, total):
    """Return PyTorch's name for the way `grad` was added to `tensor.grad`, which is now `total`."""
    if total is grad:
        return ("aten::detach", "detach")
    own = tensor._grad
    first = isinstance(own, Tensor) and not own._storage.version
    return ("aten::clone",) if first else ("aten::add_",)
