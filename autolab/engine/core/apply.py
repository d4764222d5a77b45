"""How an op runs: unwrap, promote, compute, wrap, record.

This takes any arguments, in 4-6 µs an op. `fast/lanes.py` has it as functions of their own for each op: a general lane, 2 µs, for operands in
host memory that need no conversion, and a fast lane, 1 µs, for float operands of one dtype that are *plain* (`_view is None`: in host memory,
neither views nor inference tensors), which is nearly every op of a scalar graph.
"""

from __future__ import annotations

import operator

import numpy as np

from ..devices import device as devices
from . import failing, observe
from .grad_mode import per_thread
from .node import Packed, Unusual, accumulator, next_sequence_nr, off_cpu
from .saved import entries, keep
from .broadcasting import broadcast_error, check_shapes, outgrown, overlapping_operands
from ..devices.device import CPU
from .dtype import FROM_NUMPY, bool_, get_default_dtype, python_scalar_dtype, result_type_of
from .errors import beyond_numpy, fail
from .plain import PLAIN
from ..fast.saving import saver
from ..devices.placement import across, common_device, device_error, gathered, kept, on_device
from .storage import InferenceStorage, Storage
from .tensor import SMALL, Tensor, View, materialise, wrap
from ..inplace.views import AWAY, move_retained, order_of_copies, partly_overlap, repeats

_new = object.__new__


def reporting(run, op, inplace=False):
    """`run(op, args)` as a function of the op's arguments. An error passes on as it is, once `failing.failed` knows of it."""

    def call(*args):
        try:
            return run(op, args)
        except Exception as error:
            error = beyond_numpy(error)  # no name of its own: what this frame still named would live until the garbage collector comes
            failing.failed(op, args, error, inplace)
            if error.__traceback__ is None:
                raise error from None
            raise

    return call


# -- the general lane ------------------------------------------------------------------------------------------------------
def apply(op, args):
    """Runs `op` on `args` (all of its arguments, in schema order; Tensors, numbers, attributes). Returns a Tensor or a tuple.

    Raises TypeError when the first argument is no tensor, RuntimeError in torch's words when shapes, dtypes or devices do not fit."""
    tensors, raws = _unwrap(op, args)
    device = tensors[0]._storage.device
    if device is not CPU or len(tensors) > 1:
        device, mixed = common_device(op, args, tensors)
    else:
        mixed = False
    state = per_thread.state
    if mixed:
        args, raws = gathered(op, args, device)
    if op.operands:
        raws = _promoted(op, args, raws, device)
    if op.view:
        raws[0] = materialise(args[0])
    result = compute(op, state, device, raws)
    multi = result.__class__ is tuple or result.__class__ is list
    if multi:
        outs = tuple([_output(op, r, args, device, state, True) for r in result])
    else:
        outs = (_output(op, result, args, device, state, False),)
    node = None
    if state.grad and op.rules and not state.inference:
        for t in tensors:
            if t._view is not None:  # its base may have become part of a graph since
                t._view.refresh(t)
            if t._req:
                node = record(op, args, outs, state)
                break
    if observe.observer is not None:
        observe.observer.forward(op, args, None, outs, node)
    if not multi:
        return outs[0]
    return op.return_type(outs) if op.return_type is not None else outs


def compute(op, state, device, raws, target=None):
    """Runs the kernel on `device`; shapes that do not broadcast are reported in torch's words. target: the shape of what is changed in place."""
    try:
        if device is CPU:
            return state.run(op.forward, np, *raws)
        return device.backend.run(state, op.forward, device.xp, *raws)
    except ValueError as error:
        if op.broadcast and "broadcast" in str(error):
            raise broadcast_error([getattr(raws[i], "shape", ()) for i in op.broadcast]) from None
        raise
    except NotImplementedError:
        check_shapes(op, raws, target)
        raise


_PLAIN_KINDS = {type(None), bool, int, float, str}


def _unwrap(op, args):
    tensors, raws = [], []
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
            raws.append(a.item() if isinstance(a, np.generic) else a)
    first = op.params[0]
    if not isinstance(args[0], Tensor) and first == "self" and not (op.broadcast and tensors):
        from ..exact.arguments import bad_argument

        raise bad_argument(op.name, "input", 1, "Tensor", args[0])
    return tensors, raws


