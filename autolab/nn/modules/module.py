"""`nn.Module`: the base class of networks, a tree of parameters, buffers and submodules.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.nn._arguments import DeviceLike, parse_to
from autolab.nn.modules.hooks import ModuleHooks
from autolab.nn.modules.members import ModuleMembers
from autolab.nn.modules.state import ModuleState
from autolab.utils._shared import reset_grads
from autolab.engine.core.dtype import dtype as DType


def indented(text, spaces):
    """Return `text` with every line but the first indented (blank lines stay blank)."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


class Module(ModuleMembers, ModuleHooks, ModuleState):
    """Base class of all networks: assign parameters and submodules as attributes, write `forward`.

    `parameters()` finds attributes of type `Parameter`, `modules()` attributes of type `Module`. `training` tells
    layers such as dropout which mode is active; `train()` and `eval()` set it.

    Example:

        >>> class Line(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.slope = nn.Parameter(torch.tensor(2.))
        ...     def forward(self, x):
        ...         return self.slope * x
        >>> model = Line()
        >>> model(torch.tensor(3.))
        tensor(6., grad_fn=<MulBackward0>)
        >>> list(model.state_dict())
        ['slope']
    """

    _version = 1  # the version of the state dict's format, stored in its metadata

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            message = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                message = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            message = f"{type(self).__name__}.__init__() {message}"
            raise fail(TypeError, message, "nn.Module.__init__ takes no arguments.")
        own = self.__dict__  # __setattr__ reads the tables that are made here
        own.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set())
        self._init_hooks()
        own["_modules"] = {}

    def forward(self, *input):
        """Compute the output of the module. Override it in every module; call the module itself, not `forward`."""
        raise fail(
            NotImplementedError,
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            "Define forward(self, x) in your module, indented like __init__.",
        )

    # changing all members ------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every submodule (children first), then on this module. Return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, its gradient and every buffer by `fn(data)`."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with no_grad():
                parameter.data = fn(parameter)
                grad = parameter.grad
                if grad is not None:
                    parameter.grad = None  # its dtype must match the parameter's
                    grad.data = fn(grad)
                    parameter.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and/or cast floating-point parameters and buffers: `to(device)`, `to(dtype)`, `to(tensor)`.

        This changes the module in place and returns it. Raise TypeError for a dtype that is not floating-point.
        """
        device, dtype, non_blocking = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise fail(
                TypeError,
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
                "Parameters need gradients, so use a floating-point dtype or requires_grad=False.",
            )

        def convert(tensor):
            return tensor.to(device, dtype if tensor.is_floating_point() else None, non_blocking)

        return self._apply(convert)

    def type(self, dst_type: DType | str) -> Self:
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast(self, dtype):
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor
        )

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast(autolab.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast(autolab.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast(autolab.float16)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout on) in the whole tree; with `mode=False`, set evaluation mode."""
        if not isinstance(mode, bool):
            raise fail(ValueError, "training mode is expected to be boolean", "Pass True or False.")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode in the whole tree. It does not turn off gradients; torch.no_grad() does."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or unfreeze (True) all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters, to None or (with `set_to_none=False`) to zeros."""
        reset_grads(self, self.parameters(), set_to_none)

    # repr ----------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text between the parentheses of the repr; override it to show a module's settings."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {indented(repr(module), 2)}" for name, module in self._modules.items()
        ]
        if not extra_lines and not child_lines:
            return f"{self._get_name()}()"
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra_lines + child_lines) + "\n)"

    def __dir__(self) -> list[str]:
        tables = dir(type(self)), self.__dict__, self._parameters, self._modules, self._buffers
        names = [name for table in tables for name in table]
        return sorted(name for name in names if not name[0].isdigit())
