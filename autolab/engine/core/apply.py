"""How an operation runs: unwrap, promote, compute, wrap, record, save.

`apply` takes any arguments, and everything faster in this package does what stands here with some of the questions
answered beforehand (`engine/fast/`). `tests/engine/test_plain.py` drives both with the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import observe
from .device import CPU, device
from .dtype import FROM_NUMPY, dtype, get_default_dtype, python_scalar_dtype, result_type_of
from .errors import WITNESSES, bad_argument
from .grad_mode import State, per_thread
from .node import Node, edge, next_sequence_nr, off_cpu
from .record import Op
from .tensor import SMALL, InferenceStorage, Tensor, View, materialise, new_storage


def reporting(run: Callable[..., Any], op: Op, inplace: bool = False) -> Callable[..., Any]:
    """`run(op, args)` as a function of the op's arguments; the `WITNESSES` are told of its errors.

    >>> reporting(apply, OPS["mul"])(torch.tensor(2.), 3.0)
    tensor(6.)
    """

    def call(*args: Any) -> Any:
        try:
            return run(op, args)
        except Exception as error:
            # no name of its own: what this frame still named would live until the garbage collector comes
            for witness in WITNESSES:
                error = witness.failed(op, args, error, inplace)
            if error.__traceback__ is None:
                raise error from None
            raise

    return call


def apply(op: Op, args: Sequence[Any]) -> Any:
    """Runs `op` on `args` (all of its arguments, in schema order; Tensors, numbers, attributes). Returns a Tensor or a
    tuple.

    >>> apply(OPS["mul"], (torch.tensor(2.), 3.0))
    tensor(6.)
    """
    tensors, raws = unwrap(op, args)
    where, args, raws = together(op, args, raws, tensors)
    state = per_thread.state
    if op.operands:
        raws = promoted(op, args, raws, where)
    if op.view:
        raws[0] = materialise(args[0])
    result = compute(op, state, where, raws)
    several = result.__class__ is tuple or result.__class__ is list
    outs = tuple(
        [_output(op, r, args, where, state, several) for r in (result if several else (result,))]
    )
    recorded = state.grad and op.rules and not state.inference
    node = record(op, args, outs, state) if recorded else None
    if observe.observer is not None:
        observe.observer.forward(op, args, None, outs, node)
    if not several:
        return outs[0]
    return op.return_type(outs) if op.return_type is not None else outs


_PLAIN_KINDS = {type(None), bool, int, float, str}


def unwrap(op: Op, args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """The tensors among `args`, and `args` with the arrays in their place. Raises TypeError when the first argument is
    no tensor.

    >>> unwrap(OPS["mul"], (torch.tensor([1., 2.]), 3.0))
    ([tensor([1., 2.])], [array([1., 2.], dtype=float32), 3.0])
    """
    tensors: list[Tensor] = []
    raws: list[Any] = []
    for a in args:
        kind = a.__class__
        if kind in _PLAIN_KINDS:
            raws.append(a)
        elif isinstance(a, Tensor):
            tensors.append(a)
            raws.append(a._array)
        elif kind in (list, tuple) and any(isinstance(x, Tensor) for x in a):
            tensors += [x for x in a if isinstance(x, Tensor)]
            raws.append([x._array if isinstance(x, Tensor) else x for x in a])
        else:
            raws.append(number_of(a))
    if (
        not isinstance(args[0], Tensor)
        and op.params[0] == "self"
        and not (op.broadcast and tensors)
    ):
        raise bad_argument(op.name, "input", 1, "Tensor", args[0])
    return tensors, raws


def number_of(a: Any) -> Any:
    """A number of NumPy as Python's; anything else as it is. PyTorch reads a bool of NumPy as a float.

    >>> number_of(np.float32(2.5)), number_of(np.bool_(True)), number_of("sum")
    (2.5, 1.0, 'sum')
    """
    if not isinstance(a, np.generic):
        return a
    return float(a) if isinstance(a, np.bool_) else a.item()


def together(
    op: Op, args: Sequence[Any], raws: list[Any], tensors: list[Tensor]
) -> tuple[device, Sequence[Any], list[Any]]:
    """Where `op` runs: where its tensors are; arguments and raw values, all of them there. The few that may lie
    elsewhere, and PyTorch's words for the others, are the device's own affair.

    >>> x = torch.ones(2)
    >>> together(OPS["exp"], (x,), [x.numpy()], [x])
    (device(type='cpu'), (tensor([1., 1.]),), [array([1., 1.], dtype=float32)])
    """
    where = tensors[0]._storage.device
    for t in tensors:
        other = CPU if t._view is None else t._storage.device  # see `AWAY`
        if other is not where:
            backend = (other if where is CPU else where).backend
            found: tuple[device, Sequence[Any], list[Any]] = backend.together(
                op, args, raws, tensors
            )
            return found
    return where, args, raws


def result_dtype(op: Op, args: Sequence[Any]) -> dtype:
    """The dtype that the operands of `op` are converted to.

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
    return get_default_dtype() if op.dtype == "float" and not d.is_inexact else d


