"""Nodes of the backward graph: what `grad_fn` is, and what it does.

A node is made per operation. It knows where gradients go (`inputs`), what was saved for its rules (`saved`) and when it
was made (`sequence_nr`). Its class is derived from the operation's record, with PyTorch's name (`MulBackward0`).

What backward is: a tensor's history is a graph of nodes, one per operation, each with edges to the nodes of its
operands. Backward begins at a result with the gradient of the result with respect to itself, 1. At every node, newest
first, it multiplies what has arrived by the local derivatives, one for each operand, and sends each product along the
operand's edge. Where several edges meet, what arrives is added up before the node runs: that is the chain rule for
several paths. At the end of every path is a leaf, whose `.grad` is the sum. The multiplication is `backward`, in this
file; the order and the sums are `backward.py`'s.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .grad_mode import per_thread
from .guard import guard, shared
from .record import Op
from .refusals import freed, stale
from .storage import nowhere
from .tensor import Tensor, wrap

sequence = count()
next_sequence_nr = sequence.__next__
ACCUMULATE_NR = 2**64 - 1
"""AccumulateGrad runs as soon as its last contribution is in: torch gives it the highest number."""


class Node:
    """One operation of the graph. Source: torch.autograd.graph.Node.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> (x * x).grad_fn.name()
    'MulBackward0'

    inputs: one entry per differentiable argument, the node that its gradient goes to or None. input_nrs: to which
    output of that node, None where all are the first. saved: what the rules read (`entries`). fix: per input the (shape
    or None, dtype) its gradient must be brought to, where operands were broadcast or converted; None mostly. value,
    operands, scope: for the explorer, see docs/contracts.md."""

    __slots__ = (
        "inputs",
        "input_nrs",
        "saved",
        "sequence_nr",
        "fix",
        "hooks",
        "value",
        "operands",
        "scope",
        "_extra",
        "__weakref__",
    )
    inputs: tuple[Node | None, ...]
    input_nrs: tuple[int, ...] | None
    saved: Any
    sequence_nr: int
    fix: Any
    hooks: Any
    value: Any
    operands: Any
    scope: Any
    _extra: dict[str, Any]
    op: Any = None
    num_outputs: int = 1
    _name = "Node"
    _saved_names: tuple[str | None, ...] = ()
    plain = False  # whether it is of a registered operation, so that an engine knows what its backward reads
    direct = False  # plain, and one differentiable output, the first
    away = False  # whether it takes or gives something on another device than the CPU
    frees_all = False  # whether everything saved is a tensor, so that freeing is one assignment
    runs_without_grad = False  # whether the node runs even when nothing arrived (custom functions see zeros)
    backward_raw: Callable[..., Any]
    backward_traced: Callable[..., Any]
    if TYPE_CHECKING:  # what `engine/autograd/` adds: hooks, and the rest of torch's public face

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """The node's name as torch gives it: 'MulBackward0', 'torch::autograd::AccumulateGrad'."""
        return self._name

    @property
    def differentiable_outputs(self) -> int:
        """How many gradients hooks are shown: an index that `max` returns beside the maximum is no output of the node
        in PyTorch."""
        return self.num_outputs - (len(self.op.nondiff) if self.op is not None else 0)

    # -- for the engine --------------------------------------------------------------------------------------------------
    def step(self, g: Any, retain_graph: bool, oldest: int, leaves: Any, pending: Any) -> Any:
        """What a faster engine does at a node of a plain graph; None, and nothing done, at one that needs the general
        pass, as this one."""
        return None

    def heading_for(self, inputs: tuple[Node | None, ...]) -> Any:
        """A node that computes what this one does, but only the gradients for `inputs` that are not None. It stands in
        no graph."""
        node: Any = object.__new__(self.__class__)
        node.inputs, node.saved, node.fix = inputs, self.saved, self.fix
        if self.op.variadic:
            node.num_outputs = self.num_outputs
        return node

    def extra(self) -> dict[str, Any]:
        """Rarely used facts, in a dict made on demand."""
        try:
            return self._extra
        except AttributeError:  # an unset slot
            with guard:
                if not hasattr(self, "_extra"):
                    self._extra = {}
            return self._extra

    # -- what it saved ---------------------------------------------------------------------------------------------------
    def entries(self) -> list[Any]:
        """What was saved, one entry for each name in `op.saves`: an argument as (Tensor, version), or a number; a
        result as (array, storage, version), for the Tensor itself would hold the node that holds it; anything else as
        it is. None where no gradient asks for it."""
        return self.saved if isinstance(self.saved, list) else []

    def replace_entries(self, entries: list[Any]) -> None:
        """Replaces what was saved."""
        self.saved = type(self.saved)(entries) if isinstance(self.saved, list) else entries

    def _entries(self) -> list[Any]:
        """The entries; raises torch's error when they were freed."""
        if self.saved is None or self.saved.__class__ is Freed:
            raise freed()
        return self.entries()

    def unpack(self, k: int) -> Any:
        """The saved entry `k` as the user sees it: a Tensor, a number, or None. Raises torch's error if a tensor was
        changed since."""
        entry = self._entries()[k]
        kind = self.op.save_kinds[k]
        if entry is None or kind not in ("input", "output"):
            return entry
        if entry.__class__ is Packed:
            return entry.tensor(self)
        if kind == "output":
            return self._own_output(k, *entry)
        if entry.__class__ is tuple and isinstance(entry[0], Tensor):
            return unchanged(self, *entry)
        if entry.__class__ is tuple and self._is_list(k):
            return tuple(opened(self, entry, True))
        return entry

    def _is_list(self, k: int) -> bool:
        """Whether the entry `k` is of an argument that is a list of tensors."""
        return self.op.save_kinds[k] == "input" and self.op.params[self.op.save_index[k]] in self.op.lists

    def _own_output(self, k: int, array: Any, storage: Any, version: int) -> Tensor | None:
        """A result of this node, as a Tensor again: with this node as its history."""
        op, nr = self.op, self.op.save_index[k]
        no_gradient = bool(op.nondiff) and op.outputs[nr] in op.nondiff  # an index, which no node made
        if storage.version != version:
            if op.saves[k] in op.hidden:  # PyTorch keeps something else of it: the rule finds it again
                return None
            raise stale(self, storage, version, array.shape, array.dtype, None if no_gradient else self, nr)
        t = wrap(storage.array if storage.array is not None and isinstance(array, np.generic) else array)
        t._storage, t._nr = storage, nr
        if not no_gradient:
            t._node, t._req = self, True
        return t

    def release(self) -> bool:
        """Frees the saved tensors, keeps plain attributes. Returns whether there were any that a second backward would
        miss."""
        if not self.op.saves_tensors or self.saved is None or self.saved.__class__ is Freed:
            return False
        if self.frees_all:
            self.saved = None
            return True
        saved = self.entries()
        held = [self._holds(k, e) for k, e in enumerate(saved)]
        if not any(held):
            return False
        self.saved = Freed(GONE if gone else e for gone, e in zip(held, saved))
        return True

    def _holds(self, k: int, entry: Any) -> bool:
        """Whether the saved entry `k` is a tensor in PyTorch; the number of `x * 2` is one there, the index of `x[0]`
        is not."""
        op = self.op
        if entry is None or op.save_kinds[k] not in ("input", "output"):
            return False
        number = isinstance(entry, (bool, int, float, complex))
        return not number or op.params[op.save_index[k]] in op.operands and op.saves[k] not in op.hidden


