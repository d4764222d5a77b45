"""Weight normalisation by hooks: a weight becomes its length, `weight_g`, times its direction, `weight_v`.

Source: torch.nn.utils.weight_norm; Salimans and Kingma, "Weight Normalization" (2016)."""

from __future__ import annotations

import warnings

from autolab.engine.core.errors import fail
from autolab.engine.ops.further.weight_norm import norm_except_dim, weight_normalized
from autolab.nn.parameter import Parameter, is_lazy
from autolab.nn.modules.module import Module


class WeightNorm:
    """The hook: before each forward it makes the weight from its two parts. name: of the weight; dim: what keeps
    lengths of its own."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from its length and direction."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return weight_normalized(v, g, self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Takes the weight of `module` apart and registers the hook. Raises RuntimeError when it is apart already,
        ValueError when it has no shape yet."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                message = f"Cannot register two weight_norm hooks on the same parameter {name}"
                raise fail(RuntimeError, message, "remove_weight_norm takes the first one away.")
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        if is_lazy(weight):
            message = (
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before "
                "applying weight normalization"
            )
            raise fail(ValueError, message, "A lazy layer has its weight after the first forward.")
        length = norm_except_dim(weight, 2, hook.dim).data
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(length))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Makes one parameter of the two parts again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        """Sets the weight anew; what `module` is called with stays."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn length and direction of a weight apart: `module` itself, whose parameter `name` is replaced by `name_g` and
    `name_v`.

    dim: the dimension along which each slice has a length of its own; None: one length for all. Deprecated, and warns
    so, as in PyTorch. Raises RuntimeError for a weight that has been taken apart already. Source:
    torch.nn.utils.weight_norm."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`: the weight is one parameter again, with the value that it has now.

    Raises ValueError when it was not taken apart. Source: torch.nn.utils.remove_weight_norm."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise fail(
        ValueError, f"weight_norm of '{name}' not found in {module}", "Call weight_norm first."
    )