def result_dtype(op, args, target=None):
    """The dtype that the operands of `op` are converted to. target: the shape of what is changed in place."""
    dims, zeros, scalars = [], [], []
    for i in op.broadcast:
        a = args[i]
        if a is None:
            continue
        if isinstance(a, Tensor):
            (dims if a._array.ndim else zeros).append(a.dtype)
        else:
            scalars.append(a)
    d = result_type_of(dims, zeros, scalars)
    if op.check is not None:
        try:
            op.check([*dims, *zeros, *map(python_scalar_dtype, scalars)], d)
        except NotImplementedError:
            check_shapes(op, args, target)
            raise
    return get_default_dtype() if op.dtype == "float" and not d.is_inexact else d


def _promoted(op, args, raws, device=CPU):
    if op.dtype is None:
        return raws
    d = result_dtype(op, args)
    raws = list(raws)
    for i in op.broadcast:
        a = args[i]
        if isinstance(a, Tensor):
            if a.dtype is not d:
                order = order_of_copies(raws[i])
                raws[i] = raws[i].astype(d.np, order) if device is CPU else device.backend.run(per_thread.state, raws[i].astype, d.np, order)
        elif a is not None and (not d.is_inexact or python_scalar_dtype(a).is_complex):
            raws[i] = np.asarray(a).astype(d.np)[
                ()
            ]  # wraps as torch does, where NumPy would refuse an int out of range
    return raws


def _output(op, r, args, device, state, multi):
    t = _new(Tensor)
    if device is not CPU:
        r = on_device(op, r, device)
    elif r.__class__ is not np.ndarray and not isinstance(r, np.generic):
        r = np.asarray(r)
    t._array, t.dtype, t._nr, t._req = r, FROM_NUMPY[r.dtype], 0, False
    t._node = t._view = t._grad = t._acc = t._hooks = None
    if op.view:
        source = args[0]
        t._storage = source._storage
        if source._storage.array is None:
            source._storage.array = source._array
        t._view = View.of(source, state, multi, op)
        return t
    if state.inference:
        s = _new(InferenceStorage)
        t._view = View.inference()
    else:
        s = _new(Storage)
        if device is not CPU:
            t._view = AWAY
    s.version, s.device, s.array = 0, device, None
    t._storage = s
    return t


def edge(t):
    """The node to which a gradient for `t` goes, or None."""
    if t._view is not None:
        t._view.refresh(t)
    n = t._node
    return accumulator(t) if n is None and t._req else n


def record(op, args, outs, state, replaced=None):
    """Makes the Node of an op that just ran and hangs it on its outputs. Returns the node, or None when no gradient can
    flow.

    replaced: (old, saved) of an in-place op: its first argument as it was before, for edges and for saving."""
    sources = list(args[op.rules[0][0]]) if op.spread else [args[i] for i, _, _ in op.rules]
    out = outs[0]
    shape, dtype = out._array.shape if op.broadcast else None, out.dtype
    edges: list = []
    away = out._storage.device is not CPU
    live = missing = numbered = differs = False
    for k, s in enumerate(sources):       # one loop: five passes over the sources cost 3 µs more
        if not isinstance(s, Tensor):
            edges.append(None)
            missing = True
            continue
        if replaced is not None and s is args[0]:
            s = sources[k] = replaced
        if s._view is not None:
            s._view.refresh(s)
            away = away or s._storage.device is not CPU
        e = s._node
        if s._req:
            live = True
            if e is None:
                e = accumulator(s)
        if e is None:
            missing = True
        edges.append(e)
        if s._nr:
            numbered = True
        if s.dtype is not dtype or (shape is not None and s._array.shape != shape):
            differs = True
    if not live:
        return None
    node = _new(off_cpu(op.node_class) if away else op.node_class)
    node.inputs = tuple(edges)
    node.input_nrs = tuple([s._nr if isinstance(s, Tensor) else 0 for s in sources]) if numbered else None
    node.sequence_nr, node.hooks, node.scope = next_sequence_nr(), None, state.scope
    node.saved = (op.save or saver(op))(args if replaced is None else (replaced, *args[1:]), outs, edges)
    if state.saved_hooks is not None:
        _pack(node, state.saved_hooks)
    node.fix = None
    if differs:
        node.fix = tuple([(None if shape is None else s._array.shape, s.dtype) if isinstance(s, Tensor) else None for s in sources])
    if out._storage.device is not CPU:
        across(node, sources, out._storage.device)
    d = out._array
    node.value = d if d.__class__ is np.ndarray and d.size <= SMALL else kept(d)
    node.operands = _operands(sources, edges) if missing else None
    if op.variadic:
        node.num_outputs = len(outs)
    if node.num_outputs > 1:
        node.extra()["shapes"] = tuple((o._array.shape, o.dtype) for o in outs)
    for k, o in enumerate(outs):
        if (op.nondiff and op.outputs[k] in op.nondiff) or not o.dtype.is_inexact:
            continue
        o._node, o._nr, o._req = node, k, True
        if o._view is not None:
            o._view.version = o._storage.version
    return node


