"""What PyTorch's tensors held at one moment, without copying them.

A small tensor and a parameter are kept as another tensor over the same memory, and looked at when the trace is made. Memory changes by
operations in place only, which a recording sees before they run: then what is kept of it is copied (`before_change`). Memory that NumPy shares
can change unseen, so it is copied at once. Of a big result the statistics are found at once: to keep it would take fresh memory for the next
one, which costs more."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from .reader import Facts, Reader
from .values import Value

MOST_KEPT = 1 << 28
"""So many bytes are kept at most; then what is kept is turned into statistics and samples, as a trace has them."""

BIG = 1 << 14
"""From so many numbers on, a result is looked at at once."""

RECENT = 8
"""So many of these are known again: a result is the next operation's operand, a contribution the next node's gradient."""


class Snapshot:
    """One tensor at one moment. It lives as long as its value is open, or somebody adds to it."""

    __slots__ = ("__weakref__", "facts", "reader", "tensor", "value")

    def __init__(self, reader: Reader, tensor: Any, facts: Facts) -> None:
        self.reader, self.tensor, self.facts = reader, tensor, facts
        self.value = Value.later(self._find)

    def _find(self) -> Value:
        return Value.of(self.reader.array(self.tensor), self.facts.dtype)

    def settle(self) -> None:
        """Looks at the numbers now."""
        if self.value.is_open:
            self.value.shape  # noqa: B018


class Snapshots:
    """Of one recording."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._all: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._known: weakref.WeakValueDictionary[Any, Snapshot] = weakref.WeakValueDictionary()
        self._of_memory: dict[Any, list[Any]] = {}
        self._recent: deque[Snapshot] = deque(maxlen=RECENT)
        self._bytes = 0

    def of(self, tensor: Any) -> Snapshot | None:
        """The snapshot of a tensor, None for one without numbers of its own (sparse, on no device)."""
        facts = self.reader.facts(tensor)
        if not has_numbers(tensor):
            return None
        storage = tensor.untyped_storage()
        memory = storage.data_ptr()
        key = memory, tensor.storage_offset(), facts[:2], tensor.stride(), facts.version
        known = self._known.get(key) if facts.version is not None else None
        if known is not None:
            return known
        alias = tensor.detach()
        shared = facts.version is None or not storage.resizable()
        found: Snapshot = Snapshot(self.reader, alias.clone() if shared else alias, facts)
        self._all.add(found)
        if not shared:
            self._known[key] = found
            self._of_memory.setdefault(memory, []).append((key, weakref.ref(found)))
        if tensor.numel() >= BIG and not (tensor.is_leaf and tensor.requires_grad):
            found.settle()
            self._recent.append(found)
        else:
            self._bytes += facts.bytes
            if self._bytes > MOST_KEPT:
                self.settle()
        return found

    def before_change(self, tensor: Any) -> None:
        """The memory of `tensor` is about to be changed."""
        for key, held in self._of_memory.pop(tensor.untyped_storage().data_ptr(), ()) if has_numbers(tensor) else ():
            snapshot: Snapshot | None = held()
            if snapshot is not None and self._known.get(key) is snapshot:
                del self._known[key]
                snapshot.tensor = snapshot.tensor.clone()

    def settle(self) -> None:
        """Keeps numbers only, and no tensor."""
        for snapshot in list(self._all):
            snapshot.settle()
        self._recent.clear()
        self._of_memory.clear()
        self._known.clear()
        self._bytes = 0


def has_numbers(tensor: Any) -> bool:
    """Whether a tensor lies in memory that can be read: no sparse one, none of the device "meta", none in the making by a transform."""
    import torch

    return tensor.layout is torch.strided and tensor.device.type != "meta" and type(tensor) in (torch.Tensor, torch.nn.Parameter)
