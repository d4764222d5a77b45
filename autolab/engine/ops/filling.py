"""Tensors made from a shape or a rule: constants, ranges, identity, coordinate grids.

All of these functions return leaves. They accept `dtype=`, `device=` and `requires_grad=` (see `arguments.Options`).
Source: https://docs.pytorch.org/docs/2.13/torch.html#creation-ops
"""

import math
import warnings

import numpy as np

from ..exact.arguments import held_by, Options, shape_of
from ..core.dtype import get_default_dtype, int64, python_scalar_dtype
from ..exact.dtype_errors import not_implemented
from .checks import refuse_if
from .functions import composite
from ..exact.rounding import cast, fma
from ..core.tensor import Tensor
from .copies import order_of_copies


# -- constants ---------------------------------------------------------------------------------------------------------
def _filled(made, shape, dtype, value, like=None):
    """Return a tensor filled with the number `value` (None: uninitialized), with the memory order of the tensor
    `like`."""
    name, number = "full", (None if value is None else held_by(value, dtype),)
    if value is None or value.__class__ is int and value in (0, 1):
        name, number = {None: "empty", 0: "zeros", 1: "ones"}[value], ()
    if like is None or like._storage.device is not made.device:
        return made.computed(lambda xp: getattr(xp, name)(shape, *number, dtype.np))
    order, name = order_of_copies(like._array), f"{name}_like"
    return made.computed(lambda xp: getattr(xp, name)(like._array, *number, dtype.np, order))


def _register_constant(name, value, words):
    """Make `<name>`, `<name>_like` and `new_<name>` public. words: the description of their values in the
    docstrings."""

    @composite(name)
    def of_a_size(*size, **options):
        made = Options(name, options)
        return _filled(made, shape_of(name, size), made.dtype_or_default(), value)

    @composite(f"{name}_like")
    def of_its_shape(input, **options):
        made = _like(f"{name}_like", input, options)
        return _filled(made, input._array.shape, made.dtype, value, input)

    @composite(f"new_{name}", method=True, function=False)
    def of_a_shape(self, *size, **options):
        made = _like(f"new_{name}", self, options)
        return _filled(made, shape_of(f"new_{name}", size), made.dtype, value)

    of_a_size.__doc__ = f"Return {words} of the given shape: `{name}(2, 3)` or `{name}((2, 3))`. Source: torch.{name}."
    of_its_shape.__doc__ = (
        f"Return {words} with the shape, dtype and device of `input`; they never require grad by themselves. "
        f"Source: torch.{name}_like."
    )
    of_a_shape.__doc__ = f"Return {words} of the given shape with this tensor's dtype and device. Source: torch.Tensor.new_{name}."


_register_constant("zeros", 0, "zeros")
_register_constant("ones", 1, "ones")
_register_constant("empty", None, "numbers that were in memory before")


@composite()
def full(size, fill_value, **options):
    """Return a tensor of the given shape filled with `fill_value` (a number); its type decides the dtype unless one is
    given.

    Raise RuntimeError if the dtype cannot hold the value. Source: torch.full.
    """
    made, shape = Options("full", options), shape_of("full", size)
    return _filled(made, shape, made.dtype or python_scalar_dtype(fill_value), fill_value)


@composite()
def full_like(input, fill_value, **options):
    """Return a tensor like `input` (shape, dtype, device) filled with `fill_value`. Source: torch.full_like."""
    made = _like("full_like", input, options)
    return _filled(made, input._array.shape, made.dtype, fill_value, input)


@composite(method=True, function=False)
def new_full(self, size, fill_value, **options):
    """Return a tensor of the given shape filled with `fill_value`, with this tensor's dtype and device. Source:
    torch.Tensor.new_full."""
    made = _like("new_full", self, options)
    return _filled(made, shape_of("new_full", size), made.dtype, fill_value)


# -- tensors like another tensor ---------------------------------------------------------------------------------------
def like(function, input, options):
    """Return the Options for a tensor like `input`, and an uninitialised host array with its shape and memory order.

    Raise TypeError unless `input` is a tensor.
    """
    made = _like(function, input, options)
    here = (
        input._array
        if isinstance(input._array, (np.ndarray, np.generic))
        else np.broadcast_to(np.empty((), made.dtype.np), input._array.shape)
    )
    return made, np.empty_like(here, made.dtype.np, order_of_copies(input._array))


def _like(function, input, options):
    given = {
        name: value
        for name, value in options.items()
        if value is not None or name not in ("dtype", "device")
    }
    return Options(function, {"dtype": input.dtype, "device": input.device} | given)


