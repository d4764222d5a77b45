"""Tensors from a shape or a rule: constants, ranges, identity, index grids.

All of them make leaves. They take `dtype=`, `device=` and `requires_grad=` (see `arguments.Options`).
Source: https://docs.pytorch.org/docs/2.13/torch.html#creation-ops
"""

import math
import warnings

import numpy as np

from ..exact.arguments import check_fits, held_by, Options, shape_of
from ..core.dtype import float64, get_default_dtype, int64, python_scalar_dtype
from ..core.errors import fail
from .checks import refuse_if
from .functions import composite
from ..exact.rounding import cast, fma
from ..core.tensor import Tensor
from .copies import order_of_copies


# -- constants ---------------------------------------------------------------------------------------------------------
def _of_shape(name, doc):
    @composite(name)
    def make(*size, **options):
        shape, made = shape_of(name, size), Options(name, options)
        return made.computed(lambda xp: getattr(xp, name)(shape, made.dtype_or_default().np))

    make.__doc__ = f"{doc} Source: torch.{name}."


_of_shape("zeros", "Return zeros of the given shape: `zeros(2, 3)` or `zeros((2, 3))`.")
_of_shape("ones", "Return ones of the given shape.")
_of_shape(
    "empty", "Return a tensor of the given shape whose values are whatever was in that memory."
)


@composite()
def full(size, fill_value, **options):
    """`fill_value` (a number) in every place of the given shape; its type decides the dtype unless one is named.

    Raises RuntimeError when the dtype cannot hold the value. Source: torch.full.
    """
    made = Options("full", options)
    return _filled(
        made, shape_of("full", size), made.dtype or python_scalar_dtype(fill_value), fill_value
    )


def _filled(made, shape, dtype, value, like=None):
    """A tensor with the number `value` everywhere, in the order in memory of the tensor `like`."""
    value = held_by(value, dtype)
    if like is None or like._storage.device is not made.device:
        return made.computed(lambda xp: xp.full(shape, value, dtype.np))
    return made.computed(
        lambda xp: xp.full_like(like._array, value, dtype.np, order_of_copies(like._array))
    )


# -- like another tensor -----------------------------------------------------------------------------------------------
def like(function, input, options):
    """The Options for a tensor like `input`, and an uninitialised array of the host with its shape and order in memory.

    Raises TypeError unless `input` is a tensor.
    """
    made = _like(function, input, options)
    here = (
        input._array
        if isinstance(input._array, (np.ndarray, np.generic))
        else np.broadcast_to(np.empty((), made.dtype.np), input._array.shape)
    )
    return made, np.empty_like(here, made.dtype.np, order_of_copies(input._array))


def _like(function, input, options):
    return Options(function, {"dtype": input.dtype, "device": input.device} | _given(options))


def _given(options):
    return {
        name: value
        for name, value in options.items()
        if value is not None or name not in ("dtype", "device")
    }


def _like_others(name, value):
    """Make `<name>_like` and `new_<name>` public."""

    @composite(f"{name}_like")
    def of_its_shape(input, **options):
        made = _like(f"{name}_like", input, options)
        return _filled(made, input._array.shape, made.dtype, value, input)

    @composite(f"new_{name}", method=True, function=False)
    def of_a_shape(self, *size, **options):
        made, shape = _like(f"new_{name}", self, options), shape_of(f"new_{name}", size)
        return _filled(made, shape, made.dtype, value)

    words = f"Return {name} with the shape, dtype and device of `input`; they never require grad by themselves."
    of_its_shape.__doc__ = f"{words} Source: torch.{name}_like."
    words = f"Return {name} of the given shape with this tensor's dtype and device."
    of_a_shape.__doc__ = f"{words} Source: torch.Tensor.new_{name}."


_like_others("zeros", 0)
_like_others("ones", 1)


@composite()
def empty_like(input, **options):
    """Return uninitialised memory with the shape, dtype and device of `input`. Source: torch.empty_like."""
    made = _like("empty_like", input, options)
    if input._storage.device is not made.device:
        return made.computed(lambda xp: xp.empty(input._array.shape, made.dtype.np))
    order = order_of_copies(input._array)
    return made.computed(lambda xp: xp.empty_like(input._array, made.dtype.np, order))


@composite()
def full_like(input, fill_value, **options):
    """Return `fill_value` everywhere, with the shape, dtype and device of `input`. Source: torch.full_like."""
    made = _like("full_like", input, options)
    return _filled(made, input._array.shape, made.dtype, fill_value, input)


