"""The base class of layers whose constructor only keeps settings: activations, losses, pooling, convolutions.

Such a class annotates its settings in the order of PyTorch's constructor, as a dataclass does. Its `__init__`,
`forward` and `extra_repr` follow from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

import autolab
from autolab.engine.core.tensor import Tensor
from autolab.engine import generated
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter


@dataclass_transform(eq_default=False)
class Layer(Module):
    """A layer that calls `_function` with its input and, by position, the attributes that `_settings` names.

    `class ELU(Layer, function=F.elu)` takes its settings from the annotations of the class, or of its base class if it
    has none; `settings` lists them when the function takes them in another order. The repr shows the settings that
    `hidden` does not list.
    """

    _function: ClassVar[Callable[..., Any]]
    _fields: ClassVar[dict[str, str]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}
    _settings: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[tuple[str, ...]] = ()
    _shares_init: ClassVar[bool] = (
        False  # whether errors name this class for those derived from it, as PyTorch's do
    )

    def __init_subclass__(cls, function=None, settings="", hidden="", **options):
        super().__init_subclass__(**options)
        if function is None:  # a class that a user derives
            return
        cls._function = staticmethod(function)
        if cls.__annotations__:
            cls._fields = dict(cls.__annotations__)
            cls._defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
            for name in cls._defaults:  # a parameter of that name must not find a class attribute
                delattr(cls, name)
            cls._settings = tuple(cls._fields)
        cls._settings = tuple(settings.split()) or cls._settings
        cls._hidden = tuple(hidden.split()) or cls._hidden
        inherited = getattr(cls.__base__, "_shares_init", False)
        if "__init__" not in vars(cls) and not inherited:
            cls.__init__ = _constructor(cls)

    def _set_up(self, settings):
        """Make the module and keep its settings. This is what `__init__` does."""
        Module.__init__(self)
        for name, value in settings.items():
            setattr(self, name, value)

    def _make_parameters(self, shapes, **options):
        """Add an empty parameter for each name of `shapes`, and None where the shape is None."""
        for name, shape in shapes.items():
            empty = None if shape is None else Parameter(autolab.empty(shape, **options))
            self.register_parameter(name, empty)

    def forward(self, input: Tensor) -> Any:
        """Return the function of `input`."""
        return self._function(input, *[getattr(self, name) for name in self._settings])

    def extra_repr(self) -> str:
        """Return the settings; `inplace` only when it is True."""
        names = [name for name in self._settings if name not in self._hidden]
        shown = {name: getattr(self, name) for name in names}
        if not shown.get("inplace", True):
            del shown["inplace"]
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def _constructor(cls):
    """Return an `__init__` that takes the fields of `cls`, so that Python's own errors name them."""
    arguments = []
    for name, kind in cls._fields.items():
        default = f"{name}={name}" if name in cls._defaults else name
        arguments.append("*" if kind == "KW_ONLY" else default)
    names = [name for name, kind in cls._fields.items() if kind != "KW_ONLY"]
    values = ", ".join(f"{name!r}: {name}" for name in names)
    source = f"def __init__({', '.join(['self', *arguments])}): self._set_up({{{values}}})"
    init = generated.function(
        "__init__", source, dict(cls._defaults), f"nn/<constructor of {cls.__name__}>"
    )
    init.__qualname__, init.__module__ = f"{cls.__name__}.__init__", cls.__module__
    init.__annotations__ = {name: cls._fields[name] for name in names} | {"return": "None"}
    return init


def shown_unless_default(layer, defaults):
    """Return ", name=value" for each attribute of `layer` that differs from its value in `defaults`."""
    values = {name: getattr(layer, name) for name in defaults}
    return "".join(f", {name}={v}" for name, v in values.items() if v != defaults[name])
