"""Tensors that belong to modules. Their shape may still be unknown (`modules/lazy.py` makes and fills such parameters).

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Parameter.html"""

from __future__ import annotations

import weakref

import autolab
from autolab.engine.core.errors import bad_argument, fail, type_name
from autolab.engine.core.tensor import TENSOR_CLASSES, Tensor
from autolab.engine.exact.printing import parameter_repr
from autolab.engine.methods.copies import _rebuild as _rebuild_tensor

__all__ = ["Parameter", "UninitializedParameter"]


class Parameter(Tensor):
    """A leaf tensor that a module includes in its `parameters()` when it is assigned as an attribute.

    It shares memory with `data`. Results of operations on it are plain tensors. Raise RuntimeError for integers with
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
        # pickle finds a class by its module, but this class's module is "torch".
        return (_rebuild, arguments[1:]) if type(self) is Parameter else (rebuild, arguments)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]


def _rebuild(*of_a_tensor):
    return _rebuild_tensor(Parameter, *of_a_tensor)


# Tensors without a shape, for lazy layers: d2l.ai builds its networks with them.

_CALL_FORWARD = "Its shape is known after the first forward: call the network once, with a batch of the size that it will get."

_CONVERSIONS = {"to", "cpu", "cuda", "half", "float", "double", "is_floating_point"}
"""The methods that PyTorch allows on such a tensor; it answers as a tensor without elements would."""


class UninitializedParameter(Parameter):
    """A `Parameter` with unknown shape: it has a dtype and a device, but no values.

    Reading its values or its shape raises PyTorch's ValueError. `materialize` turns the same object into an ordinary
    parameter, so an optimizer that holds it needs no update.
    """

    __slots__ = ()

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return super().__new__(cls, autolab.empty(0, device=device, dtype=dtype), requires_grad)

    def __getattribute__(self, name):
        # every operation reads `_array`, so none needs to check for this class
        if name == "_array":
            raise fail(
                ValueError,
                "Attempted to use an uninitialized parameter in an operation. This error happens when you are using a `LazyModule` or "
                "explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with "
                "a dummy batch to initialize the parameters before calling torch functions",
                _CALL_FORWARD,
            )
        if name in _CONVERSIONS:
            return getattr(self.data, name)
        return super().__getattribute__(name)

    def materialize(self, numbers: Tensor) -> None:
        """Become an ordinary parameter with the shape and the values of the tensor `numbers`."""
        self.data = numbers
        self.__class__ = Parameter  # type: ignore[assignment]

    def _take(self, value):
        self.__class__ = Parameter  # from here on, the shape can be read
        try:
            Tensor.data.fset(self, value.data)
        finally:
            self.__class__ = UninitializedParameter

    data = property(
        lambda self: autolab.empty(0, dtype=self.dtype, device=self.device),
        _take,
        doc="An empty tensor of the parameter's dtype. Set it to give the parameter its numbers.",
    )

    def __repr__(self):
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


TENSOR_CLASSES.add(Parameter)
for _class in (Parameter, UninitializedParameter):
    _class.__module__ = "torch.nn.parameter"  # the module that PyTorch prints


_NAMES: dict[int, tuple[weakref.ref, str]] = {}


def _remember_name(tensor, name):
    """Store the name under which a module first registered a tensor, for pictures of graphs that outlive the module."""
    if tensor is not None and id(tensor) not in _NAMES:
        key = id(tensor)
        _NAMES[key] = weakref.ref(tensor, lambda _: _NAMES.pop(key, None)), name


def _registered_name(tensor):
    """Return the name that `_remember_name` stored, or "" for any other tensor."""
    entry = _NAMES.get(id(tensor))
    return entry[1] if entry is not None and entry[0]() is tensor else ""
