"""What PyTorch's tensors held at one moment, without copying them at once.

A snapshot keeps another tensor over the same memory. Memory changes by operations in place only, which a recording sees before they
run: then what is kept of it is copied (`before_change`). Memory that NumPy shares can change unseen, so it is copied at once."""

from __future__ import annotations

from typing import Any

from .reader import Facts, Reader
from .values import Value

MOST_KEPT = 1 << 29
"""So many bytes are kept at most; then what is kept is turned into statistics and samples, as a trace has them."""


class Snapshot:
    """One tensor at one moment."""

    __slots__ = ("facts", "reader", "tensor", "value")

    def __init__(self, reader: Reader, tensor: Any, facts: Facts) -> None:
        self.reader, self.tensor, self.facts = reader, tensor, facts
        self.value = Value.later(self._find)

    def _find(self) -> Value:
        tensor, self.tensor = self.tensor, None
        return Value.of(self.reader.array(tensor), self.facts.dtype)

    def settle(self) -> None:
        """Looks at the numbers now, so that the tensor can go."""
        if self.value.is_open:
            self.value.shape  # noqa: B018


class Snapshots:
    """Of one recording."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._known: dict[Any, Snapshot] = {}
        self._of_memory: dict[Any, list[tuple[Any, Snapshot]]] = {}
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
        if known is not None and known.tensor is not None:
            return known
        alias = tensor.detach()
        if facts.version is None or not storage.resizable():
            return Snapshot(self.reader, alias.clone(), facts)
        found = self._known[key] = Snapshot(self.reader, alias, facts)
        if memory not in self._of_memory:
            self._bytes += storage.nbytes()
        self._of_memory.setdefault(memory, []).append((key, found))
        if self._bytes > MOST_KEPT:
            self.settle()
        return found

    def before_change(self, tensor: Any) -> None:
        """The memory of `tensor` is about to be changed."""
        for key, snapshot in self._of_memory.pop(tensor.untyped_storage().data_ptr(), ()) if has_numbers(tensor) else ():
            self._known.pop(key, None)
            if snapshot.tensor is not None:
                snapshot.tensor = snapshot.tensor.clone()

    def settle(self) -> None:
        """Keeps numbers only, and no tensor."""
        for snapshot in self._known.values():
            snapshot.settle()
        self._known.clear()
        self._of_memory.clear()
        self._bytes = 0


def has_numbers(tensor: Any) -> bool:
    """Whether a tensor lies in memory that can be read: no sparse one, none of the device "meta", none in the making by a transform."""
    import torch

    return tensor.layout is torch.strided and tensor.device.type != "meta" and type(tensor) in (torch.Tensor, torch.nn.Parameter)
