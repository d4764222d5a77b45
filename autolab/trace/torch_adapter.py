"""Trace a real PyTorch graph: uses only the public attributes of tensors and grad_fn nodes.

It is imported only when a torch tensor is traced, so torch stays optional."""

from __future__ import annotations

import atexit
import ctypes
import heapq
import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import torch

from .reader import UNKNOWN, Facts, Reader, SavedEntry, device_name, dtype_name, is_tensor
from . import torch_names
from .values import Value
from .torch_snapshots import PLAIN, Snapshots, history, memory_of, numbers


DEEP = 5_000
"""From this many nodes on, a graph that was walked is taken apart node by node; see `_HeldNodes`."""


class _HeldNodes:
    """The nodes of a deep torch graph, kept until its results are gone and then dropped from the newest to the oldest.

    After Python has read every node of a deep graph, torch 2.13 frees it recursively and overflows the stack: 100,000
    nodes end the process. While each node is held here, freeing its consumer does not free it too.
    """

    live: ClassVar[set[_HeldNodes]] = set()
    ready: ClassVar[list[_HeldNodes]] = []

    def __init__(self, roots: list[Any], nodes: list[Any]) -> None:
        self.nodes, self.roots = nodes, len(roots)
        self.live.add(self)
        for root in roots:
            weakref.finalize(root, self.root_gone).atexit = False

    def root_gone(self) -> None:
        self.roots -= 1
        if not self.roots:
            # Not now: the result being freed still holds the newest node. The next trace, or the end of the process,
            # drops them.
            self.live.discard(self)
            self.ready.append(self)

    @classmethod
    def sweep(cls) -> None:
        while cls.ready:
            nodes = cls.ready.pop().nodes
            while nodes:
                nodes.pop()

    @classmethod
    def at_exit(cls) -> None:
        cls.sweep()
        for held in cls.live:  # its results live as long as the process, so its nodes must too
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held.nodes))


atexit.register(_HeldNodes.at_exit)


class _Plan(NamedTuple):
    """The saved values of one node class: (name, attribute, whether it may be a tensor), the names that may be tensors,
    and whether it is the class of a custom function."""

    names: tuple[tuple[str, str, bool], ...]
    tensors: frozenset[str]
    is_function: bool


