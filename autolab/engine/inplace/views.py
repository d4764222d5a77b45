"""Views: what a tensor is a view of, and how its history is updated when the shared memory changes in place."""

from __future__ import annotations

import functools

from ..devices.device import address
from ..core.errors import fail
from ..core.apply import record
from ..core.grad_mode import guard, per_thread
from ..core.node import Node, apply_fix, edge, next_sequence_nr
from ..core.record import OPS
from ..autograd.refusals import freed, re_name
from ..core.tensor import OFF_CPU_VIEW, View, no_accumulator  # noqa: F401 (OFF_CPU_VIEW: found here with its like)
from ..core.tensor import attach


@functools.partial(attach, to=View)
class _ViewHistory:
    """The methods of `View` that make a view and keep its history up to date; `core/tensor.py` defines its fields."""

    @classmethod
    def of(cls, source, state, multi):
        """Return the View object for a new view of `source`."""
        parent = source._view
        base = source if parent is None or parent.base is None else parent.base
        creation = "no_grad" if not state.grad else "multi" if multi else "default"
        if creation == "default" and parent is not None:
            creation = parent.creation
        return cls(base, source._storage.version, creation)

    def refresh(self, t):
        """Give `t` a new grad_fn, a strided piece of its base's new value, if its memory was changed in place. Also let
        `t` require grad if its base does (for a view made before `base.requires_grad_()`, or under no_grad).

        Raise torch's error for a view that cannot have a grad_fn."""
        base = self.base
        if base is None:
            return
        if base._req is not t._req:
            if base._req:
                t._req, t._acc = True, no_accumulator
            elif t._acc is no_accumulator:
                t._req, t._acc = False, None
        if self.version != t._storage.version:
            with guard:
                self._renew(t, base)

    def _renew(self, t, base):
        """Do the work of `refresh` for a view whose memory changed; the caller holds the guard."""
        if self.version == t._storage.version:
            return
        if base._req or t._node is not None:
            if self.creation in _FORBIDDEN:
                raise self._error(t, "its base or another view of its base has been")
            made_by, nr = t._node, t._nr
            record(OPS["as_strided"], (base, *geometry(base, t)[2:]), (t,), per_thread.state)
            if t._node is not made_by:
                move_retained(t, made_by, nr)
        self.version = t._storage.version

    def is_lost(self, t):
        """Return whether an in-place operation left the view without a history, so that `refresh` raises."""
        base = self.base
        stale = base is not None and self.version != t._storage.version
        return stale and (base._req or t._node is not None) and self.creation in _FORBIDDEN

    def check_inplace(self, t, state, requires_grad):
        """Raise torch's error if the view may not be changed in place now."""
        base = self.base
        if base is None or not state.grad or not (requires_grad or base._req):
            return
        self.refresh(t)
        if self.creation in _FORBIDDEN:
            raise self._error(t, "is being")
        if t._req and base._node is None:
            raise fail(
                RuntimeError,
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                "The view shares the leaf's memory; change it inside `with torch.no_grad():`.",
            )

    def _error(self, t, change):
        """Return PyTorch's error for an in-place change of a view or of its base; `change` says which."""
        made_by = (
            None if t._node is None else f"Output {t._nr} of {re_name(t._node.name())} is a view"
        )
        if made_by is not None and self.creation in ("multi", "function"):
            text = f"{made_by} and {change} modified inplace. "
        else:
            text = (
                "A view was created in"
                if made_by is None
                else f"{made_by} of a view which was created in"
            )
            text += f" no_grad mode and {change} modified inplace with grad mode enabled. "
        why, note = _FORBIDDEN[self.creation]
        return fail(RuntimeError, text + why, note)

    def rebase(self, t, node):
        """Record in the base's history that an in-place op on the view `t` replaced this slice of the base."""
        base = self.base
        copy_slices = CopySlices(base, geometry(base, t), node)
        base._node, base._nr, base._req = copy_slices, 0, True
        self.version = -1
        self.refresh(t)


def move_retained(t, made_by, nr):
    """Move the effect of `retain_grad()` to the new node of `t` after an in-place op replaced its node `made_by`; it
    belongs to the tensor."""
    if made_by is not None and made_by.hooks is not None:
        keeper = made_by.hooks.retain.get(nr)
        if keeper is not None and keeper() is t:
            t._node.node_hooks().retain[t._nr] = made_by.hooks.retain.pop(nr)


