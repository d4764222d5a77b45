"""Tensors that belong to modules, also those whose shape is not known yet (`modules/lazy.py` makes and fills them).

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Parameter.html"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Sequence
from types import MethodType
from typing import NoReturn

import autolab
from autolab import engine
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import bad_argument, fail, type_name
from autolab.engine.core.tensor import TENSORS
from autolab.engine.exact.printing import parameter_repr
from autolab.engine.ops.functions import NAMESPACES
from autolab.engine.core.tensor import Tensor, wrap
from autolab.engine.methods.copies import _rebuild as _rebuild_tensor
from autolab.nn._arguments import DeviceLike

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip


class Parameter(Tensor):
    """A leaf tensor that a module lists among its `parameters()` when assigned as an attribute.

    It shares memory with `data`; results of operations on it are plain tensors. Raises RuntimeError for integers with
    `requires_grad=True`.

    Example:

        >>> nn.Parameter(torch.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = autolab.empty(0)
        if not isinstance(data, Tensor):
            raise fail(
                AttributeError,
                f"'{type_name(data)}' object has no attribute 'detach'",
                "A parameter is made of a tensor: nn.Parameter(torch.tensor(...)).",
            )
        if requires_grad and not data.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "Only Tensors of floating point and complex dtype can require gradients",
                "Use a floating-point dtype, or requires_grad=False.",
            )
        if not isinstance(requires_grad, bool):
            raise bad_argument("_make_subclass", "require_grad", 3, "bool", requires_grad)
        parameter = data.detach()
        parameter.__class__ = cls
        parameter.requires_grad = requires_grad
        return parameter

    def __repr__(self):
        return parameter_repr(self)

    def __reduce_ex__(self, protocol):
        rebuild, arguments = super().__reduce_ex__(protocol)
        # pickle looks a class up by its module, and this one says it is torch's
        return (_rebuild, arguments[1:]) if type(self) is Parameter else (rebuild, arguments)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]


def _rebuild(*of_a_tensor):
    return _rebuild_tensor(Parameter, *of_a_tensor)


class _BufferKind(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferKind):
    """Marks a tensor so that assigning it to a module registers it as a buffer; it stays a plain tensor.

    persistent: whether it is part of the module's state dict.
    """

    __slots__ = ()

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = autolab.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent, buffer._is_buffer = persistent, True
        return buffer


# not initialised yet ---------------------------------------------------------------------------------

_CALL_FORWARD = "Its shape is known after the first forward: call the network once, with a batch of the size that it will get."

_AS_EMPTY = {
    "copy_",
    "get_device",
    "is_complex",
    "is_floating_point",
    "nbytes",
    "ndim",
    "size",
    "to",
    "cpu",
    "cuda",
}
_AS_EMPTY |= {"half", "float", "double", "char", "short", "int", "long"}
"""What PyTorch lets one ask of such a tensor: it answers as a tensor of no elements would."""

_IN_PYTHON = {
    "__array__",
    "__contains__",
    "__deepcopy__",
    "__dir__",
    "__format__",
    "__len__",
    "backward",
    "norm",
    "register_hook",
}
_IN_PYTHON |= {
    "register_post_accumulate_grad_hook",
    "split",
    "unflatten",
    "unique",
    "unique_consecutive",
}
"""Methods that PyTorch has written in Python, and prints so."""

_FUNCTIONS = {
    "avg_pool2d",
    "gelu",
    "linear",
    "one_hot",
    "scaled_dot_product_attention",
    "softplus",
    "softshrink",
}
"""Functions that are no methods of a class behind PyTorch's `torch`, and printed so."""

_ENGINE = os.path.dirname(engine.__file__)


