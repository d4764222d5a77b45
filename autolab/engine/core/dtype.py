"""`dtype` objects and PyTorch's promotion rules.

NumPy's rules differ from PyTorch's for 0-d arrays and for int with float. The engine therefore decides the dtype here,
and converts the operands before a kernel runs. Source:
https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
import numpy as np

from .errors import fail, type_name

_CPP_NAMES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
}
"""The C++ name of each dtype, as PyTorch's messages show it."""


class dtype:
    """A data type: `torch.float32`. Attributes: `np` (the NumPy dtype), `itemsize` (bytes), `is_floating_point`,
    `is_signed`, `is_complex` (always False). The engine also uses `short` ('Float', as in 'torch.FloatTensor'),
    `cpp_name` (the C++ name in messages) and `one` (the starting gradient of a backward pass).

    >>> torch.float32.itemsize, torch.float32.is_floating_point, torch.int64.is_complex
    (4, True, False)
    """

    is_complex = False  # autolab has no complex numbers
    __slots__ = tuple(
        "name np cpp_name itemsize is_floating_point is_signed short category is_bool is_integer "
        "scalar one __weakref__".split()
    )

    def __init__(self, name: str, short: str):
        self.name, self.short, self.np = name, short, np.dtype(name)
        kind, self.itemsize, self.scalar = self.np.kind, self.np.itemsize, self.np.type
        self.is_bool, self.is_integer, self.is_signed = kind == "b", kind in "iu", kind in "if"
        self.is_floating_point = kind == "f"
        # the higher category wins
        self.category = "b ui f".split().index("ui" if kind in "ui" else kind)
        self.cpp_name = _CPP_NAMES.get(name, name)
        self.one = self.scalar(1)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.is_bool else self.name  # the name by which pickle finds the object


bool_ = dtype("bool", "Bool")
uint8 = dtype("uint8", "Byte")
int8 = dtype("int8", "Char")
int16 = dtype("int16", "Short")
int32 = dtype("int32", "Int")
int64 = dtype("int64", "Long")
uint16 = dtype("uint16", "UInt16")
uint32 = dtype("uint32", "UInt32")
uint64 = dtype("uint64", "UInt64")
float16 = dtype("float16", "Half")
float32 = dtype("float32", "Float")
float64 = dtype("float64", "Double")

ALL = tuple(value for value in vars().copy().values() if isinstance(value, dtype))
BY_NAME = {d.name: d for d in ALL}
FROM_NUMPY = {d.np: d for d in ALL}
NUMBERS = (int, float, np.integer, np.floating, np.bool_)
"""The classes of numbers that may stand in place of a tensor."""

_default = float32


def get_default_dtype() -> dtype:
    """Return the default dtype of floating-point tensors. Source: torch.get_default_dtype.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the default dtype of floating-point tensors. Raise TypeError for a dtype that is not floating-point. Source:
    torch.set_default_dtype.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        message = "only floating-point types are supported as the default type"
        message = (
            f"{message}, got {d}" if isinstance(d, dtype) else f"invalid dtype object: {message}"
        )
        note = "Gradients need floating-point numbers. Pass torch.float32 or torch.float64."
        raise fail(TypeError, message, note)
    _default = d


def python_scalar_dtype(value: object) -> dtype:
    """Return the dtype that torch gives a tensor made from one Python number.

    >>> python_scalar_dtype(True), python_scalar_dtype(2), python_scalar_dtype(2.5)
    (torch.bool, torch.int64, torch.float32)
    """
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    note = "A tensor is made of real numbers or nested lists of them."
    raise fail(RuntimeError, f"Could not infer dtype of {type_name(value)}", note)


@functools.cache
def promote_types(a: dtype, b: dtype) -> dtype:
    """Return the smallest dtype that holds both dtypes, by torch's table. Source: torch.promote_types.

    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    if a.category != b.category:
        return a if a.category > b.category else b
    if a.is_signed == b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if unsigned is uint8:
        return int16 if signed is int8 else signed
    raise fail(
        RuntimeError,
        f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.short} and {b.short}",
        "Convert one of them first, for example with .to(torch.int64).",
    )


def result_type_of(
    dim_dtypes: Iterable[dtype], zero_dtypes: Iterable[dtype], scalar_values: Iterable[object]
) -> dtype:
    """Return the dtype of a result by torch's three-level rule: the tensors with dimensions decide (`dim_dtypes`), then
    0-d tensors if of a higher category (`zero_dtypes`), then numbers (`scalar_values`).

    >>> result_type_of([int32], [float64], [])  # a 0-d tensor of a higher kind decides, as a number does
    torch.float64
    >>> result_type_of([float32], [float64], [2.5])
    torch.float32
    """
    result = None
    for level in (dim_dtypes, zero_dtypes, map(python_scalar_dtype, scalar_values)):
        dtypes = list(level)
        if dtypes:
            lower = functools.reduce(promote_types, dtypes)
            result = lower if result is None else _combine(result, lower)
    return result or _default


def _combine(higher: dtype, lower: dtype) -> dtype:
    """Return the dtype of two levels; the lower level counts only if its category is higher."""
    if higher is bool_ or lower.is_floating_point and not higher.is_floating_point:
        return promote_types(higher, lower)
    return higher
