"""Checking the arguments of functions that make tensors, with PyTorch's words for what does not fit."""

import math
import operator
from marshal import dumps

import numpy as np

from ..core.dtype import FROM_NUMPY, get_default_dtype, python_scalar_dtype
from ..core.errors import bad_argument, fail, type_name
from ..core.grad_mode import per_thread
from ..core.tensor import Tensor, wrap
from ..devices.device import CPU, accelerator, usable
from .dtypes import as_dtype
from .layout import strided
from .refusals import beyond_numpy, too_many_dimensions, unsupported


def mismatch():
    """Return the TypeError for arguments that each fit but go together in no form; the function's front words it."""
    error = TypeError("received an invalid combination of arguments")
    error.is_mismatch = True
    return error


def _types(args, kwargs):
    return [*map(type_name, args), *(f"{k}={type_name(v)}" for k, v in sorted(kwargs.items()))]


def _invalid(function, got, note):
    message = f"{function}() received an invalid combination of arguments - got {got}"
    return fail(TypeError, message, note)


def no_match(function, args, kwargs, signatures):
    """Return PyTorch's TypeError for arguments that fit none of `signatures`."""
    got = ", ".join(_types(args, kwargs)) + (", " if kwargs and not args else "")
    lines = "".join(f" * ({text})\n{_why_not(text, args, kwargs)}" for text in signatures)
    return _invalid(
        function,
        f"({got}), but expected one of:\n{lines}",
        "Compare the types in the first line with the lists below it: one of them has to fit.",
    )


def no_match_of_one(function, args, kwargs, signature):
    """Return PyTorch's TypeError for a call of the one form that PyTorch still lists: it names the keywords that it did
    not find there."""
    wanted = signature.split(", ")
    # PyTorch does not find a keyword that has a default
    names = [text.split(" ")[-1] for text in wanted[max(0, len(wanted) - len(kwargs)) :]]
    unknown = sorted(name for name in kwargs if name not in names)
    if unknown:
        got = f"unrecognized keyword arguments: {', '.join(unknown)}"
    else:
        given = _types(args, kwargs)
        if len(wanted) == len(args):
            given = [_detailed(v, text) for v, text in zip(args, wanted)] + _types((), kwargs)
        got = f"({', '.join(given)}), but expected ({signature})"
    return _invalid(function, got, f"It is {function}({signature}).")


def _why_not(signature, args, kwargs):
    """Return PyTorch's line on a signature that takes as many arguments as were given, but other ones; else nothing."""
    wanted = signature.split(", ")
    if len(wanted) != len(args) + len(kwargs):
        return ""
    by_name = {text.split(" ")[-1]: text for text in wanted[len(args) :]}
    wrong = sorted(name for name in kwargs if name not in by_name)
    if wrong:
        what = f"keywords were incorrect: {', '.join(wrong)}"
    else:
        given = [_detailed(value, text) for value, text in zip(args, wanted)]
        given += [f"{k}={_detailed(v, by_name[k])}" for k, v in kwargs.items()]
        what = f"arguments have invalid types: ({', '.join(given)})"
    return f"      didn't match because some of the {what}\n"


def _detailed(value, text):
    """Return the type of `value`, between exclamation marks when it is not what the parameter `text` takes."""
    name, wanted = type_name(value), text.rpartition(" ")[0]
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(type_name, value))
        one = "," * (len(value) == 1)
        name = f"tuple of ({inner}{one})" if isinstance(value, tuple) else f"list of [{inner}]"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = (
        name.replace("._C", "") == wanted
        or (wanted == "Number" and number)
        or (wanted == "tuple of ints" and name.startswith(("tuple", "list")))
    )
    return name if fits else f"!{name}!"


