"""Tensors from data: `tensor`, `as_tensor`, `from_numpy`, and the old constructors `Tensor`, `FloatTensor` …

Source: https://docs.pytorch.org/docs/2.13/torch.html#creation-ops
"""

import functools
import itertools
import warnings

import numpy as np

from ..devices import device as devices
from ..exact.arguments import Options, no_match, shape_of
from ..core.grad_mode import per_thread
from ..core.dtype import ALL, get_default_dtype, promote_types, python_scalar_dtype
from ..exact.dtypes import from_numpy_dtype
from ..core.errors import fail, type_name
from .functions import NAMESPACES, composite
from ..exact.rounding import cast
from ..methods.size import Size
from ..core.tensor import Tensor, materialise, wrap

_COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_NUMBERS = frozenset((bool, int, float, complex))


# -- numbers to arrays -------------------------------------------------------------------------------------------------
def array_from(data, dtype=None):
    """A new array (a NumPy scalar for a single number) of `data`: a number, nested sequences, an array or a tensor.

    dtype: what to convert to; without it bool, int64, the default float or complex dtype, or the dtype `data` has.
    Raises TypeError, ValueError or RuntimeError in PyTorch's words for what is no array of numbers.
    """
    kind = data.__class__
    if kind in _NUMBERS:
        return _converted([data], dtype or python_scalar_dtype(data))[0]
    if isinstance(data, Tensor):
        return _cast_copy(devices.to_host(data._array), dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        if kind is not np.ndarray and data.dtype.kind == "O":
            raise _no_dtype(data)
        checked(data)
        return _cast_copy(data, dtype)
    if isinstance(data, (str, bytes)):
        raise _not_a_number(data)
    if not _is_sequence(data):
        raise _no_dtype(data) if dtype is None else _bad_item(data, dtype)
    _warn_of_arrays(data)
    shape = _shape(data)
    flat, problem = _flattened(data, shape)
    if dtype is None:
        dtype = _dtype_of_numbers(set(map(type, flat))) or _inferred(data)
    if problem:
        raise problem
    return _converted(flat, dtype).reshape(shape)


def checked(array):
    """`array`, if a tensor can share its memory. Raises TypeError or ValueError in PyTorch's words."""
    from_numpy_dtype(array.dtype)
    if any(stride < 0 for stride in array.strides):
        message = (
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
        raise fail(ValueError, message, "Slices such as a[::-1] run backwards through memory.")
    return array


def _cast_copy(array, dtype):
    if dtype is None or array.dtype == dtype.np:
        return array.copy(order="K") if array.ndim else array.copy()
    return per_thread.state.run(array.astype, dtype.np)


def _is_sequence(x):
    if isinstance(x, (list, tuple)):
        return True
    if isinstance(x, np.ndarray):
        return x.ndim > 0
    known = (Tensor, dict, set, frozenset, *_NUMBERS)
    return hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, known)


def _shape(data):
    """The sizes of nested sequences, read off the first element of each level."""
    shape = []
    while _is_sequence(data):
        if isinstance(data, str):
            message = "too many dimensions 'str'"
            raise fail(
                ValueError,
                message,
                "Text is no number; numbers read from a file need float(...) or int(...).",
            )
        if isinstance(data, bytes):
            raise _not_a_number(data)
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _flattened(data, shape):
    """The numbers of nested sequences in a flat list, and the error to raise if a level is ragged."""
    level = data
    if 0 in shape:
        return [], None
    for dim, size in enumerate(shape[1:], 1):
        for row in level:
            if not _is_sequence(row):
                return [], fail(
                    TypeError, "not a sequence", "Numbers and lists stand at the same depth here."
                )
            if len(row) != size:
                message = f"expected sequence of length {size} at dim {dim} (got {len(row)})"
                return [], fail(ValueError, message, "All rows of a tensor have the same length.")
        level = list(itertools.chain.from_iterable(level))
    return list(level), None


def _dtype_of_numbers(kinds):
    """The dtype of Python numbers of the given types; None if there are others or none at all."""
    if not kinds or not kinds <= _NUMBERS:
        return None
    first = (
        complex if complex in kinds else float if float in kinds else int if int in kinds else bool
    )
    return python_scalar_dtype(first())


def _inferred(x):
    """The dtype of anything, element by element. Raises RuntimeError or TypeError for what has none."""
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (np.ndarray, np.generic)):
        return from_numpy_dtype(x.dtype)
    if isinstance(x, (bool, int, float, complex)):
        return python_scalar_dtype(x)
    if isinstance(x, (str, bytes)):
        raise _not_a_number(x)
    if _is_sequence(x):
        return functools.reduce(promote_types, map(_inferred, x)) if len(x) else get_default_dtype()
    raise _no_dtype(x)


