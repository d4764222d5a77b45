"""Streams and events: queues of work, and points in them. Source:
https://docs.pytorch.org/docs/2.13/notes/cuda.html#cuda-streams"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..engine.devices import device as _devices
from ..engine.core.errors import fail
from ..engine.devices.device import DeviceLike
from .properties import backend


class Stream:
    """A queue of work on a GPU. Work in one stream runs in order; different streams are not ordered. `with
    torch.cuda.stream(s):` puts work into it.

    Raise AssertionError if there is no GPU. Source: torch.cuda.Stream"""

    def __init__(self, device: DeviceLike = None, _queue: Any = None) -> None:
        self._backend = backend(device)
        self._queue = self._backend.new_queue() if _queue is None else _queue

    @property
    def device(self) -> _devices.device:
        """The GPU that the stream belongs to."""
        return self._backend.device

    def synchronize(self) -> None:
        """Make the host wait until this stream is empty."""
        self._queue.synchronize()

    def query(self) -> bool:
        """Return whether all work in this stream is done."""
        return self._queue.done()

    def wait_event(self, event: Event) -> None:
        """Make later work of this stream wait for `event`; the host does not wait."""
        if event._mark is not None:
            self._queue.wait_for(event._mark)

    def wait_stream(self, stream: Stream) -> None:
        """Make later work of this stream wait for the work that is in `stream` now."""
        self._queue.wait_for(stream._queue.mark())

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={hex(self._queue.number)}>"


class Event:
    """A point in a stream. With `enable_timing=True`, `start.elapsed_time(end)` is the time between two events in
    milliseconds.

    Source: torch.cuda.Event"""

    def __init__(self, enable_timing: bool = False) -> None:
        backend()
        self.enable_timing, self._mark = enable_timing, None

    def record(self, stream: Stream | None = None) -> None:
        """Put this event into `stream`; by default, into the current stream."""
        self._mark = (current_stream() if stream is None else stream)._queue.mark()

    def wait(self, stream: Stream | None = None) -> None:
        """Make later work of `stream` (by default the current one) wait for this event."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Return whether all work before this event is done."""
        return self._mark is None or self._mark.done()

    def synchronize(self) -> None:
        """Make the host wait for this event."""
        if self._mark is not None:
            self._mark.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another. Raise RuntimeError unless both have happened, ValueError
        unless both were recorded with `enable_timing`."""
        if not (self.enable_timing and end_event.enable_timing):
            message = "Both events must be created with argument 'enable_timing=True'."
            raise fail(ValueError, message, "Write torch.cuda.Event(enable_timing=True).")
        if self._mark is None or end_event._mark is None:
            message = "Both events must be recorded before calculating elapsed time."
            raise fail(ValueError, message, "Call .record() on both, around the work.")
        if not (self.query() and end_event.query()):
            message = "Both events must be completed before calculating elapsed time."
            note = "The GPU is still at work: call torch.cuda.synchronize() (or end.synchronize()) first."
            raise fail(RuntimeError, message, note)
        return round(1000 * self._mark.seconds_to(end_event._mark), 6)


def current_stream(device: DeviceLike = None) -> Stream:
    """Return the current stream, which receives new work. Source: torch.cuda.current_stream"""
    return Stream(device, _queue=backend(device).queue)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Put work into `stream` inside a `with` block; None has no effect. Source: torch.cuda.stream"""
    if stream is None:
        yield
        return
    backend = stream._backend
    before = backend.queue
    backend.select(stream._queue)
    try:
        yield
    finally:
        backend.select(before)
