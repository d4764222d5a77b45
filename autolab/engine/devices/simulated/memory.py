"""The memory of a simulated GPU: PyTorch's caching allocator in small.

Sizes are rounded up to 512 bytes and cut out of segments that stay reserved until `empty_cache()`: 2 MiB for requests
of at most 1 MiB, 20 MiB for less than 10 MiB, and multiples of 2 MiB above that. Source:
https://docs.pytorch.org/docs/2.13/notes/cuda.html#cuda-memory-management
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from threading import Lock

from ...core import observe

ROUND, SMALL, SEGMENT, MEDIUM, MEDIUM_SEGMENT = 512, 1 << 20, 2 << 20, 10 << 20, 20 << 20


class OutOfMemory(Exception):
    """No room for `nbytes`; `Pool` raises it, the device puts it into PyTorch's words."""

    def __init__(self, nbytes):
        super().__init__(nbytes)
        self.nbytes = nbytes


class Block:
    """Memory that some array owns; it goes back to the pool when the last array that looks into it dies."""

    __slots__ = ("pool", "segment", "offset", "nbytes", "what", "__weakref__")

    def __init__(self, pool, segment, offset, nbytes, what):
        self.pool, self.segment, self.offset, self.nbytes, self.what = (
            pool,
            segment,
            offset,
            nbytes,
            what,
        )

    @property
    def address(self) -> int:
        return self.segment.address + self.offset if self.segment is not None else 0

    def __del__(self):
        self.pool.free(self)


class _Segment:
    """Reserved memory: `holes` are its free pieces (offset, size), in order."""

    __slots__ = ("address", "size", "small", "holes")

    def __init__(self, address, size, small):
        self.address, self.size, self.small, self.holes = address, size, small, [(0, size)]

    def give_back(self, offset, size):
        insort(self.holes, (offset, size))
        merged = []
        for start, length in self.holes:
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self.holes = merged

    @property
    def unused(self) -> bool:
        return self.holes == [(0, self.size)]


def _segment_length(size, small):
    return SEGMENT if small else MEDIUM_SEGMENT if size < MEDIUM else -(-size // SEGMENT) * SEGMENT


class Pool:
    """What one device has: `total` bytes, of which `reserved` are in segments and `allocated` belong to arrays.

    Arrays die at any moment: in other threads, and in this one wherever the garbage collector comes in. What dies while
    the pool is being changed waits in `_late`."""

    def __init__(self, owner, total):
        self.owner, self.total = owner, total
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.segments = []
        self.alive = {}  # address -> (bytes, what)
        self._next = 0x7F0000000000
        self._lock, self._late = Lock(), deque()  # of (segment, offset, bytes)

    def allocate(self, nbytes, what) -> Block:
        """A block of `nbytes`, rounded up. what: (shape, dtype), for messages. Raises OutOfMemory."""
        size = -(-nbytes // ROUND) * ROUND
        if not size:
            return Block(self, None, 0, 0, what)
        try:
            with self._lock:
                segment, offset = self._place(size)
                self.alive[segment.address + offset] = (size, what)
                self.allocated += size
                self.peak_allocated = max(self.peak_allocated, self.allocated)
                self.peak_reserved = max(self.peak_reserved, self.reserved)
            block = Block(self, segment, offset, size, what)
            if observe.observer is not None:
                observe.observer.allocate(
                    self.owner.device, size, self.allocated, self.reserved, block.address, what
                )
            return block
        finally:
            self._settle()

    def _place(self, size):
        """Takes `size` bytes out of a hole, or out of a new segment. Returns (segment, offset)."""
        small = size <= SMALL
        segment, offset = self._hole(size, small) or self._new_segment(size, small)
        hole = next(h for h in segment.holes if h[0] == offset)
        segment.holes.remove(hole)
        if hole[1] > size:
            insort(segment.holes, (offset + size, hole[1] - size))
        return segment, offset

    def _hole(self, size, small):
        """The smallest free piece that is big enough, as (segment, offset); None when there is none."""
        fitting = [
            (h[1], s.address, s, h[0])
            for s in self.segments
            if s.small == small
            for h in s.holes
            if h[1] >= size
        ]
        return min(fitting, key=lambda f: f[:2])[2:] if fitting else None

    def _new_segment(self, size, small):
        length = _segment_length(size, small)
        if self.reserved + length > self.total:
            self._give_up_unused()
        if self.reserved + length > self.total:
            raise OutOfMemory(size)
        segment = _Segment(self._next, length, small)
        self._next += length
        self.segments = [*self.segments, segment]
        self.reserved += length
        return segment, 0

    def free(self, block):
        """Takes a block back; called when it dies."""
        if block.segment is not None:
            self._late.append((block.segment, block.offset, block.nbytes))
            self._settle()

    def _settle(self):
        """Takes back what has died, unless the pool is being changed: then whoever changes it does so at the end."""
        while self._late and self._lock.acquire(blocking=False):
            try:
                if not self._late:
                    continue  # another thread was faster
                segment, offset, nbytes = self._late.popleft()
                segment.give_back(offset, nbytes)
                self.alive.pop(segment.address + offset)
                self.allocated -= nbytes
            finally:
                self._lock.release()
            if observe.observer is not None:
                observe.observer.free_memory(
                    self.owner.device,
                    nbytes,
                    self.allocated,
                    self.reserved,
                    segment.address + offset,
                )

    def empty_cache(self):
        """Gives unused segments back."""
        with self._lock:
            self._give_up_unused()
        self._settle()

    def _give_up_unused(self):
        self.reserved -= sum(s.size for s in self.segments if s.unused)
        self.segments = [s for s in self.segments if not s.unused]

    def reset_peak(self):
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
