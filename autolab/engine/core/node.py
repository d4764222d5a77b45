"""Nodes of the backward graph: the objects in `grad_fn`, and how they compute gradients.

Each recorded operation makes one node. The node knows where gradients go (`inputs`), which tensors its rules need
(`saved`) and when it was made (`sequence_nr`). Its class is derived from the operation's record, and has PyTorch's name
(`MulBackward0`).

What backward is: a tensor's history is a graph of nodes, one per operation, each with edges to the nodes of its
operands. Backward begins at a result with the gradient of the result with respect to itself, 1. It runs the nodes from
newest to oldest. Each node multiplies the gradient that arrives by the local derivative for each operand, and sends
each product along the operand's edge. Where several edges meet, the gradients are added up before the node runs: that
is the chain rule for several paths. Every path ends at a leaf, whose `.grad` is the sum. The multiplication is
`backward`, in this file; the order and the sums are in `backward.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from .grad_mode import guard, per_thread
from .record import Op
from .saving import GONE, Freed, opened
from .tensor import Tensor, no_accumulator, wrap

sequence = count()
next_sequence_nr = sequence.__next__
ACCUMULATE_NR = 2**64 - 1
"""The sequence number of AccumulateGrad. It is the highest, as in torch, so the node runs as soon as its last
contribution arrives."""


class Node:
    """One operation of the graph. Source: torch.autograd.graph.Node.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> (x * x).grad_fn.name()
    'MulBackward0'

    inputs: for each differentiable argument, the node that receives its gradient, or None. input_nrs: to which output
    of that node, None where all are the first. saved: the values that the rules read (`entries`). fix: per input the
    (shape or None, dtype) its gradient must be brought to, where operands were broadcast or converted; usually None.
    value, operands, scope: for the explorer, see docs/dev/contracts.md. Hooks and the public methods of a node are in
    `autograd/nodes.py`."""

    __slots__ = tuple(
        "inputs input_nrs saved sequence_nr fix hooks value operands scope _extra __weakref__".split()
    )
    op: Any = None
    num_outputs: int = 1
    _name = "Node"
    _saved_names: tuple[str | None, ...] = ()
    plain = False  # made by a registered op, so its saved entries are known
    direct = False  # plain, and only the first output is differentiable
    frees_all = False  # all entries are tensors, so one assignment frees them
    runs_without_grad = False  # run even without a gradient (custom functions see zeros)
    # `backward` on arrays and on Tensors, or the function that a faster engine compiled for it.
    backward_raw: Callable[..., Any]
    backward_traced: Callable[..., Any]
    # Make the errors for saved tensors that were freed or changed: `autograd/refusals.py`.
    _freed: Callable[..., Exception]
    _stale: Callable[..., Exception]
    if TYPE_CHECKING:
        inputs: Any
        saved: Any
        fix: Any
        hooks: Any
        _extra: dict[str, Any]

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """Return the node's name as torch gives it: 'MulBackward0', 'torch::autograd::AccumulateGrad'."""
        return self._name

    def extra(self) -> dict[str, Any]:
        """Return a dict for attributes that few nodes have; it is made on first use."""
        with guard:
            if not hasattr(self, "_extra"):
                self._extra = {}
        return self._extra

    # -- saved tensors
    # ------------------------------------------------------------------------------------------------------
    def entries(self) -> list[Any]:
        """Return the saved values, one entry for each name in `op.saves`: an argument as (Tensor, version), or a
        number; a result as (array, storage, version); a `PackedTensor`; any other value unchanged. The entry is None if
        no gradient needs it."""
        return self.saved if isinstance(self.saved, list) else []

    def unpack(self, k: int, traced: bool = True) -> Any:
        """Return the saved entry `k`: a Tensor, a list of Tensors, a number or None; with `traced=False`, arrays
        instead of Tensors. Raise torch's error if a tensor was freed, or changed in place."""
        if self.saved is None or self.saved.__class__ is Freed:
            raise self._freed()
        op, entry, kind = self.op, self.entries()[k], self.op.save_kinds[k]
        if entry is None or kind not in ("input", "output"):
            return entry
        if self._is_list(k):
            return [opened(self, item, traced) for item in entry]
        if kind == "output" and entry.__class__ is tuple:
            entry = self._own_output(op, k, *entry)
        return opened(self, entry, traced)

    def _is_list(self, k: int) -> bool:
        op = self.op
        return op.save_kinds[k] == "input" and op.params[op.save_index[k]] in op.lists

    def _own_output(self, op: Op, k: int, array: Any, storage: Any, version: int) -> Tensor | None:
        """Return a saved result of this node as a Tensor that is part of the graph again."""
        nr = op.save_index[k]
        # an index has no node
        made_by = None if op.outputs and op.outputs[nr] in op.nondiff else self
        if storage.version != version:
            if op.saves[k] in op.hidden:  # PyTorch does not save this output, so find it again
                return None
            raise self._stale(storage, version, array.shape, array.dtype, made_by, nr)
        owned = storage.array is not None and isinstance(array, np.generic)
        t = wrap(storage.array if owned else array)
        t._storage, t._nr, t._node, t._req = storage, nr, made_by, made_by is not None
        return t

    def release(self) -> bool:
        """Free the saved tensors, but keep numbers and sizes. Return whether there were any tensors."""
        if not self.op.saves_tensors or self.saved is None or self.saved.__class__ is Freed:
            return False
        if self.frees_all:
            self.saved = None
            return True
        saved = self.entries()
        held = [self._holds(k, e) for k, e in enumerate(saved)]
        if any(held):
            self.saved = Freed(GONE if gone else e for gone, e in zip(held, saved))
        return any(held)

    def _holds(self, k: int, entry: Any) -> bool:
        """Return whether the saved entry `k` is a tensor in PyTorch. The 2 of `x * 2` is a tensor; the index of `x[0]`
        is not."""
        op, kind = self.op, self.op.save_kinds[k]
        if entry is None or kind != "input":
            return entry is not None and kind == "output"
        operand = op.params[op.save_index[k]] in op.operands and not op.keeps_number(op.saves[k])
        return operand or not isinstance(entry, (bool, int, float))