@composite(method=True, function=False)
def new_empty(self, *size, **options):
    """Return uninitialised memory of the given shape with this tensor's dtype and device. Source:
    torch.Tensor.new_empty."""
    made, shape = _like("new_empty", self, options), shape_of("new_empty", size)
    return made.computed(lambda xp: xp.empty(shape, made.dtype.np))


@composite(method=True, function=False)
def new_full(self, size, fill_value, **options):
    """Return `fill_value` in the given shape, with this tensor's dtype and device. Source: torch.Tensor.new_full."""
    made, shape = _like("new_full", self, options), shape_of("new_full", size)
    return _filled(made, shape, made.dtype, fill_value)


# -- ranges ------------------------------------------------------------------------------------------------------------
@composite()
def arange(*, start=0, end, step=1, **options):
    """Numbers from `start` (0) up to but not including `end`, `step` (1) apart.

    int64 if all three are whole numbers, else of the default float dtype.
    Raises RuntimeError when the step leads away from `end`. Source: torch.arange.
    """
    if any(isinstance(number, complex) for number in (start, end, step)):
        message = "value cannot be converted to type double without overflow"
        raise fail(RuntimeError, message, "Complex numbers have no order.")
    made = Options("arange", options)
    whole = all(isinstance(number, int) for number in (start, end, step))
    dtype = made.dtype or (int64 if whole else get_default_dtype())
    if dtype.is_bool or dtype.is_complex:
        note = "A range needs numbers in an order."
        raise fail(NotImplementedError, f"\"arange_cpu\" not implemented for '{dtype.short}'", note)
    if made.requires_grad:
        made._check_differentiable(dtype)
    for number in (start, end, step) if whole else ():
        check_fits(number, int64)
    _check_range(start, end, step)
    values = _int_range if dtype.is_integer else _float_range
    return made.generated(values(start, end, step, dtype))


def _check_range(start, end, step):
    message = "step must be nonzero"
    refuse_if(step == 0, message, "With a step of 0 the end is never reached.")
    message = f"unsupported range: {start:g} -> {end:g}"
    finite = math.isfinite(start) and math.isfinite(end)
    refuse_if(not finite, message, "Both ends have to be finite.")
    message = "upper bound and lower bound inconsistent with step sign"
    note = f"Steps of {step} lead from {start} away from {end}."
    refuse_if((end - start) * step < 0, message, note)
    message = "invalid size, possible overflow?"
    note = "That would be more numbers than memory holds."
    refuse_if((end - start) / step > 1 << 53, message, note)


def _int_range(start, end, step, dtype):
    """Whole numbers. PyTorch counts them from the limits as they came, but for int64, where it cuts those off first."""
    steps = math.ceil((end - start) / step)
    start, end, step = int(start), int(end), int(step)
    if dtype is not int64 and step:
        end = start + steps * step
    note = f"As {dtype} the step is 0; convert the result instead."
    refuse_if(step == 0, "step must be nonzero", note, ValueError)
    return np.arange(start, end, step, np.int64).astype(dtype.np)


def _float_range(start, end, step, dtype):
    """Each value is `start + i * step` rounded once, in the order of PyTorch's vector loop.

    That loop takes whole pairs of 256-bit registers: the first value of a register is rounded to the dtype, the others
    are counted from it. What is left over is computed value by value.
    """
    size, start, step = math.ceil((end - start) / step), np.float64(start), np.float64(step)
    lanes = 32 // dtype.itemsize
    i = np.arange(size, dtype=np.float64)
    head = i[: size - size % (2 * lanes)]
    block = head // lanes * lanes
    first = cast(fma(block, step, start), dtype.np).astype(np.float64)
    rest = fma(i[len(head) :], step, start)
    return cast(np.concatenate((fma(head - block, step, first), rest)), dtype.np)


@composite(name="range")
def inclusive_range(start, end, step=1, **options):
    """Numbers from `start` up to and including `end`; PyTorch advises `arange` instead. Source: torch.range."""
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
    """Return `steps` numbers evenly from `start` to `end`, both included; counted from both ends, as PyTorch does.

    Source: torch.linspace.
    """
    start, end, made, dtype = _line_arguments("linspace", start, end, steps, options)
    return made.generated(_line("linspace", start, end, steps, dtype))


