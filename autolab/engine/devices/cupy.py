"""A real GPU through CuPy (14 or newer), with the interface of `engine/devices/device.py`. CuPy is imported when a
program first asks for a GPU.

Sources: https://docs.cupy.dev/en/stable/reference/cuda.html, https://docs.cupy.dev/en/stable/user_guide/memory.html
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np

from . import demands
from ..core import observe
from ..core.device import CPU
from .backend import Accelerator, OutOfMemoryError, new_canonical
from ..core.errors import fail

OLDEST = 14


def found() -> list:
    """Return a CupyDevice for each GPU; an empty list without CuPy or without a GPU. Raise ImportError if CuPy is too
    old."""
    spec = importlib.util.find_spec("cupy")
    if spec is None or spec.origin is None:  # CuPy is missing, or only a folder has its name
        return []
    import cupy

    if int(cupy.__version__.split(".")[0]) < OLDEST:
        raise fail(
            ImportError,
            f"autolab needs CuPy {OLDEST} or newer, found {cupy.__version__}",
            'Install a newer CuPy: python -m pip install -U "autolab-kit[gpu]"',
        )
    if not cupy.cuda.is_available():
        return []
    gpus = [
        new_canonical("cuda", i, lambda d: CupyDevice(d, cupy))
        for i in range(cupy.cuda.runtime.getDeviceCount())
    ]
    _watch_memory(cupy, gpus)
    return gpus


def _watch_memory(cupy, gpus):
    """Report peaks and the events `allocate` and `free_memory` from a hook of CuPy's memory pool. CuPy keeps hooks per
    thread, so memory that other threads allocate counts in `allocated` but not in the peaks."""

    class Watch(cupy.cuda.MemoryHook):
        name = "autolab"

        def malloc_postprocess(self, **event):
            pool = gpus[event["device_id"]].pool
            pool.note()
            if observe.observer is not None:
                what = ((event["size"],), np.dtype(np.uint8))
                observe.observer.allocate(
                    pool.owner.device,
                    event["mem_size"],
                    pool.allocated,
                    pool.reserved,
                    event["mem_ptr"],
                    what,
                )

        def free_postprocess(self, **event):
            pool = gpus[event["device_id"]].pool
            if observe.observer is not None:
                observe.observer.free_memory(
                    pool.owner.device,
                    event["mem_size"],
                    pool.allocated,
                    pool.reserved,
                    event["mem_ptr"],
                )

    Watch().__enter__()


class CupyDevice(Accelerator):
    """One GPU, with the same interface as `SimDevice`. Kernel launches are not reported one by one (CuPy's profiler
    does that)."""

    simulated, host, alive = False, False, True

    def __init__(self, device, cupy):
        self.device, self.xp, self.array, self.cupy = device, cupy, cupy.ndarray, cupy
        self.gpu = cupy.cuda.Device(device.index)
        self.pool = CupyPool(self)
        with self.gpu:
            self.queues = [CupyQueue(self, cupy.cuda.Stream.null, 0)]
        self.queue = self.queues[0]
        # used by `engine/devices/demands.py`
        self.verdict, self.messages, self.asked = None, {}, False
        properties = cupy.cuda.runtime.getDeviceProperties(device.index)
        self.name = properties["name"].decode()
        self.capability = properties["major"], properties["minor"]
        self.processors = properties["multiProcessorCount"]

    def __enter__(self):
        self.gpu.__enter__()

    def __exit__(self, *error):
        self.gpu.__exit__(*error)
        if error and isinstance(error[1], self.cupy.cuda.memory.OutOfMemoryError):
            if observe.observer is not None:
                asked = getattr(error[1], "_size", 0)
                observe.observer.out_of_memory(
                    self.device, asked, self.pool.allocated, self.pool.reserved, self.pool.total
                )
            note = "Use a smaller batch, torch.no_grad() where no gradient is needed, or delete tensors that are no longer used."
            raise fail(OutOfMemoryError, f"CUDA out of memory. {error[1]}", note) from None

    def use(self):
        self.gpu.use()

    def run(self, state, kernel, *args):
        """Call `kernel(*args)` with this GPU as the current one. Raise OutOfMemoryError in PyTorch's words."""
        with self:
            return state.run(kernel, *args)

    def synchronize(self):
        began = time.perf_counter()
        self.gpu.synchronize()
        if observe.observer is not None:
            observe.observer.synchronize(self.device, time.perf_counter() - began)
        self._raise_unmet()

    def demand_none(self, wrong, message):
        """Record on the GPU whether an entry of the bool array `wrong` is true. `_raise_unmet` reads the record the
        next time that the host waits."""
        if self.verdict is None:
            self.verdict = self.cupy.zeros((), np.int32)
        number = self.messages.setdefault(message, len(self.messages) + 1)
        self.cupy.maximum(self.verdict, wrong.any() * np.int32(number), out=self.verdict)
        self.asked = True

    def _raise_unmet(self):
        if not self.asked:
            return
        self.asked, number = False, int(self.verdict)
        if number:
            self.verdict.fill(0)
            raise demands.device_side(list(self.messages)[number - 1])

    def _report(self, source, target, nbytes, began, pinned):
        if observe.observer is not None:
            observe.observer.transfer(
                source, target, nbytes, began, time.perf_counter() - began, pinned
            )

    def from_host(self, array, pinned=False, non_blocking=False):
        began = time.perf_counter()
        with self:
            made = self.cupy.asarray(
                np.asarray(array, order="C"), blocking=not (pinned and non_blocking)
            )
        self._report(CPU, self.device, made.nbytes, began, pinned)
        return made

    def generated(self, array):
        """Return generated numbers, such as a range, as an array on the GPU. They are computed on the host, so that
        they equal the CPU's to the last digit, and then copied."""
        return self.from_host(array)

    def to_host(self, array, pinned=False, non_blocking=False):
        began = time.perf_counter()
        with self.gpu:
            host = array.get(blocking=not non_blocking)
            if not non_blocking:
                self._raise_unmet()
        self._report(self.device, CPU, host.nbytes, began, pinned)
        return host

    def from_peer(self, array, source):
        began = time.perf_counter()
        with self:
            made = self.cupy.empty(array.shape, array.dtype)
            made.data.copy_from_device_async(
                self._contiguous(array).data, made.nbytes, self.cupy.cuda.Stream.null
            )
        self._report(source.device, self.device, made.nbytes, began, False)
        return made

    def _contiguous(self, array):
        with array.device:
            made = self.cupy.ascontiguousarray(array)
            self.cupy.cuda.get_current_stream().synchronize()
        return made

    def pinned(self, host):
        """Return a copy of a NumPy array in page-locked memory."""
        import cupyx

        made = cupyx.empty_pinned(host.shape, host.dtype)
        made[...] = host
        return made

    def reporting_solvers(self):
        """Return a context in which linear algebra raises LinAlgError for a problem without a solution; the host waits
        for each call."""
        import cupyx

        return cupyx.errstate(linalg="raise")

    def peek(self, array):
        """Return the numbers of an array, for an observer."""
        with self.gpu:
            return array.get()

    def preview(self, array, most):
        """Return (shape, dtype) for the explorer; the values are not copied to the host."""
        return array.shape, array.dtype

    def new_queue(self):
        with self.gpu:
            self.queues.append(
                CupyQueue(
                    self,
                    self.cupy.cuda.Stream(non_blocking=True),
                    len(self.queues),
                )
            )
        return self.queues[-1]

    def select(self, queue):
        with self.gpu:
            queue.stream.use()
        self.queue = queue