class Options:
    """The keywords that every creation function takes: `dtype`, `device` and `requires_grad`.

    `layout`, `memory_format` and `out` are taken with their usual values only, `pin_memory` where there is a GPU.
    Raises TypeError for other keywords or types, NotImplementedError for `out` and for other layouts.
    """

    __slots__ = ("function", "dtype", "device", "requires_grad", "pinned")

    def __init__(self, function, given):
        self.function, self.dtype, self.requires_grad, self.pinned = function, None, False, False
        device = None
        for name, value in given.items():
            if name == "dtype":
                self.dtype = None if value is None else as_dtype(value)
            elif name == "device":
                device = value
            elif name == "requires_grad":
                self.requires_grad = bool(value)
            else:
                self._check_rest(name, value)
        self.device = usable(device)
        if self.requires_grad and self.dtype is not None:
            self._check_differentiable(self.dtype)

    def _check_rest(self, name, value):
        if name == "pin_memory" and value:
            self.pinned = True
            if accelerator() is not None:
                return
            message = (
                "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
                "on this system."
            )
            raise fail(RuntimeError, message, "Pinned memory only speeds up copies to a GPU.")
        if value is not None and value is not False and value is not strided:
            raise unsupported(self.function, name)

    def dtype_or_default(self):
        """Return the dtype asked for, or the default float dtype."""
        return self.dtype or get_default_dtype()

    def tensor(self, array):
        """Return a leaf over the host array `array`, on the device asked for, requiring grad if asked for."""
        dtype = FROM_NUMPY[array.dtype]
        if self.device is not CPU and array.__class__ is not self.device.backend.array:
            array = self.device.backend.from_host(array)
        return self._leaf(array, dtype)

    def computed(self, compute):
        """Return a leaf over `compute(xp)`, which runs on the device asked for: nothing is copied to it."""
        try:
            array = (
                compute(np)
                if self.device is CPU
                else self.device.backend.run(per_thread.state, compute, self.device.xp)
            )
        except (MemoryError, ValueError) as error:
            raise beyond_numpy(error) from None
        return self._leaf(array, FROM_NUMPY[array.dtype])

    def generated(self, array):
        """Return a leaf over numbers that follow from a rule (a range): a GPU computes them itself, so there is no copy
        to it."""
        if self.device is not CPU:
            array = self.device.backend.generated(array)
        return self._leaf(array, FROM_NUMPY[array.dtype])

    def _leaf(self, array, dtype):
        if self.requires_grad:
            self._check_differentiable(dtype)
        if self.device is CPU and not array.ndim:
            array = array[()]
        t = wrap(array, dtype)
        if self.pinned:
            t = t.pin_memory()
        t._req = self.requires_grad
        return t

    @staticmethod
    def _check_differentiable(dtype):
        if not dtype.is_floating_point:
            message = "Only Tensors of floating point and complex dtype can require gradients"
            raise fail(
                RuntimeError,
                message,
                "Gradients need floating-point numbers. Write 1.0 instead of 1.",
            )


def shape_of(function, args):
    """Return the shape given as `f(2, 3)` or `f((2, 3))`, as a tuple.

    Raises TypeError for what is no int, RuntimeError for a negative size.
    """
    shape = numbers_of(
        function, "size", args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    )
    if any(size < 0 for size in shape):
        negative = next(size for size in shape if size < 0)
        message = f"Trying to create tensor with negative dimension {negative}: {list(shape)}"
        raise fail(
            RuntimeError, message, "A size counts elements; only view() and reshape() take -1."
        )
    if len(shape) > 64:
        raise too_many_dimensions()
    if math.prod(shape) >= 1 << 61:
        raise fail(
            RuntimeError,
            f"Storage size calculation overflowed with sizes={list(shape)}",
            "The tensor would need more bytes than 64-bit numbers can count. Check the sizes.",
        )
    return shape


def as_int(value):
    """Return `value` as an int if it is a whole number or a one-element integer tensor, but no bool; else None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def int_argument(function, name, position, value):
    """Return `value` as an int. Raise PyTorch's TypeError for other types, including bool."""
    number = as_int(value)
    if number is None:
        raise bad_argument(function, name, position, "int", value)
    return number


def ints_argument(function, name, position, value):
    """Return `value` as an int or a tuple of ints.

    Raises PyTorch's TypeError for anything else: it looks at the first number when it chooses a signature (a bool is
    none), at the others when it reads them (a bool counts)."""
    number = as_int(value)
    if number is not None:
        return number
    if not isinstance(value, (tuple, list)):
        raise bad_argument(function, name, position, "tuple of ints", value)
    if value and as_int(value[0]) is None:
        raise misfit_in_list(function, name, position, "tuple of ints", value)
    return numbers_of(function, name, value)