GONE = ("a saved tensor that backward freed",)
"""In the place of a saved tensor that was freed."""


class Freed(list[Any]):
    """The entries of a node after a backward pass: numbers and sizes are still there, in the place of tensors is
    `GONE`."""


class Packed:
    """A saved tensor that hooks took: `value` is what pack returned, `origin` (node, output number) where the tensor
    came from.

    node is None for an output of the node that saved it, which must not hold itself; origin is None for a tensor
    without history.

    >>> from autolab.engine.core.node import Packed
    >>> packed = Packed.of(torch.tensor([1., 2.]), lambda t: t.tolist(), torch.tensor)
    >>> packed.value, packed.tensor()
    ([1.0, 2.0], tensor([1., 2.]))
    """

    __slots__ = ("value", "unpack", "origin")

    def __init__(self, value: Any, unpack: Callable[[Any], Any], origin: tuple[Node | None, int] | None = None) -> None:
        self.value, self.unpack, self.origin = value, unpack, origin

    @classmethod
    def of(cls, t: Tensor, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any], node: Node | None = None) -> Packed:
        """The tensor `t` as it is kept, by `node`."""
        origin = None
        if t.requires_grad:
            made_by = t.grad_fn
            origin = (accumulator(t), 0) if made_by is None else (None if made_by is node else made_by, t._nr)
        return cls(pack(t), unpack, origin)

    def tensor(self, node: Node | None = None) -> Tensor:
        """What unpack returns, with the history that the tensor had: a second derivative goes on from there."""
        t: Tensor = self.unpack(self.value)
        if self.origin is None or t.requires_grad:
            return t
        made_by, nr = self.origin
        t = t.detach()
        if isinstance(made_by, AccumulateGrad):
            t._acc = weakref.ref(made_by)
        else:
            t._node, t._nr = made_by or node, nr
        t._req = True
        return t


