"""The `Tensor` class: what a tensor holds, and its place in the graph.

Everything else that a tensor can do is put on the class later: mathematics by the records of operations, conversions,
copies and hooks by `engine/methods/`.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from . import observe
from .declared import Declared
from .device import ARRAYS, CPU, copied, of
from .device import device as Device
from .dtype import FROM_NUMPY, python_scalar_dtype
from .dtype import dtype as DType
from .errors import fail
from .grad_mode import per_thread
from .guard import guard, shared
from .size import Size, size_of
from .storage import AWAY, InferenceStorage, Storage, View, new_storage, nowhere

SMALL = 1024
"""Results of at most this many elements stay with their node, so that a graph can be explored without a recording; of
bigger ones the node keeps (shape, dtype)."""

NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
    "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
    "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)


class Tensor(Declared):
    """An array that remembers how it was computed. Source: https://docs.pytorch.org/docs/2.13/tensors.html

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> x.shape, x.dtype, x.is_leaf
    (torch.Size([2]), torch.float32, True)

    Inside: `_array` is the raw array (a NumPy scalar for a 0-d result, 8 times faster to compute with), `_storage` what
    its views share, `_node`/`_nr` the node and output number it came from, `_req` whether it needs a gradient, `_view`
    what it is a view of, `_grad` its gradient (a raw array until somebody looks at it), `_acc` the end of the graph's
    edges that lead to it (see `node.accumulator`).
    """

    __slots__ = {
        "dtype": "The type of its numbers, a `torch.dtype`. Source: torch.Tensor.dtype.",
        **dict.fromkeys("_array _memory _node _nr _req _view _grad _acc _hooks __dict__ __weakref__".split()),
    }
    _array: Any
    dtype: DType
    _memory: Storage | None
    _node: Any
    _nr: int
    _req: bool
    _view: View | None
    _grad: Any
    _acc: Any
    _hooks: Any
    __array_priority__ = 1000  # NumPy operators defer to ours: np.float64(2.) * tensor is a tensor
    __hash__ = object.__hash__
    @property
    def _storage(self) -> Storage:
        """What this tensor shares with its views. Made when somebody asks: most results are neither changed nor looked
        into."""
        s = self._memory
        if s is None:
            with guard:  # two threads that ask get the same
                s = self._memory
                if s is None:
                    s = self._memory = new_storage()
        return s

    @_storage.setter
    def _storage(self, storage: Storage) -> None:
        self._memory = storage

    @property
    def shape(self) -> Size:
        """The sizes of its dimensions, a `Size`. Source: torch.Tensor.shape."""
        return size_of(self._array.shape)

    @property
    def device(self) -> Device:
        """Where its memory is, a `torch.device`. Source: torch.Tensor.device."""
        return self._storage.device

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is needed for this tensor. Settable on leaves only."""
        view = self._view
        return self._req or (view is not None and view.base is not None and view.base._req)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._node is not None:
            cure = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise fail(
                RuntimeError,
                f"you can only change requires_grad flags of leaf variables.{'' if value else cure}",
                "This tensor was computed from others, and requires a gradient already."
                if value
                else "This tensor was computed from others; detach() gives the same values outside the graph.",
            )
        if value and not self.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "only Tensors of floating point and complex dtype can require gradients",
                "A gradient needs values that can change by small amounts; use .float() first.",
            )
        if value and self._storage.__class__ is InferenceStorage and not per_thread.state.inference:
            raise fail(
                RuntimeError,
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
                "Clone the tensor first: the clone is an ordinary tensor.",
            )
        self._req = bool(value)
        if self._acc is nowhere:
            self._acc = None

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it. Source: torch.Tensor.is_leaf."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor; None for leaves. Read-only."""
        if self._view is not None:
            self._view.refresh(self)
        return self._node

    @grad_fn.setter
    def grad_fn(self, value: object) -> None:
        raise fail(
            AttributeError,
            "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable",
            "The graph is made by operations only.",
        )

    @property
    def output_nr(self) -> int:
        """Which output of its `grad_fn` it is, counted from 0. Source: torch.Tensor.output_nr."""
        return self._nr

    @property
    def _version(self) -> int:
        """How often its memory was changed in place."""
        if self._storage.__class__ is InferenceStorage:
            raise fail(
                RuntimeError,
                "Inference tensors do not track version counter.",
                "Make the tensor outside inference_mode.",
            )
        return self._storage.version

    @property
    def _base(self) -> Tensor | None:
        """The tensor of whose memory it shows a part; None if it is no view."""
        return None if self._view is None else self._view.base

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf (or after `retain_grad()`); None when there is none yet."""
        g = self._grad
        if g is None:
            if self._node is not None and not self.retains_grad:
                warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=2)
            return None
        return g if isinstance(g, Tensor) else _first_look(self, g)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_gradient(value)
        self._grad = value
        if observe.observer is not None:
            observe.observer.grad_set(self)

    @grad.deleter
    def grad(self) -> None:
        self._grad = None
        if observe.observer is not None:
            observe.observer.grad_set(self)


Tensor.__module__ = "torch"  # type(x) prints as <class 'torch.Tensor'>, which tutorials show
TENSORS: set[type] = {Tensor}
"""The classes whose tensors behave as Tensor does: itself, and subclasses that say so (`nn.Parameter`)."""


def attach(part: type, to: type = Tensor) -> type:
    """Puts the methods and properties that the class `part` defines on the Tensor class, or on another; a decorator."""
    for name, value in vars(part).items():
        if hasattr(value, "__get__") and name not in ("__dict__", "__weakref__"):
            setattr(to, name, value)
    return part


def _first_look(t: Tensor, g: Any) -> Any:
    """Makes a Tensor of the raw array `g`, the gradient of `t`."""
    _ = per_thread.state  # this thread is known from now on
    shared.inside = True
    try:
        if not shared.several:
            g = t._grad = wrap(g, t.dtype)
            return g
    finally:
        shared.inside = False
    with guard:
        g = t._grad  # another thread may have added something, or looked
        if g is not None and not isinstance(g, Tensor):
            g = t._grad = wrap(g, t.dtype)
        return g


@functools.lru_cache(maxsize=1024)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major array.

    >>> contiguous_strides((2, 3))
    (3, 1)
    """
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def wrap(array: Any, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A Tensor over `array` without copying, outside any graph; it is where its array is (`device` may say so too).

    >>> import numpy as np
    >>> wrap(np.float32(2)).grad_fn is None
    True
    """
    t: Tensor = object.__new__(Tensor)
    t._nr, t._req = 0, False
    t._node = t._view = t._grad = t._acc = t._hooks = t._memory = None
    device = CPU
    if array.__class__ is not np.ndarray and not isinstance(array, np.generic):
        if array.__class__ in ARRAYS:
            device, t._view = of(array), AWAY
        else:
            array = np.asarray(array)
    t._array = array
    t.dtype = FROM_NUMPY[array.dtype] if dtype is None else dtype
    if per_thread.state.inference:
        t._memory, t._view = new_storage(device, InferenceStorage), View.inference()
    elif device is not CPU:
        t._memory = new_storage(device)
    return t


def scalar_tensor(value: Any) -> Tensor:
    """A Python number as a 0-d tensor, with the dtype torch gives it.

    >>> scalar_tensor(True), scalar_tensor(2.5)
    (tensor(True), tensor(2.5000))
    """
    d = python_scalar_dtype(value)
    return wrap(np.asarray(value, d.np), d)


def materialise(t: Tensor) -> Any:
    """The array of `t`, made one if it is a NumPy scalar: from now on views of the memory can exist.

    >>> x = torch.tensor(1.) * 2
    >>> type(x._array).__name__, type(materialise(x)).__name__, type(x._array).__name__
    ('float32', 'ndarray', 'ndarray')
    """
    owner, d = t._storage.array, t._array  # in this order: `_array` is exchanged before there is an owner
    if owner is None or d.__class__ is not np.ndarray and isinstance(d, np.generic):
        with guard:  # of two threads that make views, the first one makes the array
            d = t._array
            if d.__class__ is not np.ndarray and isinstance(d, np.generic):
                d = t._array = np.asarray(d)
            if t._storage.array is None:
                if d.ndim == 4 and (t._view is None or t._view is AWAY) and not d.flags.c_contiguous:
                    d = t._array = row_major(d)
                t._storage.array = d
    return d


def row_major(d: Any) -> Any:
    """A batch of images in the order that PyTorch has. Convolutions keep the batch innermost in memory (see `kernels`),
    which nobody sees until a view of the memory is made: then the tensor's array is replaced by this one.

    >>> row_major(np.ones((2, 3, 4, 5)).transpose(3, 0, 1, 2)).flags.c_contiguous
    True
    """
    return copied(d) if d.strides[0] < max(d.strides) else d