def misfit_in_list(function, name, position, kind, value):
    """Return PyTorch's TypeError for a list of which the first element is none of its kind."""
    return bad_argument(
        function,
        name,
        position,
        kind,
        value,
        f"but found element of type {type_name(value[0])} at pos 0",
    )


def numbers_of(function, name, value):
    """Return the list `value` as a tuple of ints; a bool counts. Raise PyTorch's TypeError for the first that is no
    int."""
    numbers = []
    for place, item in enumerate(value, 1):
        try:
            numbers.append(operator.index(item))
        except TypeError:
            message = f'failed to unpack the object at pos {place} with error "type must be tuple of ints,but got {type_name(item)}"'
            raise fail(
                TypeError,
                f"{function}(): argument '{name}' {message}",
                f"'{name}' was given {value!r:.60}.",
            ) from None
    return tuple(numbers)


class Passed:
    """A cache of checked arguments. A network passes the same settings in every step, and checking them takes as long
    as a small kernel.

    `given` are the arguments as they came, `about` what else was looked at (hashable). They are looked up as bytes: 0.2
    µs, and 2.0, True and a list are not taken for the int or tuple that they equal."""

    __slots__ = ("_known",)

    def __init__(self):
        self._known = {}

    def find(self, given, about):
        """Return the stored result for these arguments, or None."""
        try:
            return self._known.get((dumps(given, 2), about))
        except ValueError:  # no plain Python value
            return None

    def keep(self, given, about, result):
        """Store `result` for arguments that are ints, bools, None, tuples or lists. Other types are not stored, because
        `find` does not compare types."""
        if _PLAIN.issuperset(
            t
            for v in given
            for t in (
                (v.__class__, *map(type, v)) if v.__class__ in (tuple, list) else (v.__class__,)
            )
        ):
            if len(self._known) >= 512:
                self._known.clear()
            self._known[dumps(given, 2), about] = result


_PLAIN = {int, bool, type(None), tuple, list}


def as_number(value):
    """Return `value` as a Python number if it is one, a NumPy number, or a 0-d tensor that needs no gradient; else
    None."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        return value._array.item()
    return None


def check_tensors(function, first=1, /, *, or_none=False, **given):
    """Raise PyTorch's TypeError for the first of `given` that is no Tensor (nor None, where it may be); `first`: the
    position of the first."""
    for position, (name, value) in enumerate(given.items(), first):
        if not isinstance(value, Tensor) and not (or_none and value is None):
            raise bad_argument(function, name, position, "Tensor", value)


def check_fits(value, dtype):
    """Raise RuntimeError unless the number `value` fits into `dtype`; negative integers wrap in unsigned dtypes,
    floats do not."""
    # 0.1 µs where it mostly ends
    if (
        dtype.is_bool
        or dtype.is_floating_point
        and value.__class__ in (float, int)
        and -65504 <= value <= 65504
    ):
        return
    if dtype.is_integer:
        info = np.iinfo(dtype.np)
        lowest = info.min if dtype.is_signed or isinstance(value, float) else -info.max
        fits = math.isfinite(value) and lowest <= value <= info.max
    else:
        fits = not math.isfinite(value) or abs(value) <= float(np.finfo(dtype.np).max)
    if not fits:
        # C++'s name, but for whole numbers other than int
        kind = f"{dtype.name}_t" if dtype.is_integer and dtype.name != "int32" else dtype.cpp_name
        message = f"value cannot be converted to type {kind} without overflow"
        raise fail(RuntimeError, message, f"{value} lies outside what {dtype} can hold.")


def held_by(value, dtype):
    """Return the Python number `value` as one that `dtype` holds: no fraction, wrapped. Raises
    RuntimeError as `check_fits` does."""
    if dtype.is_bool:
        return bool(value)
    check_fits(value, dtype)
    if dtype.is_integer:
        value = int(value)
        return value if value >= 0 or dtype.is_signed else value & int(np.iinfo(dtype.np).max)
    return value


def scalar_tensor(value):
    """Return a Python number as a 0-d tensor, with the dtype torch gives it.

    >>> scalar_tensor(True), scalar_tensor(2.5)
    (tensor(True), tensor(2.5000))
    """
    d = python_scalar_dtype(value)
    return wrap(np.asarray(value, d.np), d)
