"""`dtype` objects and PyTorch's promotion rules.

NumPy's rules differ from PyTorch's for 0-d arrays and for int with float, so promotion is decided here and operands are
converted before a kernel runs. Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import fail


class dtype:
    """A data type: `torch.float32`. Attributes: `np` (the NumPy dtype), `itemsize` (bytes), `is_floating_point`,
    `is_complex`.

    >>> torch.float32.itemsize, torch.float32.is_floating_point, torch.int64.is_complex
    (4, True, False)
    """

    __slots__ = (
        "name",
        "np",
        "np_name",
        "itemsize",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "short",
        "category",
        "is_bool",
        "is_integer",
        "is_inexact",
        "scalar",
        "one",
        "__weakref__",
    )

    def __init__(self, name: str, short: str):
        self.name = name
        self.np = np.dtype(name)
        self.scalar = self.np.type
        self.one = self.scalar(1)  # where a backward pass begins
        self.itemsize = self.np.itemsize
        self.is_bool = self.np.kind == "b"
        self.is_integer = self.np.kind in "iu"
        self.is_floating_point = self.np.kind == "f"
        self.is_complex = self.np.kind == "c"
        self.is_inexact = self.np.kind in "fc"  # floating or complex: what can have a gradient
        self.is_signed = self.np.kind in "ifc"
        self.np_name = {
            "float64": "double",
            "float32": "float",
            "int64": "long int",
            "int32": "int",
            "float16": "c10::Half",
        }.get(name, name)
        self.short = short  # 'Float', as in 'torch.FloatTensor' and in many messages
        self.category = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}[self.np.kind]  # torch's word: the higher one wins

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def to_complex(self) -> dtype:
        """The complex dtype of this precision: complex128 for float64, else complex64."""
        return complex128 if self is float64 else complex64

    def to_real(self) -> dtype:
        """The dtype of the parts of a complex one; any other itself."""
        return {complex64: float32, complex128: float64}.get(self, self)


def _by_name(name: str) -> dtype:
    return BY_NAME[name]


bool_ = dtype("bool", "Bool")
uint8 = dtype("uint8", "Byte")
int8 = dtype("int8", "Char")
int16 = short = dtype("int16", "Short")
int32 = int_ = dtype("int32", "Int")
int64 = long = dtype("int64", "Long")
uint16 = dtype("uint16", "UInt16")
uint32 = dtype("uint32", "UInt32")
uint64 = dtype("uint64", "UInt64")
float16 = half = dtype("float16", "Half")
float32 = float_ = dtype("float32", "Float")
float64 = double = dtype("float64", "Double")
complex64 = cfloat = dtype("complex64", "ComplexFloat")
complex128 = cdouble = dtype("complex128", "ComplexDouble")

ALL = (
    *(bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64),
    *(float16, float32, float64, complex64, complex128),
)
BY_NAME = {d.name: d for d in ALL}
FROM_NUMPY = {d.np: d for d in ALL}
NUMBERS = (int, float, complex, np.number, np.bool_)
"""The classes of what counts as a number beside a tensor."""

_default = float32


def get_default_dtype() -> dtype:
    """The dtype of floats that name none. Source: torch.get_default_dtype.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Sets the dtype of floats that name none.

    Raises TypeError for anything but a floating-point dtype. Source: torch.set_default_dtype.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise fail(
            TypeError,
            f"only floating-point types are supported as the default type, got {d}",
            "Gradients need numbers that can change by small amounts, so the default is float32 or float64.",
        )
    _default = d


def default_complex() -> dtype:
    """The dtype of complex numbers that name none.

    >>> default_complex()
    torch.complex64
    """
    return _default.to_complex()


def python_scalar_dtype(value: object) -> dtype:
    """The dtype torch gives a Python or NumPy number standing alone: bool, int64, the default float, the default
    complex.

    >>> python_scalar_dtype(True), python_scalar_dtype(2), python_scalar_dtype(2.5)
    (torch.bool, torch.int64, torch.float32)
    """
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return default_complex()
    raise fail(
        RuntimeError,
        f"Could not infer dtype of {type(value).__name__}",
        "Only numbers and nested lists of numbers become a tensor.",
    )


def _promote(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if a.category < b.category:
        a, b = b, a
    if a.category > b.category:
        if a.is_complex and b.is_floating_point and b is float64:
            return complex128
        return a
    if a.is_integer and (a in _WIDE_UNSIGNED or b in _WIDE_UNSIGNED):
        return _promote_wide_unsigned(a, b)
    if a.is_integer and a.is_signed != b.is_signed:  # uint8 with a signed type
        signed = a if a.is_signed else b
        return int16 if signed is int8 else signed
    return a if a.itemsize >= b.itemsize else b


_WIDE_UNSIGNED = (uint16, uint32, uint64)


def _promote_wide_unsigned(a: dtype, b: dtype) -> dtype:
    if not a.is_signed and not b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    raise fail(
        RuntimeError,
        f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.short} and {b.short}",
        "Convert one of them first, for example with .to(torch.int64).",
    )


_TABLE: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that holds both, by torch's table. Source: torch.promote_types.

    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    key = (a, b)
    found = _TABLE.get(key)
    if found is None:
        found = _TABLE[key] = _promote(a, b)
    return found


def result_type_of(dim_dtypes: Iterable[dtype], zero_dtypes: Iterable[dtype], scalar_values: Iterable[object]) -> dtype:
    """Torch's three-level rule: tensors with dimensions decide; 0-d tensors only if of a higher kind; Python numbers
    last.

    dim_dtypes, zero_dtypes: dtypes of the tensors with and without dimensions. scalar_values: Python numbers.

    >>> result_type_of([int32], [float64], [])  # a 0-d tensor of a higher kind decides, as a number does
    torch.float64
    >>> result_type_of([float32], [float64], [2.5])
    torch.float32
    """
    dims: dtype | None = None
    zeros: dtype | None = None
    wrapped: dtype | None = None
    for d in dim_dtypes:
        dims = d if dims is None else promote_types(dims, d)
    for d in zero_dtypes:
        zeros = d if zeros is None else promote_types(zeros, d)
    for v in scalar_values:
        d = python_scalar_dtype(v)
        wrapped = d if wrapped is None else promote_types(wrapped, d)
    return _combine(dims, _combine(zeros, wrapped)) or _default


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if higher is bool_ or lower.is_inexact:
        return promote_types(higher, lower)
    return higher
