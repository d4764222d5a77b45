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
    """A queue of work on a GPU: in order within, unordered between streams. `with torch.cuda.stream(s):` puts work into
    it.

    Raises AssertionError where there is no GPU. Source: torch.cuda.Stream"""

    def __init__(self, device: DeviceLike = None, priority: int = 0, _queue: Any = None) -> None:
        self._backend = backend(device)
        self._queue = self._backend.new_queue(priority) if _queue is None else _queue

    @property
    def device(self) -> _devices.device:
        """The GPU whose stream it is."""
        return self._backend.device

    @property
    def stream_id(self) -> int:
        """Its number on its GPU; 0 is the default stream."""
        return self._queue.number

    @property
    def priority(self) -> int:
        """As it was asked for; CUDA lets streams of smaller numbers go first."""
        return self._queue.priority

    def synchronize(self) -> None:
        """Let the host wait until this stream is empty."""
        self._queue.synchronize()

    def query(self) -> bool:
        """Return whether all work put into this stream is done."""
        return self._queue.done()

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event` (a new one unless given) here, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for `event`; the host does not."""
        if event._mark is not None:
            self._queue.wait_for(event._mark)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for what is in `stream` now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._queue is other._queue

    def __hash__(self) -> int:
        return hash(id(self._queue))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={hex(self._queue.number)}>"


class Event:
    """A point in a stream. With `enable_timing=True`, `start.elapsed_time(end)` is the time between two in
    milliseconds.

    Source: torch.cuda.Event"""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        backend()
        self.enable_timing, self.blocking = enable_timing, blocking
        self._mark: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """Put this event into `stream`, the current one unless given."""
        self._mark = (current_stream() if stream is None else stream)._queue.mark()

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream` (the current one unless given) wait for this event."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Return whether the work before this event is done."""
        return self._mark is None or self._mark.done()

    def synchronize(self) -> None:
        """Let the host wait for this event."""
        if self._mark is not None:
            self._mark.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another. Raises RuntimeError unless both were reached, ValueError
        unless both were recorded, with `enable_timing`."""
        if not (self.enable_timing and end_event.enable_timing):
            raise fail(
                ValueError,
                "Both events must be created with argument 'enable_timing=True'.",
                "Write torch.cuda.Event(enable_timing=True).",
            )
        if self._mark is None or end_event._mark is None:
            raise fail(
                ValueError,
                "Both events must be recorded before calculating elapsed time.",
                "Call .record() on both, around the work.",
            )
        if not (self.query() and end_event.query()):
            raise fail(
                RuntimeError,
                "Both events must be completed before calculating elapsed time.",
                "The GPU is still at work: call torch.cuda.synchronize() (or end.synchronize()) first.",
            )
        return round(1000 * self._mark.seconds_to(end_event._mark), 6)

    def __repr__(self) -> str:
        return (
            "<torch.cuda.Event uninitialized>"
            if self._mark is None
            else "<torch.cuda.Event recorded>"
        )


def current_stream(device: DeviceLike = None) -> Stream:
    """Return the stream that work goes into now. Source: torch.cuda.current_stream"""
    return Stream(device, _queue=backend(device).queue)


def default_stream(device: DeviceLike = None) -> Stream:
    """Return the stream that work goes into when no other is chosen. Source: torch.cuda.default_stream"""
    return Stream(device, _queue=backend(device).queues[0])


def set_stream(stream: Stream | None) -> None:
    """Make `stream` the current one of its device; None does nothing. Source: torch.cuda.set_stream"""
    if stream is not None:
        stream._backend.select(stream._queue)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Put work into `stream` inside a `with` block; None changes nothing. Source: torch.cuda.stream"""
    before = None if stream is None else current_stream(stream.device)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)