# -- ranges ------------------------------------------------------------------------------------------------------------
@composite()
def arange(*, start=0, end, step=1, **options):
    """Return numbers from `start` (0) up to but not including `end`, with the distance `step` (1).

    The dtype is int64 if all three are integers, else the default float dtype. Raise RuntimeError if the step leads
    away from `end`. Source: torch.arange.
    """
    made = Options("arange", options)
    whole = all(isinstance(number, int) for number in (start, end, step))
    dtype = _refuse_bool("arange", made.dtype or (int64 if whole else get_default_dtype()))
    _check_range(start, end, step)
    if not dtype.is_integer:
        count = math.ceil((end - start) / step)
        return made.generated(_float_range(count, np.float64(start), np.float64(step), dtype))
    message, note = "step must be nonzero", f"As {dtype} the step is 0; convert the result instead."
    refuse_if(not int(step), message, note, ValueError)
    return made.generated(np.arange(int(start), int(end), int(step)).astype(dtype.np))


def _refuse_bool(function, dtype):
    """Return `dtype`. Raise NotImplementedError in PyTorch's words for bool."""
    if dtype.is_bool:
        raise not_implemented(f"{function}_cpu", dtype.np)
    return dtype


def _check_range(start, end, step):
    message = "step must be nonzero"
    refuse_if(step == 0, message, "The step must not be 0.")
    message = "upper bound and lower bound inconsistent with step sign"
    note = f"Steps of {step} lead from {start} away from {end}."
    refuse_if((end - start) * step < 0, message, note)


def _float_range(count, start, step, dtype):
    """Return values that are `start + i * step` rounded once, in the order of PyTorch's vector loop.

    That loop takes whole pairs of 256-bit registers. The first value of a register is rounded to the dtype, and the
    others are computed from it. The remaining values are computed one by one.
    """
    lanes = 32 // dtype.itemsize
    i = np.arange(count, dtype=np.float64)
    head = i[: count - count % (2 * lanes)]
    block = head // lanes * lanes
    first = cast(fma(block, step, start), dtype.np).astype(np.float64)
    rest = fma(i[len(head) :], step, start)
    return cast(np.concatenate((fma(head - block, step, first), rest)), dtype.np)


@composite(name="range")
def inclusive_range(start, end, step=1, **options):
    """Return numbers from `start` up to and including `end`; PyTorch recommends `arange` instead. Source:
    torch.range."""
    message = (
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    warnings.warn(message, UserWarning, stacklevel=3)
    made = Options("range", options)
    _check_range(start, end, step)
    i = np.arange(math.floor((end - start) / step) + 1, dtype=np.float64)
    return made.generated(cast(start + i * step, made.dtype_or_default().np))


@composite()
def linspace(start, end, steps, **options):
    """Return `steps` evenly spaced numbers from `start` to `end`, both included, computed from both ends, as in
    PyTorch.

    Source: torch.linspace.
    """
    start, end = (t.item() if isinstance(t, Tensor) else t for t in (start, end))
    message = "number of steps must be non-negative"
    refuse_if(steps < 0, message, "`steps` is the number of values, including both ends.")
    made = Options("linspace", options)
    dtype = _refuse_bool("linspace", made.dtype_or_default())
    exact = np.float64 if dtype.is_integer else dtype.scalar
    start, end = (int(start), int(end)) if dtype.is_integer else (start, end)
    if steps < 2:
        return made.generated(np.full(steps, start).astype(dtype.np))
    first, last = exact(start), exact(end)
    step = np.float64(exact(exact(last - first) / exact(steps - 1)))
    i = np.arange(steps, dtype=np.float64)
    up, down = i[: steps // 2], steps - 1 - i[steps // 2 :]
    parts = fma(up, step, np.float64(first)), fma(-down, step, np.float64(last))
    return made.generated(np.concatenate(parts).astype(dtype.np))


# -- matrices and grids ------------------------------------------------------------------------------------------------
@composite()
def eye(n, m=None, **options):
    """Return the identity matrix with `n` rows and `m` (or `n`) columns: `eye(n)`, `eye(n, m)`. Source: torch.eye."""
    shape, made = shape_of("eye", (n, n if m is None else m)), Options("eye", options)
    return made.computed(lambda xp: xp.eye(*shape, dtype=made.dtype_or_default().np))


@composite()
def meshgrid(*tensors, indexing=None):
    """Return coordinate grids from 1-d tensors: output k repeats tensor k along all other dimensions (views, no
    copies).

    indexing: "ij" (rows first), or "xy" (the first two swapped, as in NumPy by default). Source: torch.meshgrid.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        message = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        warnings.warn(message, UserWarning, stacklevel=2)
    message = f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
    note = "Pass indexing='ij' (rows first) or indexing='xy' (columns first)."
    refuse_if(indexing not in (None, "ij", "xy"), message, note)
    message = "meshgrid expects a non-empty TensorList"
    refuse_if(not tensors, message, "Pass one 1-d tensor per dimension.")
    for t in tensors:
        message = f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}"
        refuse_if(t.ndim > 1, message, "Flatten it first.")
        message = "meshgrid expects all tensors to have the same dtype"
        refuse_if(t.dtype is not tensors[0].dtype, message, "Convert them with .to(dtype).")
    order = list(range(len(tensors)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = [tensors[k].numel() for k in order]
    return tuple(
        t.view([-1 if d == k else 1 for d in order]).expand(shape) for k, t in enumerate(tensors)
    )
