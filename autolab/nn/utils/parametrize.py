"""Parametrizations: `module.weight` is computed from another parameter, which is trained.

Source: https://docs.pytorch.org/tutorials/intermediate/parametrizations.html
"""

from __future__ import annotations

from typing import Any

from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.container import ModuleDict, ModuleList
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to `original`."""

    def __init__(self, modules: list[Module], original: Tensor) -> None:
        super().__init__(modules)
        _register(self, "original", original)

    def right_inverse(self, value: Tensor) -> None:
        """Set `original` so that the parametrizations give `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise fail(
                        RuntimeError,
                        f"parametrization {type(module).__name__} does not implement right_inverse.",
                        "Define right_inverse(self, value): it returns the tensor from which forward computes `value`.",
                    )
                value = module.right_inverse(value)
            self.original.data = value.detach()

    def forward(self) -> Tensor:
        """Return the result of the parametrizations of `original`."""
        value = self.original
        for module in self:
            value = module(value)
        return value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make `module.<tensor_name>` the result of `parametrization`; the old parameter becomes `original`.

    Raise ValueError if there is no such tensor, or if the result has another shape or dtype (unless `unsafe`). Return
    the module.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        _check_result(getattr(module, tensor_name), parametrization, unsafe)
        chain.append(parametrization)
        return module
    tables: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    tensor = next((t[tensor_name] for t in tables if tensor_name in t), None)
    if tensor is None:
        raise fail(
            ValueError,
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'",
            "See named_parameters() for the names.",
        )
    _check_result(tensor, parametrization, unsafe)
    chain = ParametrizationList([parametrization], tensor)
    if hasattr(parametrization, "right_inverse"):
        chain.right_inverse(tensor)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {})
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = chain
    computed = property(
        lambda self: self.parametrizations[tensor_name](),
        lambda self, value: self.parametrizations[tensor_name].right_inverse(value),
    )
    setattr(type(module), tensor_name, computed)
    return module


def _check_result(tensor, parametrization, unsafe):
    if unsafe:
        return
    result = parametrization(tensor)
    note = "Pass unsafe=True if the tensor may change its shape or dtype."
    if not isinstance(result, Tensor):
        message = f"A parametrization must return a tensor. Got {type(result).__name__}."
        raise fail(ValueError, message, note)
    for what in ("dtype", "shape"):
        old, new = getattr(tensor, what), getattr(result, what)
        if old != new:
            message = f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
            raise fail(
                ValueError, f"{message}original {what}: {old}\nparametrized {what}: {new}", note
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether `module`, or its tensor `tensor_name` if given, has parametrizations."""
    chains = module._modules.get("parametrizations")
    if not isinstance(chains, ModuleDict):
        return False
    return len(chains) > 0 if tensor_name is None else tensor_name in chains


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make `module.<tensor_name>` a parameter again, with its present value or the original one; return the module."""
    if not is_parametrized(module, tensor_name):
        message = f"Module {module} does not have a parametrization on {tensor_name}"
        raise fail(ValueError, message, "See module.parametrizations.")
    original = module.parametrizations[tensor_name].original
    if leave_parametrized:
        with no_grad():
            original.data = getattr(module, tensor_name).detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module
