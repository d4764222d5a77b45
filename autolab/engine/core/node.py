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
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .grad_mode import guard, per_thread
from .record import Op
from .tensor import Tensor, nowhere, wrap

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
    operands, scope: for the explorer, see docs/dev/contracts.md. Hooks, and what users see of a node, are in
    `autograd/nodes.py`."""

    __slots__ = tuple(
        "inputs input_nrs saved sequence_nr fix hooks value operands scope _extra __weakref__".split()
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
    runs_without_grad = (
        False  # whether the node runs even when nothing arrived (custom functions see zeros)
    )
    backward_raw: Callable[
        ..., Any
    ]  # on arrays, and on Tensors: `backward`, or what is compiled for it
    backward_traced: Callable[..., Any]
    _freed: Callable[
        ..., Exception
    ]  # what is said of what was freed, or changed since: `autograd/refusals.py`
    _stale: Callable[..., Exception]
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """The node's name as torch gives it: 'MulBackward0', 'torch::autograd::AccumulateGrad'."""
        return self._name

    def extra(self) -> dict[str, Any]:
        """Rarely used facts, in a dict made on demand."""
        with guard:
            if not hasattr(self, "_extra"):
                self._extra = {}
        return self._extra

    # -- what it saved -----------------------------------------------------------------------------------------------
    def entries(self) -> list[Any]:
        """What was saved, one entry for each name in `op.saves`: an argument as (Tensor, version), or a number; a
        result as (array, storage, version), for the Tensor itself would hold the node that holds it; a `Parcel`;
        anything else as it is. None where no gradient asks for it."""
        return self.saved if isinstance(self.saved, list) else []

    def unpack(self, k: int, traced: bool = True) -> Any:
        """The saved entry `k`: a Tensor, a list of them, a number or None; with `traced=False` arrays for Tensors.
        Raises torch's error if they were freed, or changed since."""
        if self.saved is None or self.saved.__class__ is Freed:
            raise self._freed()
        op = self.op
        entry, kind = self.entries()[k], op.save_kinds[k]
        if entry is None or kind not in ("input", "output"):
            return entry
        if op.lists and self._is_list(k):
            return [opened(self, item, traced) for item in entry]
        if kind == "output" and entry.__class__ is tuple:
            entry = self._own_output(k, *entry)
        return opened(self, entry, traced)

    def _is_list(self, k: int) -> bool:
        """Whether the entry `k` is of an argument that is a list of tensors."""
        return (
            self.op.save_kinds[k] == "input"
            and self.op.params[self.op.save_index[k]] in self.op.lists
        )

    def _own_output(self, k: int, array: Any, storage: Any, version: int) -> Tensor | None:
        """The result that this node saved, as a Tensor again, a part of its graph."""
        op, nr = self.op, self.op.save_index[k]
        no_gradient = (
            bool(op.outputs) and op.outputs[nr] in op.nondiff
        )  # as an index, which was made by no node
        if storage.version != version:
            if (
                op.saves[k] in op.hidden
            ):  # PyTorch keeps something else of it: the rule finds it again
                return None
            raise self._stale(
                storage, version, array.shape, array.dtype, None if no_gradient else self, nr
            )
        t = wrap(
            storage.array if storage.array is not None and isinstance(array, np.generic) else array
        )
        t._storage, t._nr = storage, nr
        if not no_gradient:
            t._node, t._req = self, True
        return t

    def release(self) -> bool:
        """Frees the saved tensors, keeps plain attributes. Returns whether there were any."""
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
        """Whether the saved entry `k` is a tensor in PyTorch: the number of `x * 2` is, the index of `x[0]` is not."""
        if entry is None or self.op.save_kinds[k] not in ("input", "output"):
            return False
        op, number = self.op, isinstance(entry, (bool, int, float, complex))
        return (
            not number
            or op.params[op.save_index[k]] in op.operands
            and not op.keeps_number(op.saves[k])
        )


class Parcel:
    """A saved tensor that is kept in another form, as hooks on saved tensors leave it (`autograd/packing.py`).

    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = torch.tensor([1., 2.], requires_grad=True).exp()
    >>> [isinstance(entry, Parcel) for entry in y.grad_fn.entries()]
    [True]
    """

    __slots__ = ()

    def tensor(self, node: Any = None, traced: bool = True) -> Tensor:
        """The tensor again, `traced`: with the history that it had."""
        raise NotImplementedError


GONE = ("a saved tensor that backward freed",)


class Freed(list[Any]):
    """The entries of a node after a backward pass: numbers and sizes are still there, in the place of tensors is
    `GONE`.

    >>> y = torch.tensor([1., 2.], requires_grad=True).softmax(0)
    >>> y.sum().backward()
    >>> y.grad_fn.op.saves, y.grad_fn.entries() == [GONE, 0]
    (('result', 'dim'), True)
    """


