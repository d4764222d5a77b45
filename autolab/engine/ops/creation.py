"""Tensors from data: `tensor`, `as_tensor`, `from_numpy`, and the old constructors `Tensor`, `FloatTensor` …

Source: https://docs.pytorch.org/docs/2.13/torch.html#creation-ops
"""

import functools
import itertools
import warnings

import numpy as np

from ..devices import device as devices
from ..exact.arguments import Options, as_int, held_by, shape_of
from ..core.grad_mode import per_thread
from ..core.dtype import ALL, get_default_dtype, promote_types, python_scalar_dtype
from ..exact.dtypes import from_numpy_dtype
from ..exact.refusals import check_int64
from ..core.errors import fail, type_name
from .checks import refuse_if
from .functions import NAMESPACES, composite
from ..exact.rounding import cast
from ..methods.size import Size
from ..core.tensor import Tensor, materialise, wrap

_COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_NUMBERS = frozenset((bool, int, float))


# -- numbers to arrays -------------------------------------------------------------------------------------------------
def array_from(data, dtype=None):
    """Return a new array (a NumPy scalar for a single number) with the values of `data`: a number, nested sequences, an
    array or a tensor.

    dtype: the dtype of the result; if it is None, bool, int64, the default float dtype, or the dtype of `data`. Raise
    TypeError, ValueError or RuntimeError in PyTorch's words if `data` is not an array of numbers.
    """
    if isinstance(data, Tensor):
        return _cast_copy(devices.to_host(data._array), dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        return _cast_copy(checked(data), dtype)
    if isinstance(data, str):
        raise _not_a_number(data)
    shape = _shape(data)
    flat = _flattened(data, shape)
    kinds = set(map(type, flat))
    if dtype is None:
        dtype = _common_dtype(flat, kinds)
    if not kinds <= _NUMBERS:
        flat = [_number(x, dtype) for x in flat]
    return _converted(flat, dtype).reshape(shape)[()]


def checked(array):
    """Return `array` if a tensor can share its memory. Raise TypeError or ValueError in PyTorch's words if not."""
    from_numpy_dtype(array.dtype)
    refuse_if(
        any(stride < 0 for stride in array.strides),
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently supported. (You can probably work around this by making a copy of your array  with "
        "array.copy().) ",
        "Slices such as a[::-1] run backwards through memory.",
        ValueError,
    )
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
    known = (Tensor, str, dict, *_NUMBERS)
    return hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, known)


def _shape(data):
    """Return the sizes of nested sequences, taken from the first element of each level."""
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    note = "A tensor cannot hold text. Convert it to numbers first with float(...) or int(...)."
    refuse_if(isinstance(data, str), "too many dimensions 'str'", note, ValueError)
    return tuple(shape)


def _flattened(data, shape):
    """Return the numbers of nested sequences in a flat list. Raise TypeError or ValueError for rows of different
    lengths."""
    if 0 in shape:
        return []
    level = [data]
    for dim, size in enumerate(shape):
        for row in level:
            if not _is_sequence(row):
                raise fail(
                    TypeError,
                    "not a sequence",
                    "At the same depth there are both numbers and lists. Nest the lists equally deep.",
                )
            if len(row) != size:
                message = f"expected sequence of length {size} at dim {dim} (got {len(row)})"
                raise fail(ValueError, message, "All rows of a tensor have the same length.")
        level = list(itertools.chain.from_iterable(level))
    return level


def _common_dtype(flat, kinds):
    """Return the dtype for a flat list of numbers. kinds: the types of the numbers."""
    if not flat:
        return get_default_dtype()
    if kinds <= _NUMBERS:
        ranked = (float, int, bool)
        return python_scalar_dtype(next(kind for kind in ranked if kind in kinds)())
    return functools.reduce(promote_types, [_dtype_of(x) for x in flat if not _is_sequence(x)])


def _dtype_of(x):
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (np.ndarray, np.generic)):
        return from_numpy_dtype(x.dtype)
    if isinstance(x, tuple(_NUMBERS)):
        return python_scalar_dtype(x)
    if isinstance(x, str):
        raise _not_a_number(x)
    note = "A tensor is made of real numbers, arrays or nested lists of them."
    raise fail(RuntimeError, f"Could not infer dtype of {type_name(x)}", note)


def _number(x, dtype):
    """Return `x` as a Python number, if a tensor of `dtype` can hold it."""
    if isinstance(x, Tensor):
        note = "To put tensors together use torch.stack([...]) or torch.cat([...])."
        message = "only one element tensors can be converted to Python scalars"
        refuse_if(x._array.size != 1, message, note, ValueError)
        if x.requires_grad:
            message = (
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )
            warnings.warn(message, UserWarning, stacklevel=7)
        return x._array.item()
    if isinstance(x, (np.ndarray, np.generic)) and x.size == 1:
        return x.item()
    if isinstance(x, tuple(_NUMBERS)):
        return x
    raise _bad_item(x, dtype)


def _converted(flat, dtype):
    """Return a flat list of numbers as an array of `dtype`."""
    if dtype.is_integer:
        for x in flat:
            if isinstance(x, int):
                check_int64(x)
        try:
            return np.array([held_by(x, dtype) for x in flat], dtype.np)
        except RuntimeError:
            message = f"value cannot be converted to type {dtype.name} without overflow"
            note = f"{str(flat):.60} lies outside what {dtype} can hold."
            raise fail(RuntimeError, message, note) from None
    double = np.float64 if dtype.is_floating_point else dtype.np
    return per_thread.state.run(cast, np.array(flat, double), dtype.np)


