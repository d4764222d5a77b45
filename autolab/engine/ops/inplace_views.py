"""In-place views: `t_`, `squeeze_` and similar change how a tensor views its memory, not the memory itself.

The tensor's history gets a new node (`TBackward1`); if it is a view, its base does not change. The memory's version
goes up, as in PyTorch, so a graph that saved the tensor before reports a change. Source:
https://docs.pytorch.org/docs/2.13/tensor_view.html and torch/csrc/autograd/VariableTypeManual.cpp.
"""

from __future__ import annotations

import math

from ..core import observe
from ..core.grad_mode import per_thread
from ..core.apply import compute, record
from ..inplace.changes import _before_change, check_inplace
from .checks import refuse_if
from .functions import METHODS
from ..core.record import OPS
from ..core.op import variant
from ..core.tensor import materialise
from .shape import sizes_from


def _apply_view_in_place(op, *args):
    """Turn the tensor args[0], in place, into the view of itself that `op` describes. Return the tensor."""
    target, state = args[0], per_thread.state
    check_inplace(target, state, target._req, overlapping=False)
    memory, device = materialise(target), target._storage.device
    if target._storage.array is None:
        target._storage.array = memory
    array = compute(op, state, device, (memory, *args[1:]))
    recording = state.grad and target._req
    old = _before_change(op, args, target) if recording else None
    target._array = array
    target._storage.version += 1
    node = record(op, args, (target,), state, old) if recording else None
    if observe.observer is not None:
        observe.observer.forward(op, args, None, (target,), node, inplace=True)
    return target


def _in_place(name, node):
    """Return the in-place form of the view op `name`. node: the name of its graph nodes."""
    op = variant(OPS[name], node=node)

    def method(self, *args):
        return _apply_view_in_place(op, self, *args)

    method.__name__ = f"{name}_"
    method.__doc__ = f"Do `{name}` in place. Source: torch.Tensor.{name}_."
    return method


_squeeze = _in_place("squeeze", "SqueezeBackward3")
_squeeze_dim = _in_place("squeeze_dim", "SqueezeBackward4")
_squeeze_dims = _in_place("squeeze_dims", "SqueezeBackward5")
_t = _in_place("t", "TBackward1")
transpose_ = _in_place("transpose", "TransposeBackward1")
unsqueeze_ = _in_place("unsqueeze", "UnsqueezeBackward1")


def t_(self):
    """Transpose a matrix in place. Raise RuntimeError for more than two dimensions. Source: torch.Tensor.t_."""
    refuse_if(
        self._array.ndim > 2,
        f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D",
        "Use transpose_(dim0, dim1).",
    )
    return _t(self)


def squeeze_(self, dim=None):
    """Remove dimensions of size 1 (all, or the given ones) in place. Source: torch.Tensor.squeeze_."""
    if dim is None:
        return _squeeze(self)
    return _squeeze_dim(self, dim) if isinstance(dim, int) else _squeeze_dims(self, tuple(dim))


def resize_(self, *sizes):
    """Change the tensor's shape in place, over the first elements of its memory in row-major order. If it needs more
    memory, new elements are zeros (in PyTorch they are uninitialized).

    Raise RuntimeError for a tensor that requires grad. Source: torch.Tensor.resize_."""
    shape = sizes_from(sizes, "resize_")
    refuse_if(
        self._req,
        "cannot resize variables that require grad",
        "No gradient says what the new elements come from. Use reshape, or resize a detached tensor.",
    )
    message = "numel: integer multiplication overflow"
    note = "resize_ does not infer -1. Pass every size."
    refuse_if(min(shape, default=0) < 0, message, note)
    device = self._storage.device
    check_inplace(self, per_thread.state, False, overlapping=False)
    memory = materialise(self)
    if shape != memory.shape:
        with device.backend:
            flat = _first_elements(self, memory, math.prod(shape), device)
            self._array = flat.reshape(shape)
    self._storage.version += 1
    return self


def _first_elements(t, memory, needed, device):
    """Return a flat array of `needed` elements: a view of the memory of `t`, or a longer copy if the memory is too
    short."""
    flat = memory.reshape(-1)
    if needed <= flat.size:
        return flat[:needed]
    longer = device.xp.zeros(needed, memory.dtype)
    longer[: flat.size] = flat
    t._storage.array = longer
    return longer


for _function in (t_, transpose_, unsqueeze_, squeeze_, resize_):
    METHODS[_function.__name__] = _function
METHODS["swapaxes_"] = METHODS["swapdims_"] = transpose_
