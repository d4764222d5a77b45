"""`nn.Module`: the tree of parameters, buffers and submodules that every network is.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike, parse_to
from autolab.nn.modules.hooks import ModuleHooks
from autolab.nn.modules.state import ModuleState
from autolab.nn.parameter import Parameter, _remember_name
from autolab.utils._shared import reset_grads, typename
from autolab.engine.core.dtype import dtype as DType


def _before_init(what):
    return fail(
        AttributeError,
        f"cannot assign {what} before Module.__init__() call",
        "Call super().__init__() first thing in your module's __init__.",
    )


def indented(text, spaces):
    """Return `text` with every line but the first moved right (blank lines stay blank)."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


class Module(ModuleHooks, ModuleState):
    """Base class of all networks: assign parameters and submodules as attributes, write `forward`.

    Attributes of type `Parameter` are found by `parameters()`, attributes of type `Module` by `modules()`.
    `training` tells layers such as dropout which mode they are in; `train()` and `eval()` set it.

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

    _version = 1  # of the state dict's format, written to its metadata

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            message = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                message = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            message = f"{type(self).__name__}.__init__() {message}"
            raise fail(TypeError, message, "nn.Module.__init__ takes no arguments.")
        set_plain = super().__setattr__  # our own looks into the dicts that are made here
        set_plain("training", True)
        set_plain("_parameters", {})
        set_plain("_buffers", {})
        set_plain("_non_persistent_buffers_set", set())
        self._init_hooks()
        set_plain("_modules", {})

    def forward(self, *input):
        """Compute the output of the module. Every module overrides it; call the module itself, not `forward`."""
        raise fail(
            NotImplementedError,
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            "Define forward(self, x) in your module, indented like __init__.",
        )

    # registering ---------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is no parameter; not in the state dict if not `persistent`."""
        self._check_new_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise fail(
                TypeError,
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)",
                "A buffer is a tensor: wrap the value in torch.tensor(...).",
            )
        self._buffers[name] = tensor
        _remember_name(tensor, name)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a `Parameter` (or None, a place for one) under `name`."""
        self._check_new_name("parameter", "_parameters", name)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise fail(
                TypeError,
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)",
                "Wrap the tensor: nn.Parameter(tensor).",
            )
        if param.grad_fn is not None:
            raise fail(
                ValueError,
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                "the forward() method.",
                "A parameter is a leaf: nothing computes it.",
            )
        self._parameters[name] = param
        _remember_name(param, name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under `name`, as `self.name = module` does."""
        if not isinstance(module, Module) and module is not None:
            raise fail(
                TypeError,
                f"{typename(module)} is not a Module subclass",
                "Submodules derive from nn.Module.",
            )
        self._check_new_name("module", "_modules", name)
        self._modules[name] = module

    register_module = add_module

    def _check_new_name(self, kind, table, name):
        """Raise what torch raises for a name that cannot be registered in `table`."""
        if table not in self.__dict__:
            raise _before_init(kind)
        if not isinstance(name, str):
            raise fail(
                TypeError,
                f"{kind} name should be a string. Got {typename(name)}",
                "The name must be a string, because it becomes an attribute name.",
            )
        problems = {
            f"attribute '{name}' already exists": hasattr(self, name)
            and name not in getattr(self, table),
            f'{kind} name can\'t contain "."' + f", got: {name}" * (kind == "module"): "." in name,
            f'{kind} name can\'t be empty string ""': name == "",
        }
        for message, holds in problems.items():
            if holds:
                raise fail(
                    KeyError,
                    message,
                    "Choose a name without dots that the module does not use yet.",
                )

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            if name in own.get(table, ()):
                return own[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise _before_init("parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                note = (
                    "Wrap it in nn.Parameter, or change the numbers in place under torch.no_grad()."
                )
                raise _wrong_type("parameter", name, value, "torch.nn.Parameter", note)
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise _before_init("module")
            self._forget(name, "_parameters", "_buffers")
            self._modules[name] = value
        elif name in own.get("_modules", ()):
            if value is not None:
                note = "This attribute holds a submodule: assign a module."
                raise _wrong_type("child module", name, value, "torch.nn.Module", note)
            self._modules[name] = None
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                expected = "torch.nn.Buffer, torch.Tensor"
                raise _wrong_type("buffer", name, value, expected, "A buffer is a tensor.")
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            super().__setattr__(name, value)

    def _forget(self, name, *tables):
        """Drop `name` wherever else it is known, before it is registered again."""
        for table in (self.__dict__, *(self.__dict__[t] for t in tables)):
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # finding -------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the submodule at the dotted path `target`, e.g. "layers.0"; "" is the module itself."""
        module = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name, Module, "an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module) -> None:
        """Put `module` at the dotted path `target`."""
        path, _, name = target.rpartition(".")
        self.get_submodule(path).add_module(name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at the dotted path `target`, e.g. "layers.0.weight"."""
        path, _, name = target.rpartition(".")
        return _attribute(self.get_submodule(path), name, Parameter, "an nn.Parameter")

    def _named_members(self, table, prefix, recurse, remove_duplicate):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in getattr(module, table).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self,
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield pairs (dotted name, parameter); a shared parameter comes once unless `remove_duplicate=False`."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters, own ones first: what an optimizer takes."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self,
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield pairs (dotted name, buffer)."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield all buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield pairs (name, direct submodule), each submodule once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self,
        memo: set[Module] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Module]]:
        """Yield pairs (dotted path, module) of the whole tree, beginning with ("", self)."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield all modules of the tree, beginning with this one."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # changing all at once ------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every submodule (children first), then on this module. Returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, its gradient and every buffer by `fn` of it."""
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
                    parameter.grad = None  # its dtype must follow the parameter's
                    grad.data = fn(grad)
                    parameter.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and/or cast floating-point parameters and buffers: `to(device)`, `to(dtype)`, `to(tensor)`.

        In place; returns the module. Raises TypeError for a dtype that is not floating-point.
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
        """Set training mode (dropout on) in the whole tree, or evaluation mode with `mode=False`."""
        if not isinstance(mode, bool):
            raise fail(ValueError, "training mode is expected to be boolean", "Pass True or False.")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode in the whole tree. It does not switch gradients off: that is torch.no_grad()."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or unfreeze (True) all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters, to None or (with `set_to_none=False`) to zeros."""
        reset_grads(self, self.parameters(), set_to_none)

    # showing -------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the repr; override it to show a module's settings."""
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


def _wrong_type(what, name, value, expected, note):
    message = f"cannot assign '{typename(value)}' as {what} '{name}' ({expected} or None expected)"
    return fail(TypeError, message, note)


def _attribute(module, name, kind, words):
    """Return the attribute `name` of a module. Raises AttributeError unless it is there and of `kind`."""
    note = "See named_modules(), named_parameters() and named_buffers() for the names that exist."
    if not hasattr(module, name):
        raise fail(AttributeError, f"{module._get_name()} has no attribute `{name}`", note)
    value = getattr(module, name)
    if not isinstance(value, kind):
        raise fail(AttributeError, f"`{name}` is not {words}", note)
    return value
