"""Read autolab's own tensors and grad_fn nodes: everything a trace needs to know about a tensor library.

`torch_adapter.TorchReader` does the same for real PyTorch. Both libraries share the public names `grad_fn`,
`next_functions` and `_saved_*`, so most methods are inherited; only methods that use library internals differ."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..engine.devices import device as devices
from ..engine.core.grad_mode import per_thread
from ..engine.core.node import Node
from ..engine.autograd.packing import Packed
from ..engine.core.record import OPS
from ..engine.core.tensor import Tensor
from .drafts import Seen
from .values import FEW, Value, type_name

UNKNOWN = object()
"""An operand that took part in the operation but was not kept."""


class Facts(NamedTuple):
    """Properties of a tensor, without its numbers."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    version: int | None
    bytes: int


class SavedEntry(NamedTuple):
    """One `_saved_<name>`: with state "alive" a tensor (or number); with "freed" or "modified" None."""

    name: str
    tensor: Any
    state: str


class Stale(NamedTuple):
    """A saved tensor that was changed in place: its name, the tensor if the node holds one, its memory, its version
    when saved and its version now."""

    name: str
    tensor: Any
    memory: Any
    saved: int
    now: int


def _stale(name: str, tensor: Any, memory: Any, version: int) -> Iterator[Stale]:
    if memory.version != version:
        yield Stale(name, tensor, memory, version, memory.version)


@functools.cache
def saved_kinds(op: Any, kinds: tuple[str, ...]) -> frozenset[str]:
    """Return the names under which an op's node may save something of these kinds ("input", "output", "attr")."""
    return frozenset(n for n, kind in zip(op.saves, op.save_kinds) if kind in kinds)


@functools.cache
def _public_saved_names(node_class: Any) -> tuple[str, ...]:
    """Return every X for which a node class has a public `_saved_X`; values that only our own rules need have none."""
    op = getattr(node_class, "op", None)
    return tuple(
        n
        for n in (*node_class._saved_names, *(op.constants if op is not None else ()))
        if n is not None
    )


_NOTHING = object()
"""What stands for an argument that a node did not need to save."""


def _saved_unchanged(node: Any) -> dict[str, Any]:
    """Return, by name, the attributes that a node saved and the saved tensors that have not changed since."""
    found: dict[str, Any] = {}
    for name, kind, entry in zip(node.op.saves, node.op.save_kinds, node.entries()):
        if kind == "input":
            paired = entry.__class__ is tuple and len(entry) == 2 and isinstance(entry[0], Tensor)
            if entry is None:
                found[name] = _NOTHING
            elif paired and entry[0]._storage.version == entry[1]:
                found[name] = SavedEntry(name, entry[0], "alive")
        elif kind != "output":
            found[name] = tuple(entry) if isinstance(entry, list) else entry
    return found


def is_tensor(item: Any) -> bool:
    """Return whether `item` is a tensor of a library that keeps a graph (autolab or torch)."""
    kind: Any = type(item)
    return _keeps_a_graph(kind)


@functools.lru_cache(maxsize=1024)
def _keeps_a_graph(kind: Any) -> bool:
    return (
        hasattr(kind, "grad_fn") and hasattr(kind, "requires_grad") and hasattr(kind, "retain_grad")
    )


def is_parameter(tensor: Any) -> bool:
    """Return whether a tensor of either library is a module's parameter."""
    kind: Any = type(tensor)
    return _is_kind_of_parameter(kind)


@functools.lru_cache(maxsize=64)
def _is_kind_of_parameter(kind: Any) -> bool:
    return any(base.__name__ == "Parameter" for base in kind.__mro__)


def reader_for(tensor: Any) -> Reader:
    """Return the reader for the library of `tensor`. Raises TypeError for anything else."""
    if isinstance(tensor, Tensor):
        return Reader()
    if is_tensor(tensor) and any(
        c.__module__.partition(".")[0] == "torch" for c in type(tensor).__mro__
    ):
        from .torch_adapter import TorchReader

        return TorchReader()
    raise TypeError(f"expected a tensor of autolab or torch, got {type(tensor).__name__}")


@functools.cache
def dtype_name(dtype: Any) -> str:
    """Return a dtype's name: torch.float32 -> "float32"."""
    return str(dtype).rpartition(".")[2]


@functools.lru_cache(maxsize=64)
def device_name(device: Any) -> str:
    return str(device)


@functools.cache
def _op_by_node_name(count: int) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for op in OPS.values():
        names.setdefault(op.node, op)
    return names


class Reader:
    """Reads autolab tensors and grad_fn nodes."""

    library = "autolab"
    unkept = "not kept: no gradient needs it, and the graph keeps at most 1,024 numbers of such an operand"
    left_out = ""  # a sentence about what a dry run leaves out

    def __init__(self) -> None:
        self.titles: dict[
            str, dict[str, Any]
        ] = {}  # known devices except the CPU -> {"title", "simulated"}

    # -- tensors -----------------------------------------------------------------------------------
    def array(self, tensor: Any) -> Any:
        """Return the numbers, as a NumPy array or scalar."""
        return devices.peek(tensor._array)

    def facts(self, tensor: Any) -> Facts:
        array, dtype, device = tensor._array, tensor.dtype, tensor._storage.device
        backend = device.backend
        if not backend.host:
            self.titles[device_name(device)] = {
                "title": backend.name,
                "simulated": backend.simulated,
            }
        return Facts(
            array.shape,
            dtype_name(dtype),
            device_name(device),
            self.version(tensor),
            array.size * dtype.itemsize,
        )

    def version(self, tensor: Any) -> int | None:
        """Return the tensor's version counter: the number of in-place operations on it; None if it has none."""
        return tensor._storage.version

    def grad(self, tensor: Any) -> Any:
        """`.grad` as a tensor, or None; does not warn for a non-leaf."""
        return tensor.grad if self.grad_fn(tensor) is None or tensor.retains_grad else None

    def grad_fn(self, tensor: Any) -> Any:
        """Return `.grad_fn`. For a view whose history an in-place operation removed, reading it is an error, so return
        the old one."""
        view = tensor._view
        return tensor._node if view is not None and view.is_lost(tensor) else tensor.grad_fn

    def data_key(self, item: Any) -> Any:
        """Return a key that is equal for two appearances of the same constant operand (a tensor, or the raw array saved
        of one)."""
        return id(getattr(item, "_array", item))

    def memory(self, tensor: Any) -> Any:
        """Return a key that is equal for tensors that share memory and version counter, such as `x` and
        `x.detach()`."""
        return tensor._storage

    def owns(self, item: Any) -> bool:
        """Return whether `item` is a tensor of this library."""
        return isinstance(item, Tensor)

    def sharing(self, tensor: Any) -> Callable[[Any], bool]:
        """Return a function that tests whether another tensor shares memory with this one."""

        def shares(other: Any) -> bool:
            if tensor._storage is other._storage:
                return True
            one, two = tensor._array, other._array
            return (
                isinstance(one, np.ndarray)
                and isinstance(two, np.ndarray)
                and bool(np.may_share_memory(one, two))
            )

        return shares

    def lost_base(self, tensor: Any, changes: bool) -> Any:
        """Return the base of a view, if the view may not be changed because of it (`changes`), or if a change of the
        base cut the view off; else None."""
        view = tensor._view if isinstance(tensor, Tensor) else None
        return view.base if view is not None and (changes or view.is_lost(tensor)) else None

    def first_version(self, tensor: Any) -> int | None:
        """Return the version that a leaf had when the graphs that still exist first used it; None if unknown."""
        end = tensor._acc and tensor._acc()
        return getattr(end, "version", None)

    def watch(self, tensor: Any) -> tuple[Any, int]:
        """Return (a function that returns a tensor's memory while it exists, its version)."""
        return weakref.ref(tensor._storage), tensor._storage.version

    def value(self, tensor: Any) -> Value:
        """Return the Value of a tensor."""
        return Value.of(self.array(tensor), dtype_name(tensor.dtype))

    def shows(self, value: Value, tensor: Any) -> bool:
        """Return whether `value` is the tensor's current value."""
        copy = value.copied
        if copy is None:
            return value.is_same(self.value(tensor))
        array, then = self.array(tensor), copy.item
        return bool(
            array.shape == then.shape
            and dtype_name(tensor.dtype) == copy.dtype
            and array.tobytes() == then.tobytes()
        )

    # -- gradients during a pass -----------------------------------------------------------------------
    def arriving(self, grad: Any) -> Any:
        """Return the gradient of an event in a form that can be inspected."""
        return devices.peek(grad)

    def kept_gradient(self, grad: Any) -> Any:
        """Return a gradient that does not change: the engine may continue to add to its own array in place."""
        return grad if isinstance(grad, np.generic) else np.array(grad)

    def plus(self, a: Any, b: Any) -> Any:
        """Return the sum of two gradients."""
        return a + b

    def added(self, tensor: Any, grad: Any) -> Any:
        """Return what a tensor's `.grad` would be after adding `grad`."""
        return self.array(tensor) + grad

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two gradients are the same numbers."""
        if a is b and isinstance(a, np.generic):
            return True
        if np.shape(a) == () == np.shape(b):
            return bool(a == b or a != a and b != b)
        if a.__class__ is np.ndarray is b.__class__ and a.size <= FEW:
            if a.shape == b.shape and a.tobytes() == b.tobytes():
                return True
        return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)

    def hooked(self, item: Any) -> bool:
        """Return whether hooks may change the gradient that arrives at a leaf or a node."""
        hooks = item._hooks if is_tensor(item) else item.hooks
        return hooks is not None and bool(hooks.tensor or hooks.pre)

    def sends_through_hooks(self, node: Any) -> bool:
        """Return whether hooks may change the gradients that a node sends."""
        return node.hooks is not None and bool(node.hooks.post)

    # -- modes and modules of the running code ---------------------------------------------------------
    def grad_enabled(self) -> bool:
        return per_thread.state.grad

    def mode_without_grad(self) -> str:
        """Return the name of the mode that currently turns off recording of the graph."""
        return "inference_mode" if per_thread.state.inference else "no_grad"

    def scope_now(self) -> Any:
        """Return the running module call, as `scopes` describes it, or None."""
        return per_thread.state.scope

    # -- grad_fn nodes -----------------------------------------------------------------------------
    def seen_nodes(self, weak: bool) -> Seen:
        """Return the table in which a builder records the number of each node."""
        return Seen(weak)

    def op(self, node: Any) -> Any:
        """Return the op's record, or None if this node has none."""
        found = getattr(node, "op", None)
        return (
            found if found is not None else _op_by_node_name(len(OPS)).get(self.grad_fn_name(node))
        )

    def grad_fn_name(self, node: Any) -> str:
        return node.name().rpartition("::")[2]

    def sequence_nr(self, node: Any) -> int:
        return node._sequence_nr()

    def scope(self, node: Any) -> Any:
        """Return the module call that made the node, as `scopes` describes it, or None."""
        return getattr(node, "scope", None)

    def outputs(self, node: Any) -> list[tuple[tuple[int, ...] | None, str, str]]:
        """Return (shape, dtype, device) of each result; (None, "", "") for an unknown one."""
        if (
            isinstance(node, Node)
            and node.plain
            and node.num_outputs == 1
            and isinstance(node.value, np.generic)
        ):
            return [((), type_name(node.value.dtype), "")]
        shapes = getattr(node, "_meta", None) or getattr(node, "_extra", {}).get("shapes")
        if shapes:  # as in torch, results that cannot have a gradient are not counted
            names = () if node.op is None else node.op.outputs
            kept = [nr for nr, name in enumerate(names) if name not in node.op.nondiff]
            count = kept[-1] + 1 if kept else len(shapes)
            return [(tuple(shape), dtype_name(dtype), "") for shape, dtype, *_ in shapes[:count]]
        result = getattr(node, "value", None)
        if isinstance(result, tuple):  # too big to save: the node has only (shape, dtype)
            first = (result[0], type_name(result[1]), "")
        else:
            first = (
                (None, "", "")
                if result is None
                else (np.shape(result), type_name(result.dtype), "")
            )
        return [first]

    def result(self, node: Any) -> Any:
        """Return the (first) result as an array, or None if it was not saved."""
        value, op = getattr(node, "value", None), getattr(node, "op", None)
        # A view's array may have been changed since, so its value is computed from its base.
        return None if isinstance(value, tuple) or op is not None and op.view else value

    def operand(self, node: Any, slot: int) -> Any:
        """Return the operand at a slot that gets no gradient: an array, a number, None (omitted), or UNKNOWN."""
        kept = getattr(node, "operands", None)
        if (
            kept is None or slot >= len(kept) or isinstance(kept[slot], tuple)
        ):  # (shape, dtype) of an operand that is too big to save
            return UNKNOWN
        return kept[slot]

    def saved(self, node: Any) -> Iterable[tuple[str, Any]]:
        """Return (name, value) of everything the node saved: a SavedEntry for a tensor, a plain value for an
        attribute."""
        stored = getattr(node, "saved", None)
        packed = self._packed_names(node) if isinstance(stored, list) else ()
        unchanged = isinstance(node, Node) and node.plain and stored.__class__ is tuple
        known = _saved_unchanged(node) if unchanged else {}
        for name in self._saved_names(node):
            if name in known:
                if (item := known[name]) is not _NOTHING:
                    yield name, item
                continue
            if name in packed:
                yield name, SavedEntry(name, None, "alive")
                continue
            try:
                value = getattr(node, f"_saved_{name}")
            except RuntimeError as error:
                state = "modified" if "modified by an inplace operation" in str(error) else "freed"
                yield name, SavedEntry(name, None, state)
                continue
            if is_tensor(value):
                yield name, SavedEntry(name, value, "alive")
            elif isinstance(value, (list, tuple)) and any(is_tensor(v) for v in value):
                for i, item in enumerate(value):
                    if is_tensor(item):
                        yield f"{name}[{i}]", SavedEntry(f"{name}[{i}]", item, "alive")
            elif value is not None or name not in self._tensor_names(node):
                yield name, value
        if hasattr(type(node), "saved_tensors"):
            yield from self._saved_by_function(node)

    def stale(self, node: Any) -> Iterator[Stale]:
        """Return the tensors that a node saved and that an in-place operation has changed since."""
        op, kept = getattr(node, "op", None), getattr(node, "_kept", None)
        if op is not None and isinstance(getattr(node, "saved", None), (tuple, list)):
            for name, kind, entry in zip(op.saves, op.save_kinds, node.entries()):
                if not isinstance(entry, tuple):
                    continue
                if kind == "output" and len(entry) == 3:
                    yield from _stale(name, None, entry[1], entry[2])
                elif (
                    kind == "input"
                    and len(entry) == 2
                    and is_tensor(entry[0])
                    and isinstance(entry[1], int)
                ):
                    yield from _stale(name, entry[0], entry[0]._storage, entry[1])
        for i, item in enumerate(kept or ()):
            if item is not None and is_tensor(item[0]):
                yield from _stale(f"saved_tensors[{i}]", item[0], item[0]._storage, item[1])

    def _saved_by_function(self, node: Any) -> Iterator[tuple[str, Any]]:
        """Return the entries that a custom `autograd.Function` saved."""
        try:
            tensors = node.saved_tensors
        except RuntimeError as error:
            state = "modified" if "modified by an inplace operation" in str(error) else "freed"
            yield "saved_tensors", SavedEntry("saved_tensors", None, state)
            return
        for i, item in enumerate(tensors):
            if is_tensor(item):
                yield f"saved_tensors[{i}]", SavedEntry(f"saved_tensors[{i}]", item, "alive")

    def _saved_names(self, node: Any) -> tuple[str, ...]:
        kind: Any = type(node)
        return _public_saved_names(kind)

    def _packed_names(self, node: Any) -> Collection[str]:
        """Return the names packed by saved-tensor hooks: reading them would call the learner's unpack function."""
        return {
            name for name, entry in zip(node._saved_names, node.saved) if isinstance(entry, Packed)
        }

    def _tensor_names(self, node: Any) -> frozenset[str]:
        """Return the names under which this node may save tensors (a value of None means: not needed)."""
        op = self.op(node)
        return frozenset() if op is None else saved_kinds(op, ("input", "output"))

    def seed(self, root: Any, gradient: Any) -> Any:
        """Return the gradient with which backward() starts at `root`: the given one, or 1 for a single number.

        Raises ValueError with a message for learners if backward() would refuse."""
        if gradient is not None:
            if not is_tensor(gradient) or tuple(gradient.shape) != tuple(root.shape):
                raise ValueError(
                    f"gradient must be a tensor of shape {tuple(root.shape)}, one number per element of the result"
                )
            return gradient
        if root.numel() != 1:
            raise ValueError(
                f"the result has shape {tuple(root.shape)}, and backward() starts from a single number: "
                "reduce it with .sum() or .mean(), or give gradient= with one number per element"
            )
        if root.dtype.is_complex:
            raise ValueError(
                "the result is a complex number, and backward() starts from a real one: take .abs() or .real of it, "
                "or give gradient="
            )
        return self._ones_like(root)

    def _ones_like(self, root: Any) -> Any:
        from ..engine.core.tensor import wrap

        ones = devices.filled(root.device, 1, root.shape, root.dtype)
        return wrap(ones[()] if root.device.type == "cpu" else ones)

    def walked(self, nodes: list[Any]) -> None:
        """Receive all nodes of the graph, oldest first."""

    def done(self, roots: list[Any]) -> None:
        """Release what was kept for the trace of `roots`, also after an error. Nothing is kept here."""

    # -- backward without touching .grad -----------------------------------------------------------
    def replay(self, roots: list[Any], gradients: list[Any], observer: Any) -> None:
        """Run the backward pass and report each step to `observer`; `.grad` and the saved values stay unchanged.

        Raises RuntimeError if backward() would (freed or modified values)."""
        from ..engine.core import observe
        from ..engine.core.backward import steps
        from ..engine.core.node import accumulator

        nodes = [
            (t.grad_fn if t.grad_fn is not None else accumulator(t), t.output_nr) for t in roots
        ]
        with (
            observe.watching(observer),
            np.errstate(all="ignore"),
        ):  # like backward(), compute 1/0 = inf without a warning
            for _ in steps(
                nodes, [g._array for g in gradients], retain_graph=True, accumulate=False
            ):
                pass
