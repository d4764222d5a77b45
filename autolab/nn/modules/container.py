"""Containers of modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.

Source: https://docs.pytorch.org/docs/stable/nn.html#containers
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, Self

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.utils._shared import typename


def _position(index, size):
    """Return `index` counted from the front. Raise IndexError if it is outside a container of `size` elements."""
    index = operator.index(index)
    if not -size <= index < size:
        raise fail(
            IndexError, f"index {index} is out of range", f"The container has {size} elements."
        )
    return index % size


def _check_iterable(values, method, expected, note):
    if not isinstance(values, Iterable) or isinstance(values, Tensor):
        message = f"{method} should be called with {expected}, but got {type(values).__name__}"
        raise fail(TypeError, message, note)


def _pairs(values, name):
    """Return the (key, value) pairs of a mapping or of an iterable of pairs."""
    expected = "an iterable of key/value pairs"
    _check_iterable(values, f"{name}.update", expected, "Pass a dict or a list of pairs.")
    return values.items() if hasattr(values, "items") else list(values)


class _Numbered(Module):
    """The base of Sequential and ModuleList: modules under the names "0", "1", …."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _key(self, index):
        return list(self._modules)[_position(index, len(self))]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        for key in list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]:
            delattr(self, key)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def append(self, module: Module) -> Self:
        """Add a module at the end. Return the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add all of `modules` at the end. Return the container."""
        note = "Use append for a single module."
        _check_iterable(modules, f"{self._get_name()}.extend", "an iterable", note)
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove and return the module (or the modules of a slice)."""
        value = self[key]  # type: ignore[index]
        del self[key]
        return value

    def insert(self, index: Any, module: Module) -> Self:
        """Insert a module before position `index`. Raise IndexError if it is outside the container."""
        n = len(self)
        if not -n <= index <= n:
            raise fail(
                IndexError, f"Index out of range: {index}", f"The container has {n} modules."
            )
        modules = list(self)
        modules.insert(index, module)
        for i, m in enumerate(modules):
            self.add_module(str(i), m)
        return self


class Sequential(_Numbered):
    """A chain of modules: each is called with the output of the previous one.

    `Sequential(a, b)` names the modules "0", "1"; `Sequential(OrderedDict([("fc", a)]))` sets other names.

    Example:

        >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        >>> model
        Sequential(
          (0): Linear(in_features=4, out_features=8, bias=True)
          (1): ReLU()
          (2): Linear(in_features=8, out_features=1, bias=True)
        )
        >>> model(torch.zeros(2, 4)).shape
        torch.Size([2, 1])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[tuple[str, Any]] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Return the last module's output for `input`."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]


class ModuleList(_Numbered):
    """A list of submodules with indexing and iteration, but without a forward of its own.

    Example:

        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _key(self, index):
        return str(_position(index, len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __iadd__(self, modules: Iterable[Module]) -> Self:  # type: ignore[misc]
        return self.extend(modules)

    def __add__(self, other: Any) -> Any:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        lines, first = [], 0
        for text, group in groupby(map(repr, self)):
            last = first + len(list(group)) - 1
            number = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append((number + text).replace("\n", "\n  "))
            first = last + 1
        inside = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inside}\n)" if lines else f"{self._get_name()}()"


class _Named:
    """The base of ModuleDict and ParameterDict: dict methods for a class whose `__getitem__` finds a value by name."""

    _keys: dict[str, Any]

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        """Return the names of the values."""
        return self._keys.keys()

    def items(self) -> Any:
        """Return the pairs (name, value)."""
        return [(key, self[key]) for key in self._keys]  # type: ignore[index]

    def values(self) -> Any:
        """Return the values."""
        return [self[key] for key in self._keys]  # type: ignore[index]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]  # type: ignore[attr-defined]

    def pop(self, key: Any) -> Any:
        """Remove and return the value under `key`."""
        value = self[key]  # type: ignore[index]
        del self[key]  # type: ignore[attr-defined]
        return value


class ModuleDict(_Named, Module):
    """A dict of submodules, in insertion order."""

    def __init__(
        self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    @property
    def _keys(self) -> dict[str, Any]:  # type: ignore[override]
        return self._modules

    def __getitem__(self, key: Any) -> Any:
        return self._modules[key]

    def __setitem__(self, key: Any, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: Any) -> None:
        del self._modules[key]

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add all modules of a mapping or of an iterable of pairs; existing names are replaced."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _describe(value, of_tensor):
    """Return one line of the repr of a parameter container. of_tensor: a function that describes a tensor."""
    if not isinstance(value, Tensor):
        return "Object of type: " + type(value).__name__
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    device = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"{kind} containing: [{of_tensor(value)} of size {size}{device}]"


def _as_parameter(value):
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


class ParameterList(Module):
    """A list of parameters; tensors added to it become parameters, other values stay unchanged."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a value at the end. Return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add all of `values` at the end. Return the list."""
        note = "Use append for a single parameter."
        _check_iterable(values, "ParameterList.extend", "an iterable", note)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return one line for each value."""
        return "\n".join(
            f"  ({i}): {_describe(value, lambda t: t.dtype)}" for i, value in enumerate(self)
        )


class ParameterDict(_Named, Module):
    """A dict of parameters, in insertion order; tensors added to it become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            raise fail(
                TypeError,
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.",
                "Keys become attribute names, so they must be strings.",
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        delattr(self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value under `key`, or `default`."""
        return self[key] if key in self else default

    def update(self, parameters: Any) -> None:
        """Add all values of a mapping (a plain dict in sorted order, as in PyTorch) or of an iterable of pairs."""
        pairs = _pairs(parameters, "ParametersDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """Return one line for each value."""
        return "\n".join(f"  ({key}): {_describe(value, typename)}" for key, value in self.items())
