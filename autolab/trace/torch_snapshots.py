"""What PyTorch's tensors held at one moment, without copying them.

A small tensor and a parameter are kept as another tensor over the same memory, and looked at when the trace is made.
Memory changes by operations in place only, which a recording sees before they run: then what is kept of it is copied
(`before_change`). Memory that NumPy shares can change unseen, so it is copied at once. Of a big result the statistics
are found at once: to keep it would take fresh memory for the next one, which costs more. (A thread of its own for that
was no quicker on two cores.)"""

from __future__ import annotations

import functools
import weakref
from collections import deque
from typing import Any

import numpy as np
import torch

from .reader import Facts, Reader
from .values import Value, seen

MOST_KEPT = 1 << 28
"""So many bytes are kept at most; then what is kept is turned into statistics and samples, as a trace has them."""

BIG = 1 << 14
"""From so many numbers on, a result is looked at at once."""

RECENT = 8
"""So many of these are known again: a result is the next operation's operand, a contribution the next node's
gradient."""


class Snapshot:
    """One tensor at one moment. It lives as long as its numbers were not looked at, or as it is part of a sum that is
    under way."""

    __slots__ = ("__weakref__", "facts", "is_part", "looked", "reader", "tensor", "value")

    def __init__(self, reader: Reader, tensor: Any, facts: Facts) -> None:
        self.reader, self.tensor, self.facts = reader, tensor, facts
        self.looked, self.is_part = False, False
        self.value = Value.later(lambda: self._look()())

    def _look(self) -> Any:
        self.looked = True
        return seen(numbers(self.tensor), self.facts.dtype)

    def settle(self) -> None:
        """Looks at the numbers now."""
        if not self.looked:
            self.value.will_be(self._look())


_NOTHING: tuple[Any, int, int | None, Any] = (lambda: None), 0, None, None
"""Instead of (a weak reference to a tensor, its memory, its version, its snapshot)."""


class Snapshots:
    """Of one recording."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._all: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._known: weakref.WeakValueDictionary[Any, Snapshot] = weakref.WeakValueDictionary()
        self._of_memory: dict[Any, list[Any]] = {}
        self._recent: deque[Snapshot] = deque(maxlen=RECENT)
        self._bytes = 0
        self._last = _NOTHING
        self._values: dict[int, Any] = {}  # id of a big tensor -> (it, where it begins, its version, its value)
        self._in_memory: dict[int, set[int]] = {}  # memory -> the ids of those that lie in it

    def value(self, tensor: Any) -> Value | None:
        """The value of a tensor, None for one without numbers of its own (sparse, on no device)."""
        item, memory, version, value = self._values.get(id(tensor), _NOTHING)
        if item() is tensor and memory == tensor.data_ptr() and version == tensor._version:
            return value
        found = self.of(tensor)
        if found is None:
            return None
        if found.looked and self._last[3] is found:
            key, inside = id(tensor), self._in_memory.setdefault(tensor.untyped_storage().data_ptr(), set())
            inside.add(key)
            gone = functools.partial(_gone, self._values, inside, key)
            self._values[key] = (weakref.ref(tensor, gone), *self._last[1:3], found.value)
        return found.value

    def of(self, tensor: Any) -> Snapshot | None:
        """The snapshot of a tensor, None for one without numbers of its own."""
        last, memory, version, found = self._last
        if last() is tensor and memory == tensor.data_ptr() and version == tensor._version:  # the same gradient comes by three times
            return found
        if not has_numbers(tensor):
            return None
        found, kept = self._find(tensor)
        self._last = (
            (weakref.ref(tensor), tensor.data_ptr(), found.facts.version, found)
            if found is not None and kept
            else _NOTHING
        )
        return found

    def _find(self, tensor: Any) -> tuple[Snapshot | None, bool]:
        """(the snapshot, whether a change would be seen)"""
        facts = self.reader.facts(tensor)
        storage = tensor.untyped_storage()
        memory = storage.data_ptr()
        key = memory, tensor.storage_offset(), facts.shape, facts.dtype, tensor.stride(), facts.version
        known = self._known.get(key) if facts.version is not None else None
        if known is not None:
            return known, True
        alias = tensor.detach()
        if memory_of(alias) is None:
            return None, False  # within a transform of torch.func, which wraps whatever is computed
        shared = facts.version is None or not storage.resizable()
        found = Snapshot(self.reader, alias.clone() if shared else alias, facts)
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
        return found, not shared

    def before_change(self, tensor: Any, counted: bool) -> None:
        """The memory of `tensor` is about to be changed; `counted`: as its version will say."""
        self._last = _NOTHING
        memory = memory_of(tensor) if _lies_in_memory(tensor) else None
        if memory is None:
            if not counted:
                self._values.clear()
            return
        for place in self._in_memory.pop(memory, ()):  # `w.data` has the memory of w, and a version of its own
            self._values.pop(place, None)
        for key, held in self._of_memory.pop(memory, ()):
            snapshot: Snapshot | None = held()
            if snapshot is not None and self._known.get(key) is snapshot:
                del self._known[key]
                if snapshot.is_part or not snapshot.looked:
                    snapshot.tensor = snapshot.tensor.clone()

    def settle(self) -> None:
        """Keeps numbers only, and no tensor."""
        for snapshot in list(self._all):
            snapshot.settle()
        self._recent.clear()
        self._of_memory.clear()
        self._known.clear()
        self._values.clear()
        self._in_memory.clear()
        self._last = _NOTHING
        self._bytes = 0


def _gone(values: dict[int, Any], inside: set[int], key: int, _: Any) -> None:
    values.pop(key, None)
    inside.discard(key)


def has_numbers(tensor: Any) -> bool:
    """Whether a tensor lies in memory that can be read: no sparse one, none of the device "meta", none in the making by
    a transform."""
    return _lies_in_memory(tensor) and memory_of(tensor) is not None


def is_transformed(tensor: Any) -> bool:
    """Whether it is in the making by a transform of `torch.func`: it looks like any tensor, and has no memory."""
    return _lies_in_memory(tensor) and memory_of(tensor) is None


def _lies_in_memory(tensor: Any) -> bool:
    return type(tensor) in _PLAIN and tensor.layout is torch.strided and not tensor.is_meta


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def memory_of(tensor: Any) -> int | None:
    """Where a tensor's memory begins; None for one that has none of its own, as those that a transform of `torch.func`
    makes."""
    try:
        tensor.data_ptr()
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        return None


def numbers(tensor: Any) -> Any:
    """The numbers of a tensor outside any graph, as a NumPy array that shares its memory where it can."""
    tensor = tensor.cpu()
    if tensor.dtype == torch.bfloat16:  # NumPy has no such type; every bfloat16 is a float32
        tensor = tensor.float()
    tensor = tensor.resolve_conj().resolve_neg()
    try:
        return np.from_dlpack(tensor)  # after .numpy() the memory could never be resized any more
    except (BufferError, RuntimeError, TypeError):
        return tensor.clone().numpy()
