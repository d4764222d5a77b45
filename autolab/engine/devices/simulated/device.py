"""One simulated GPU: its memory, its clock and its streams, with the interface of a backend
(`engine/devices/device.py`)."""

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
        # the first failed check (`engine/devices/demands.py`), until the host waits
        self.unmet = None

    # -- current device ------------------------------------------------------------------------------------------------
    def __enter__(self):
        """Put new arrays on this device, and run kernels here, inside a `with` block."""
        current.before.append(current.device)
        current.device = self

    def __exit__(self, *error):
        current.device = current.before.pop()

    def use(self):
        """Make this device the current one from now on."""
        current.device = self

    def run(self, state, kernel, *args):
        """Call `kernel(*args)` with this device as the current one."""
        before, current.device = current.device, self
        try:
            return state.run(kernel, *args)
        finally:
            current.device = before

    # -- memory --------------------------------------------------------------------------------------------------------
    def allocate(self, nbytes, what):
        """Return a block of `nbytes`. Raise OutOfMemoryError in PyTorch's words."""
        try:
            return self.pool.allocate(nbytes, what)
        except OutOfMemory as error:
            raise self.out_of_memory(error.nbytes) from None

    @contextmanager
    def reporting_solvers(self):
        """Return a context in which linear algebra raises LinAlgError for a problem without a solution; the host waits
        for each call."""
        before, self.solvers_report = self.solvers_report, True
        try:
            yield
        finally:
            self.solvers_report = before

    def out_of_memory(self, nbytes):
        """Return PyTorch's out-of-memory error, with the arrays in memory and advice."""
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
        """Put a kernel into the current stream. The host spends the time of the launch, and does not wait."""
        duration = self.profile.duration(nbytes, flops)
        self.clock.spend(self.profile.launch)
        start = self.queue.put(duration)
        if observe.observer is not None:
            observe.observer.launch(self.device, self.queue.number, name, start, duration, nbytes)

    def synchronize(self):
        """Make the host wait for all streams of this device."""
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
        """Store `message` for the next wait of the host if an entry of the bool array `wrong` is true."""
        if wrong._host.any():
            self.unmet = self.unmet or message

    def _raise_unmet(self):
        message, self.unmet = self.unmet, None
        if message is not None:
            raise device_side(message)

    # -- copies --------------------------------------------------------------------------------------------------------
    def from_host(self, array, pinned=False, non_blocking=False):
        """Return a copy of a NumPy array (or scalar) on this device. The host need not wait only if the source is
        pinned."""
        host = np.array(array, order="C")
        made = self.array.over(self, host)
        bandwidth = self.profile.link if pinned else self.profile.link / 2
        self._transfer(
            CPU, self.device, host.nbytes, bandwidth, pinned, not (pinned and non_blocking)
        )
        return made

    def generated(self, array):
        """Return a NumPy array as an array that the device computed itself: a kernel, without a copy."""
        made = self.array.over(self, array)
        self.launch("generate", array.nbytes)
        return made

    def to_host(self, array, pinned=False, non_blocking=False):
        """Return a copy of one of this device's arrays in host memory."""
        bandwidth = self.profile.link if pinned else self.profile.link / 2
        self._transfer(self.device, CPU, array.nbytes, bandwidth, pinned, not non_blocking)
        return array._host.copy(order="C")

    def from_peer(self, array, source):
        """Return a copy of another simulated device's array on this one."""
        source.queue.end = max(source.queue.end, self.clock.now)
        self.queue.end = max(self.queue.end, source.queue.end)
        made = self.array.over(self, array._host.copy(order="C"))
        self._transfer(source.device, self.device, array.nbytes, self.profile.peer, False, False)
        return made

    def pinned(self, host):
        """Return a NumPy array in page-locked memory: any array counts as page-locked here."""
        return host

    def peek(self, array):
        """Return a copy of an array's numbers, without counting a transfer."""
        return array._host.copy()

    def preview(self, array, most):
        """Return what the explorer stores of a result: its numbers if there are at most `most`, else its shape and
        dtype. This takes no simulated time."""
        return array._host.copy() if array.size <= most else (array.shape, array.dtype)

    # -- properties ----------------------------------------------------------------------------------------------------
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
        """Return a new stream."""
        self.queues.append(Queue(self, len(self.queues)))
        return self.queues[-1]

    def select(self, queue):
        """Put kernels into `queue` from now on."""
        self.queue = queue

    def close(self):
        """End the simulation: another device may use the name. Tensors that still exist keep working."""
        self.alive = False
        if current.device is self:
            current.device = None

    def __repr__(self):
        return f"<{self.name} as {self.device}, {human(self.pool.total)}>"


def human(nbytes) -> str:
    """Return a number of bytes in the form of PyTorch's allocator: `20.00 MiB`."""
    if nbytes <= 1024:
        return f"{nbytes} bytes"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes > size or unit == "KiB":
            return f"{nbytes / size:.2f} {unit}"
    raise AssertionError


def simulation(kind, devices, memory, profile):
    """Return the devices of a simulation: a list of SimDevice with a common clock. kind: the device type, 'cuda' or
    'sim'."""
    clock = Clock()
    return [
        new_canonical(kind, i, lambda d: SimDevice(d, PROFILES[profile], memory, clock))
        for i in range(devices)
    ]
