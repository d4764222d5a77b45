"""The memory of a simulated GPU: the bytes that arrays use, and the bytes that PyTorch's caching allocator would
reserve.

Sizes are rounded up to 512 bytes. Reserved memory grows in steps of 2 MiB and stays until `empty_cache()`. Source:
https://docs.pytorch.org/docs/2.13/notes/cuda.html#cuda-memory-management
"""

from __future__ import annotations

from collections import deque
from threading import Lock

from ...core import observe

ROUND, SEGMENT = 512, 2 << 20


class OutOfMemory(Exception):
    """`nbytes` do not fit into the memory. `Pool` raises this, and the device turns it into PyTorch's error."""

    def __init__(self, nbytes):
        super().__init__(nbytes)
        self.nbytes = nbytes


class Block:
    """Memory that an array owns; it returns to the pool when the last array that uses it is deleted."""

    __slots__ = ("pool", "address", "nbytes", "__weakref__")

    def __init__(self, pool, address, nbytes):
        self.pool, self.address, self.nbytes = pool, address, nbytes

    def __del__(self):
        if self.nbytes:
            self.pool.free(self)


class Pool:
    """The memory of one device: `total` bytes, of which `reserved` are reserved and `allocated` belong to arrays.

    Arrays may be deleted at any moment: in other threads, and in this one whenever the garbage collector runs. Blocks
    freed while the pool is being changed wait in `_late`."""

    def __init__(self, owner, total):
        self.owner, self.total = owner, total
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.alive = {}  # address -> (bytes, what)
        self._next = 0x7F0000000000
        self._lock, self._late = Lock(), deque()  # of (address, bytes)

    def allocate(self, nbytes, what) -> Block:
        """Return a block of `nbytes`, rounded up. what: (shape, dtype), for messages. Raise OutOfMemory if there is no
        room."""
        size = -(-nbytes // ROUND) * ROUND
        if not size:
            return Block(self, 0, 0)
        try:
            with self._lock:
                if self.allocated + size > self.total:
                    raise OutOfMemory(size)
                address = self._next
                self._next += size
                self.alive[address] = (size, what)
                self.allocated += size
                needed = min(-(-self.allocated // SEGMENT) * SEGMENT, self.total)
                self.reserved = max(self.reserved, needed)
                self.peak_allocated = max(self.peak_allocated, self.allocated)
                self.peak_reserved = max(self.peak_reserved, self.reserved)
            if observe.observer is not None:
                observe.observer.allocate(
                    self.owner.device, size, self.allocated, self.reserved, address, what
                )
            return Block(self, address, size)
        finally:
            self._settle()

    def free(self, block):
        """Take a block back; called when it is deleted."""
        self._late.append((block.address, block.nbytes))
        self._settle()

    def _settle(self):
        """Take back the waiting blocks. If another call is changing the pool, that call does so at its end."""
        while self._late and self._lock.acquire(blocking=False):
            try:
                if not self._late:
                    continue  # another thread took it
                address, nbytes = self._late.popleft()
                self.alive.pop(address)
                self.allocated -= nbytes
            finally:
                self._lock.release()
            if observe.observer is not None:
                observe.observer.free_memory(
                    self.owner.device, nbytes, self.allocated, self.reserved, address
                )

    def empty_cache(self):
        """Release reserved memory that no array uses."""
        self.reserved = min(self.reserved, -(-self.allocated // SEGMENT) * SEGMENT)

    def reset_peak(self):
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
