"""Views in place: `t_`, `squeeze_` and their like change how a tensor looks at its memory, not the memory.

The tensor's history goes on with a node of its own (`TBackward1`); its base, if it is a view, stays as it is. The
version of the memory goes up, as PyTorch counts, so a graph that saved the tensor before says that it changed. Source:
https://docs.pytorch.org/docs/2.13/tensor_view.html and torch/csrc/autograd/VariableTypeManual.cpp.
"""

from __future__ import annotations

import math

from ..core import observe
from ..core.grad_mode import per_thread
from ..core.apply import compute, record
from ..inplace.changes import _before, check_inplace
from ..core.errors import fail
from ..exact.refusals import unsupported
from .functions import METHODS, NAMESPACES
from ..core.record import OPS
from ..core.op import variant
from ..core.tensor import materialise
from .shape import sizes_from
from .strided import strided_arguments


def _look_otherwise(op, *args):
    """Makes the tensor args[0] the view of itself that `op` describes, in place. Returns the tensor."""
    target, state = args[0], per_thread.state
    check_inplace(target, state, target._req, overlapping=False)
    memory, device = materialise(target), target._storage.device
    if target._storage.array is None:
        target._storage.array = memory
    array = compute(op, state, device, (memory, *args[1:]))
    recording = state.grad and not state.inference and target._req
    old = _before(op, args, target) if recording else None
    target._array = array
    target._storage.version += 1
    node = record(op, args, (target,), state, old) if recording else None
    if observe.observer is not None:
        observe.observer.forward(op, args, None, (target,), node, inplace=True)
    return target


_TRANSPOSE = variant(OPS["transpose"], node="TransposeBackward1")
_T = variant(OPS["t"], node="TBackward1")
_UNSQUEEZE = variant(OPS["unsqueeze"], node="UnsqueezeBackward1")
_SQUEEZE = variant(OPS["squeeze"], node="SqueezeBackward3")
_SQUEEZE_DIM = variant(OPS["squeeze_dim"], node="SqueezeBackward4")
_SQUEEZE_DIMS = variant(OPS["squeeze_dims"], node="SqueezeBackward5")
_AS_STRIDED = variant(OPS["as_strided"], node="AsStridedBackward1")


def t_(self):
    """Transposes a matrix in place. Raises RuntimeError for more than two dimensions. Source: torch.Tensor.t_."""
    if self._array.ndim > 2:
        raise fail(
            RuntimeError,
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D",
            "Use transpose_(dim0, dim1).",
        )
    return _look_otherwise(_T, self)


def transpose_(self, dim0, dim1):
    """Swaps two dimensions in place. Source: torch.Tensor.transpose_."""
    return _look_otherwise(_TRANSPOSE, self, dim0, dim1)


def unsqueeze_(self, dim):
    """Inserts a dimension of size 1 in place. Source: torch.Tensor.unsqueeze_."""
    return _look_otherwise(_UNSQUEEZE, self, dim)


def squeeze_(self, dim=None):
    """Removes dimensions of size 1 (all, or those named) in place. Source: torch.Tensor.squeeze_."""
    if dim is None:
        return _look_otherwise(_SQUEEZE, self)
    if isinstance(dim, int):
        return _look_otherwise(_SQUEEZE_DIM, self, dim)
    return _look_otherwise(_SQUEEZE_DIMS, self, tuple(dim))


def as_strided_(self, size, stride, storage_offset=None):
    """Makes the tensor the strided piece of its memory that the numbers name (in elements), in place.

    Source: torch.Tensor.as_strided_."""
    return _look_otherwise(
        _AS_STRIDED, self, *strided_arguments(self, size, stride, storage_offset)
    )


def resize_(self, *sizes, memory_format=None):
    """Gives the tensor another shape over the first elements of its memory, in row-major order; where it needs more,
    new memory, and what is new in it holds zeros (in PyTorch whatever was there).

    Raises RuntimeError for a tensor that requires grad. Source: torch.Tensor.resize_."""
    shape = sizes_from(sizes, "resize_")
    if memory_format is not None:
        raise unsupported("resize_", "memory_format")
    if self._req:
        raise fail(
            RuntimeError,
            "cannot resize variables that require grad",
            "No gradient says what the new elements come from. Use reshape, or resize a detached tensor.",
        )
    if any(n < 0 for n in shape):
        raise fail(
            RuntimeError,
            "numel: integer multiplication overflow",
            "Sizes are counts: resize_ does not infer -1.",
        )
    state, device = per_thread.state, self._storage.device
    check_inplace(self, state, False, overlapping=False)
    memory, needed = materialise(self), math.prod(shape)
    if shape != memory.shape:
        with device.backend:
            self._array = _first_elements(self, memory, needed, device).reshape(shape)
    self._storage.version += 1
    return self


def _first_elements(t, memory, needed, device):
    """A flat array of `needed` elements over the memory of `t`, from where it begins; a longer copy where that is too
    short."""
    owner = t._storage.array
    owner = memory if owner is None else owner
    # a tensor that was transposed when it was made: its memory in the order that it lies in
    if not owner.flags.c_contiguous:
        owner = owner.transpose(sorted(range(owner.ndim), key=lambda i: -owner.strides[i]))
    flat = owner.reshape(-1)[t.storage_offset() :]
    if needed <= flat.size:
        return flat[:needed]
    longer = device.xp.zeros(needed, memory.dtype)
    longer[: flat.size] = flat
    t._storage.array = longer
    return longer


def resize_as_(self, the_template, *, memory_format=None):
    """`resize_` to another tensor's shape. Source: torch.Tensor.resize_as_."""
    return resize_(self, the_template._array.shape, memory_format=memory_format)


for _function in (t_, transpose_, unsqueeze_, squeeze_, as_strided_, resize_, resize_as_):
    METHODS[_function.__name__] = _function
METHODS["swapaxes_"] = METHODS["swapdims_"] = transpose_
NAMESPACES[""]["as_strided_"], NAMESPACES[""]["resize_as_"] = as_strided_, resize_as_
