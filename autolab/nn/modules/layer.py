"""The base class of layers whose constructor only stores settings: activations, losses, pooling, convolutions.

Such a class annotates its settings in the order of PyTorch's constructor, as a dataclass does. Its `__init__`,
`forward` and `extra_repr` are derived from the annotations.
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
    """A layer that calls `_function` with its input, followed by the attributes named in `_settings`, by position.

    `class ELU(Layer, function=F.elu)` reads its settings from the annotations of the class, or of its base class if it
    has none. `settings` lists them if the function takes them in another order. The repr shows all settings that are
    not in `hidden`.
    """

    _function: ClassVar[Callable[..., Any]]
    _fields: ClassVar[dict[str, str]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}
    _settings: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[tuple[str, ...]] = ()
    _shares_init: ClassVar[bool] = (
        False  # as in PyTorch: whether errors name this class for subclasses too
    )

    def __init_subclass__(cls, function=None, settings="", hidden="", **options):
        super().__init_subclass__(**options)
        if function is None:  # a subclass written by a user
            return
        cls._function = staticmethod(function)
        if cls.__annotations__:
            cls._fields = dict(cls.__annotations__)
            cls._defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
            # a parameter of this name must not be hidden by a class attribute
            for name in cls._defaults:
                delattr(cls, name)
            cls._settings = tuple(cls._fields)
        cls._settings = tuple(settings.split()) or cls._settings
        cls._hidden = tuple(hidden.split()) or cls._hidden
        inherited = getattr(cls.__base__, "_shares_init", False)
        if "__init__" not in vars(cls) and not inherited:
            cls.__init__ = _constructor(cls)

    def _set_up(self, settings):
        """Initialize the module and store its settings; `__init__` calls this."""
        Module.__init__(self)
        for name, value in settings.items():
            setattr(self, name, value)

    def _make_parameters(self, shapes, **options):
        """Add an empty parameter for each name in `shapes`, or None if its shape is None."""
        for name, shape in shapes.items():
            empty = None if shape is None else Parameter(autolab.empty(shape, **options))
            self.register_parameter(name, empty)

    def forward(self, input: Tensor) -> Any:
        """Apply the layer's function to `input`."""
        return self._function(input, *[getattr(self, name) for name in self._settings])

    def extra_repr(self) -> str:
        """Return the settings; `inplace` only if it is True."""
        names = [name for name in self._settings if name not in self._hidden]
        shown = {name: getattr(self, name) for name in names}
        if not shown.get("inplace", True):
            del shown["inplace"]
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def _constructor(cls):
    """Return an `__init__` whose arguments are the fields of `cls`, so that Python's own errors name them."""
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