def partly_overlap(a, b) -> bool:
    """Return whether the dense pieces `a` and `b` of one memory overlap without being equal. Other pieces are not
    checked, as in PyTorch (`at::get_overlap_status`)."""
    return a is not b and overlap(a, b) and not _same_piece(a, b)


def overlap(a, b) -> bool:
    """Return whether `a` and `b` are the same tensor, or dense pieces of one memory that overlap
    (`at::assert_no_overlap`)."""
    if a is b:
        return True
    if a._storage is not b._storage or not (
        a._array.size and b._array.size and a._array.flags.forc and b._array.flags.forc
    ):
        return False
    first, second = address(a._array), address(b._array)
    return first < second + b._array.nbytes and second < first + a._array.nbytes


def overlapping_operands():
    """Return the error for an in-place operation that reads the memory it overwrites."""
    return fail(
        RuntimeError,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
        "Please clone() the tensor before performing the operation.",
        "The operation would read memory that it overwrites. Call clone() on the view that is read.",
    )


def _same_piece(a, b):
    return (
        address(a._array) == address(b._array)
        and a._array.nbytes == b._array.nbytes
        and a._array.strides == b._array.strides
    )


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
    "inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the "
    "inplace to be tracked)."
)
_FORBIDDEN = {
    "no_grad": (_AMBIGUOUS, "The view has no history although its base does."),
    "function": (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
        "is forbidden. You can fix this by cloning the output of the custom Function.",
        "Return a clone from forward, or change a clone of the result.",
    ),
    "multi": (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one.",
        "Index the tensor instead: such a view may be changed in place.",
    ),
}
"""For each `View.creation`: torch's error for an in-place change of such a view, and a note on what to do."""


def geometry(base, t):
    """Return where a view is in its base: (base shape, base strides, shape, strides, offset), counted in elements."""
    b, v, size = base._array, t._array, t.dtype.itemsize
    base_strides, strides = (tuple(s // size for s in a.strides) for a in (b, v))
    return b.shape, base_strides, v.shape, strides, (address(v) - address(b)) // size


def laid_out(xp, place, dtype):
    """Return (an array of zeros with the base's layout, the view of its piece at `place`)."""
    shape, strides, piece, piece_strides, offset = place
    buffer = xp.zeros(max(extent(shape, strides), 1), dtype)
    as_strided, size = xp.lib.stride_tricks.as_strided, buffer.itemsize
    whole = as_strided(buffer, shape, [s * size for s in strides])
    return whole, as_strided(buffer[offset:], piece, [s * size for s in piece_strides])


def extent(shape, strides) -> int:
    """Return the number of memory elements from the first to the last element of a strided array."""
    return 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides))


OVERLAPPING = View(None, 0, "default")
"""The `_view` of a tensor outside any graph whose elements share memory locations; it keeps fast paths from changing
the tensor in place."""


def repeats(array) -> bool:
    """Return whether several elements of `array` share one memory location, as after `expand()`."""
    return (
        0 in array.strides
        and array.size > 0
        and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))
    )


class CopySlices(Node):
    """The node of a base after an in-place op on a view of it: the old base, with one slice replaced by the result of
    `inner`."""

    __slots__ = ("place", "inner")
    _name = "torch::autograd::CopySlices"

    def __init__(self, base, place, inner):
        self.place, self.inner = place, inner
        inner_nrs = inner.input_nrs or (0,) * len(inner.inputs)
        self.inputs = (edge(base), *inner.inputs[1:])
        nrs = (base._nr, *inner_nrs[1:])
        self.input_nrs = nrs if any(nrs) else None
        self.saved, self.fix, self.hooks, self.operands = (), None, None, None
        self.value = base._array if base._array.size <= 1024 else None
        self.sequence_nr, self.scope = next_sequence_nr(), inner.scope

    def backward_raw(self, m, g):
        if self.inner is None:
            raise freed()
        whole = self.place
        rule = self.inner.backward_traced if m.traced else self.inner.backward_raw
        rest = apply_fix(m, self.inner.fix, rule(m, m.strided_take(g, whole)))
        of_slice = rest[0]
        if of_slice is None:
            of_slice = m.zeros_like(m.strided_take(g, whole))
        return (
            m.strided_put(g, of_slice, whole) if self.inputs[0] is not None else None,
            *rest[1:],
        )

    backward_traced = backward_raw

    def release(self):
        # PyTorch frees the inner node itself, even if it saved nothing.
        inner, self.inner = self.inner, None
        return inner is not None and inner.release()


CopySlices.__module__ = "builtins"