class TorchReader(Reader):
    """Reads torch tensors and grad_fn nodes."""

    library = "torch"
    unkept = "not kept: PyTorch's graph keeps only what a gradient needs"
    left_out = " Hooks did not run: record the backward pass to see what they change."

    def __init__(self) -> None:
        torch_names.check()
        super().__init__()
        self._plans: dict[type, _Plan] = {}
        self._walked: list[Any] = []
        self.snapshots = Snapshots()
        self.value = self.snapshots.value  # type: ignore[method-assign,assignment]
        self.kept_gradient = self.snapshots.part  # type: ignore[method-assign]
        # nodes whose hooks may change the gradients that they send
        self.with_hooks: set[Any] = set()
        _HeldNodes.sweep()

    def sends_through_hooks(self, node: Any) -> bool:
        return node in self.with_hooks

    def walked(self, nodes: list[Any]) -> None:
        self._walked = nodes

    def done(self, roots: list[Any]) -> None:
        if len(self._walked) >= DEEP:
            _HeldNodes(roots, self._walked)

    def array(self, tensor: Any) -> Any:
        return numbers(tensor)

    def shows(self, value: Value, tensor: Any) -> bool:
        return value.is_same(self.value(tensor))

    def facts(self, tensor: Any) -> Facts:
        try:
            shape, count = tuple(tensor.shape), tensor.numel()
        except RuntimeError:  # a nested tensor
            shape = tuple(_size(tensor, i) for i in range(tensor.dim()))
            count = tensor.numel()
        if type(tensor) not in PLAIN:  # other nested tensors have symbolic sizes
            shape = tuple(n if type(n) is int else -1 for n in shape)
            count = count if type(count) is int else 0
        return Facts(
            shape,
            dtype_name(tensor.dtype),
            device_name(tensor.device),
            self.version(tensor),
            count * tensor.element_size(),
        )

    def version(self, tensor: Any) -> int | None:
        try:
            count: int = tensor._version
        except RuntimeError:  # an inference tensor has no version counter
            return None
        return count

    def data_key(self, item: Any) -> Any:
        # A saved tensor unpacks to a new object each time, unless the learner still holds the original.
        try:
            if item.numel() and memory_of(item) is not None:
                return item.data_ptr(), tuple(item.shape), tuple(item.stride())
        except RuntimeError:  # a nested tensor
            pass
        return id(item)

    def arriving(self, grad: Any) -> Any:
        return grad.detach() if grad is not None and grad.requires_grad else grad

    def plus(self, a: Any, b: Any) -> Any:
        with torch.no_grad():
            return getattr(a, "tensor", a) + b

    def added(self, tensor: Any, grad: Any) -> Any:
        return self.plus(tensor.detach(), grad)

    def same(self, a: Any, b: Any) -> bool:
        a = getattr(a, "tensor", a)
        try:
            if (
                a is None
                or a.data_ptr() == b.data_ptr()
                and a.shape == b.shape
                and a.stride() == b.stride()
            ):
                return True
        except RuntimeError:
            return _same_elsewhere(a, b)
        return a.shape == b.shape and (
            torch.equal(a, b) or torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        )

    def grad_fn(self, tensor: Any) -> Any:
        return history(tensor)

    def memory(self, tensor: Any) -> Any:
        return memory_of(tensor) or None

    def owns(self, item: Any) -> bool:
        return isinstance(item, torch.Tensor)

    def sharing(self, tensor: Any) -> Callable[[Any], bool]:
        memory = self.memory(tensor)
        return lambda other: memory is not None and memory_of(other) == memory

    def lost_base(self, tensor: Any, changes: bool) -> Any:
        return tensor._base if changes else None

    def first_version(self, tensor: Any) -> int | None:
        return None

    def watch(self, tensor: Any) -> tuple[Any, int]:
        memory = self.memory(tensor)
        return lambda: memory, self.version(tensor) or 0

    def grad_enabled(self) -> bool:
        return torch.is_grad_enabled()

    def mode_without_grad(self) -> str:
        return "inference_mode" if torch.is_inference_mode_enabled() else "no_grad"

    def sequence_nr(self, node: Any) -> int:
        return node._sequence_nr()

    def scope(self, node: Any) -> Any:
        return None

    def outputs(self, node: Any) -> list[tuple[tuple[int, ...] | None, str, str]]:
        known = (
            (
                None if m.is_nested_tensor else tuple(m.shape),
                dtype_name(m.dtype),
                device_name(m.device),
            )
            for m in node._input_metadata
        )
        return list(known) or [(None, "", "")]

    def result(self, node: Any) -> Any:
        return None

    def operand(self, node: Any, slot: int) -> Any:
        if not slot or "Norm" not in self.grad_fn_name(node):
            return UNKNOWN
        # A normalisation saves its weight, needed or not; if it has none, it has no bias either.
        return UNKNOWN if "weight" in dict(self.saved(node)) else None

    def saved(self, node: Any) -> Iterable[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        plan = self._plans.get(type(node)) or self._plan(node)
        for name, attribute, is_tensor_name in plan.names:
            try:
                value = getattr(node, attribute)
            except RuntimeError as error:
                state = "modified" if "modified by an inplace operation" in str(error) else "freed"
                found.append((name, SavedEntry(name, None, state)))
                continue
            kind = type(value)
            if kind in PLAIN:
                found.append((name, SavedEntry(name, value, "alive")))
            elif kind is float or kind is bool or kind is int and value < 2**63:
                found.append((name, value))
            elif value is not None:
                found += _parts(name, value)
            elif not is_tensor_name:
                found.append((name, None))
        if plan.is_function:
            found += self._saved_by_function(node)
        return found

    def _plan(self, node: Any) -> _Plan:
        """Return which values nodes of this class save."""
        kind = type(node)
        names = [n[7:] for n in dir(node) if n.startswith("_saved_")]
        tensors = frozenset(n for n in names if hasattr(kind, f"_raw_saved_{n}"))
        places = tuple((n, f"_saved_{n}", n in tensors) for n in names)
        found = self._plans[kind] = _Plan(places, tensors, hasattr(kind, "saved_tensors"))
        return found

    def _tensor_names(self, node: Any) -> frozenset[str]:
        return (self._plans.get(type(node)) or self._plan(node)).tensors

    def _ones_like(self, root: Any) -> Any:
        return torch.ones_like(root, requires_grad=False).detach()

    def replay(self, roots: list[Any], gradients: list[Any], observer: Any) -> None:
        with torch.no_grad():
            _Replay(self, observer).run(roots, gradients)


class _Replay:
    """torch's backward order, made by calling one node at a time: highest sequence number first, leaves at once.

    A called node only computes its gradients: no `.grad` changes, nothing is freed, and no hooks run.
    """

    def __init__(self, reader: TorchReader, observer: Any) -> None:
        self.reader, self.observer = reader, observer
        self.buffers: dict[Any, list[Any]] = {}
        self.waiting: dict[Any, int] = {}
        self.heap: list[tuple[int, int, Any]] = []
        # The order of equal sequence numbers, which nodes of different threads may have.
        self.pushed = itertools.count()

    def run(self, roots: list[Any], gradients: list[Any]) -> None:
        fns = [self._function(t) for t in roots]
        self._count(fns)
        pairs = [(fn, t.output_nr) for fn, t in zip(fns, roots)]
        self.observer.backward_begin(pairs, self.waiting.keys(), None, False)
        for fn, tensor, grad in zip(fns, roots, gradients):
            self.observer.seed(fn, tensor.output_nr, grad)
            self._arrive(fn, tensor.output_nr, grad)
        for fn in dict.fromkeys(fns):
            if not self.waiting[fn]:
                self._ready(fn)
        while self.heap:
            self._step(heapq.heappop(self.heap)[2])
        self.observer.backward_end(None)

    @staticmethod
    def _function(tensor: Any) -> Any:
        if tensor.grad_fn is not None:
            return tensor.grad_fn
        # a leaf's AccumulateGrad is public only as the next function of a result
        with torch.enable_grad():
            return tensor.view_as(tensor).grad_fn.next_functions[0][0]

    def _count(self, fns: list[Any]) -> None:
        self.waiting = dict.fromkeys(fns, 0)
        todo = list(self.waiting)
        while todo:
            for target, _ in todo.pop().next_functions:
                if target is None:
                    continue
                if target not in self.waiting:
                    self.waiting[target] = 0
                    todo.append(target)
                self.waiting[target] += 1

    def _arrive(self, fn: Any, nr: int, grad: Any) -> None:
        slots = self.buffers.setdefault(fn, [None] * max(1, len(self.reader.outputs(fn))))
        slots[nr] = grad if slots[nr] is None else slots[nr] + grad

    def _step(self, fn: Any) -> None:
        grads = self.buffers.pop(fn, [None])
        results: Any = (None,) * len(fn.next_functions)
        reached = any(g is not None for g in grads)
        if reached:
            self.observer.before_node(fn, tuple(grads))
            # A custom Function's node is its ctx, so it is applied, not called.
            results = fn.apply(*grads) if hasattr(type(fn), "saved_tensors") else fn(*grads)
            results = results if isinstance(results, tuple) else (results,)
            if len(results) > len(
                fn.next_functions
            ):  # a custom function has no edge for arguments that are not tensors
                wanted = iter([r for r, needed in zip(results, fn.needs_input_grad) if needed])
                results = tuple(
                    None if target is None else next(wanted, None)
                    for target, _ in fn.next_functions
                )
            self.observer.after_node(fn, results)
        for slot, ((target, nr), grad) in enumerate(zip(fn.next_functions, results)):
            if target is not None and grad is not None:
                grad = self._fitted(target, nr, grad)
                self.observer.contribution(fn, slot, target, nr, grad)
                self._arrive(target, nr, grad)
        for target, _ in fn.next_functions:
            if target is not None:
                self.waiting[target] -= 1
                if not self.waiting[target]:
                    self._ready(target)

    def _fitted(self, target: Any, nr: int, grad: Any) -> Any:
        """Return a gradient summed over broadcast dimensions and cast: torch does this between nodes, not inside
        them."""
        meta = target._input_metadata
        if nr >= len(meta) or meta[nr].is_nested_tensor:
            return grad
        grad = (
            grad if grad.shape == tuple(meta[nr].shape) else grad.sum_to_size(tuple(meta[nr].shape))
        )
        return grad if grad.dtype == meta[nr].dtype else grad.to(meta[nr].dtype)

    def _ready(self, fn: Any) -> None:
        if hasattr(fn, "variable"):
            self._accumulate(fn)
        else:
            heapq.heappush(self.heap, (-self.reader.sequence_nr(fn), next(self.pushed), fn))

    def _accumulate(self, fn: Any) -> None:
        grad = self.buffers.pop(fn, [None])[0]
        if (
            grad is not None and fn.variable.requires_grad
        ):  # it may have been frozen after the graph was made
            before = fn.variable.grad
            total = grad if before is None else before.detach() + grad
            self.observer.accumulate(fn.variable, grad, total)


def _size(tensor: Any, dim: int) -> int:
    try:
        return int(tensor.size(dim))
    except RuntimeError:  # a nested tensor has several shapes
        return -1


def _same_elsewhere(a: Any, b: Any) -> bool:
    """Return whether two sparse or nested tensors have the same numbers."""
    if a.is_nested or b.is_nested:
        return all(map(torch.equal, a.unbind(), b.unbind()))
    if a.layout is not torch.sparse_coo or b.layout is not torch.sparse_coo:
        return torch.equal(a.to_dense(), b.to_dense())
    a, b = a.coalesce(), b.coalesce()
    return torch.equal(a.indices(), b.indices()) and torch.equal(a.values(), b.values())


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the value saved under a name, if it is not one plain tensor, as parts."""
    if is_tensor(value):
        return [(name, SavedEntry(name, value, "alive"))]
    if isinstance(value, (list, tuple)) and any(is_tensor(v) for v in value):
        named = [(f"{name}[{i}]", v) for i, v in enumerate(value) if is_tensor(v)]
        return [(n, SavedEntry(n, v, "alive")) for n, v in named]
    return [(name, _signed(value))]


def _signed(value: Any) -> Any:
    """Return a signed number: torch reports saved sizes and dims as unsigned 64-bit, so -1 arrives as
    18446744073709551615."""
    if type(value) is tuple:
        return tuple([_signed(v) for v in value])
    return value - 2**64 if type(value) is int and value >= 2**63 else value
