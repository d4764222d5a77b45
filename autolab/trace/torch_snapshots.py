"""What PyTorch's tensors held at one moment: statistics and samples, found at once, and never found twice.

A tensor is known again by its place in memory and its version, as long as somebody has that memory. Memory changes by
operations in place only, which a recording sees before they run (`before_change`); memory that NumPy shares can change
unseen, so it is looked at each time. To keep a big result and look at it later would take fresh memory for the next
one, which costs more. (A thread of its own for that was no quicker on two cores.)"""

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
    """A gradient that is part of a sum under way."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class _Memory(NamedTuple):
    """What is known of memory that tensors lie in."""

    storage: Any  # weak
    values: dict[Any, Value]
    parts: list[Any]  # weak


class Snapshots:
    """Of one recording, or of one graph."""

    def __init__(self) -> None:
        self._of_memory: dict[int, _Memory] = {}

    def value(self, tensor: Any) -> Value | None:
        """Return the value of a tensor, None for one without numbers of its own (sparse, on no device), or with such as
        NumPy has not."""
        if not _lies_in_memory(tensor) or tensor.dtype not in _NUMPYS:
            return None
        try:
            place, storage = tensor.data_ptr(), tensor.untyped_storage()
            memory = storage.data_ptr()
        except (NotImplementedError, RuntimeError):
            return None
        try:
            version = tensor._version
        except RuntimeError:  # of an inference tensor nobody counts them
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
        return found

    def part(self, grad: Any) -> Any:
        """Return a gradient as it is now, as long as what this gives is held."""
        if not _lies_in_memory(grad):
            return grad
        try:
            storage = grad.untyped_storage()
            memory = storage.data_ptr()
        except (NotImplementedError, RuntimeError):
            return grad
        # A handle on the gradient itself would keep it from becoming a leaf's `.grad` as it is.
        part = Part(grad.data)
        known = self._of_memory.get(memory)
        if known is None or known.storage() is not storage:
            known = self._meet(memory, storage)
        known.parts.append(weakref.ref(part))
        return part

    def _meet(self, memory: int, storage: Any) -> _Memory:
        """Note memory that was not known, or belonged to another tensor before."""
        gone = weakref.ref(storage, functools.partial(_forget, self._of_memory, memory))
        known = self._of_memory[memory] = _Memory(gone, {}, [])
        return known

    def before_change(self, tensor: Any, counted: bool) -> None:
        """The memory of `tensor` is about to be changed; `counted`: as its version will say."""
        memory = memory_of(tensor) if _lies_in_memory(tensor) else None
        if memory is not None:
            changed = [self._of_memory.pop(memory)] if memory in self._of_memory else []
        else:  # whose it is cannot be told
            changed = [] if counted else [*self._of_memory.values()]
        for known in changed:
            known.values.clear()
            for part in [part for held in known.parts if (part := held()) is not None]:
                part.tensor = part.tensor.clone()


def _seen(
    tensor: Any, place: int, steps: tuple[int, ...], storage: Any
) -> Callable[[], dict[str, Any]]:
    """Look at a tensor, as `values.seen` at an array. A copy of few numbers becomes an array when somebody asks."""
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
    """The bytes that a tensor lay in: to copy them takes a tenth of the time of an operation of PyTorch's."""

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
    """Return whether a tensor lies in memory that can be read: no sparse one, none of the device "meta", none in the
    making by a transform."""
    return _lies_in_memory(tensor) and memory_of(tensor) is not None


def is_transformed(tensor: Any) -> bool:
    """Return whether it is in the making by a transform of `torch.func`: it looks like any tensor, and has no
    memory."""
    if type(tensor) not in PLAIN:
        return False
    try:
        tensor.data_ptr()
    except (NotImplementedError, RuntimeError):
        return _lies_in_memory(tensor)
    return False


def history(tensor: Any) -> Any:
    """`.grad_fn`; None of a view that was made without a history and changed since: to ask it is an error."""
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
    """Return where a tensor's memory begins; None for one that has none of its own, as those that a transform of
    `torch.func` makes."""
    try:
        tensor.data_ptr()
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        return None


def numbers(tensor: Any) -> Any:
    """Return the numbers of a tensor, outside any graph, as a NumPy array that shares its memory where it can."""
    if not tensor.is_cpu or tensor.dtype == torch.bfloat16 or tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        if tensor.dtype == torch.bfloat16:  # NumPy has no such type; every bfloat16 is a float32
            tensor = tensor.float()
    try:
        return np.from_dlpack(_Lent(tensor))
    except (BufferError, RuntimeError, TypeError):
        return tensor.detach().clone().numpy()


class _Lent:
    """A tensor that NumPy looks into, in a graph or not. After `.numpy()` its memory could never be resized any more,
    and `Tensor.__dlpack__` asks more than is needed here, hundreds of times a step."""

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
