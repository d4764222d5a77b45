"""Simulated time: one clock for the host, one queue per stream.

Nothing sleeps. The host's clock advances by a fixed cost per launch and copy, and a stream's clock by the time of its
kernels. Synchronization moves the host's clock to the end of the queue. So a program shows the same times on every run
and every machine.
"""

from __future__ import annotations

from ...core import observe


class Clock:
    """The host's time in seconds since the simulation began."""

    __slots__ = ("now",)

    def __init__(self):
        self.now = 0.0

    def spend(self, seconds):
        """Advance the host's time by `seconds` of work."""
        self.now += seconds

    def wait_until(self, moment) -> float:
        """Make the host wait for `moment`. Return the seconds waited, 0 if it has already passed."""
        waited = max(0.0, moment - self.now)
        self.now += waited
        return waited


class Queue:
    """A stream: work that runs in order. `end` is the time when the last piece will be done (s)."""

    __slots__ = ("owner", "number", "end")

    def __init__(self, owner, number=0):
        self.owner, self.number, self.end = owner, number, 0.0

    def put(self, duration, ready=0.0) -> float:
        """Append work of `duration` seconds that may begin at `ready`. Return the time when it begins."""
        start = max(self.end, self.owner.clock.now, ready)
        self.end = start + duration
        return start

    def synchronize(self):
        """Make the host wait until all work in this stream is done."""
        waited = self.owner.clock.wait_until(self.end)
        if observe.observer is not None:
            observe.observer.synchronize(self.owner.device, waited, stream=self.number)

    def done(self) -> bool:
        """Return whether all work in this stream is done."""
        return self.end <= self.owner.clock.now

    def mark(self):
        """Return a mark behind all work put into this stream so far."""
        self.owner.clock.spend(MARK)
        return Mark(self.owner, max(self.end, self.owner.clock.now))

    def wait_for(self, mark):
        """Make later work in this stream begin after `mark`. The host does not wait."""
        self.end = max(self.end, mark.moment)


MARK = 1e-6
"""The time that the host needs to record an event (s)."""


class Mark:
    """A moment in a stream, recorded by an Event."""

    __slots__ = ("owner", "moment")

    def __init__(self, owner, moment):
        self.owner, self.moment = owner, moment

    def done(self) -> bool:
        return self.moment <= self.owner.clock.now

    def synchronize(self):
        """Make the host wait for this moment."""
        waited = self.owner.clock.wait_until(self.moment)
        if observe.observer is not None:
            observe.observer.synchronize(self.owner.device, waited)

    def seconds_to(self, later) -> float:
        return later.moment - self.moment
