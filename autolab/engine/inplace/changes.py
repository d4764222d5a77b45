"""Changing a tensor in place: what is refused, how the result gets into its memory, and how its history goes on.

Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from ..core import observe
from ..core.apply import compute, promote, record, reporting, result_dtype, bring_together, unwrap
from ..exact.broadcasting import misfit, outgrown
from ..core.device import CPU, copied
from ..core.dtype import bool_
from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.op import Engine
from ..core.tensor import Tensor, attach, wrap
from .views import move_retained, overlapping_operands, partly_overlap, repeats

TAKEN = 1 << 15
"""Elements from which an in-place op gives its target the result's memory instead of copying it."""


def check_inplace(t, state, requires_grad, overlapping=True):
    """Raise torch's error when `t` may not be changed in place now.

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
    """Raise torch's error when `t` shows one number in several places, as after `expand()`."""
    if t._view is not None and repeats(t._array):
        raise fail(
            RuntimeError,
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation.",
            "After expand() several elements share one place in memory. Call clone() before you change them in place.",
        )


_IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
}
"""What a device computes in the target's memory, because memory is what a GPU is short of."""

_UNRECORDED = {"logical_and", "logical_or", "logical_xor", "logical_not"}
"""What PyTorch lets change any tensor in place, a leaf too: it knows no derivative of these."""


@functools.partial(attach, to=Engine)
class _InPlace:
    """The part of the engine that runs operations in place."""

    def inplace_runner(self, op):
        """Return a function of all arguments that runs `op` and writes the result into the first argument."""
        return reporting(_apply_inplace, op, True)


def apply_inplace(op, args):
    """Run `op` and write the result into its first argument, whose version goes up by one. Return that tensor."""
    return reporting(_apply_inplace, op, True)(*args)


def _apply_inplace(op, args):
    target = args[0]
    state = per_thread.state
    tensors, raws = unwrap(op, args)
    if op.name not in _UNRECORDED:
        check_inplace(target, state, any(t._req for t in tensors))
    if any(
        isinstance(args[i], Tensor) and partly_overlap(target, args[i]) for i in op.broadcast[1:]
    ):
        raise overlapping_operands()
    here = target._storage.device
    device, args, raws = bring_together(op, args, raws, tensors)
    if device is not here:
        raise device.backend.elsewhere(op, args, here)
    if op.operands:
        d = result_dtype(op, args) if op.dtype is not None else target.dtype
        if op.dtype == "bool":
            d = bool_
        elif d.category > target.dtype.category:
            raise misfit(op, args, True) or fail(
                RuntimeError,
                f"result type {d.short} can't be cast to the desired output type {target.dtype.short}",
                "An in-place operation keeps the tensor's dtype; convert the tensor first, or use the out-of-place form.",
            )
        raws = promote(op, args, raws, device)
    if device is not CPU and op.fast in _IN_PLACE and _fits(target, raws[1]):
        if not (state.grad and any(t._req for t in tensors)):  # no array for the result
            device.backend.run(state, _IN_PLACE[op.fast], target._array, raws[1])
            target._storage.version += 1
            if observe.observer is not None:
                observe.observer.forward(op, args, None, (target,), None, inplace=True)
            return target
    result = compute(op, state, device, raws)
    if result.shape != target._array.shape:
        raise outgrown(target._array.shape, result.shape)
    write_inplace(op, args, result, state)
    return target


def _fits(target, other):
    """Return whether an array or number has the dtype of `target` and broadcasts to its shape."""
    shape = getattr(other, "shape", ())
    fits = len(shape) <= target._array.ndim and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(target._array.shape))
    )
    return fits and getattr(other, "dtype", target._array.dtype) == target._array.dtype


def write_inplace(op, args, result, state):
    """Put `result` into the memory of `args[0]` and record the op: the common end of all in-place ops."""
    target = args[0]
    recording = (
        state.grad
        and op.rules
        and target.dtype.is_floating_point
        and any(isinstance(a, Tensor) and a._req for a in args)
    )
    replaced = _before(op, args, target) if recording else None
    device = target._storage.device
    if device is not CPU:
        device.backend.run(state, device.xp.copyto, target._array, result, "unsafe")
    elif _may_take(target, result, args):
        target._array = result
    elif target._array.__class__ is np.ndarray:
        keep_value(target)
        state.run(np.copyto, target._array, result, "unsafe")
    else:
        target._array = (
            result.astype(target.dtype.np) if result.dtype != target.dtype.np else result[()]
        )
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
    """Give what the node of an in-place op saved of the changed memory, `x` of `y.mul_(x)` with `x = y` or a view of
    it, the version it was read at: backward would compute with other numbers, and has to say so."""
    storage = target._storage
    if any(isinstance(a, Tensor) and a._storage is storage for a in args[1:]):
        node.saved = [
            (e[0], e[1] - 1)
            if e.__class__ is tuple and e and isinstance(e[0], Tensor) and e[0]._storage is storage
            else e
            for e in node.entries()
        ]


def keep_value(t):
    """Copy the result that the node of `t`, or of what it is a view of, shows in the explorer: the memory is about to
    be changed, or can be from now on."""
    for owner in (t, None if t._view is None else t._view.base):
        node = None if owner is None else owner._node
        if node is not None and node.value is owner._array and owner._array.__class__ is np.ndarray:
            node.value = owner._array.copy()


def _may_take(target, result, args):
    """Return whether `target` may have the array `result` itself, so that a big one is not copied: nobody else looks
    into either."""
    return (
        result.size >= TAKEN
        and target._view is None
        and target._storage.array is None
        and result.dtype == target._array.dtype
        and result.flags.writeable
        and not any(isinstance(a, Tensor) and np.may_share_memory(result, a._array) for a in args)
    )


def _before(op, args, target):
    """Return `target` as a Tensor of its own, with the history it has now; its values are copied only if a rule will
    read them."""
    needed = any(
        k == "input" and i == 0 and (r is None or any(_wants(args[op.rules[n][0]]) for n in r))
        for k, i, r in zip(op.save_kinds, op.save_index, op.needed_by)
    )
    old = wrap(copied(target._array) if needed else target._array, target.dtype)
    if target._view is not None:
        target._view.refresh(target)
    old._node, old._nr, old._req = target._node, target._nr, target._req
    return old


def _wants(a):
    return isinstance(a, Tensor) and a._req
