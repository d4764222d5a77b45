"""Statistics and samples of PyTorch tensors at one moment, computed immediately and only once per tensor version.

A tensor is recognised by its address and version while its memory exists. Only in-place operations change memory, and a
recording sees them first (`before_change`); memory shared with NumPy can change unnoticed, so it is read each time.
Keeping a big result to read it later would force new memory for the next one, which is slower. (A separate thread was
no faster on two cores.)"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.dlpack import to_dlpack

from .values import FEW, Copy, Value, seen


class Part:
    """A gradient that is part of an unfinished sum."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class _Memory(NamedTuple):
    """What is known about a piece of tensor memory."""

    storage: Any  # a weak reference
    values: dict[Any, Value]
    parts: list[Any]  # weak references


class _Last(NamedTuple):
    """The value of a tensor object when it was last read, and where its numbers lay."""

    tensor: Any  # a weak reference
    version: int
    place: int
    memory: _Memory
    value: Value


class Snapshots:
    """The snapshots of one recording or one graph."""

    def __init__(self) -> None:
        self._of_memory: dict[int, _Memory] = {}
        self._of_tensor: dict[int, _Last] = {}

    def value(self, tensor: Any) -> Value | None:
        """Return the value of a tensor; None if it has no numbers of its own (sparse, meta device), or of a type that
        NumPy lacks."""
        last = self._of_tensor.get(id(tensor))
        if last is not None and last.tensor() is tensor:
            if last.memory.values and last.version == tensor._version:
                if last.place == tensor.data_ptr():
                    return last.value
        if not _lies_in_memory(tensor) or tensor.dtype not in _NUMPYS:
            return None
        try:
            place, storage = tensor.data_ptr(), tensor.untyped_storage()
            memory = storage.data_ptr()
        except (NotImplementedError, RuntimeError):
            return None
        try:
            version = tensor._version
        except RuntimeError:  # an inference tensor has no version counter
            return Value.later(_seen(tensor, place, tensor.stride(), storage))
        steps = tensor.stride()
        if not storage.resizable():
            return Value.later(_seen(tensor, place, steps, storage))
        known = self._of_memory.get(memory)
        if known is None or known.storage() is not storage:
            known = self._meet(memory, storage)
        key = place, tensor.shape, steps, tensor.dtype, version
        found = known.values.get(key)
        if found is None:
            found = known.values[key] = Value.later(_seen(tensor, place, steps, storage))
        self._of_tensor[id(tensor)] = _Last(weakref.ref(tensor), version, place, known, found)
        return found

    def forget(self, tensor: Any) -> None:
        """Forget the value of a tensor that has got other memory."""
        self._of_tensor.pop(id(tensor), None)

    def part(self, grad: Any) -> Any:
        """Return a gradient as it is now; it is valid while the returned object is held."""
        if not _lies_in_memory(grad):
            return grad
        try:
            storage = grad.untyped_storage()
            memory = storage.data_ptr()
        except (NotImplementedError, RuntimeError):
            return grad
        # Holding the gradient itself would prevent it from becoming a leaf's `.grad` unchanged.
        part = Part(grad.data)
        known = self._of_memory.get(memory)
        if known is None or known.storage() is not storage:
            known = self._meet(memory, storage)
        known.parts.append(weakref.ref(part))
        return part

    def _meet(self, memory: int, storage: Any) -> _Memory:
        """Register memory that is new, or that belonged to another tensor before."""
        gone = weakref.ref(storage, functools.partial(_forget, self._of_memory, memory))
        known = self._of_memory[memory] = _Memory(gone, {}, [])
        return known

    def before_change(self, tensor: Any, counted: bool) -> None:
        """Note that the memory of `tensor` is about to change; `counted`: whether its version will show it."""
        memory = memory_of(tensor) if _lies_in_memory(tensor) else None
        if memory is not None:
            changed = [self._of_memory.pop(memory)] if memory in self._of_memory else []
        else:  # its owner is unknown
            changed = [] if counted else [*self._of_memory.values()]
        for known in changed:
            known.values.clear()
            for part in [part for held in known.parts if (part := held()) is not None]:
                part.tensor = part.tensor.clone()


