"""How an operation runs: unwrap, promote, compute, wrap, record.

`apply` takes any arguments. The faster paths in `engine/fast/` do the same, with some of the checks done in advance.
`tests/engine/test_plain.py` runs both with the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import observe
from .device import CPU, device
from .dtype import dtype, get_default_dtype, python_scalar_dtype, result_type_of
from .errors import ERROR_LISTENERS, bad_argument
from .grad_mode import State, per_thread
from .node import Node, edge, next_sequence_nr, off_cpu
from .record import Op
from .saving import save
from .tensor import SMALL, Tensor, View, materialise, wrap


def reporting(run: Callable[..., Any], op: Op, inplace: bool = False) -> Callable[..., Any]:
    """Return a function of the op's arguments that calls `run(op, args)` and reports errors to the `ERROR_LISTENERS`.

    >>> reporting(apply, OPS["mul"])(torch.tensor(2.), 3.0)
    tensor(6.)
    """

    def call(*args: Any) -> Any:
        try:
            return run(op, args)
        except Exception as error:
            # Reuse the name `error` on purpose: another name would keep the exception alive in this frame.
            for listener in ERROR_LISTENERS:
                error = listener.failed(op, args, error, inplace)
            if error.__traceback__ is None:
                raise error from None
            raise

    return call


def apply(op: Op, args: Sequence[Any]) -> Any:
    """Run `op` on `args` (all of its arguments, in schema order: Tensors, numbers, attributes). Return a Tensor or a
    tuple.

    >>> apply(OPS["mul"], (torch.tensor(2.), 3.0))
    tensor(6.)
    """
    tensors, raws = unwrap(op, args)
    where, args, raws = bring_together(op, args, raws, tensors)
    state = per_thread.state
    if op.operands:
        raws = promote(op, args, raws, where)
    if op.view:
        raws[0] = materialise(args[0])
    result = compute(op, state, where, raws)
    several = result.__class__ is tuple or result.__class__ is list
    results = result if several else (result,)
    outs = tuple([_output(op, r, args, where, state, several) for r in results])
    node = record(op, args, outs, state) if state.grad and op.rules else None
    if observe.observer is not None:
        observe.observer.forward(op, args, None, outs, node)
    if not several:
        return outs[0]
    return op.return_type(outs) if op.return_type is not None else outs


def unwrap(op: Op, args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """Return the tensors among `args`, and `args` with each tensor replaced by its array. Raise TypeError if the first
    argument is not a tensor.

    >>> unwrap(OPS["mul"], (torch.tensor([1., 2.]), 3.0))
    ([tensor([1., 2.])], [array([1., 2.], dtype=float32), 3.0])
    """
    tensors: list[Tensor] = []
    raws: list[Any] = []
    for a in args:
        if isinstance(a, Tensor):
            tensors.append(a)
            raws.append(a._array)
        elif a.__class__ in (list, tuple) and any(isinstance(x, Tensor) for x in a):
            tensors += [x for x in a if isinstance(x, Tensor)]
            raws.append([x._array if isinstance(x, Tensor) else x for x in a])
        else:
            raws.append(number_of(a))
    if op.params[0] == "self" and not (isinstance(args[0], Tensor) or op.broadcast and tensors):
        raise bad_argument(op.name, "input", 1, "Tensor", args[0])
    return tensors, raws


def number_of(a: Any) -> Any:
    """Convert a NumPy number to a Python number; return anything else unchanged. Like PyTorch, read a NumPy bool as a
    float.

    >>> number_of(np.float32(2.5)), number_of(np.bool_(True)), number_of("sum")
    (2.5, 1.0, 'sum')
    """
    if not isinstance(a, np.generic):
        return a
    return float(a) if isinstance(a, np.bool_) else a.item()


def bring_together(
    op: Op, args: Sequence[Any], raws: list[Any], tensors: list[Tensor]
) -> tuple[device, Sequence[Any], list[Any]]:
    """Return the device on which `op` runs, with its arguments and raw values moved there. The device's backend decides
    which arguments may be on another device, and raises PyTorch's error for the rest.

    >>> x = torch.ones(2)
    >>> bring_together(OPS["exp"], (x,), [x.numpy()], [x])
    (device(type='cpu'), (tensor([1., 1.]),), [array([1., 1.], dtype=float32)])
    """
    where = tensors[0]._storage.device
    for t in tensors:
        other = t._storage.device
        if other is not where:
            backend: Any = (other if where is CPU else where).backend
            return backend.together(op, args, raws, tensors)  # type: ignore[no-any-return]
    return where, args, raws


def result_dtype(op: Op, args: Sequence[Any]) -> dtype:
    """Return the dtype that the operands of `op` are converted to.

    >>> result_dtype(OPS["mul"], (torch.tensor([1, 2]), 0.5)), result_dtype(OPS["mul"], (torch.tensor([1, 2]), 3))
    (torch.float32, torch.int64)
    """
    operands = [args[i] for i in op.broadcast if args[i] is not None or op.kinds[i] == "operand"]
    dims = [a.dtype for a in operands if isinstance(a, Tensor) and a._array.ndim]
    zeros = [a.dtype for a in operands if isinstance(a, Tensor) and not a._array.ndim]
    scalars = [number_of(a) for a in operands if not isinstance(a, Tensor)]
    d = result_type_of(dims, zeros, scalars)
    if op.check is not None:
        op.check([*dims, *zeros, *map(python_scalar_dtype, scalars)], d)
    return get_default_dtype() if op.dtype == "float" and not d.is_floating_point else d


def promote(op: Op, args: Sequence[Any], raws: list[Any], where: device) -> list[Any]:
    """Return the raw values with all operands converted to one dtype, as PyTorch does before a kernel runs.

    >>> args = torch.tensor([1, 2]), torch.tensor([0.5, 0.5])
    >>> [a.dtype.name for a in promote(OPS["mul"], args, [a.numpy() for a in args], CPU)]
    ['float32', 'float32']
    """
    if op.dtype is None:
        return raws
    d = result_dtype(op, args)
    raws = list(raws)
    for i in op.broadcast:
        a = args[i]
        if isinstance(a, Tensor):
            if a.dtype is not d:
                # As in torch, an operand with repeated elements (`expand`) is copied in full.
                order = "C" if 0 in raws[i].strides else "K"
                raws[i] = where.backend.run(per_thread.state, raws[i].astype, d.np, order)
        elif a is not None and not d.is_floating_point:
            # An int out of range wraps around, as in torch; NumPy would refuse it.
            raws[i] = np.asarray(a).astype(d.np)[()]
    return raws


def compute(op: Op, state: State, where: device, raws: Sequence[Any]) -> Any:
    """Run the kernel on a device and return its result.

    >>> compute(OPS["mul"], per_thread.state, CPU, [np.ones(2), 3.0])
    array([3., 3.])
    """
    return where.backend.run(state, op.forward, where.backend.xp, *raws)


def _output(
    op: Op, result: Any, args: Sequence[Any], where: device, state: State, several: bool
) -> Tensor:
    """Return the result of a kernel (or one of several results) as a Tensor: with memory of its own, or as a view of
    the first argument."""
    t = wrap(where.backend.adopt(op, result))
    if op.view:
        source = args[0]
        t._memory = memory = source._storage
        if memory.array is None:
            memory.array = source._array
        t._view = View.of(source, state, several)
    return t


# -- recording the graph ----------------------------------------------------------------------------------------------
def record(
    op: Op,
    args: Sequence[Any],
    outs: tuple[Tensor, ...],
    state: State,
    replaced: Tensor | None = None,
) -> Any:
    """Make the node of an operation that just ran: connect its edges, save the tensors that backward needs, and attach
    it to the results. Return the node, or None if no gradient can flow.

    replaced: the first argument of an in-place operation before the change, for the edges and saved tensors.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> node = (x * 2).grad_fn
    >>> node.inputs[0].variable is x, node.op.name
    (True, 'mul')
    """
    sources = list(args[op.rules[0][0]]) if op.spread else [args[i] for i, _, _ in op.rules]
    if replaced is not None:
        sources = [replaced if s is args[0] else s for s in sources]
        args = replaced, *args[1:]
    # `edge` also updates the history of views
    edges = [edge(s) if isinstance(s, Tensor) else None for s in sources]
    if not any(isinstance(s, Tensor) and s._req for s in sources):
        return None
    node = _new_node(op, sources, edges, outs, state)
    node.saved = save(op, args, outs, edges)
    if state.saved_hooks is not None:
        node.pack(*state.saved_hooks)
    for nr, out in enumerate(outs):
        if out.dtype.is_floating_point and not (op.nondiff and op.outputs[nr] in op.nondiff):
            out._node, out._nr, out._req = node, nr, True
            if out._view is not None:
                out._view.version = out._storage.version
    return node


def _new_node(
    op: Op,
    sources: Sequence[Any],
    edges: Sequence[Node | None],
    outs: Sequence[Tensor],
    state: State,
) -> Any:
    """Return a node of `op` with edges to the nodes of `sources`; it has no saved tensors yet."""
    tensors = [s for s in sources if isinstance(s, Tensor)]
    off = any(t._storage.device is not CPU for t in (*tensors, *outs))
    node: Any = object.__new__(off_cpu(op.node_class) if off else op.node_class)
    node.inputs = tuple(edges)
    numbers = tuple([s._nr if isinstance(s, Tensor) else 0 for s in sources])
    node.input_nrs = numbers if any(numbers) else None
    node.sequence_nr, node.hooks, node.scope = next_sequence_nr(), None, state.scope
    node.fix = _fix(op, sources, outs[0])
    node.value = _preview(outs[0])
    shown = [_preview(s) if e is None else None for s, e in zip(sources, edges)]
    node.operands = tuple(shown) if None in edges else None
    if op.variadic:
        node.num_outputs = len(outs)
    if node.num_outputs > 1:
        node.extra()["shapes"] = tuple((o._array.shape, o.dtype) for o in outs)
    return node


def _fix(op: Op, sources: Sequence[Any], out: Tensor) -> tuple[Any, ...] | None:
    """Return the shape and dtype to which the gradient of each source must be reduced and converted, or None if no
    operand was broadcast or converted; see `Node.fix`."""

    def as_what(t: Tensor) -> Any:
        return (t._array.shape if op.broadcast else None), t.dtype

    fix = [as_what(s) if isinstance(s, Tensor) else None for s in sources]
    return tuple(fix) if any(f not in (None, as_what(out)) for f in fix) else None


def _preview(operand: Any) -> Any:
    """Return what the explorer shows for a result, or for an operand without a graph: small arrays and numbers
    unchanged, (shape, dtype) for larger ones. Arrays on a device are not kept."""
    if not isinstance(operand, Tensor):
        return operand
    return operand._storage.device.backend.preview(operand._array, SMALL)