def unchanged(node: Node, t: Tensor, version: int) -> Tensor:
    """The tensor that `node` saved when its memory had `version`. Raises torch's error if it was changed in place
    since."""
    storage = t._storage
    if storage.version != version:
        raise stale(node, storage, version, t._array.shape, t._array.dtype, t._node)
    return t


def opened(node: Node, items: Any, traced: bool) -> list[Any]:
    """What a rule reads of a list of which `node` saved the tensors with their versions: Tensors when traced, else raw
    arrays.

    >>> x = torch.tensor([1., 2.])
    >>> opened(None, [(x, 0), None], traced=False)
    [array([1., 2.], dtype=float32), None]
    """
    tensors = []
    for item in items:
        if item.__class__ is tuple:
            item = unchanged(node, *item)
        elif item.__class__ is Packed:
            item = item.tensor(node)
        tensors.append(item if traced else _array(item))
    return tensors


# -- backward at one node --------------------------------------------------------------------------------------------------
def backward(node: Node, m: Any, g: Any) -> tuple[Any, ...]:
    """What a node does when the gradient `g` of its result arrives: the chain rule.

    For each operand that wants a gradient, the operation's rule multiplies what arrived by the local derivative, which
    it works out from what the node saved. That is all: the engine sums what several nodes send to one operand, and goes
    on from there. m: the operations the rules are written in, on arrays, or on Tensors when the gradient is to have a
    graph of its own.

    >>> from autolab.engine.core.namespaces import raw
    >>> x = wrap(np.float64(3))
    >>> x.requires_grad = True
    >>> [float(g) for g in backward((x * x).grad_fn, raw(np), np.float64(1))]
    [3.0, 3.0]
    """
    op = node.op
    if g.__class__ is not list and (node.num_outputs == 1 if op.variadic else node.num_outputs > 1 and node.direct):
        g = (g,)  # the rules of an operation with several results read a list
    saved = _values(node, m)
    if op.spread:  # one rule for all elements of a list
        ((_, rule, names),) = op.rules
        return tuple(rule(m, g, *[saved[name] for name in names]))
    if op.fused is not None and not m.traced:
        return tuple(op.fused(m, g, [target is not None for target in node.inputs], **saved))
    return tuple(
        [
            None if target is None else rule(m, g, *[saved[name] for name in names])
            for target, (_, rule, names) in zip(node.inputs, op.rules)
        ]
    )


def _values(node: Node, m: Any) -> dict[str, Any]:
    """What a node saved, by name: arrays, or Tensors where `m` computes with Tensors. Raises when it was freed, or
    changed in place."""
    op, values = node.op, {}
    for k, (name, entry) in enumerate(zip(op.saves, node._entries())):
        if entry is not None and op.save_kinds[k] in ("input", "output"):
            if node._is_list(k):
                entry = opened(node, entry, m.traced)
            elif entry.__class__ is Packed and not m.traced:
                entry = _array(entry.unpack(entry.value))
            else:
                entry = node.unpack(k)  # checks the version
                entry = entry if m.traced else _array(entry)
        values[name] = entry
    return values


def _array(t: Any) -> Any:
    return getattr(t, "_array", t)


def apply_fix(m: Any, fix: Any, grads: Any) -> Any:
    """Sums gradients over broadcast dimensions and casts them to their input's dtype: `fix` says to what; see
    `Node`.

    >>> from autolab.engine.core.dtype import float32
    >>> from autolab.engine.core.namespaces import raw
    >>> apply_fix(raw(np), (((), float32), None), (np.ones(3), None))
    [array(3., dtype=float32), None]
    """
    if fix is None:
        return grads
    fixed = []
    for g, target in zip(grads, fix):
        if g is not None and target is not None:
            shape, dtype = target
            if shape is not None and g.shape != shape:
                g = m.sum_to(g, shape)
            if g.dtype is not dtype.np and g.dtype is not dtype and g.dtype != (dtype if m.traced else dtype.np):
                g = m.to_copy(g, dtype)
            if target.__class__ is not tuple:  # an operand on another device
                g = m.to_device(g, target.device)
        fixed.append(g)
    return fixed