def promoted(op: Op, args: Sequence[Any], raws: list[Any], where: device) -> list[Any]:
    """The raw values with all operands of one dtype, as PyTorch has it before a kernel runs.

    >>> args = torch.tensor([1, 2]), torch.tensor([0.5, 0.5])
    >>> [a.dtype.name for a in promoted(OPS["mul"], args, [a.numpy() for a in args], CPU)]
    ['float32', 'float32']
    """
    if op.dtype is None:
        return raws
    kinds = {a.dtype if isinstance(a, Tensor) else None for a in [args[i] for i in op.broadcast]}
    if (
        len(kinds) == 1
        and op.check is None
        and (only := kinds.pop()) is not None
        and only.is_inexact
    ):
        return raws  # as mostly
    d = result_dtype(op, args)
    raws = list(raws)
    for i in op.broadcast:
        a = args[i]
        if isinstance(a, Tensor):
            if a.dtype is not d:
                order = (
                    "C" if 0 in raws[i].strides else "K"
                )  # what repeats (`expand`) is written out, as in torch
                raws[i] = where.backend.run(per_thread.state, raws[i].astype, d.np, order)
        elif a is not None and (not d.is_inexact or python_scalar_dtype(a).is_complex):
            # wraps as torch does, where NumPy would refuse an int out of range
            raws[i] = np.asarray(a).astype(d.np)[()]
    return raws


def compute(op: Op, state: State, where: device, raws: Sequence[Any]) -> Any:
    """Runs the kernel on a device.

    >>> compute(OPS["mul"], per_thread.state, CPU, [np.ones(2), 3.0])
    array([3., 3.])
    """
    return where.backend.run(state, op.forward, where.backend.xp, *raws)


def _output(
    op: Op, result: Any, args: Sequence[Any], where: device, state: State, several: bool
) -> Tensor:
    """What a kernel returned (one of several results) as a Tensor: with memory of its own, or sharing that of its first
    argument."""
    t: Tensor = object.__new__(Tensor)
    result = where.backend.adopt(op, result)
    t._array, t._dtype, t._nr, t._req = result, FROM_NUMPY[result.dtype], 0, False
    t._node = t._grad = t._acc = t._hooks = None
    if op.view:
        source = args[0]
        t._memory = memory = source._storage
        if memory.array is None:
            memory.array = source._array
        t._view = View.of(source, state, several)
    elif state.inference:
        t._memory, t._view = new_storage(where, InferenceStorage), View(None, 0, "inference")
    else:
        t._memory, t._view = new_storage(where), where.backend.marker
    return t


def record(
    op: Op,
    args: Sequence[Any],
    outs: tuple[Tensor, ...],
    state: State,
    replaced: Tensor | None = None,
) -> Any:
    """Makes the node of an operation that just ran and hangs it on its outputs. Returns the Node, or None when no
    gradient can flow.

    replaced: of an in-place operation, its first argument as it was before, for edges and for saving.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> node = (x * 2).grad_fn
    >>> node.inputs[0].variable is x, node.op.name
    (True, 'mul')
    """
    sources = list(args[op.rules[0][0]]) if op.spread else [args[i] for i, _, _ in op.rules]
    if replaced is not None:
        sources = [replaced if s is args[0] else s for s in sources]
        args = replaced, *args[1:]
    tensors = [s for s in sources if isinstance(s, Tensor)]
    edges = [
        edge(s) if isinstance(s, Tensor) else None for s in sources
    ]  # a view is brought up to date by `edge`
    if True not in [t._req for t in tensors] or _of_inference_alone(args, op):
        return None
    where = outs[0]._storage.device
    away = where is not CPU or [
        t for t in tensors if t._view is not None and t._storage.device is not CPU
    ]
    node: Any = object.__new__(off_cpu(op.node_class) if away else op.node_class)
    node.inputs = tuple(edges)
    numbers = tuple([s._nr if isinstance(s, Tensor) else 0 for s in sources])
    node.input_nrs = numbers if any(numbers) else None
    node.sequence_nr, node.hooks, node.scope = next_sequence_nr(), None, state.scope
    node.saved = save(op, args, outs, edges) if op.save is None else op.save(args, outs, edges)
    if state.saved_hooks is not None:
        node.pack(*state.saved_hooks)
    node.fix = _fix(op, sources, outs[0])
    if where is not CPU:
        where.backend.across(node, sources)
    node.value = where.backend.keepsake(outs[0]._array, SMALL)
    node.operands = (
        tuple([_shown(s) if e is None else None for s, e in zip(sources, edges)])
        if None in edges
        else None
    )
    if op.variadic:
        node.num_outputs = len(outs)
    if node.num_outputs > 1:
        node.extra()["shapes"] = tuple((o._array.shape, o.dtype) for o in outs)
    for nr, out in enumerate(outs):
        if out.dtype.is_inexact and not (op.nondiff and op.outputs[nr] in op.nondiff):
            out._node, out._nr, out._req = node, nr, True
            if out._view is not None:
                out._view.version = out._storage.version
    return node


