"""In-place changes: which are refused, how the result is written to the tensor's memory, and how its history is
updated.

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
"""From this number of elements, an in-place op gives its target the result's memory instead of copying the result."""


def check_inplace(t, state, requires_grad, overlapping=True):
    """Raise torch's error if `t` may not be changed in place now.

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
    """Raise torch's error if several elements of `t` share one memory location, as after `expand()`."""
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
"""Operations that a device computes directly in the target's memory, because GPU memory is scarce."""

_UNRECORDED = {"logical_and", "logical_or", "logical_xor", "logical_not"}
"""Operations without a derivative, which PyTorch allows in place on any tensor, even a leaf."""


@functools.partial(attach, to=Engine)
class _InPlace:
    """The part of the engine that runs operations in place."""

    def inplace_runner(self, op):
        """Return a function of all arguments that runs `op` and writes the result into the first argument."""
        return reporting(_apply_inplace, op, True)


def apply_inplace(op, args):
    """Run `op`, write the result into its first argument and increase the argument's version by one. Return the
    argument."""
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
        if not (state.grad and any(t._req for t in tensors)):  # no array for the result is needed
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
    """Write `result` into the memory of `args[0]`, and record the op: the last step of every in-place op."""
    target = args[0]
    recording = (
        state.grad
        and op.rules
        and target.dtype.is_floating_point
        and any(isinstance(a, Tensor) and a._req for a in args)
    )
    replaced = _before_change(op, args, target) if recording else None
    device = target._storage.device
    if device is not CPU:
        device.backend.run(state, device.xp.copyto, target._array, result, "unsafe")
    elif _may_take_array(target, result, args):
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
        _restore_read_versions(node, target, args)
        if target._view is not None and target._view.base is not None:
            base = target._view.base
            made_base, nr = base._node, base._nr
            target._view.rebase(target, node)
            move_retained(base, made_base, nr)
        move_retained(target, replaced._node, replaced._nr)
    if observe.observer is not None:
        observe.observer.forward(op, args, None, (target,), node, inplace=True)


def _restore_read_versions(node, target, args):
    """Give the saved tensors of an in-place op's node that share the changed memory (`x` of `y.mul_(x)` with `x = y` or
    a view of it) the version at which they were read. Backward would compute with changed numbers, so it must detect
    the change and raise an error."""
    storage = target._storage
    if any(isinstance(a, Tensor) and a._storage is storage for a in args[1:]):
        node.saved = [
            (e[0], e[1] - 1)
            if e.__class__ is tuple and e and isinstance(e[0], Tensor) and e[0]._storage is storage
            else e
            for e in node.entries()
        ]


def keep_value(t):
    """Copy the result that the explorer shows for the node of `t`, or of its base, because the memory will be changed
    now or may be changed later."""
    for owner in (t, None if t._view is None else t._view.base):
        node = None if owner is None else owner._node
        if node is not None and node.value is owner._array and owner._array.__class__ is np.ndarray:
            node.value = owner._array.copy()


def _may_take_array(target, result, args):
    """Return whether `target` may take over the array `result`, which saves copying a big one: no other object uses
    either array."""
    return (
        result.size >= TAKEN
        and target._view is None
        and target._storage.array is None
        and result.dtype == target._array.dtype
        and result.flags.writeable
        and not any(isinstance(a, Tensor) and np.may_share_memory(result, a._array) for a in args)
    )


def _before_change(op, args, target):
    """Return a new Tensor with the current history of `target`. Its values are copied only if a rule will read them."""
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