def backward(node: Node, m: Any, g: Any) -> tuple[Any, ...]:
    """Return the gradients that a node sends to its inputs when the gradient `g` of its result arrives: the chain rule.

    For each operand that needs a gradient, the operation's rule multiplies `g` by the local derivative, which it
    computes from the saved values. m: the operations that the rules use, on arrays, or on Tensors if the gradient needs
    a graph of its own.

    >>> x = wrap(np.float64(3))
    >>> x.requires_grad = True
    >>> [float(g) for g in backward((x * x).grad_fn, raw(np), np.float64(1))]
    [3.0, 3.0]
    """
    op, g = node.op, _gradient_for_rules(node, g)
    saved = {name: node.unpack(k, m.traced) for k, name in enumerate(op.saves)}
    if op.spread or op.fused is not None and not m.traced:
        return _all_at_once(node, m, g, saved)
    return tuple(
        [
            None if target is None else rule(m, g, *[saved[name] for name in names])
            for target, (_, rule, names) in zip(node.inputs, op.rules)
        ]
    )


def _gradient_for_rules(node: Node, g: Any) -> Any:
    """Return the gradient in the form that rules expect: a list if the operation can have several results."""
    op = node.op
    alone = node.num_outputs == 1 if op.variadic else node.num_outputs > 1 and node.direct
    return (g,) if alone and g.__class__ is not list else g


def _all_at_once(node: Node, m: Any, g: Any, saved: dict[str, Any]) -> tuple[Any, ...]:
    """Return all gradients of a node from one function: a fused kernel, or the rule for every element of a list."""
    op = node.op
    if op.spread:
        ((_, rule, names),) = op.rules
        return tuple(rule(m, g, *[saved[name] for name in names]))
    return tuple(op.fused(m, g, [target is not None for target in node.inputs], **saved))


Node.backward_raw = Node.backward_traced = backward


def apply_fix(m: Any, fix: Any, grads: Any) -> Any:
    """Sum gradients over broadcast dimensions, and convert them to their input's dtype, as `fix` says; see `Node`.

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
            if g.dtype != (dtype if m.traced else dtype.np):
                g = m.to_copy(g, dtype)
        fixed.append(g)
    return fixed


# -- the classes of nodes --------------------------------------------------------------------------------------------
def node_class(op: Op) -> type[Node]:
    """Return the class of the nodes of an operation.

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
    if not op.variadic:  # otherwise set on each node
        body["num_outputs"] = len(outputs)
    return type(op.node, (Node,), body)


@cache
def off_cpu(kind: type[Node]) -> type[Node]:
    """Return a subclass for nodes with an operand or result off the CPU. It behaves the same, but fast paths do not run
    its nodes, so they need not ask about devices in other graphs.

    >>> y = torch.tensor(2., device="sim:0", requires_grad=True) * 3
    >>> type(y.grad_fn) is off_cpu(y.grad_fn.op.node_class)
    True
    """
    body = {"__slots__": (), "direct": False}
    body |= {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), body)


class AccumulateGrad(Node):
    """The node at the end of an edge, which adds the gradient to `variable.grad`. There is one per leaf and graph. The
    leaf holds it by a weak reference, the graph by a strong one.

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
    version: int  # the leaf's version at creation: shows later changes


AccumulateGrad.__module__ = "builtins"


def accumulator(leaf: Tensor) -> Any:
    """Return the AccumulateGrad of a leaf that requires grad, and make it on first use. Return None for a view that
    requires grad only because its base does.

    >>> x = wrap(np.float32(3))
    >>> x.requires_grad = True
    >>> node = accumulator(x)
    >>> accumulator(x) is node and node.variable is x
    True
    """
    _ = per_thread.state  # registers this thread
    if leaf._acc is no_accumulator:
        return None
    with guard:  # another thread may make it at the same time
        node = leaf._acc and leaf._acc()
        if not node:
            node = AccumulateGrad()
            node.variable, node.hooks = leaf, None
            node.version = 0 if leaf._memory is None else leaf._memory.version
            leaf._acc = weakref.ref(node)
        return node


def edge(t: Tensor) -> Node | None:
    """Return the node that receives the gradient of `t`, or None.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> edge(x).name(), edge(x * 2).name(), edge(torch.tensor(3.))
    ('torch::autograd::AccumulateGrad', 'MulBackward0', None)
    """
    if t._view is not None:
        t._view.refresh(t)
    node: Node | None = t._node
    return accumulator(t) if node is None and t._req else node