def _pack(node, hooks):
    pack, unpack = hooks
    packed = []
    for k, e in enumerate(entries(node)):
        if e.__class__ is not tuple or node.op.save_kinds[k] not in ("input", "output"):
            packed.append(e)
        elif node.op.save_kinds[k] == "input" and node.op.params[node.op.save_index[k]] in node.op.lists:
            node.node_hooks()  # see `Packed.by_hook`
            packed.append(tuple([Packed.of(t[0], pack, unpack, node) if t.__class__ is tuple else t for t in e]))
        else:
            packed.append(Packed.by_hook(node, k, pack, unpack))
    node.saved = Unusual(packed)


def _operands(sources, edges):
    found = []
    for s, e in zip(sources, edges):
        d = s._array if isinstance(s, Tensor) else s
        if isinstance(s, Tensor) and s._storage.device is not CPU:
            d = kept(d) if e is None and d.size <= SMALL else None
        found.append(None if e is not None or d.__class__ is np.ndarray and d.size > SMALL else d)
    return tuple(found)


TAKEN = 1 << 15
"""Elements from which an in-place op gives its target the result's memory instead of copying it."""


# -- in place --------------------------------------------------------------------------------------------------------------
def check_inplace(t, state, requires_grad, overlapping=True):
    """Raises torch's error when `t` may not be changed in place now.

    requires_grad: whether any argument of the op requires grad. overlapping: whether an expanded tensor is refused."""
    if t._view is not None:
        t._view.check_inplace(t, state, requires_grad)
    if overlapping:
        check_written_once(t)
    if state.grad and t._req and t._node is None:
        raise fail(
            RuntimeError,
            "a leaf Variable that requires grad is being used in an in-place operation.",
            "A leaf's value is what its gradient belongs to; change it inside `with torch.no_grad():`, or compute a new tensor.",
        )


def check_written_once(t):
    """Raises torch's error when `t` shows one number in several places, as after `expand()`."""
    if t._view is not None and repeats(t._array):
        raise fail(
            RuntimeError,
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation.",
            "expand() shows one number in many places; clone() gives each its own.",
        )


_IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
}


def inplace_lane(op):
    """`apply_inplace` of `op` as a function of the op's arguments; of `+=`, `-=`, `*=` and `/=` with a short cut for what most updates are:
    plain floats of one dtype, and no history."""
    slow = reporting(_apply_inplace, op, True)
    if op.fast not in _IN_PLACE or PLAIN:
        return slow
    fast, change = op.fast, _IN_PLACE[op.fast]

    def update(target, other):
        state = per_thread.state
        dtype = target.dtype
        if state.grad or state.special or observe.observer is not None or target._view is not None or not dtype.is_floating_point:
            return slow(target, other)
        d = target._array
        if type(other) is float:
            y = other
        elif type(other) is Tensor and other.dtype is dtype and other._view is None:
            y = other._array
        else:
            return slow(target, other)
        try:
            if type(d) is not np.ndarray:  # 0-d
                if type(y) is np.ndarray and y.ndim:
                    return slow(target, other)
                target._array = state.run(fast, d, y)
            elif d.shape == _ONE and (y is other or y.shape == _ONE):  # as scalars: 0.2 µs, where arrays of one element take 0.7
                d[0] = state.run(fast, d[0], y if y is other else y[0])
            else:
                target._array = state.run(change, d, y)
        except ValueError:  # does not fit: the general lane says so in torch's words
            return slow(target, other)
        (target._memory or target._storage).version += 1
        return target

    return update


_ONE = (1,)


def apply_inplace(op, args):
    """Runs `op` and writes the result into its first argument, whose version goes up by one. Returns that tensor."""
    return reporting(_apply_inplace, op, True)(*args)