def _not_a_number(x):
    note = "A tensor cannot hold text. Convert it to numbers first with float(...) or int(...)."
    return fail(TypeError, f"new(): invalid data type '{type_name(x)}'", note)


def _bad_item(x, dtype):
    name, note = type_name(x), f"Every element has to be a number that {dtype} can hold."
    if dtype.is_integer:
        return fail(TypeError, f"'{name}' object cannot be interpreted as an integer", note)
    return fail(TypeError, f"must be real number, not {name}", note)


# -- public functions --------------------------------------------------------------------------------------------------
def _new(function, copied_by, options, data):
    """Return a new leaf with a copy of `data`. copied_by: the function's name in PyTorch's warning about a tensor as
    `data`."""
    made = Options(function, options)
    if isinstance(data, Tensor):
        warnings.warn(_COPY.format(copied_by), UserWarning, stacklevel=4)
    return made.tensor(array_from(data, made.dtype))


@composite()
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """Return a new leaf with a copy of `data`: a number, nested lists of numbers, a NumPy array or a tensor.

    Raise ValueError for ragged lists, TypeError or RuntimeError for values that are not numbers. Source: torch.tensor.
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory}
    return _new("tensor", "torch.tensor", options | {"requires_grad": requires_grad}, data)


@composite(method=True, function=False)
def new_tensor(self, data, *, dtype=None, device=None, **options):
    """Return `torch.tensor(data)` with this tensor's dtype and device unless others are given.

    Source: torch.Tensor.new_tensor.
    """
    options |= {"dtype": dtype or self.dtype, "device": device or self.device}
    return _new("new_tensor", "tensor.new_tensor", options, data)


@composite()
def as_tensor(data, dtype=None, device=None):
    """Return `data` as a tensor, without a copy if possible: a tensor is returned unchanged, an array shares its
    memory.

    Source: torch.as_tensor.
    """
    made = Options("as_tensor", {"dtype": dtype, "device": device})
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=made.dtype)
    if isinstance(data, np.ndarray) and (made.dtype is None or data.dtype == made.dtype.np):
        return from_numpy(data).to(made.device)
    return made.tensor(array_from(data, made.dtype))


@composite()
def from_numpy(ndarray):
    """Return a tensor that shares the memory of a NumPy array, so changes to one appear in the other.

    Raise TypeError for anything else, and for dtypes without an equivalent. Source: torch.from_numpy.
    """
    message = f"expected np.ndarray (got {type_name(ndarray)})"
    note = "For lists and numbers use torch.tensor(...)."
    refuse_if(not isinstance(ndarray, np.ndarray), message, note, TypeError)
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
def legacy_constructor(cls, *args, device=None):
    """Construct `torch.Tensor(2, 3)` (uninitialised), `torch.Tensor([2, 3])` (data) or `torch.Tensor(tensor)` (shared
    memory).

    The dtype is always the default float dtype; usually `torch.tensor` is the better choice. Source: torch.Tensor.
    """
    t = _legacy(get_default_dtype(), args, device)
    if cls is not Tensor:
        t.__class__ = cls
    return t


def _legacy(dtype, args, device=None):
    made = Options("new", {"device": device})
    data = args[0] if len(args) == 1 else args
    if isinstance(data, Tensor):
        there = data if device is None else data.to(made.device)
        return data.alias() if there is data else there
    if len(args) != 1 or isinstance(data, Size) or as_int(data) is not None:
        return made.tensor(np.empty(shape_of("new", args) if args else (0,), dtype.np))
    if isinstance(data, str):
        raise _not_a_number(data)
    message = f"new(): data must be a sequence (got {type(data).__name__})"
    note = "For a single number use torch.tensor(number)."
    refuse_if(not _is_sequence(data) and not isinstance(data, np.ndarray), message, note, TypeError)
    return made.tensor(np.asarray(array_from(data, dtype)))


@composite(method=True, function=False)
def new(self, *args, device=None):
    """Call the old constructor with this tensor's dtype and device: `x.new(2, 3)`, `x.new([1, 2])`. Source:
    torch.Tensor.new."""
    return _legacy(self.dtype, args, self.device if device is None else device)


class tensortype(type):
    """The type of `torch.FloatTensor` and similar classes; calling one makes a `torch.Tensor` of its dtype."""

    device_type = "cpu"

    def __call__(cls, *args, device=None):
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].dtype is not cls.dtype:
            message = f"expected a tensor of dtype {cls.dtype} (got {args[0].dtype})"
            raise fail(TypeError, message, f"Convert it instead: x.to({cls.dtype}).")
        return _legacy(cls.dtype, args, device)

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


tensortype.__module__ = "torch"


for _dtype in ALL:
    if _dtype.name not in ("uint16", "uint32", "uint64"):
        _body = {"dtype": _dtype, "__module__": "torch", "__doc__": f"Makes tensors of {_dtype}."}
        NAMESPACES[""][f"{_dtype.short}Tensor"] = tensortype(f"{_dtype.short}Tensor", (), _body)