def opened(node: Any, item: Any, traced: bool) -> Any:
    """What was saved of a tensor, with its version: the Tensor when traced, else its array. Raises torch's error for
    one that was changed in place since.

    >>> opened(None, (torch.tensor([1., 2.]), 0), traced=False)
    array([1., 2.], dtype=float32)
    """
    if item.__class__ is tuple:
        item, version = item
        if item._storage.version != version:
            raise node._stale(
                item._storage, version, item._array.shape, item._array.dtype, item.grad_fn
            )
    elif isinstance(item, Parcel):
        item = item.tensor(node, traced)
    return item if traced else getattr(item, "_array", item)


def backward(node: Node, m: Any, g: Any) -> tuple[Any, ...]:
    """What a node does when the gradient `g` of its result arrives: the chain rule.

    For each operand that wants a gradient, the operation's rule multiplies what arrived by the local derivative, which
    it works out from what the node saved. m: the operations the rules are written in, on arrays, or on Tensors when the
    gradient is to have a graph of its own.

    >>> x = wrap(np.float64(3))
    >>> x.requires_grad = True
    >>> [float(g) for g in backward((x * x).grad_fn, raw(np), np.float64(1))]
    [3.0, 3.0]
    """
    op = node.op
    if g.__class__ is not list and (
        node.num_outputs == 1 if op.variadic else node.num_outputs > 1 and node.direct
    ):
        g = (g,)  # the rules of an operation with several results read a list
    saved = {name: node.unpack(k, m.traced) for k, name in enumerate(op.saves)}
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


Node.backward_raw = Node.backward_traced = backward


def apply_fix(m: Any, fix: Any, grads: Any) -> Any:
    """Sums gradients over broadcast dimensions and casts them to their input's dtype: `fix` says to what; see
    `Node`.

    >>> apply_fix(raw(np), (((), torch.float32), None), (np.ones(3), None))
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
            if (
                g.dtype is not dtype.np
                and g.dtype is not dtype
                and g.dtype != (dtype if m.traced else dtype.np)
            ):
                g = m.to_copy(g, dtype)
            if target.__class__ is not tuple:  # an operand on another device
                g = m.to_device(g, target.device)
        fixed.append(g)
    return fixed


# -- the classes of nodes --------------------------------------------------------------------------------------------
def node_class(op: Op) -> type[Node]:
    """The class of the nodes of an operation.

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
        "frees_all": {"input", "output"} >= set(op.save_kinds) > set()
        and not any(map(op.keeps_number, op.saves)),
        "__module__": "builtins",
        "__doc__": f"Backward of `{op.name}`.",
    }
    if not op.variadic:  # else it is set per node
        body["num_outputs"] = len(outputs)
    return type(op.node, (Node,), body)


@cache
def off_cpu(kind: type[Node]) -> type[Node]:
    """The class of those nodes of an op that take or give what lies on another device than the CPU: the same, but that
    shortcuts through plain graphs leave them to the general pass. So asking about devices costs other graphs nothing.

    >>> y = torch.tensor(2., device="sim:0", requires_grad=True) * 3
    >>> type(y.grad_fn) is off_cpu(y.grad_fn.op.node_class), y.grad_fn.away
    (True, True)
    """
    body = {"__slots__": (), "direct": False, "away": True}
    body |= {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), body)


class AccumulateGrad(Node):
    """The end of an edge: adds what arrives to `variable.grad`. One per leaf and graph; the leaf holds it weakly, the
    graph strongly.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> (x * 2).grad_fn.inputs[0].variable is x
    True
    """

    __slots__ = ("variable", "version")
    _name = "torch::autograd::AccumulateGrad"
    inputs = saved = ()
    input_nrs = fix = value = operands = scope = None
    sequence_nr = ACCUMULATE_NR
    variable: Any
    version: int  # of the leaf when this was made: what tells the explorer that the leaf was changed since


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
    """An AccumulateGrad for a leaf that has none (any more).

    >>> new_accumulator(torch.tensor(3., requires_grad=True)).name()
    'torch::autograd::AccumulateGrad'
    """
    if leaf._acc is nowhere:
        return None
    node = AccumulateGrad()
    node.variable, node.hooks = leaf, None
    node.version = 0 if leaf._memory is None else leaf._memory.version
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
    """Where a gradient goes: output `output_nr` of `node`. Source: torch.autograd.graph.GradientEdge.

    >>> torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True) * 3).node.name()
    'MulBackward0'
    """

    node: Node
    output_nr: int