class UninitializedTensorMixin:
    """A tensor without a shape: it has a dtype and a device, and no numbers.

    Whoever wants its numbers gets torch's ValueError, whoever asks for its shape a RuntimeError. `materialize` makes an
    ordinary tensor of this very object, so that whatever holds it (an optimizer, say) need not be told.
    """

    __slots__ = ()
    cls_to_become: type = Tensor

    def __getattribute__(self, name):
        asking = sys._getframe(1)
        # every operation reads one of them: none has to know this class
        if name == "_array" or (name == "shape" and _is_engine(asking)):
            raise _used(self, _wanted_by(asking))
        if name in _AS_EMPTY:
            return _as_empty(self, name)
        found = super().__getattribute__(name)
        if (
            not isinstance(found, MethodType)
            or name.startswith("_")
            or found.__func__ is not getattr(Tensor, name, None)
        ):
            return found

        def refused(*args, **kwargs):
            raise _used(self, _method(found.__name__))

        return refused

    def materialize(
        self, shape: Sequence[int], device: DeviceLike = None, dtype: DType | None = None
    ) -> None:
        """Become an ordinary parameter or buffer of this `shape`, whose numbers are still to be written.

        device, dtype: those that it was made with, unless others are given."""
        self.data = autolab.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    def _nothing(self):
        """A tensor of no elements with this dtype and device."""
        return wrap(object.__getattribute__(self, "_array"), self.dtype)

    def _take(self, value):
        Tensor.data.fset(self, value.data if is_lazy(value) else value)

    data = property(_nothing, _take)

    @property
    def shape(self):
        """Raises RuntimeError: `materialize` gives it one."""
        raise fail(
            RuntimeError,
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
            "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes.",
            _CALL_FORWARD,
        )

    def share_memory_(self) -> NoReturn:
        """Raises RuntimeError: there is no memory yet."""
        raise fail(
            RuntimeError,
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`.",
            _CALL_FORWARD,
        )

    def __repr__(self, *, tensor_contents=None):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        # dtype and device are lost, as in PyTorch
        return _rebuild_uninitialized, (type(self).__name__, self.requires_grad)


def is_lazy(param: object) -> bool:
    """Whether `param` is a parameter or a buffer that has no shape yet. Source: torch.nn.parameter.is_lazy."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A `Parameter` whose shape is not known yet; `materialize(shape)` makes it one.

    Raises RuntimeError for integers with `requires_grad=True`, ValueError when it is used in an operation.
    Source: torch.nn.parameter.UninitializedParameter.
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return super().__new__(cls, autolab.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` makes it a tensor. As in PyTorch it has no
    `copy.deepcopy`.

    persistent: whether it is part of the module's state dict. Raises ValueError when it is used in an operation.
    Source: torch.nn.parameter.UninitializedBuffer.
    """

    __slots__ = ()

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = autolab.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
        buffer.__class__ = cls
        buffer.persistent, buffer._is_buffer = persistent, True
        return buffer


def _rebuild_uninitialized(name, requires_grad):
    return globals()[name](requires_grad)


def _as_empty(lazy, name):
    """The attribute `name` of a tensor of no elements; of its methods, what they return that is a tensor has no shape
    either.

    (A parameter in another dtype is a plain tensor, as in PyTorch: `Module.to` takes it as the parameter's data.)"""
    empty = lazy.data
    empty._req = lazy.requires_grad
    found = getattr(empty, name)
    if not callable(found):
        return found

    def call(*args, **kwargs):
        result = found(*[a.data if is_lazy(a) else a for a in args], **kwargs)
        if result is empty:
            return lazy
        if isinstance(result, Tensor) and not isinstance(lazy, Parameter):
            result.__class__ = type(lazy)
        return result

    return call


def _used(lazy, function):
    return fail(
        ValueError,
        f"Attempted to use an uninitialized parameter in {function}. This error happens when you are using a `LazyModule` or explicitly "
        f"manipulating `torch.nn.parameter.{type(lazy).__name__}` objects. When using LazyModules Call `forward` with a dummy batch to "
        "initialize the parameters before calling torch functions",
        _CALL_FORWARD,
    )


def _method(name):
    """A method of Tensor as PyTorch prints it."""
    if name in _IN_PYTHON:
        return f"<function Tensor.{name} at {id(getattr(Tensor, name)):#x}>"
    kind = "slot wrapper" if name in ("__getitem__", "__setitem__") else "method"
    return f"<{kind} '{name}' of 'torch._C.TensorBase' objects>"


def _is_engine(frame):
    return frame.f_code.co_filename.startswith(_ENGINE)


def _wanted_by(frame):
    """The function that wanted the numbers, as PyTorch prints it: the last one on the stack, inside out, that is the
    engine's and public."""
    found = "an operation"
    while frame is not None and _is_engine(frame):
        inside, name = frame.f_locals, frame.f_code.co_name
        if name == "call":  # of `overloading.public`
            name = inside.get("name", name)
        elif name in ("getitem", "setitem"):
            name = f"__{name}__"
        if hasattr(Tensor, name) and (
            name.startswith("__") or frame.f_code.co_varnames[:1] == ("self",)
        ):
            found = _method(name)
        elif name in _FUNCTIONS:
            found = f"<built-in function {name}>"
        elif name in NAMESPACES[""] or name in NAMESPACES["nn.functional"]:
            found = f"<built-in method {name} of type object at {id(Tensor):#x}>"
        elif name in ("apply", "_apply_inplace"):  # an operator, or a method of another tensor
            found = _method(inside["op"].name + ("_" if name == "_apply_inplace" else ""))
        frame = frame.f_back
    return found


TENSORS.add(Parameter)
for _class in (
    Parameter,
    Buffer,
    UninitializedTensorMixin,
    UninitializedParameter,
    UninitializedBuffer,
):
    _class.__module__ = "torch.nn.parameter"  # as PyTorch prints the classes


_NAMES: dict[int, tuple[weakref.ref, str]] = {}


def _remember_name(tensor, name):
    """Notes under which name a module first registered a tensor, for pictures of graphs that outlive the module."""
    if tensor is not None and id(tensor) not in _NAMES:
        key = id(tensor)
        _NAMES[key] = weakref.ref(tensor, lambda _: _NAMES.pop(key, None)), name


def _registered_name(tensor):
    """The name that `_remember_name` noted, "" for any other tensor."""
    found = _NAMES.get(id(tensor))
    return found[1] if found is not None and found[0]() is tensor else ""
