"""The members of a module: parameters, buffers and submodules, and how to register and find them.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.parameter import Parameter, _remember_name
from autolab.utils._shared import typename

if TYPE_CHECKING:
    from autolab.nn.modules.module import Module


def _before_init(what):
    return fail(
        AttributeError,
        f"cannot assign {what} before Module.__init__() call",
        "Call super().__init__() first thing in your module's __init__.",
    )


class ModuleMembers:
    """The part of `Module` that stores the parameters, buffers and submodules assigned as attributes."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # registering ---------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not a parameter. If not `persistent`, it is left out of the
        state dict."""
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
        """Add a `Parameter`, or None as a placeholder, under `name`."""
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
        if not isinstance(module, ModuleMembers) and module is not None:
            raise fail(
                TypeError,
                f"{typename(module)} is not a Module subclass",
                "Submodules derive from nn.Module.",
            )
        self._check_new_name("module", "_modules", name)
        self._modules[name] = module

    register_module = add_module

    def _check_new_name(self, kind, table, name):
        """Raise torch's error for a name that cannot be registered in `table`."""
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
        elif isinstance(value, ModuleMembers):
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
        """Remove `name` from all tables before it is registered again."""
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
        module: Any = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name, ModuleMembers, "an nn.Module")
        return module

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
        """Yield pairs (dotted name, parameter). A shared parameter appears once unless `remove_duplicate=False`."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters, the module's own first, to pass to an optimizer."""
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
        memo: set[Any] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield pairs (dotted path, module) of the whole tree, starting with ("", self)."""
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
        """Yield all modules of the tree, starting with this one."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module


def _wrong_type(what, name, value, expected, note):
    message = f"cannot assign '{typename(value)}' as {what} '{name}' ({expected} or None expected)"
    return fail(TypeError, message, note)


def _attribute(module, name, kind, words):
    """Return the attribute `name` of a module. Raise AttributeError unless it exists and is of `kind`."""
    note = "See named_modules(), named_parameters() and named_buffers() for the names that exist."
    if not hasattr(module, name):
        raise fail(AttributeError, f"{module._get_name()} has no attribute `{name}`", note)
    value = getattr(module, name)
    if not isinstance(value, kind):
        raise fail(AttributeError, f"`{name}` is not {words}", note)
    return value
