"""`with autolab.record_devices() as recording:` records memory, copies, queues and waits of devices on one timeline."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections import deque
from dataclasses import replace
from types import FrameType
from typing import Any

from ...engine.devices import device as devices
from ...engine.core import observe
from ...engine.core.tensor import Storage
from ...engine.core.tensor import Tensor
from .. import names
from .model import Block, Copy, DeviceInfo, DeviceTrace, Kernel, Refusal, Step, Wait, queue_of
from .text import render
from .text import sentence as step_sentence
from ..guard import guarded, rescue, sentence
from ..reader import dtype_name
from ..recorded import Recorded
from ..captions.sentences import error as error_line

MOST_STEPS = 5000
"""A recording is full after this many steps: it is meant to be looked at."""


def record_devices() -> DeviceRecording:
    """Record the devices inside a `with` block: where tensors are, copies, kernel launches, host waits, memory.

        with autolab.record_devices() as recording:
            x = x.to("cuda")
            y = model(x)
            torch.cuda.synchronize()
        print(recording)                                  # or autolab.widgets.DeviceExplorer(recording)

    On a simulated GPU (`autolab.cuda.simulate()`, or 'sim') times are simulated, the same on every run. On a real GPU,
    copies and waits are measured by the host's clock and each operation by events in the GPU's stream. An error inside
    ends the block as usual; what happened before it is kept. After 5,000 steps the recording is full; later ones are
    counted.

    Example:

        >>> with torch.cuda.simulate(), torch.record_devices() as recording:
        ...     x = torch.ones(1000).to("cuda")
        >>> print(recording)
        Devices
        ...
          cpu -> cuda:0  a [1000] tensor  3.91 KiB  5 µs  10.7 µs  pageable, host waits 10.7 µs
        ...
    """
    return DeviceRecording()


class DeviceRecording(Recorded[DeviceTrace]):
    """What `record_devices()` returns. Read it with `print(recording)` or `recording.trace()` (a `DeviceTrace`)."""

    _call = "record_devices"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._backends: dict[str, Any] = {}  # name of a device -> its backend
        self._origins: dict[int, float] = {}  # id of a simulated clock -> its time at the start
        self._zero = time.perf_counter()
        self._before: dict[str, int] = {}
        self._steps: list[Step] = []
        self._tensors: list[Block] = []
        self._copies: list[Copy] = []
        self._kernels: list[Kernel] = []
        self._waits: list[Wait] = []
        self._refusals: list[Refusal] = []
        self._memory: dict[str, list[list[Any]]] = {}
        self._blocks: dict[
            tuple[str, int], Block
        ] = {}  # (device, address) -> the block that is allocated there
        self._made: list[Block] = []  # allocated blocks whose use is not known yet
        self._unlabelled: list[
            Kernel
        ] = []  # launched by this line, for an operation that has not been reported yet
        self._queues: dict[
            tuple[str, int], deque[float]
        ] = {}  # when the work in each stream will be finished
        self._on_host: weakref.WeakKeyDictionary[Any, Block] = weakref.WeakKeyDictionary()
        self._used: set[str] = set()  # ids of the blocks that operations read or wrote
        self._finalizers: list[Any] = []
        self._line: tuple[Any, int] | None = None
        self._phase = "forward"
        self._points: dict[
            str, list[tuple[Any, ...]]
        ] = {}  # real GPU -> (kernel, mark after it); first (time, mark)
        self._left_out = 0
        self._error = ""
        self._unfollowed: dict[str, None] = {}  # sentences about events that could not be followed

    # -- the block ---------------------------------------------------------------------------------------------------
    def __enter__(self) -> DeviceRecording:
        self._check_new()
        gc.collect()  # else garbage cycles from before would be freed at a random point of the recording
        self._clear()
        self._look_around(names.caller())
        self._running = True
        observe.add(self)
        return self

    @guarded()
    def _look_around(self, frame: FrameType | None) -> None:
        """Register the devices and tensors that exist when the block begins."""
        for backend in devices.in_use():
            self._meet(backend)
        if frame is not None:
            self._scan(frame, born=False)
            self._line = frame.f_code, frame.f_lineno

    def lost(self, event: str, args: tuple[Any, ...], error: Exception) -> None:
        """Note that the recorder could not follow an event; the program goes on."""
        self._unfollowed[sentence(_EVENTS.get(event, f"`{event}`"), error)] = None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        observe.remove(self)
        if error is not None:
            self._error = error_line(error)
        self._trace, self._running = self._so_far(names.caller()), False
        for finalizer in self._finalizers:
            finalizer.detach()
        self._clear()

    def _so_far(self, frame: FrameType | None) -> DeviceTrace:
        def build() -> DeviceTrace:
            self._scan_all(frame)
            return self._build()

        def empty(error: Exception) -> DeviceTrace:
            self.lost("__exit__", (), error)
            return DeviceTrace(error=self._error, why=" ".join(self._unfollowed))

        return rescue(build, empty)

    def _render(self, trace: DeviceTrace) -> str:
        return render(trace)

    def _summary(self, trace: DeviceTrace) -> str:
        used = ", ".join(d.name for d in trace.devices[1:]) or "no device but the CPU"
        return f"{used}, {len(trace.steps)} steps"

    # -- devices and time --------------------------------------------------------------------------------------------
    def _meet(self, backend: Any) -> str:
        name = str(backend.device)
        if self._backends.get(name) is not backend:
            self._backends[name] = backend
            self._before[name] = backend.pool.allocated
            if backend.simulated:
                # A clock that is first seen now started during this recording.
                self._origins.setdefault(
                    id(backend.clock), 0.0 if self._running else backend.clock.now
                )
            else:
                self._points[name] = [(self._now(name), self._mark(backend))]
        return name

    def _device(self, device: Any) -> str:
        return "cpu" if device.type == "cpu" else self._meet(device.backend)

    def _now(self, name: str) -> float:
        """Return the host's time on this device's clock. For "cpu", use the clock of a simulated 'cuda' device if there
        is one."""
        backend = self._backends.get(name)
        if backend is None:
            simulated = [b for b in self._backends.values() if b.simulated]
            backend = min(simulated, key=lambda b: b.device.type != "cuda", default=None)
        if backend is None or not backend.simulated:
            return time.perf_counter() - self._zero
        return round(backend.clock.now - self._origins[id(backend.clock)], 12)

    def _since(self, name: str, moment: float) -> float:
        """Return a time that a device reported, relative to the start of the recording."""
        backend = self._backends[name]
        return round(
            moment - (self._origins[id(backend.clock)] if backend.simulated else self._zero), 12
        )

    # -- steps -------------------------------------------------------------------------------------------------------
    def _step(self, phase: str, when: float, *items: str) -> None:
        self._steps.append(Step(len(self._steps), phase, when, items, ""))

    def _begin(self) -> tuple[Any, str] | None:
        """Update the names, then return (the learner's line, the function called there) for an event; None if the
        recording is full."""
        if len(self._steps) >= MOST_STEPS:
            self._left_out += 1
            return None
        frame, call = _caller()
        line = None if frame is None else (frame.f_code, frame.f_lineno)
        if line != self._line:
            self._line = line
            self._unlabelled = []
            if frame is not None:
                self._scan(frame)
        return names.source(frame), call

    def _settle(self) -> None:
        """Add a step of its own for each allocation that no kernel wrote to afterwards."""
        for block in self._made:
            self._step("allocate", block.born or 0.0, block.id)
            self._born(block)
        self._made = []

    def _born(self, block: Block) -> None:
        block.born_step = len(self._steps) - 1
        if block.died_step is not None:
            block.died_step = max(block.died_step, block.born_step + 1)

    # -- names -------------------------------------------------------------------------------------------------------
    def _scan(self, frame: FrameType, born: bool = True) -> None:
        self._name(names.tensors(names.local_names(frame)), born)

    def _scan_all(self, frame: FrameType | None) -> None:
        self._name(names.tensors(names.namespace(frame)))

    def _name(self, found: Any, born: bool = True) -> None:
        for name, tensor in found:
            if isinstance(tensor, Tensor):
                for block, called in (
                    (self._block(tensor, born), name),
                    (self._gradient(tensor), f"{name}.grad"),
                ):
                    if block is not None and not block.name:
                        block.name = called

    def _gradient(self, tensor: Tensor) -> Block | None:
        grad = tensor._grad
        if grad is None or isinstance(grad, Tensor):
            return None if grad is None else self._block(grad)
        if grad.__class__ not in devices.ARRAY_CLASSES or devices.of(grad) is devices.CPU:
            return None
        return self._blocks.get((str(devices.of(grad)), _memory(grad)[0]))

    def _block(self, tensor: Tensor, born: bool = True) -> Block | None:
        """Return the block of a tensor; register it if it is new."""
        device = tensor._storage.device
        if device is devices.CPU:
            known = self._on_host.get(tensor._storage)
            if known is None:
                known = self._on_host[tensor._storage] = self._new(
                    tensor, "cpu", tensor.nbytes, born
                )
                self._finalizers.append(weakref.finalize(tensor._storage, self._gone, known))
            return known
        if device.backend is None or not tensor.nbytes:
            return None
        name, (address, taken) = self._device(device), _memory(tensor._array)
        if (name, address) not in self._blocks:
            self._blocks[name, address] = self._new(tensor, name, taken, False)
        return self._blocks[name, address]

    def _use(self, items: Any) -> None:
        """Note the memory that an operation reads and writes, or that a node saved. `items`: tensors, pairs of an array
        and its storage, and lists of these."""
        for item in items:
            if isinstance(item, Tensor):
                self._use_memory(item._array, item._storage)
            elif isinstance(item, tuple) and len(item) > 1 and isinstance(item[1], Storage):
                self._use_memory(*item[:2])
            elif isinstance(item, (list, tuple)):
                self._use(item)

    def _use_memory(self, array: Any, storage: Storage) -> None:
        device = devices.of(array)
        if device is devices.CPU:
            block = self._on_host.get(storage)
        else:
            block = self._blocks.get((str(device), _memory(array)[0]))
        if block is not None:
            self._used.add(block.id)

    def _new(self, tensor: Tensor, device: str, taken: int, born: bool) -> Block:
        block = Block(
            f"t{len(self._tensors)}", "", tuple(tensor.shape), dtype_name(tensor.dtype), device, tensor.nbytes, taken,
            self._now(device) if born else None, len(self._steps) if born else -1, None,
        )  # fmt: skip
        self._tensors.append(block)
        return block

    @guarded()
    def _gone(self, block: Block) -> None:
        if self._running:
            block.died, block.died_step = (
                self._now(block.device),
                max(len(self._steps), block.born_step + 1),
            )

    # -- events ------------------------------------------------------------------------------------------------------
    @guarded()
    def allocate(self, device, nbytes, allocated, reserved, address, what):
        name = self._device(device)
        where = self._begin()
        if where is None:
            return
        shape, dtype = what
        size = dtype.itemsize
        for n in shape:
            size *= n
        now = self._now(name)
        block = Block(
            f"t{len(self._tensors)}",
            "",
            tuple(shape),
            str(dtype),
            name,
            size,
            nbytes,
            now,
            len(self._steps),
            where[0],
        )
        self._tensors.append(block)
        self._blocks[name, address] = block
        self._made.append(block)
        self._memory.setdefault(name, []).append([now, len(self._steps), allocated, reserved])

    @guarded()
    def free_memory(self, device, nbytes, allocated, reserved, address):
        # Don't scan names here: this runs when an object is freed, possibly in the middle of another event.
        name = self._device(device)
        block = self._blocks.pop((name, address), None)
        if len(self._steps) >= MOST_STEPS:
            self._left_out += 1
            return
        if any(made is block for made in self._made):
            self._settle()
        now, last = self._now(name), self._steps[-1] if self._steps else None
        if block is not None:
            block.died, block.freed = now, names.source(_caller()[0])
            if self._made:  # in the middle of an operation: belongs to its step
                block.died_step = len(self._steps)
            elif (
                last is not None and last.phase == "free" and self._tensors_of(last).device == name
            ):
                last.items += (block.id,)
                last.time, block.died_step = now, last.index
            else:
                block.died_step = len(self._steps)
                self._step("free", now, block.id)
        step = len(self._steps) if self._made else max(len(self._steps) - 1, 0)
        self._memory.setdefault(name, []).append([now, step, allocated, reserved])

    def _tensors_of(self, step: Step) -> Block:
        return self._tensors[int(step.items[0][1:])]

    @guarded()
    def launch(self, device, stream, name, start, duration, nbytes):
        where = self._begin()
        if where is None:
            return
        on = self._device(device)
        now, begins = self._now(on), self._since(on, start)
        kernel = Kernel(
            f"k{len(self._kernels)}", name, on, stream, now, begins, round(begins + duration, 12), nbytes,
            self._phase, where[1], where[0],
            self._ahead(on, stream, now, begins + duration), "", tuple(b.id for b in self._made if b.device == on),
        )  # fmt: skip
        self._kernels.append(kernel)
        self._unlabelled.append(kernel)
        self._step("launch", now, kernel.id)
        self._finish_made(on)

    def _finish_made(self, on: str) -> None:
        for block in self._made:
            if block.device == on:
                self._born(block)
        self._made = [b for b in self._made if b.device != on]

    def _ahead(self, on: str, stream: int, now: float, end: float) -> int:
        queue = self._queues.setdefault((on, stream), deque())
        while queue and queue[0] <= now:
            queue.popleft()
        queue.append(end)
        return len(queue) - 1

    @guarded()
    def transfer(self, source, target, nbytes, start, duration, pinned):
        where = self._begin()
        if where is None:
            return
        origin, to = self._device(source), self._device(target)
        on = origin if to == "cpu" else to
        backend = self._backends[on]
        now, begins = self._now(on), self._since(on, start)
        copy = Copy(
            f"c{len(self._copies)}", origin, to, backend.queue.number, nbytes, now if backend.simulated else begins,
            begins,
            round(begins + duration, 12), pinned, where[1], self._phase, where[0],
        )  # fmt: skip
        self._ahead(on, copy.stream, now, copy.end)
        made = [b for b in self._made if b.device == to]
        copy.made = made[-1].id if made else ""
        self._copies.append(copy)
        self._step("copy", now, copy.id)
        self._finish_made(to)

    @guarded()
    def synchronize(self, device, waited, stream=None):
        where = self._begin()
        if where is None:
            return
        name = self._device(device)
        now = self._now(name)
        last = (
            self._copies[-1]
            if self._copies and self._steps[-1].items[0] == self._copies[-1].id
            else None
        )
        if (
            last is not None
            and queue_of(last) == name
            and (last.call, last.source) == (where[1], where[0])
        ):
            last.waited = waited  # a copy that the host waits for
            self._steps[-1].time = now
            return
        wait = Wait(
            f"w{len(self._waits)}", name, stream, round(now - waited, 12), now, where[1], where[0]
        )
        self._waits.append(wait)
        self._step("wait", now, wait.id)

    @guarded()
    def out_of_memory(self, device, nbytes, allocated, reserved, total):
        where = self._begin()
        if where is None:
            return
        name = self._device(device)
        now = self._now(name)
        refusal = Refusal(
            f"o{len(self._refusals)}", name, nbytes, allocated, reserved, total, now, where[0]
        )
        self._refusals.append(refusal)
        self._step("out of memory", now, refusal.id)

    # -- which operation the events belong to --------------------------------------------------------------------
    @guarded()
    def forward(self, op, args, attrs, outputs, node, inplace=False):
        self._use((*args, *outputs))
        name = getattr(op, "name", "")
        if name == "to_device" and self._copies and outputs:
            copy = self._copies[-1]
            source, made = self._block(args[0]), self._block(outputs[0])
            copy.tensor, copy.made = (
                source.id if source is not None else "",
                made.id if made is not None else "",
            )
        self._done(name if isinstance(name, str) else "", outputs)

    @guarded()
    def after_node(self, node, grad_inputs):
        self._use(node.entries())
        self._done(node.name().rpartition("::")[2], ())

    def _done(self, name: str, outputs: Any) -> None:
        if self._unlabelled:
            frame = _caller()[0]
            if (
                name and frame is not None and (frame.f_code, frame.f_lineno) == self._line
            ):  # otherwise they belonged to an earlier operation
                for kernel in self._unlabelled:
                    kernel.op = name
            self._unlabelled = []
        for tensor in outputs[:1]:
            device = tensor._storage.device if isinstance(tensor, Tensor) else devices.CPU
            if device is not devices.CPU and not device.backend.simulated and name != "to_device":
                self._operation(device.backend, name)
        self._settle()

    @guarded()
    def seed(self, node, output_nr, grad):
        self._phase = "backward"
        for kernel in self._unlabelled:  # they computed the first gradient
            kernel.op, kernel.phase = "backward", "backward"
        self._unlabelled = []

    @guarded()
    def backward_end(self, error):
        self._phase = "forward"

    # -- a real GPU --------------------------------------------------------------------------------------------------
    @staticmethod
    def _mark(backend: Any) -> Any:
        """Return a marker in a real GPU's stream; its time can be read once the GPU has reached it."""
        return backend.queue.mark()

    def _operation(self, backend: Any, name: str) -> None:
        """Note that an operation was put into a real GPU's stream; `_measured` fills in its times."""
        where = self._begin()
        if where is None:
            return
        on = self._meet(backend)
        now, makes = self._now(on), tuple(b.id for b in self._made if b.device == on)
        kernel = Kernel(
            f"k{len(self._kernels)}", name, on, backend.queue.number, now, now, now, 0, self._phase, where[1],
            where[0], 0, name, makes, True
        )  # fmt: skip
        self._kernels.append(kernel)
        self._points[on].append((kernel, self._mark(backend)))
        self._step("launch", now, kernel.id)
        self._finish_made(on)

    def _measured(self) -> None:
        """Fill in measured times. An operation begins at the end of the operation before, or when the host launched it,
        whichever is later."""
        for points in self._points.values():
            points[-1][1].synchronize()
            (zero, first), came = points[0], 0.0
            ended = zero
            for kernel, mark in points[1:]:
                kernel.end = round(zero + first.seconds_to(mark), 12)
                kernel.start = min(max(ended, came), kernel.end)
                ended, came = kernel.end, kernel.queued

    # -- the result --------------------------------------------------------------------------------------------------
    def _build(self) -> DeviceTrace:
        self._settle()
        self._measured()
        used = (
            {t.device for t in self._tensors}
            | {queue_of(c) for c in self._copies}
            | set(self._memory)
        )
        used |= (
            {k.device for k in self._kernels}
            | {w.device for w in self._waits}
            | {o.device for o in self._refusals}
        )
        shown = [b for name, b in self._backends.items() if name in used] or list(
            self._backends.values()
        )
        infos = [
            DeviceInfo("cpu", "CPU", False, None),
            *(self._info(b) for b in sorted(shown, key=lambda b: str(b.device))),
        ]
        host_end = max((self._now(name) for name in self._backends), default=0.0)
        ends = [*(k.end for k in self._kernels), *(c.end for c in self._copies), host_end]
        self._used |= {c.tensor for c in self._copies} | {t for k in self._kernels for t in k.makes}
        for block in self._tensors:
            block.idle = (
                block.born_step < 0 and block.died_step is None and block.id not in self._used
            )
        trace = DeviceTrace(
            tuple(infos), _copies(self._tensors), _copies(self._copies), _copies(self._kernels), _copies(self._waits),
            _copies(self._refusals), _copies(self._steps), {name: [list(point) for point in points] for name,
            points in self._memory.items()},
            max(ends), host_end, self._error, self._left_out, " ".join(self._unfollowed),
        )  # fmt: skip
        for step in trace.steps:
            step.text = step_sentence(trace, step.index)
        return trace

    def _info(self, backend: Any) -> DeviceInfo:
        name = str(backend.device)
        before = self._before[name]
        at, peak = 0.0, before
        for when, _, allocated, _ in self._memory.get(name, ()):
            if allocated > peak:
                at, peak = when, allocated
        return DeviceInfo(
            name, backend.name, backend.simulated, backend.pool.total, before, peak, at
        )


_EVENTS = {
    "_look_around": "what was there before the block",
    "free_memory": "memory that was freed",
    "transfer": "a copy between devices",
    "launch": "a kernel",
    "out_of_memory": "memory that ran out",
    "after_node": "an operation of a backward pass",
    "_gone": "a tensor that went",
    "forward": "an operation",
    "__exit__": "the block to its end",
}
"""What the sentence about an event that could not be followed calls it."""


def _copies(records: list[Any]) -> tuple[Any, ...]:
    return tuple(replace(record) for record in records)


def _memory(array: Any) -> tuple[int, int]:
    """Return (address, bytes) of the block that a device's raw array is part of."""
    block = getattr(array, "_block", None)  # a simulated GPU
    return (
        (block.address, block.nbytes)
        if block is not None
        else (array.data.mem.ptr, array.data.mem.size)
    )


def _caller() -> tuple[FrameType | None, str]:
    """Return (the learner's frame, the library function that was called there)."""
    frame: FrameType | None = sys._getframe(2)
    call = ""
    while frame is not None and names.ours(frame):
        call = frame.f_code.co_name
        frame = frame.f_back
    return frame, call