def _apply_inplace(op, args):
    target = args[0]
    state = per_thread.state
    tensors, raws = _unwrap(op, args)
    check_inplace(target, state, any(t._req for t in tensors))
    if any(isinstance(args[i], Tensor) and partly_overlap(target, args[i]) for i in op.broadcast[1:]):
        raise overlapping_operands()
    device, mixed = common_device(op, args, tensors)
    if device is not target._storage.device:
        raise device_error(op, args, device, target._storage.device)
    if mixed:
        args, raws = gathered(op, args, device)
    if op.operands:
        d = result_dtype(op, args, target._array.shape) if op.dtype is not None else target.dtype
        if op.dtype == "bool":
            d = bool_
        elif d.category > target.dtype.category:
            check_shapes(op, args, target._array.shape)
            raise fail(
                RuntimeError,
                f"result type {d.short} can't be cast to the desired output type {target.dtype.short}",
                "An in-place operation keeps the tensor's dtype; convert the tensor first, or use the out-of-place form.",
            )
        raws = _promoted(op, args, raws, device)
    if device is not CPU and op.fast in _IN_PLACE and not (state.grad and any(t._req for t in tensors)) and _fits(target, raws[1]):
        device.backend.run(state, _IN_PLACE[op.fast], target._array, raws[1])  # no array for the result: memory is what a GPU is short of
        target._storage.version += 1
        if observe.observer is not None:
            observe.observer.forward(op, args, None, (target,), None, inplace=True)
        return target
    result = compute(op, state, device, raws, target._array.shape)
    if result.shape != target._array.shape:
        raise outgrown(target._array.shape, result.shape)
    write_inplace(op, args, result, state)
    return target


def _fits(target, other):
    """Whether an array or number has the dtype of `target` and broadcasts to its shape."""
    shape = getattr(other, "shape", ())
    fits = len(shape) <= target._array.ndim and all(n in (1, m) for n, m in zip(reversed(shape), reversed(target._array.shape)))
    return fits and getattr(other, "dtype", target._array.dtype) == target._array.dtype


def write_inplace(op, args, result, state):
    """Puts `result` into the memory of `args[0]` and records the op; the common end of all in-place ops."""
    target = args[0]
    recording = state.grad and not state.inference and op.rules and target.dtype.is_inexact and any(isinstance(a, Tensor) and a._req for a in args)
    replaced = _before(op, args, target) if recording else None
    device = target._storage.device
    if device is not CPU:
        device.backend.run(state, device.xp.copyto, target._array, result, "unsafe")
    elif _may_take(target, result, args):
        target._array = result
    elif target._array.__class__ is np.ndarray:
        state.run(np.copyto, target._array, result, "unsafe")
    else:
        target._array = result.astype(target.dtype.np) if result.dtype != target.dtype.np else result[()]
    target._storage.version += 1
    node = None
    if recording:
        node = record(op.changing, args, (target,), state, replaced)
        _as_old_as_called(node, target, args)
        if target._view is not None and target._view.base is not None:
            base = target._view.base
            made_base, nr = base._node, base._nr
            target._view.rebase(target, node)
            move_retained(base, made_base, nr)
        move_retained(target, replaced._node, replaced._nr)
    if observe.observer is not None:
        observe.observer.forward(op, args, None, (target,), node, inplace=True)


def _as_old_as_called(node, target, args):
    """What the node of an in-place op saved of the changed memory, `x` of `y.mul_(x)` with `x = y` or a view of it, has the version it was
    read at: backward would compute with other numbers, and has to say so."""
    storage = target._storage
    if any(isinstance(a, Tensor) and a._storage is storage for a in args[1:]):
        found = [
            (e[0], e[1] - 1) if e.__class__ is tuple and e and isinstance(e[0], Tensor) and e[0]._storage is storage else e
            for e in entries(node)
        ]
        keep(node, found)


def _may_take(target, result, args):
    """Whether `target` may have the array `result` itself, so that a big one is not copied: nobody else looks into either."""
    return (
        result.size >= TAKEN
        and target._view is None
        and target._storage.array is None
        and result.dtype == target._array.dtype
        and result.flags.writeable
        and not any(isinstance(a, Tensor) and np.may_share_memory(result, a._array) for a in args)
    )


def _before(op, args, target):
    """`target` as a Tensor of its own, with the history it has now; its values are copied only if a rule will read them."""
    needed = any(
        k == "input" and i == 0 and (r is None or any(_wants(args[op.rules[n][0]]) for n in r))
        for k, i, r in zip(op.save_kinds, op.save_index, op.needed_by)
    )
    old = wrap(devices.copied(target._array) if needed else target._array, target.dtype)
    if target._view is not None:
        target._view.refresh(target)
    old._node, old._nr, old._req = target._node, target._nr, target._req
    return old


def _wants(a):
    return isinstance(a, Tensor) and a._req