def _converted(flat, dtype):
    """A flat list of numbers as an array of `dtype`."""
    kinds = set(map(type, flat))
    if not kinds <= _NUMBERS:
        flat = [_number(x, dtype) for x in flat]
    elif dtype.name == "int64" and kinds <= {int, bool}:
        try:
            return np.array(flat, np.int64)
        except OverflowError:
            raise _too_big(max(flat, key=abs)) from None
    if dtype.is_integer:
        return _integers(flat, dtype)
    if dtype.is_floating_point and any(isinstance(x, complex) for x in flat):
        raise _bad_item(next(x for x in flat if isinstance(x, complex)), dtype)
    double = np.float64 if dtype.is_floating_point else dtype.np
    return per_thread.state.run(cast, np.array(flat, double), dtype.np)


def _number(x, dtype):
    """`x` as a Python number, if a tensor of `dtype` can hold it."""
    if type(x) in _NUMBERS:
        return x
    if isinstance(x, Tensor):
        if x._array.size != 1:
            message = "only one element tensors can be converted to Python scalars"
            raise fail(
                ValueError,
                message,
                "To put tensors together use torch.stack([...]) or torch.cat([...]).",
            )
        if x.requires_grad:
            message = (
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )
            warnings.warn(message, UserWarning, stacklevel=7)
        return x._array.item()
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc" and x.size == 1:
        return x.item()
    if isinstance(x, (bool, int, float, complex)):  # subclasses, such as members of an IntEnum
        return next(kind for kind in (bool, int, float, complex) if isinstance(x, kind))(x)
    raise _bad_item(x, dtype)


def _integers(flat, dtype):
    whole = []
    for x in flat:
        if isinstance(x, complex):
            raise _bad_item(x, dtype)
        try:
            whole.append(int(x))
        except (ValueError, OverflowError):  # NaN and infinities
            raise _overflow(x, dtype) from None
        if not -(1 << 63) <= whole[-1] < 1 << (64 if dtype.name == "uint64" else 63):
            if isinstance(x, float):
                raise _overflow(x, dtype)
            raise _too_big(x)
    info = np.iinfo(dtype.np)
    lowest = info.min if dtype.is_signed else -info.max
    for x in flat:
        if not (info.min if isinstance(x, float) else lowest) <= x <= info.max:
            raise _overflow(x, dtype)
    return np.array([x & info.max if x < 0 and not dtype.is_signed else x for x in whole], dtype.np)


def _too_big(x):
    return fail(
        ValueError,
        "Overflow when unpacking long long",
        f"{x} does not fit into 64 bits; use a float.",
    )


def _overflow(x, dtype):
    message = f"value cannot be converted to type {dtype.name} without overflow"
    return fail(RuntimeError, message, f"{x} lies outside what {dtype} can hold.")


def _no_dtype(x):
    note = "Only numbers, arrays and nested lists of numbers become a tensor."
    return fail(RuntimeError, f"Could not infer dtype of {type_name(x)}", note)


def _not_a_number(x):
    note = "Text is no number; numbers read from a file need float(...) or int(...)."
    return fail(TypeError, f"new(): invalid data type '{type_name(x)}'", note)


def _bad_item(x, dtype):
    name, note = type_name(x), f"Every element has to be a number that {dtype} can hold."
    if dtype.is_integer:
        return fail(TypeError, f"'{name}' object cannot be interpreted as an integer", note)
    return fail(TypeError, f"must be real number, not {name}", note)


def _warn_of_arrays(data):
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray):
        message = (
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to "
            "a single numpy.ndarray with numpy.array() before converting to a tensor."
        )
        warnings.warn(message, UserWarning, stacklevel=5)


# -- public functions --------------------------------------------------------------------------------------------------
@composite()
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf with a copy of `data`: a number, nested lists of numbers, a NumPy array or a tensor.

    Raises ValueError for ragged lists, TypeError and RuntimeError for what is no number. Source: torch.tensor.
    """
    given = {
        "dtype": dtype,
        "device": device,
        "requires_grad": requires_grad,
        "pin_memory": pin_memory,
    }
    made = Options("tensor", given)
    if isinstance(data, Tensor):
        warnings.warn(_COPY.format("torch.tensor"), UserWarning, stacklevel=3)
    return made.tensor(array_from(data, made.dtype))


@composite(method=True, function=False)
def new_tensor(
    self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
):
    """`torch.tensor(data)` with this tensor's dtype and device unless others are named.

    Source: torch.Tensor.new_tensor.
    """
    given = {
        "dtype": dtype or self.dtype,
        "device": device or self.device,
        "requires_grad": requires_grad,
    }
    made = Options("new_tensor", given | {"layout": layout, "pin_memory": pin_memory})
    if isinstance(data, Tensor):
        warnings.warn(_COPY.format("tensor.new_tensor"), UserWarning, stacklevel=3)
    return made.tensor(array_from(data, made.dtype))


@composite()
def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor without a copy where there need be none: a tensor stays itself, an array shares its memory.

    Source: torch.as_tensor.
    """
    made = Options("as_tensor", {"dtype": dtype, "device": device})
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=made.dtype)
    if isinstance(data, np.ndarray) and (made.dtype is None or data.dtype == made.dtype.np):
        return from_numpy(data) if made.device is devices.CPU else from_numpy(data).to(made.device)
    return made.tensor(array_from(data, made.dtype))