def _seen(
    tensor: Any, place: int, steps: tuple[int, ...], storage: Any
) -> Callable[[], dict[str, Any]]:
    """Read a tensor, like `values.seen` for an array. A copy of a small tensor becomes an array only when it is
    used."""
    name, width = _NUMPYS[tensor.dtype]
    size = tensor.numel()
    if size > FEW or not tensor.is_cpu:
        return seen(numbers(tensor), name)
    if not tensor.is_contiguous():
        size = 1 + sum([(n - 1) * step for n, step in zip(tensor.shape, steps)])
    if not width or not 0 < size <= FEW or tensor.is_neg() or tensor.is_conj():
        return _TensorCopy(tensor.detach().clone(), name)
    if place + size * width > storage.data_ptr() + storage.nbytes():
        return _TensorCopy(tensor.detach().clone(), name)
    return _MemoryCopy(ctypes.string_at(place, size * width), name, tensor.shape, steps)


class _TensorCopy(Copy):
    def array(self) -> Any:
        return numbers(self.item)


class _MemoryCopy(Copy):
    """The bytes of a tensor's memory: copying them takes a tenth of the time of a PyTorch operation."""

    __slots__ = ("shape", "steps")

    def __init__(self, item: bytes, dtype: str, shape: Any, steps: Any) -> None:
        self.item, self.dtype, self.shape, self.steps = item, dtype, shape, steps

    def array(self) -> Any:
        kind = np.dtype(self.dtype)
        strides = [step * kind.itemsize for step in self.steps]
        return np.ndarray(tuple(self.shape), kind, self.item, strides=strides).copy()


def _forget(of_memory: dict[int, _Memory], memory: int, storage: Any) -> None:
    if memory in of_memory and of_memory[memory].storage is storage:
        del of_memory[memory]


def has_numbers(tensor: Any) -> bool:
    """Return whether a tensor's memory can be read: not a sparse one, not on device "meta", not inside a transform."""
    return _lies_in_memory(tensor) and memory_of(tensor) is not None


def is_transformed(tensor: Any) -> bool:
    """Return whether it belongs to a running `torch.func` transform: it looks like any tensor, but has no memory."""
    if type(tensor) not in PLAIN:
        return False
    try:
        tensor.data_ptr()
    except (NotImplementedError, RuntimeError):
        return _lies_in_memory(tensor)
    return False


def history(tensor: Any) -> Any:
    """Return `.grad_fn`; None for a view made without a history and changed since, for which reading it is an error."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def _lies_in_memory(tensor: Any) -> bool:
    return (
        type(tensor) in PLAIN
        and tensor.layout is torch.strided
        and not tensor.is_meta
        and not tensor.is_nested
    )


PLAIN = (torch.Tensor, torch.nn.Parameter)


_NUMPYS = {
    getattr(torch, name): (name, 0 if name == "bfloat16" else np.dtype(name).itemsize)
    for name in (
        "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
    )
}
"""Types whose numbers NumPy has, or wider ones (of bfloat16): not those of 8 bits, quantized, or complex of 32. Each
with its name and the bytes of a number, 0 where NumPy has not just that type."""


def memory_of(tensor: Any) -> int | None:
    """Return the address of a tensor's memory; None if it has none of its own, as inside a `torch.func` transform."""
    try:
        tensor.data_ptr()
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        return None


def numbers(tensor: Any) -> Any:
    """Return a tensor's numbers, outside any graph, as a NumPy array that shares its memory if possible."""
    if not tensor.is_cpu or tensor.dtype == torch.bfloat16 or tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        if tensor.dtype == torch.bfloat16:  # NumPy lacks this type; every bfloat16 is a float32
            tensor = tensor.float()
    try:
        return np.from_dlpack(_Lent(tensor))
    except (BufferError, RuntimeError, TypeError):
        return tensor.detach().clone().numpy()


class _Lent:
    """A tensor that NumPy reads directly, in a graph or not. `.numpy()` would prevent any later resize of its memory,
    and `Tensor.__dlpack__` does more than is needed hundreds of times a step."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return to_dlpack(self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU
