"""What observers are told of devices other than the CPU. Times are seconds on the device's clock."""

from __future__ import annotations

import functools

from ..core.observe import Observer
from ..core.tensor import attach


@functools.partial(attach, to=Observer)
class DeviceEvents:
    """The part of Observer that concerns devices: every event does nothing."""

    def launch(self, device, stream, name, start, duration, nbytes):
        """A kernel was put into stream number `stream`; it begins at `start`, lasts `duration` and moves `nbytes` of
        memory."""

    def transfer(self, source, target, nbytes, start, duration, pinned):
        """A copy between two devices was started; `pinned` says whether the host's side is page-locked."""

    def allocate(self, device, nbytes, allocated, reserved, address, what):
        """`nbytes` at `address` now belong to an array, `what` = (shape, NumPy dtype); `allocated` and `reserved` are
        the totals after it."""

    def free_memory(self, device, nbytes, allocated, reserved, address):
        """The block at `address` is free again."""

    def out_of_memory(self, device, nbytes, allocated, reserved, total):
        """`device` has no room for `nbytes`: OutOfMemoryError is raised next. Of its `total` bytes, `allocated` belong
        to arrays."""

    def synchronize(self, device, waited, stream=None):
        """The host waited `waited` seconds for `device`, or for one of its streams."""
