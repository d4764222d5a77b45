"""The kinds of arguments: PyTorch's name for each, the values that it accepts, and how they are converted.

In `signatures.txt` a kind stands before the name of an argument: `int dim`. After the kind, `?` means that None is
allowed, and `[1]` that one value may replace the list.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from ..core.dtype import dtype
from ..core.errors import bad_argument, fail, type_name
from ..core.tensor import TENSOR_CLASSES, Tensor
from ..devices.device import device
from .arguments import misfit_in_list, numbers_of
from .layout import layout
from .random import Generator

NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""NumPy's names for arguments, which are accepted too."""

# These markers stand for a list of ints, or of tensors, in a set of classes.
INTS, LISTED_TENSORS = type("INTS", (), {}), type("LISTED_TENSORS", (), {})


def _number(value):
    """Return whether a tensor is accepted as a number."""
    return isinstance(value, Tensor) and not value.ndim and not value.requires_grad


def _an_int(value):
    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, (int, np.integer)) or _number(value) and value.dtype.is_integer


def an_index(value):
    """Return whether `value` may be the first element of a list of ints."""
    return (
        _an_int(value)
        or isinstance(value, Tensor)
        and value.dtype.is_integer
        and value.numel() == 1
    )


def _a_float(value):
    return isinstance(value, (float, int, np.floating, np.integer, np.bool_)) or _number(value)


def _of(*classes):
    return lambda value: isinstance(value, classes)


def _list(first):
    """Return a test that accepts a list if `first` accepts its first element."""
    return lambda value: isinstance(value, (tuple, list)) and (not value or first(value[0]))


def _item(value):
    return value.item() if isinstance(value, (np.generic, Tensor)) else value


def _python(value):
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Kind:
    """One kind of argument."""

    shown: str  # PyTorch's name for the kind
    plain: set[Any]  # classes whose values are accepted unchanged
    fits: Callable[[Any], bool]
    brought: Callable[[Any], Any] = _python  # converts an accepted value to Python numbers


_NUMBERS = {float, int, bool}
KINDS = {
    "Tensor": Kind("Tensor", TENSOR_CLASSES, _of(Tensor)),
    "operand": Kind(
        "Tensor",
        {Tensor, *_NUMBERS},
        lambda v: isinstance(v, Tensor) or _a_float(v),
    ),
    "int": Kind("int", {int}, _an_int, operator.index),
    "size": Kind("int", {int}, an_index, operator.index),
    "bool": Kind("bool", {bool}, _of(bool)),
    "float": Kind("float", {float, int}, _a_float, _item),
    "Number": Kind(
        "Number",
        _NUMBERS,
        _a_float,
        _item,
    ),
    "str": Kind("str", {str}, _of(str)),
    "object": Kind(
        "object", {Tensor, list, tuple, np.ndarray, *_NUMBERS}, lambda v: True, lambda v: v
    ),
    "dtype": Kind(
        "torch.dtype", {dtype}, lambda v: isinstance(v, dtype) or v in (float, int, bool)
    ),
    "device": Kind(
        "torch.device", {str, device}, lambda v: isinstance(v, (str, device)) or _an_int(v)
    ),
    "layout": Kind("torch.layout", {layout}, _of(layout)),
    "format": Kind("torch.memory_format", set(), lambda v: False),  # not supported
    "Generator": Kind("torch.Generator", {Generator}, _of(Generator)),
    "Tensor[]": Kind("tuple of Tensors", {LISTED_TENSORS}, _of(tuple, list)),
    "int[]": Kind("tuple of ints", {INTS}, _list(an_index)),
    "float[]": Kind("tuple of floats", set(), _list(_a_float)),
    "Number[]": Kind("tuple of Scalars", set(), _list(_a_float)),
}


class Parameter:
    """One argument of a signature."""

    def __init__(self, text, keyword_only=False):
        declared, _, default = text.partition("=")
        kind, self.name = declared.split(" ")
        self.empty = default in ("()", "[]")  # the value that None means
        self.none = (
            kind.endswith("?") or default == "None" or self.empty
        )  # whether None means that the argument is missing
        self.one = "[1]" in kind  # whether one number may replace the list
        kind = kind.rstrip("?").replace("[1]", "[]")
        self.kind, self.spread = KINDS[kind], kind == "int[]"
        self.optional, self.keyword_only = bool(default), keyword_only
        self.names = (self.name, *NUMPY_NAMES.get(self.name, ()))
        self.text = f"{self.kind.shown} {self.name}" + (
            f" = {default}" if default not in ("", "...") else ""
        ).replace("'", '"')

    def classes(self):
        """Return the classes whose values are accepted unchanged."""
        plain = self.kind.plain | ({int} if self.one else set())
        return plain | {NoneType} if self.none and not self.empty else plain

    def fits(self, value):
        """Return whether this argument accepts `value`."""
        return value is None and self.none or self.kind.fits(value) or self.one and an_index(value)

    def brought(self, function, value):
        """Return `value`, already accepted, in the form that the function's body expects: with Python numbers.

        Raise TypeError for a later element of a list that has the wrong type."""
        if value is None:
            return () if self.empty else None
        if self.spread:
            return (
                numbers_of(function, self.name, value)
                if isinstance(value, (tuple, list))
                else operator.index(value)
            )
        if LISTED_TENSORS in self.kind.plain and value.__class__ in (tuple, list):
            for place, item in enumerate(value):
                if not isinstance(item, Tensor) and (item is not None or self.name != "indices"):
                    message = f"expected Tensor as element {place} in argument 0, but got {type_name(item)}"
                    raise fail(TypeError, message, f"'{self.name}' is a list of tensors.")
        return self.kind.brought(value)

    def refused(self, function, value, position=None):
        """Return PyTorch's TypeError for a `value` that is not accepted."""
        if position and self.kind.shown.startswith("tuple") and isinstance(value, (tuple, list)):
            return misfit_in_list(function, self.name, position, self.kind.shown, value)
        return bad_argument(function, self.name, position, self.kind.shown, value)


def check_settings(function, *settings):
    """Raise PyTorch's TypeError for the first of `settings`, (name, position, kind, value), whose value has the wrong
    kind.

    Use this for functions that PyTorch writes in Python: there, the inner `function` checks these settings."""
    for name, position, kind, value in settings:
        if value.__class__ not in KINDS[kind.rstrip("?")].plain:
            parameter = Parameter(f"{kind} {name}")
            if not parameter.fits(value):
                raise parameter.refused(function, value, position)