@composite()
def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array: each sees what the other changes.

    Raises TypeError for anything else and for dtypes without a counterpart. Source: torch.from_numpy.
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise fail(
            TypeError,
            f"expected np.ndarray (got {name})",
            "For lists and numbers use torch.tensor(...).",
        )
    checked(ndarray)
    if not ndarray.flags.writeable:
        message = (
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program."
        )
        warnings.warn(message, UserWarning, stacklevel=2)
    t = wrap(ndarray)
    materialise(t)
    return t


# -- the old constructors ----------------------------------------------------------------------------------------------
def legacy_constructor(cls, *args, **kwargs):
    """`torch.Tensor(2, 3)` (uninitialised), `torch.Tensor([2, 3])` (data), `torch.Tensor(tensor)` (the same memory).

    Always of the default float dtype; `torch.tensor` is what one usually wants. Source: torch.Tensor.
    """
    t = _legacy(get_default_dtype(), args, kwargs)
    if cls is not Tensor:
        t.__class__ = cls
    return t


def _legacy(dtype, args, kwargs, device=None):
    if (
        not args and len({"size", "other"} & kwargs.keys()) == 1
    ):  # by the names that PyTorch has for it
        args = tuple(
            Size(kwargs[name]) if name == "size" else kwargs[name]
            for name in ("size", "other")
            if name in kwargs
        )
        kwargs = {name: value for name, value in kwargs.items() if name == "device"}
    if set(kwargs) - {"device"}:
        signatures = ("*, torch.device device = None", "torch.Storage storage", "Tensor other")
        sized = (
            "tuple of ints size, *, torch.device device = None",
            "object data, *, torch.device device = None",
        )
        raise no_match("new", args, kwargs, signatures + sized)
    made = Options("new", kwargs if device is None else {"device": device} | kwargs)
    data = args[0] if len(args) == 1 else None
    if isinstance(data, Tensor):
        there = data.to(made.device) if device is not None or "device" in kwargs else data
        return data.alias() if there is data else there
    if (
        len(args) == 1
        and (isinstance(data, np.ndarray) or _is_sequence(data))
        and not isinstance(data, Size)
    ):
        return made.tensor(np.asarray(array_from(data, dtype)))
    if isinstance(data, str):
        raise _not_a_number(data)
    if (
        len(args) == 1
        and not isinstance(data, Size)
        and (isinstance(data, bool) or not hasattr(data, "__index__"))
    ):
        message = f"new(): data must be a sequence (got {type(data).__name__})"
        raise fail(TypeError, message, "For a single number use torch.tensor(number).")
    return made.tensor(np.empty(shape_of("new", args) if args else (0,), dtype.np))


@composite(method=True, function=False)
def new(self, *args, **kwargs):
    """The old constructor with this tensor's dtype and device: `x.new(2, 3)`, `x.new([1, 2])`. Source:
    torch.Tensor.new."""
    return _legacy(self.dtype, args, kwargs, self.device)


class tensortype(type):
    """The type of `torch.FloatTensor` and its kin: calling one makes a `torch.Tensor` of its dtype."""

    device_type = "cpu"

    def __call__(cls, *args, **kwargs):
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].dtype is not cls.dtype:
            message = f"expected a tensor of dtype {cls.dtype} (got {args[0].dtype})"
            raise fail(TypeError, message, f"Convert it instead: x.to({cls.dtype}).")
        return _legacy(cls.dtype, args, kwargs)

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


tensortype.__module__ = "torch"


for _dtype in ALL:
    if _dtype.name in ("uint16", "uint32", "uint64") or _dtype.is_complex:
        continue
    _name = f"{_dtype.short}Tensor"
    _body = {
        "dtype": _dtype,
        "__module__": "torch",
        "__doc__": f"`torch.Tensor` of {_dtype}: the old constructor.",
    }
    NAMESPACES[""][_name] = tensortype(_name, (), _body)