def _of_inference_alone(args: Sequence[Any], op: Op) -> bool:
    """Whether all tensors were made in inference mode: PyTorch's autograd does not see such an operation, unless it
    copies. A number in the place of a tensor counts as an ordinary one."""
    first = args[0][0] if op.params[0] in op.lists else args[0]
    if not isinstance(first, Tensor) or first._storage.__class__ is not InferenceStorage:
        return False
    tensors, _ = unwrap(op, args)
    made_inside = all(t._storage.__class__ is InferenceStorage for t in tensors)
    numbers = [i for i in op.broadcast if not isinstance(args[i], Tensor)]
    return made_inside and not numbers and op.name not in ("clone", "to_copy")


def _fix(op: Op, sources: Sequence[Any], out: Tensor) -> tuple[Any, ...] | None:
    """What the gradients must be brought to, per source: (shape, dtype) where operands were broadcast or converted; see
    `Node.fix`."""
    shape, dtype = out._array.shape if op.broadcast else None, out.dtype
    for s in sources:
        if isinstance(s, Tensor) and (
            s.dtype is not dtype or shape is not None and s._array.shape != shape
        ):
            shapes = [
                s._array.shape if shape is not None and isinstance(s, Tensor) else None
                for s in sources
            ]
            return tuple(
                [(n, s.dtype) if isinstance(s, Tensor) else None for n, s in zip(shapes, sources)]
            )
    return None


def _shown(operand: Any) -> Any:
    """What the explorer shows of an operand that is in no graph: small arrays and numbers, of others their (shape,
    dtype). Memory of a device is not kept for it."""
    return (
        operand._storage.device.backend.keepsake(operand._array, SMALL)
        if isinstance(operand, Tensor)
        else operand
    )


def save(
    op: Op, args: Sequence[Any], outs: Sequence[Tensor], edges: Sequence[Node | None]
) -> list[Any]:
    """What a node of `op` keeps for its backward: one entry (see `Node.entries`) for each name that its rules read.

    edges: per rule the node that its gradient goes to, or None. Only what some gradient will need is kept; None stands
    for the rest. A tensor is kept with its version, so that backward notices a change in place.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> node = (x * 2).grad_fn
    >>> node.op.saves, save(node.op, (x, 2), (), node.inputs)  # x is for the gradient of 2, which nobody wants
    (('other', 'self'), [2, None])
    """
    entries: list[Any] = []
    for kind, index, readers in zip(op.save_kinds, op.save_index, op.needed_by):
        always = readers is None or op.spread or len(op.rules) == 1
        if not always and all(edges[rule] is None for rule in readers or ()):
            entries.append(None)
        elif kind == "output":
            entries.append(FACTS["output"](outs[index]))
        elif kind == "attr":
            entries.append(args[index])
        elif kind == "input":
            entry = FACTS["operands" if op.params[index] in op.lists else "operand"](args[index])
            entries.append(args[index] if entry[1:] == (None,) else entry)  # a number
        else:  # a fact about an argument, such as its shape
            entries.append(FACTS[kind.partition(":")[2]](args[index]))
    return entries


def _operand(a: Any) -> tuple[Any, int | None]:
    if not isinstance(a, Tensor):
        return a, None
    storage = a._storage
    if isinstance(storage, InferenceStorage) and not per_thread.state.saves_inference:
        raise storage.unsaved()
    return a, storage.version


def _operands(a: Any) -> tuple[Any, ...]:
    return (
        _operand(a)
        if isinstance(a, Tensor)
        else tuple([_operand(t) if isinstance(t, Tensor) else t for t in a])
    )


def _each(fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`fact` of a Tensor, or of each in a list."""

    def of(a: Any) -> Any:
        return tuple(of(x) for x in a) if a.__class__ in (list, tuple) else fact(a)

    return of


FACTS: dict[str, Callable[[Any], Any]] = {
    "output": lambda o: (o._array, o._storage, o._storage.version),
    "operand": _operand,
    "operands": _operands,
    "sizes": _each(lambda a: a._array.shape),
    "sizes_opt": _each(lambda a: (0,) if a is None else a._array.shape),
    "numel": _each(lambda a: int(a._array.size)),
    "strides": _each(lambda a: tuple(a.stride())),
    "argsize_0": _each(lambda a: a._array.shape[0]),
    "argsize_1": _each(lambda a: a._array.shape[1]),
    "argsize_2": _each(lambda a: a._array.shape[2]),
    "argsize_minus_1": _each(lambda a: a._array.shape[-1]),
    "argsize_minus_2": _each(lambda a: a._array.shape[-2]),
}
"""What is kept of an argument or a result, by what the record asks for."""