@composite()
def logspace(start, end, steps, base=10.0, **options):
    """Return `base ** x` for `steps` values of x evenly from `start` to `end`. Float results are correctly rounded,
    which PyTorch's own may miss by a few units in the last place. Source: torch.logspace.
    """
    start, end, made, dtype = _line_arguments("logspace", start, end, steps, options)
    if dtype.is_integer:
        start, end = int(start), int(end)
    exponents = _line("logspace", start, end, steps, dtype if dtype.is_complex else float64)
    with np.errstate(all="ignore"):
        return made.generated(cast(np.power(base, exponents), dtype.np))


def _line_arguments(function, start, end, steps, options):
    """Return both ends as numbers, the options, and the dtype."""
    dims = [t._array.ndim if isinstance(t, Tensor) else 0 for t in (start, end)]
    refuse_if(
        any(dims),
        f"{function} only supports 0-dimensional start and end tensors, but got start with {dims[0]} dimension(s) "
        f"and end with {dims[1]} dimension(s).",
        "Take one element, for example t[0].",
    )
    start, end = (t._array.item() if isinstance(t, Tensor) else t for t in (start, end))
    message = "number of steps must be non-negative"
    refuse_if(steps < 0, message, "It counts the values, both ends included.")
    made = Options(function, options)
    dtype = made.dtype_or_default()
    if made.dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = dtype.to_complex()
    return start, end, made, dtype


def _line(function, start, end, steps, dtype):
    message = f"\"{function}_cpu\" not implemented for 'Bool'"
    refuse_if(dtype.is_bool, message, "Name a number dtype.", NotImplementedError)
    exact = np.float64 if dtype.is_integer else dtype.scalar
    start, end = (int(start), int(end)) if dtype.is_integer else (start, end)
    if steps < 2:
        return np.full(steps, start).astype(dtype.np)
    first, last = exact(start), exact(end)
    step = exact(exact(last - first) / exact(steps - 1))
    i = np.arange(steps, dtype=np.float64)
    up, down = i[: steps // 2], steps - 1 - i[steps // 2 :]
    if dtype.is_complex or dtype.name == "float16":  # multiplied and added in the dtype itself
        parts = first + step * up.astype(dtype.np), last - step * down.astype(dtype.np)
        return np.concatenate(parts)
    first, last, step = np.float64(first), np.float64(last), np.float64(step)
    return np.concatenate((fma(up, step, first), fma(-down, step, last))).astype(dtype.np)


# -- matrices and grids ------------------------------------------------------------------------------------------------
@composite()
def eye(n, m=None, **options):
    """The identity matrix with `n` rows and `m` (or `n`) columns: `eye(n)`, `eye(n, m)`. Source: torch.eye."""
    for name, number in (("n", n), ("m", m)):
        message = f"{name} must be greater or equal to 0, got {number}"
        refuse_if(number is not None and number < 0, message, "It counts rows or columns.")
    made = Options("eye", options)
    return made.computed(lambda xp: xp.eye(n, m, dtype=made.dtype_or_default().np))


@composite()
def meshgrid(*tensors, indexing=None):
    """Grids of coordinates from 1-d tensors: output k repeats tensor k along all other dimensions (views, no copies).

    indexing: "ij" (rows first), or "xy" (the first two swapped, as NumPy's default). Source: torch.meshgrid.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        message = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        warnings.warn(message, UserWarning, stacklevel=2)
    elif indexing not in ("ij", "xy"):
        message = f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        raise fail(RuntimeError, message, "ij counts rows first; xy counts across first.")
    message = "meshgrid expects a non-empty TensorList"
    refuse_if(not tensors, message, "Pass one 1-d tensor per dimension.")
    for t in tensors:
        if t._array.ndim > 1:
            message = f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}"
            raise fail(RuntimeError, message, "Flatten it first.")
        message = "meshgrid expects all tensors to have the same dtype"
        refuse_if(t.dtype is not tensors[0].dtype, message, "Convert them with .to(dtype).")
    swap = indexing == "xy" and len(tensors) > 1
    ordered = (tensors[1], tensors[0], *tensors[2:]) if swap else tensors
    shape = tuple(t.numel() for t in ordered)
    grids = [
        t.view([-1 if d == k else 1 for d in range(len(shape))]).expand(shape)
        for k, t in enumerate(ordered)
    ]
    return (grids[1], grids[0], *grids[2:]) if swap else tuple(grids)
