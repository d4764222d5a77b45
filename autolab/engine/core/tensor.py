"""The data of a tensor, and its place in the graph. Its other methods are added later: the records of operations add
mathematics; `engine/methods/` adds conversions, copies, hooks and refusals."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import observe
from .device import ARRAY_CLASSES, CPU, copied, of
from .device import device as Device
from .dtype import FROM_NUMPY
from .dtype import dtype as DType
from .errors import fail
from .grad_mode import guard, per_thread

if TYPE_CHECKING:
    from ..methods.declared import Declared
else:
    Declared = object

SMALL = 1024
"""The largest number of elements of a result that its node keeps, so that a graph can be explored without a recording.
For a bigger result the node keeps (shape, dtype)."""


# -- memory ----------------------------------------------------------------------------------------------------------
class Storage:
    """The memory that a tensor and its views share. version: how often it was modified in place. A node saves the
    version, and raises an error if it changed. array: the array that owns the memory, set when the first view is made.

    >>> x = torch.zeros(3)
    >>> y = x[1:]
    >>> _ = y.add_(1)
    >>> x._storage is y._storage, x._version
    (True, 1)
    """

    __slots__ = ("version", "device", "array", "__weakref__")

    def __init__(self, device: Device = CPU, version: int = 0, array: Any = None) -> None:
        self.device, self.version, self.array = device, version, array


class View:
    """The base of a view, or the reason why a fast path must skip the tensor; `_view` is None in a plain tensor.

    base: the root tensor whose memory is shared; None for tensors on a device. version: the memory's version for which
    the view's grad_fn holds. creation: 'default', 'no_grad', 'multi' or 'function'. `inplace/views.py` adds methods
    that update a view's history when the shared memory changes: `refresh` updates the view's `grad_fn` before it is
    read.

    >>> x = torch.zeros(3)
    >>> x[1:]._view.base is x, x._view
    (True, None)
    """

    __slots__ = ("base", "version", "creation")
    of: ClassVar[Any]
    refresh: ClassVar[Any]
    check_inplace: ClassVar[Any]
    rebase: ClassVar[Any]
    is_lost: ClassVar[Any]

    def __init__(self, base: Any, version: int, creation: str) -> None:
        self.base, self.version, self.creation = base, version, creation


OFF_CPU_VIEW = View(None, 0, "default")
"""The `_view` of every tensor off the CPU that is not a view. Fast paths skip tensors with a `_view`, so they need not
ask for the device."""


def no_accumulator() -> None:
    """Stand in a view's `_acc` if it requires grad only because its base does; no gradient flows from it to the base.

    >>> x = torch.zeros(3)
    >>> view = x[1:]
    >>> _ = x.requires_grad_()
    >>> (view * 1).grad_fn.inputs, view._acc is no_accumulator
    ((None, None), True)
    """


class Tensor(Declared):
    """An array that remembers how it was computed. Source: https://docs.pytorch.org/docs/2.13/tensors.html

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> x.shape, x.dtype, x.is_leaf
    (torch.Size([2]), torch.float32, True)

    Inside: `_array` is the raw array (a NumPy scalar for a 0-d result, 8 times faster to compute with). `_storage` is
    the memory shared with its views. `_node` and `_nr` are the node and output number that made it. `_req` says whether
    it needs a gradient, `_view` what it is a view of. `_grad` is its gradient (a raw array until `grad` is read).
    `_acc` is the node at which its gradient accumulates (see `node.accumulator`). `_hooks` are the hooks on its
    gradient.
    """

    __slots__ = tuple(
        "_array _dtype _memory _node _nr _req _view _grad _acc _hooks __dict__ __weakref__".split()
    )
    _array: Any
    _dtype: DType
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
        """Return the memory that a tensor shares with its views. It is made on first use, because most results are
        never changed or viewed."""
        if self._memory is None:
            with guard:  # two threads get the same object
                self._memory = self._memory or Storage()
        return self._memory

    @_storage.setter
    def _storage(self, storage: Storage) -> None:
        self._memory = storage

    # `attrgetter` reads the attribute in C, which is fast: most operations ask for the dtype.
    dtype: DType = property(  # type: ignore[assignment]
        attrgetter("_dtype"),
        doc="The type of its numbers, a `torch.dtype`. Source: torch.Tensor.dtype.",
    )

    @property
    def requires_grad(self) -> bool:
        """Whether this tensor needs a gradient. It can be set on leaves only."""
        view = self._view
        return self._req or (view is not None and view.base is not None and view.base._req)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._check_requiring(value)
        self._req = value
        if self._acc is no_accumulator:
            self._acc = None

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is a leaf: no recorded operation made it. Source: torch.Tensor.is_leaf."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor; None for leaves. Read-only."""
        if self._view is not None:
            self._view.refresh(self)
        return self._node

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf (or of a tensor after `retain_grad()`); None if there is none yet."""
        g = self._grad
        if g is None:
            if self._node is not None and not self.retains_grad:
                self._warn_of_no_gradient()
            return None
        return g if isinstance(g, Tensor) else grad_as_tensor(self)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_gradient(value)
        self._set_grad(value)

    @grad.deleter
    def grad(self) -> None:
        self._set_grad(None)

    def _set_grad(self, value: Tensor | None) -> None:
        self._grad = value
        if observe.observer is not None:
            observe.observer.grad_set(self)


Tensor.__module__ = "torch"  # type(x) prints <class 'torch.Tensor'>, as in tutorials
TENSOR_CLASSES: set[type] = {Tensor}
"""The classes whose tensors behave as Tensor does: Tensor, and subclasses that register here (`nn.Parameter`)."""


def attach(part: type, to: type = Tensor) -> type:
    """Add the methods and properties of the decorated class `part` to the Tensor class, or to another class.

    >>> class Point: pass
    >>> class Length:
    ...     def length(self):
    ...         return 5
    >>> _ = attach(Length, to=Point)
    >>> Point().length()
    5
    """
    for name, value in vars(part).items():
        if hasattr(value, "__get__") and name not in ("__dict__", "__weakref__"):
            setattr(to, name, value)
    return part


def refuse_assignment(cls: type) -> None:
    """Make every property of `cls` without a setter raise torch's error when it is assigned.

    >>> class Half:
    ...     half = property(lambda self: 0.5)
    >>> refuse_assignment(Half)
    >>> Half.half.fset is None
    False
    """

    def read_only(name: str, attribute: property) -> property:
        def refuse(self: Tensor, *value: object) -> None:
            message = f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
            note = f"`{name}` follows from the tensor: make another one, such as x.to(torch.float64) or x.reshape(2, 3)."
            raise fail(AttributeError, message, note)

        return property(attribute.fget, refuse, refuse, attribute.__doc__)

    for name, value in list(vars(cls).items()):
        if isinstance(value, property) and not value.fset:
            setattr(cls, name, read_only(name, value))


def grad_as_tensor(t: Tensor) -> Tensor | None:
    """Convert the gradient of `t` from a raw array to a Tensor, and return it.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> (x * x).backward()
    >>> x._grad, grad_as_tensor(x) is x.grad
    (np.float32(6.0), True)
    """
    _ = per_thread.state  # registers this thread
    with guard:  # another thread may read it too
        if t._grad is not None and not isinstance(t._grad, Tensor):
            t._grad = wrap(t._grad, t.dtype)
        return t._grad


# -- tensors and arrays ----------------------------------------------------------------------------------------------
def wrap(array: Any, dtype: DType | None = None) -> Tensor:
    """Return a Tensor that wraps `array` without copying, outside any graph, on the array's device.

    >>> wrap(np.float32(2)).grad_fn is None
    True
    """
    t: Tensor = object.__new__(Tensor)
    t._nr, t._req = 0, False
    t._node = t._view = t._grad = t._acc = t._hooks = t._memory = None
    device = CPU
    if array.__class__ is not np.ndarray and not isinstance(array, np.generic):
        if array.__class__ in ARRAY_CLASSES:
            device, t._view = of(array), OFF_CPU_VIEW
        else:
            array = np.asarray(array)
    t._array = array
    t._dtype = FROM_NUMPY[array.dtype] if dtype is None else dtype
    if device is not CPU:
        t._memory = Storage(device)
    return t


def materialise(t: Tensor) -> Any:
    """Return the array of `t`, converted from a NumPy scalar if needed, so that views of its memory can exist.
    Convolutions keep the images of a batch innermost in memory; before a view can show that order, the memory is put
    into PyTorch's order.

    >>> x = torch.tensor(1.) * 2
    >>> type(x._array).__name__, type(materialise(x)).__name__, type(x._array).__name__
    ('float32', 'ndarray', 'ndarray')
    """
    # The order matters: `_array` is replaced before the storage has an owner.
    owner, d = t._storage.array, t._array
    if owner is not None and not isinstance(d, np.generic):
        return d
    with guard:  # if two threads make views, only the first makes the array
        d = t._array
        if isinstance(d, np.generic):
            d = t._array = np.asarray(d)
        if t._storage.array is None:
            if d.ndim == 4 and t._view in (None, OFF_CPU_VIEW) and not d.flags.c_contiguous:
                if d.strides[0] < max(d.strides):
                    d = t._array = copied(d)
            t._storage.array = d
    return d
