"""A counter of copies between devices."""

from __future__ import annotations

from ..core.observe import Observer


class TransferCounter(Observer):
    """Count copies between devices: `with observe.watching(TransferCounter()) as counter: …; counter.count`."""

    def __init__(self):
        self.count = self.nbytes = 0

    def transfer(self, source, target, nbytes, start, duration, pinned):
        self.count += 1
        self.nbytes += nbytes