class CupyPool:
    """Memory statistics from CuPy's memory pool."""

    def __init__(self, owner):
        self.owner = owner
        self.peak_allocated = self.peak_reserved = 0

    def _pool(self):
        return self.owner.cupy.get_default_memory_pool()

    @property
    def allocated(self) -> int:
        with self.owner.gpu:
            return self._pool().used_bytes()

    @property
    def reserved(self) -> int:
        with self.owner.gpu:
            return self._pool().total_bytes()

    @property
    def total(self) -> int:
        return self.owner.gpu.mem_info[1]

    def note(self):
        """Update the peaks. CuPy calls this after each allocation, with the GPU as the current one."""
        pool = self._pool()
        self.peak_allocated = max(self.peak_allocated, pool.used_bytes())
        self.peak_reserved = max(self.peak_reserved, pool.total_bytes())

    def reset_peak(self):
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved

    def empty_cache(self):
        with self.owner.gpu:
            self._pool().free_all_blocks()


class CupyQueue:
    """A CuPy stream."""

    def __init__(self, owner, stream, number):
        self.owner, self.stream, self.number = owner, stream, number

    def synchronize(self):
        self.stream.synchronize()

    def done(self) -> bool:
        return self.stream.done

    def mark(self):
        with self.owner.gpu:
            event = self.owner.cupy.cuda.Event()
            event.record(self.stream)
        return CupyMark(self.owner, event)

    def wait_for(self, mark):
        self.stream.wait_event(mark.event)


class CupyMark:
    """A CuPy event."""

    def __init__(self, owner, event):
        self.owner, self.event = owner, event

    def done(self) -> bool:
        return self.event.done

    def synchronize(self):
        self.event.synchronize()

    def seconds_to(self, later) -> float:
        return self.owner.cupy.cuda.get_elapsed_time(self.event, later.event) / 1000
