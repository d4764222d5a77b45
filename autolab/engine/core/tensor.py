"""The `Tensor` class: its data, its place in the graph, and conversions. Mathematical methods come from the registry."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..devices import device as devices
from . import observe
from . import differentiable
from .declared import Declared
from .differentiable import Differentiable
from .grad_mode import per_thread
from ..inplace.detached import note_detached
from .dtype import FROM_NUMPY, python_scalar_dtype
from .errors import fail
from .guard import guard
from ..kernels import reuse as memory
from .protocols import Protocols
from .size import size_of
from .storage import InferenceStorage, Storage
from ..inplace.views import AWAY, OVERLAPPING, View, nowhere, repeats

SMALL = 1024
"""Results of at most this many elements stay with their node, so that a graph can be explored without a recording; of bigger ones the
node keeps (shape, dtype)."""

_new = object.__new__


class Tensor(Differentiable, Protocols, Declared):
    """An array that remembers how it was computed. Source: https://docs.pytorch.org/docs/2.13/tensors.html

    Inside: `_array` is the raw array (a NumPy scalar for a 0-d result, 8 times faster to compute with), `_storage` what its views share,
    `_node`/`_nr` the node and output number it came from, `_req` whether it needs a gradient, `_view` what it is a view of.
    """

    __slots__ = {
        "dtype": "The type of its numbers, a `torch.dtype`. Source: torch.Tensor.dtype.",
        **dict.fromkeys("_array _memory _node _nr _req _view _grad _acc _hooks __dict__ __weakref__".split()),
    }
    _array: Any
    dtype: Any
    _memory: Storage | None
    _req: bool
    _view: View | None
    _acc: Any
    __array_priority__ = 1000  # NumPy operators defer to ours: np.float64(2.) * tensor is a tensor
    __hash__ = object.__hash__

    def __new__(cls, *args, **kwargs):
        from ..ops.creation import legacy_constructor

        return legacy_constructor(cls, *args, **kwargs)

    @property
    def _storage(self) -> Storage:
        """What this tensor shares with its views. Made when somebody asks: most results are neither changed nor looked into."""
        s = self._memory
        if s is None:
            with guard:  # two threads that ask get the same
                s = self._memory
                if s is None:
                    s = _new(Storage)
                    s.version, s.device, s.array = 0, devices.CPU, None
                    self._memory = s
        return s

    @_storage.setter
    def _storage(self, storage):
        self._memory = storage

    # -- what it is ------------------------------------------------------------------------------------------------------
    @property
    def shape(self):
        """The sizes of its dimensions, a `Size`. Source: torch.Tensor.shape."""
        return size_of(self._array.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions it has: 0 for a single number. Source: torch.Tensor.ndim."""
        return self._array.ndim

    @property
    def device(self):
        """Where its memory is, a `torch.device`. Source: torch.Tensor.device."""
        return self._storage.device

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is needed for this tensor. Settable on leaves only."""
        view = self._view
        return self._req or (view is not None and view.base is not None and view.base._req)

    @requires_grad.setter
    def requires_grad(self, value):
        if self._node is not None:
            cure = " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
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
    def grad_fn(self):
        """The node that computed this tensor; None for leaves. Read-only."""
        if self._view is not None:
            self._view.refresh(self)
        return self._node

    @grad_fn.setter
    def grad_fn(self, value):
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
        if self._storage.__class__ is InferenceStorage:
            raise fail(
                RuntimeError,
                "Inference tensors do not track version counter.",
                "Make the tensor outside inference_mode.",
            )
        return self._storage.version

    @property
    def _base(self):
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU. Source: torch.Tensor.is_cuda."""
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether it has sizes and no numbers (device 'meta'). Source: torch.Tensor.is_meta."""
        return self.device.type == "meta"

    @property
    def is_sparse(self) -> bool:
        """False: every tensor here stores all of its numbers. Source: torch.Tensor.is_sparse."""
        return False

    @property
    def layout(self):
        """How it lies in memory: always `torch.strided` here. Source: torch.Tensor.layout."""
        return strided

    @property
    def itemsize(self) -> int:
        """The bytes of one element. Source: torch.Tensor.itemsize."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements. Source: torch.Tensor.nbytes."""
        return self._array.size * self.dtype.itemsize

    def element_size(self) -> int:
        """The bytes of one element. Source: torch.Tensor.element_size."""
        return self.dtype.itemsize

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`, so that it may never enter a graph. Source: torch.Tensor.is_inference."""
        return self._storage.__class__ is InferenceStorage

    def is_floating_point(self) -> bool:
        """Whether its dtype is floating point. Source: torch.Tensor.is_floating_point."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether its dtype is complex. Source: torch.Tensor.is_complex."""
        return self.dtype.is_complex

    def size(self, dim=None):
        """The shape, or the size of dimension `dim`. Raises IndexError when there is no such dimension."""
        if dim is None:
            return self.shape
        return self._array.shape[self._place(dim)]

    def _place(self, dim):
        """`dim` counted from the front. Raises IndexError when there is no such dimension."""
        from ..exact.arguments import int_argument
        from .errors import check_dim, no_dimensions

        dim = int_argument("size", "dim", 1, dim)
        if not self._array.ndim:
            raise no_dimensions(dim)
        return check_dim(dim, self._array.ndim)

    def dim(self) -> int:
        """How many dimensions it has: 0 for a single number. Source: torch.Tensor.dim."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """How many elements it has. Source: torch.Tensor.numel."""
        return int(self._array.size)

    nelement = numel

    def stride(self, dim=None):
        """Steps in elements from one entry to the next, per dimension. A view says where it steps to along a dimension of size 1, too."""
        if self._row_major() and (self._view is None or not self._array.size):
            strides = contiguous_strides(self._array.shape)
        else:
            size = self.dtype.itemsize
            strides = tuple([s // size for s in self._array.strides])
        return strides if dim is None else strides[self._place(dim)]

    def storage_offset(self) -> int:
        """Where it begins in the memory that it shares with its views, counted in elements. Source: torch.Tensor.storage_offset."""
        base = self._storage.array
        if base is None or self._array is base:
            return 0
        return (devices.address(self._array) - devices.address(base)) // self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of its first element. Source: torch.Tensor.data_ptr."""
        return devices.address(materialise(self))

    def is_contiguous(self) -> bool:
        """Whether its elements lie in row-major order, without gaps. Source: torch.Tensor.is_contiguous."""
        return self._row_major()

    def _row_major(self):
        d = materialise(self) if self._array.ndim == 4 else self._array
        return isinstance(d, np.generic) or d.flags.c_contiguous

    # -- out of the graph ------------------------------------------------------------------------------------------------
    def detach(self):
        """The same memory outside the graph; it shares the version counter, so in-place changes are still noticed."""
        t = wrap(materialise(self), self.dtype, self._storage.device)
        t._storage = self._storage
        if self._view is not None and self._view.base is None:
            t._view = self._view
        elif t._storage.device is devices.CPU:
            t._view = OVERLAPPING if repeats(t._array) else None
        return t

    def detach_(self):
        """Cuts this tensor from its graph in place; it becomes a leaf that needs no gradient."""
        if self._is_view():
            raise fail(
                RuntimeError,
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot "
                "be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
                "torch/optim/optimizer.py as a reference.",
                "A view cannot leave the graph without its base.",
            )
        if self._node is not None:
            note_detached(self)
        self._node, self._nr, self._req = None, 0, False
        return self

    @property
    def data(self):
        """The same memory outside the graph with a version counter of its own: changes through it go unnoticed."""
        t = wrap(materialise(self), self.dtype, self._storage.device)
        if t._storage.__class__ is not self._storage.__class__:  # an ordinary tensor's memory stays ordinary in inference mode
            t._storage = _new(self._storage.__class__)
            t._storage.version, t._storage.device, t._storage.array = 0, self._storage.device, None
            t._view = self._view if self._storage.__class__ is InferenceStorage else None if self._storage.device is devices.CPU else AWAY
        t._storage.array = self._storage.array
        if t._view is None and repeats(t._array):
            t._view = OVERLAPPING
        return t

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise fail(
                TypeError,
                f"Variable data has to be a tensor, but got {type(value).__name__}",
                "Wrap it with torch.tensor(...).",
            )
        self._array = materialise(value)
        self.dtype = value.dtype
        before, owner = self._storage, value._storage  # older views keep the memory that they look into
        s = self._storage = _new(before.__class__)
        s.version, s.device, s.array = before.version, owner.device, owner.array
        if before.device is not owner.device:  # as torch: `p.data = p.data.cuda()` moves the tensor
            s.version = 0
            self._view = None if owner.device is devices.CPU else AWAY
        if observe.observer is not None:
            observe.observer.data_set(self, value)

    def numpy(self, *, force=False):
        """The values as a NumPy array that shares this tensor's memory.

        Raises RuntimeError when the tensor requires grad and gradients are recorded, TypeError off the CPU. Source: torch.Tensor.numpy."""
        if force:
            return self.detach().cpu().numpy()
        if self.requires_grad and per_thread.state.grad:
            raise fail(
                RuntimeError,
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                "NumPy does not record operations, so a gradient could not flow through what follows; detach() says that this is meant.",
            )
        if self.device.type != "cpu":
            raise fail(
                TypeError,
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first.",
                "NumPy reads host memory only.",
            )
        return materialise(self)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return wrap(np.asarray(array))

    def item(self):
        """The value of a one-element tensor as a Python number. Raises RuntimeError for more elements."""
        if self._array.size != 1:
            raise fail(
                RuntimeError,
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar",
                "Reduce it first, or use tolist().",
            )
        return self._array.item()

    def tolist(self):
        """The values as nested Python lists; a number for a 0-d tensor."""
        return self._array.tolist()

    # -- copying and pickling --------------------------------------------------------------------------------------------
    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if self.grad_fn is not None:
            raise fail(
                RuntimeError,
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001",
                "Copy the values instead: tensor.detach().clone().",
            )
        array, owner = self._copied_memory(memo)
        t = memo[id(self)] = self._like(array)
        t._storage.version, t._storage.array = 1, owner  # PyTorch counts that the copy was given its memory
        if t._view is None and repeats(array):
            t._view = OVERLAPPING
        t._req = self.requires_grad
        if self._grad is not None:
            t._grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            import copy

            t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return t

    def _copied_memory(self, memo):
        """A copy of the array, and of the memory it looks into if there is more to see, which tensors that are copied together share."""
        d, owner = self._array, None if self._memory is None else self._memory.array
        if owner is None:
            return devices.copied(d), None
        key = "memory of tensors", id(owner)
        if key not in memo:
            memo[key] = devices.copied(owner)
        copied = memo[key]
        if d is owner:
            return copied, copied
        alike = copied.strides == owner.strides or copied.flags.c_contiguous and owner.flags.c_contiguous
        flat = memory.flat(copied) if alike and copied.dtype == d.dtype else None
        if flat is None:  # memory with gaps, which a copy has not
            return devices.copied(d), None
        place = (devices.address(d) - devices.address(owner)) // d.itemsize
        with self._storage.device.backend:
            return self._storage.device.xp.lib.stride_tricks.as_strided(flat[place:], d.shape, d.strides), copied

    def __reduce_ex__(self, protocol):
        # None: pickle looks a class up by its module, and Tensor's says "torch"
        kind, device = None if type(self) is Tensor else type(self), self._storage.device
        there = [] if device is devices.CPU else [device]
        return _rebuild, (kind, np.array(device.backend.to_host(self._array)), self.requires_grad, dict(self.__dict__), *there)

    def _like(self, array):
        """A tensor of this class over `array`, outside any graph."""
        t = wrap(array, self.dtype, self._storage.device)
        t.__class__ = type(self)
        return t

    def as_subclass(self, cls):
        """This tensor as an instance of `cls`, a subclass of Tensor; memory and history are shared."""
        t = self.alias()
        t.__class__ = cls
        return t


def _rebuild(cls, array, requires_grad, attributes, device=None):
    t = wrap(array if device is None else devices.usable(device).backend.from_host(array))
    t.__class__ = cls or Tensor
    t._req = requires_grad
    t.__dict__.update(attributes)
    return t


class layout:
    """How elements lie in memory; this engine has `torch.strided` only."""

    def __repr__(self):
        return "torch.strided"


strided = layout()


@functools.lru_cache(maxsize=1024)
def contiguous_strides(shape):
    """Strides in elements of a row-major array."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def wrap(array, dtype=None, device=None) -> Tensor:
    """A Tensor over `array` without copying, outside any graph; it is where its array is (`device` may say so too)."""
    t = _new(Tensor)
    t._nr, t._req = 0, False
    t._node = t._view = t._grad = t._acc = t._hooks = None
    if array.__class__ is np.ndarray or isinstance(array, np.generic):
        t._array = array
        t.dtype = FROM_NUMPY[array.dtype] if dtype is None else dtype
        if not per_thread.state.inference:
            t._memory = None
            return t
        device = devices.CPU
    elif array.__class__ in devices.ARRAYS:
        device, t._view = devices.of(array), AWAY
    else:
        array, device = np.asarray(array), devices.CPU
    t._array = array
    t.dtype = FROM_NUMPY[array.dtype] if dtype is None else dtype
    if per_thread.state.inference:
        s: Storage = _new(InferenceStorage)
        t._view = View.inference()
    else:
        s = _new(Storage)
    s.version, s.device, s.array = 0, device, None
    t._storage = s
    return t


def scalar_tensor(value) -> Tensor:
    """A Python number as a 0-d tensor, with the dtype torch gives it."""
    d = python_scalar_dtype(value)
    return wrap(np.asarray(value, d.np), d)


def materialise(t) -> np.ndarray:
    """The array of `t`, made one if it is a NumPy scalar: from now on views of the memory can exist."""
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


def row_major(d):
    """A batch of images in the order that PyTorch has. Convolutions keep the batch innermost in memory (see `kernels`), which nobody sees
    until a view of the memory is made: then the tensor's array is replaced by this one."""
    return devices.copied(d) if d.strides[0] < max(d.strides) else d


Tensor.__module__ = "torch"  # type(x) prints as <class 'torch.Tensor'>, which tutorials show
differentiable.wrap = wrap
