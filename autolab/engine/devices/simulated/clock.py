"""Simulated time: one clock for the host, one queue per stream.

Nothing sleeps. The host's clock goes forward by a fixed cost per launch and copy, a stream's by what the kernels in it
take; who synchronises moves the host's clock to the end of the queue. So the same program shows the same times on every
run and every machine.
"""

from __future__ import annotations

from ...core import observe


class Clock:
    """The host's time in seconds since the simulation began."""

    __slots__ = ("now",)

    def __init__(self):
        self.now = 0.0

    def spend(self, seconds):
        """The host is busy for `seconds`."""
        self.now += seconds

    def wait_until(self, moment) -> float:
        """The host waits for `moment`. Returns the seconds waited, 0 when it has passed already."""
        waited = max(0.0, moment - self.now)
        self.now += waited
        return waited


class Queue:
    """A stream: work in order, each piece after the one before. `end` is when the last piece will be done (s)."""

    __slots__ = ("owner", "number", "end")

    def __init__(self, owner, number=0):
        self.owner, self.number, self.end = owner, number, 0.0

    def put(self, duration, ready=0.0) -> float:
        """Appends work of `duration` seconds that may begin at `ready`. Returns when it begins."""
        start = max(self.end, self.owner.clock.now, ready)
        self.end = start + duration
        return start

    def synchronize(self):
        """The host waits until all work in this stream is done."""
        waited = self.owner.clock.wait_until(self.end)
        if observe.observer is not None:
            observe.observer.synchronize(self.owner.device, waited, stream=self.number)

    def done(self) -> bool:
        """Whether all work in this stream is done."""
        return self.end <= self.owner.clock.now

    def mark(self):
        """A point in this stream, behind all that was put into it so far."""
        self.owner.clock.spend(MARK)
        return Mark(self.owner, max(self.end, self.owner.clock.now))

    def wait_for(self, mark):
        """Later work in this stream begins after `mark`. The host runs on."""
        self.end = max(self.end, mark.moment)


MARK = 1e-6
"""What it costs the host to record an event (s)."""


class Mark:
    """A moment in a stream; what an Event records."""

    __slots__ = ("owner", "moment")

    def __init__(self, owner, moment):
        self.owner, self.moment = owner, moment

    def done(self) -> bool:
        return self.moment <= self.owner.clock.now

    def synchronize(self):
        """The host waits for this moment."""
        waited = self.owner.clock.wait_until(self.moment)
        if observe.observer is not None:
            observe.observer.synchronize(self.owner.device, waited)

    def seconds_to(self, later) -> float:
        return later.moment - self.moment