# -- the classes of nodes --------------------------------------------------------------------------------------------------
def node_class(op: Op) -> type[Node]:
    """The class of the nodes of an operation: its name, and what torch shows of what it saves.

    >>> from autolab.engine.core.record import OPS
    >>> node_class(OPS["exp"]).__name__
    'ExpBackward0'
    """
    outputs = op.outputs or ("result",)
    body: dict[str, Any] = {
        "__slots__": ("num_outputs",) if op.variadic else (),
        "op": op,
        "_name": op.node,
        "_saved_names": tuple(None if n in op.hidden else n for n in op.saves),
        "plain": True,
        "direct": not op.variadic and set(outputs[1:]) <= set(op.nondiff),
        "frees_all": bool(op.saves) and all(k in ("input", "output") for k in op.save_kinds) and not op.hidden,
        "backward_raw": backward,
        "backward_traced": backward,
        "__module__": "builtins",
        "__doc__": f"Backward of `{op.name}`.",
    }
    if not op.variadic:  # else it is set per node
        body["num_outputs"] = len(outputs)
    body |= {f"_saved_{name}": value for name, value in op.constants.items()}
    for name in filter(None, body["_saved_names"]):
        body[f"_saved_{name}"] = property(partial(_saved_attribute, name))
        body[f"_raw_saved_{name}"] = property(partial(_raw_saved, name))
    return type(op.node, (Node,), body)


def _saved_attribute(name: str, node: Node) -> Any:
    return node._saved_attribute(name)


def _raw_saved(name: str, node: Node) -> Any:
    return node._raw_saved(name)


@cache
def off_cpu(kind: type[Node]) -> type[Node]:
    """The class of those nodes of an op that take or give what lies on another device than the CPU: the same, but that
    shortcuts through plain graphs leave them to the general pass. So what they would ask about devices is in the graph,
    and costs other graphs nothing."""
    body = {"__slots__": (), "direct": False, "away": True, "step": Node.step}
    body |= {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), body)


class AccumulateGrad(Node):
    """The end of an edge: adds what arrives to `variable.grad`. One per leaf; the leaf holds it weakly, the graph
    strongly.

    One is made per leaf and graph, so what is the same for all of them stands in the class."""

    __slots__ = ("variable", "version")
    _name = "torch::autograd::AccumulateGrad"
    inputs = saved = ()
    input_nrs = fix = value = operands = scope = None
    sequence_nr = ACCUMULATE_NR
    variable: Any
    version: int  # of the leaf when this was made: what tells the explorer that the leaf was changed since

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), "variable"])

    def release(self) -> bool:
        """It saves nothing."""
        return False


AccumulateGrad.__module__ = "builtins"


def accumulator(leaf: Tensor) -> Any:
    """The AccumulateGrad of a leaf that requires grad, made on first use. None of a view that requires grad only
    because its base does.

    >>> x = wrap(np.float32(3))
    >>> x.requires_grad = True
    >>> node = accumulator(x)
    >>> accumulator(x) is node and node.variable is x
    True
    """
    _ = per_thread.state  # this thread is known from now on
    return leaf._acc and leaf._acc() or new_accumulator(leaf)


def new_accumulator(leaf: Tensor) -> AccumulateGrad | None:
    """An AccumulateGrad for a leaf that has none (any more); see `accumulator`."""
    if leaf._acc is nowhere:
        return None
    node = AccumulateGrad()
    node.variable = leaf
    node.hooks = None
    node.version = 0 if leaf._memory is None else leaf._memory.version
    if not shared.several:
        leaf._acc = weakref.ref(node)
        return node
    with guard:  # another thread may ask for the same
        first: AccumulateGrad | None = leaf._acc and leaf._acc()
        if not first:
            leaf._acc = weakref.ref(node)
        return first or node


def edge(t: Tensor) -> Node | None:
    """The node to which a gradient for `t` goes, or None.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> edge(x).name(), edge(x * 2).name(), edge(torch.tensor(3.))
    ('torch::autograd::AccumulateGrad', 'MulBackward0', None)
    """
    if t._view is not None:
        t._view.refresh(t)
    node: Node | None = t._node
    return accumulator(t) if node is None and t._req else node


class GradientEdge(NamedTuple):
    """Where a gradient goes: output `output_nr` of `node`. Source: torch.autograd.graph.GradientEdge."""

    node: Node
    output_nr: int
