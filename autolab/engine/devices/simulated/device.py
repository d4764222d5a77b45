"""One simulated GPU: its memory, its clock and its streams, behind the interface that `engine/devices/device.py` asks
of a backend."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from ..demands import device_side
from ...core import observe
from ...core.device import CPU
from ..backend import Accelerator, OutOfMemoryError, new_canonical
from ...core.errors import fail
from .array import SimArray, current
from .clock import Clock, Queue
from .memory import OutOfMemory, Pool
from .module import xp
from .profiles import PROFILES, Profile


class SimDevice(Accelerator):
    """A simulated GPU. `device` is the `torch.device` that names it, `clock` the host's clock, shared by the devices of
    one simulation."""

    simulated = True
    host = False

    def __init__(self, device, profile: Profile, memory: int, clock: Clock):
        self.device, self.profile, self.clock = device, profile, clock
        self.pool = Pool(self, memory)
        self.queues = [Queue(self)]
        self.queue = self.queues[0]
        self.xp, self.array = xp, SimArray
        self.alive, self.solvers_report = True, False
        self.unmet = None  # the first demand that was not met (`engine/devices/demands.py`), until the host waits

    # -- whose turn it is ----------------------------------------------------------------------------------------------
    def __enter__(self):
        """New arrays go here inside `with`; kernels run here."""
        current.before.append(current.device)
        current.device = self

    def __exit__(self, *error):
        current.device = current.before.pop()

    def use(self):
        """This device is the current one from now on."""
        current.device = self

    def run(self, state, kernel, *args):
        """Calls `kernel(*args)` with this device as the current one."""
        before, current.device = current.device, self
        try:
            return state.run(kernel, *args)
        finally:
            current.device = before

    # -- memory --------------------------------------------------------------------------------------------------------
    def allocate(self, nbytes, what):
        """A block for `nbytes`. Raises OutOfMemoryError in PyTorch's words."""
        try:
            return self.pool.allocate(nbytes, what)
        except OutOfMemory as error:
            raise self.out_of_memory(error.nbytes) from None

    @contextmanager
    def reporting_solvers(self):
        """A context in which linear algebra raises LinAlgError for what has no solution; the host waits for each
        call."""
        before, self.solvers_report = self.solvers_report, True
        try:
            yield
        finally:
            self.solvers_report = before

    def out_of_memory(self, nbytes):
        """PyTorch's error, with what was alive and how to fit."""
        pool, index = self.pool, self.device.index
        if observe.observer is not None:
            observe.observer.out_of_memory(
                self.device, nbytes, pool.allocated, pool.reserved, pool.total
            )
        message = (
            f"CUDA out of memory. Tried to allocate {human(nbytes)}. GPU {index} has a total capacity of {human(pool.total)} of which "
            f"{human(pool.total - pool.reserved)} is free. Including non-PyTorch memory, this process has {human(pool.reserved)} memory in "
            f"use. Of the allocated memory {human(pool.allocated)} is allocated by PyTorch, and {human(pool.reserved - pool.allocated)} is "
            "reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
            "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )
        biggest = sorted(pool.alive.values(), key=lambda entry: -entry[0])[:5]
        listed = "; ".join(f"{human(n)} {shape} {dtype}" for n, (shape, dtype) in biggest)
        return fail(
            OutOfMemoryError,
            message,
            f"Alive on the simulated {self.device}: {len(pool.alive)} blocks, the biggest {listed or 'none'}. To fit: a smaller batch, "
            "torch.no_grad() where no gradient is needed, del of tensors that are no longer used (a loss that is kept keeps its whole graph), "
            "float16 in place of float32.",
        )

    # -- time ----------------------------------------------------------------------------------------------------------
    def launch(self, name, nbytes, flops=0):
        """A kernel goes into the current stream: the host pays for the launch and runs on."""
        duration = self.profile.duration(nbytes, flops)
        self.clock.spend(self.profile.launch)
        start = self.queue.put(duration)
        if observe.observer is not None:
            observe.observer.launch(self.device, self.queue.number, name, start, duration, nbytes)

    def synchronize(self):
        """The host waits for all streams of this device."""
        waited = self.clock.wait_until(max(q.end for q in self.queues))
        if observe.observer is not None:
            observe.observer.synchronize(self.device, waited)
        self._raise_unmet()

    def _transfer(self, source, target, nbytes, bandwidth, pinned, waits):
        duration = round(self.profile.copy + nbytes / bandwidth, 10)
        self.clock.spend(self.profile.launch)
        start = self.queue.put(duration)
        if observe.observer is not None:
            observe.observer.transfer(source, target, nbytes, start, duration, pinned)
        if waits:
            waited = self.clock.wait_until(self.queue.end)
            if observe.observer is not None:
                observe.observer.synchronize(self.device, waited)
            self._raise_unmet()

    def demand_none(self, wrong, message):
        """Notes `message` for the next wait of the host when an entry of the bool array `wrong` is true."""
        if wrong._host.any():
            self.unmet = self.unmet or message

    def _raise_unmet(self):
        message, self.unmet = self.unmet, None
        if message is not None:
            raise device_side(message)

    # -- copies --------------------------------------------------------------------------------------------------------
    def from_host(self, array, pinned=False, non_blocking=False):
        """A copy of a NumPy array (or scalar) on this device. Only a pinned source lets the host run on."""
        host = np.array(array, order="C")
        made = self.array.over(self, host)
        bandwidth = self.profile.link if pinned else self.profile.link / 2
        self._transfer(
            CPU, self.device, host.nbytes, bandwidth, pinned, not (pinned and non_blocking)
        )
        return made

    def generated(self, array):
        """Numbers that the device computed itself, given as a NumPy array: a kernel, no copy."""
        made = self.array.over(self, array)
        self.launch("generate", array.nbytes)
        return made

    def to_host(self, array, pinned=False, non_blocking=False):
        """A copy of one of this device's arrays in host memory."""
        bandwidth = self.profile.link if pinned else self.profile.link / 2
        self._transfer(self.device, CPU, array.nbytes, bandwidth, pinned, not non_blocking)
        return array._host.copy(order="C")

    def from_peer(self, array, source):
        """A copy of another simulated device's array on this one."""
        source.queue.end = max(source.queue.end, self.clock.now)
        self.queue.end = max(self.queue.end, source.queue.end)
        made = self.array.over(self, array._host.copy(order="C"))
        self._transfer(source.device, self.device, array.nbytes, self.profile.peer, False, False)
        return made

    def pinned(self, host):
        """A NumPy array whose memory is page-locked: here any."""
        return host

    def peek(self, array):
        """The numbers, without a copy that counts."""
        return array._host.copy()

    def preview(self, array, most):
        """What the explorer keeps of a result: at most `most` numbers, which cost nothing to read here."""
        return array._host.copy() if array.size <= most else (array.shape, array.dtype)

    # -- what it is ----------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return f"Simulated {self.profile.name}"

    @property
    def capability(self) -> tuple[int, int]:
        return self.profile.capability

    @property
    def processors(self) -> int:
        return self.profile.processors

    def new_queue(self):
        """Another stream."""
        self.queues.append(Queue(self, len(self.queues)))
        return self.queues[-1]

    def select(self, queue):
        """Kernels go into `queue` from now on."""
        self.queue = queue

    def close(self):
        """The end of the simulation: the name is free for another device. Tensors that are still there keep working."""
        self.alive = False
        if current.device is self:
            current.device = None

    def __repr__(self):
        return f"<{self.name} as {self.device}, {human(self.pool.total)}>"


def human(nbytes) -> str:
    """Bytes as PyTorch's allocator writes them: `20.00 MiB`."""
    if nbytes <= 1024:
        return f"{nbytes} bytes"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes > size or unit == "KiB":
            return f"{nbytes / size:.2f} {unit}"
    raise AssertionError


def simulation(kind, devices, memory, profile):
    """The devices of a simulation: a list of SimDevice, which share one clock. kind: the type that names them, 'cuda'
    or 'sim'."""
    clock = Clock()
    return [
        new_canonical(kind, i, lambda d: SimDevice(d, PROFILES[profile], memory, clock))
        for i in range(devices)
    ]
