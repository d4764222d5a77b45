"""Tensors that belong to modules. Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Parameter.html"""

from autolab.engine.errors import fail
from autolab.engine.lanes import TENSORS
from autolab.engine.printing import parameter_repr
from autolab.engine.tensor import Tensor, wrap


class Parameter(Tensor):
    """A leaf tensor that a module lists among its `parameters()` when assigned as an attribute.

    It shares memory with `data`; results of operations on it are plain tensors. Raises RuntimeError for integers with
    `requires_grad=True`.
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            import autolab

            data = autolab.empty(0)
        if not isinstance(data, Tensor):
            raise fail(
                AttributeError,
                f"'{type(data).__name__}' object has no attribute 'detach'",
                "A parameter is made of a tensor: nn.Parameter(torch.tensor(...)).",
            )
        if requires_grad and not data.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "Only Tensors of floating point and complex dtype can require gradients",
                "Use a floating-point dtype, or requires_grad=False.",
            )
        parameter = data.detach()
        parameter.__class__ = cls
        parameter._req = bool(requires_grad)
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


def _rebuild(array, requires_grad, attributes):
    parameter = Parameter(wrap(array), requires_grad)
    parameter.__dict__.update(attributes)
    return parameter


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
            import autolab

            data = autolab.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent, buffer._is_buffer = persistent, True
        return buffer


TENSORS.add(Parameter)
Parameter.__module__ = Buffer.__module__ = "torch.nn.parameter"  # as PyTorch prints the classes
