"""Observer events of devices other than the CPU. Times are seconds on the device's clock."""

from __future__ import annotations

import functools

from ..core.observe import Observer
from ..core.tensor import attach


@functools.partial(attach, to=Observer)
class DeviceEvents:
    """The device events of Observer; every event does nothing."""

    def launch(self, device, stream, name, start, duration, nbytes):
        """A kernel was put into stream number `stream`. It begins at `start`, takes `duration` and moves `nbytes` of
        memory."""

    def transfer(self, source, target, nbytes, start, duration, pinned):
        """A copy between two devices was started. pinned: whether the host memory is page-locked."""

    def allocate(self, device, nbytes, allocated, reserved, address, what):
        """`nbytes` at `address` were allocated for an array, with `what` = (shape, NumPy dtype). `allocated` and
        `reserved` are the totals after the allocation."""

    def free_memory(self, device, nbytes, allocated, reserved, address):
        """The block at `address` was freed."""

    def out_of_memory(self, device, nbytes, allocated, reserved, total):
        """`device` has no room for `nbytes`; OutOfMemoryError is raised next. Arrays hold `allocated` of its `total`
        bytes."""

    def synchronize(self, device, waited, stream=None):
        """The host waited `waited` seconds for `device`, or for one of its streams."""
