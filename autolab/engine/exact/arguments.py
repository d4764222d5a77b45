"""Checks of the arguments of functions that create tensors, with PyTorch's error messages."""

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
    """Return the TypeError for arguments that are valid one by one but match no signature together; the function's
    front sets its message."""
    error = TypeError("received an invalid combination of arguments")
    error.is_mismatch = True
    return error


def _types(args, kwargs):
    return [*map(type_name, args), *(f"{k}={type_name(v)}" for k, v in sorted(kwargs.items()))]


def _invalid(function, got, note):
    message = f"{function}() received an invalid combination of arguments - got {got}"
    return fail(TypeError, message, note)


def no_match(function, args, kwargs, signatures):
    """Return PyTorch's TypeError for arguments that match none of `signatures`."""
    got = ", ".join(_types(args, kwargs)) + (", " if kwargs and not args else "")
    lines = "".join(f" * ({text})\n{_signature_hint(text, args, kwargs)}" for text in signatures)
    return _invalid(
        function,
        f"({got}), but expected one of:\n{lines}",
        "Compare the types in the first line with the lists below it: one of them has to fit.",
    )


def no_match_of_one(function, args, kwargs, signature):
    """Return PyTorch's TypeError for a call if PyTorch lists only one remaining signature: the error names the missing
    keywords."""
    wanted = signature.split(", ")
    # PyTorch does not report a missing keyword that has a default.
    names = [text.split(" ")[-1] for text in wanted[max(0, len(wanted) - len(kwargs)) :]]
    unknown = sorted(name for name in kwargs if name not in names)
    if unknown:
        got = f"unrecognized keyword arguments: {', '.join(unknown)}"
    else:
        given = _types(args, kwargs)
        if len(wanted) == len(args):
            given = [_marked_type(v, text) for v, text in zip(args, wanted)] + _types((), kwargs)
        got = f"({', '.join(given)}), but expected ({signature})"
    return _invalid(function, got, f"It is {function}({signature}).")


def _signature_hint(signature, args, kwargs):
    """Return PyTorch's line about a signature with the same number of arguments but other types; else an empty
    string."""
    wanted = signature.split(", ")
    if len(wanted) != len(args) + len(kwargs):
        return ""
    by_name = {text.split(" ")[-1]: text for text in wanted[len(args) :]}
    wrong = sorted(name for name in kwargs if name not in by_name)
    if wrong:
        what = f"keywords were incorrect: {', '.join(wrong)}"
    else:
        given = [_marked_type(value, text) for value, text in zip(args, wanted)]
        given += [f"{k}={_marked_type(v, by_name[k])}" for k, v in kwargs.items()]
        what = f"arguments have invalid types: ({', '.join(given)})"
    return f"      didn't match because some of the {what}\n"


def _marked_type(value, text):
    """Return the type of `value`, between exclamation marks if the parameter `text` does not accept it."""
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
    """The keyword arguments of every creation function: `dtype`, `device` and `requires_grad`.

    `layout`, `memory_format` and `out` must have their usual values, and `pin_memory` needs a GPU. Raise TypeError for
    other keywords or types, NotImplementedError for `out` and for other layouts.
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
        """Return the requested dtype, or the default float dtype."""
        return self.dtype or get_default_dtype()

    def tensor(self, array):
        """Return a leaf from the host array `array`, on the requested device, with `requires_grad` as requested."""
        dtype = FROM_NUMPY[array.dtype]
        if self.device is not CPU and array.__class__ is not self.device.backend.array:
            array = self.device.backend.from_host(array)
        return self._leaf(array, dtype)

    def computed(self, compute):
        """Return a leaf from `compute(xp)`, which runs on the requested device, so nothing is copied."""
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
        """Return a leaf from numbers that follow a rule (a range). A GPU computes them itself, so nothing is copied to
        it."""
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

    Raise TypeError for a value that is not an int, RuntimeError for a negative size.
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
    """Return `value` as an int if it is a whole number or a one-element integer tensor; None for other values,
    including bool."""
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

    Raise PyTorch's TypeError for anything else. As in PyTorch, a bool is refused as the first number, which chooses the
    signature, but accepted as a later one."""
    number = as_int(value)
    if number is not None:
        return number
    if not isinstance(value, (tuple, list)):
        raise bad_argument(function, name, position, "tuple of ints", value)
    if value and as_int(value[0]) is None:
        raise misfit_in_list(function, name, position, "tuple of ints", value)
    return numbers_of(function, name, value)


def misfit_in_list(function, name, position, kind, value):
    """Return PyTorch's TypeError for a list whose first element has the wrong type."""
    return bad_argument(
        function,
        name,
        position,
        kind,
        value,
        f"but found element of type {type_name(value[0])} at pos 0",
    )


def numbers_of(function, name, value):
    """Return the list `value` as a tuple of ints; a bool counts as an int. Raise PyTorch's TypeError for the first
    other element."""
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

    given: the arguments of the call. about: other values that the check read (hashable). The look-up compares bytes: it
    takes 0.2 µs, and does not confuse 2.0, True or a list with an equal int or tuple."""

    __slots__ = ("_known",)

    def __init__(self):
        self._known = {}

    def find(self, given, about):
        """Return the stored result for these arguments, or None."""
        try:
            return self._known.get((dumps(given, 2), about))
        except ValueError:  # not a plain Python value
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
    """Return `value` as a Python number if it is a Python or NumPy number, or a 0-d tensor that needs no gradient; else
    None."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        return value._array.item()
    return None


def check_tensors(function, first=1, /, *, or_none=False, **given):
    """Raise PyTorch's TypeError for the first of `given` that is not a Tensor (None is accepted if `or_none`). first:
    the position of the first argument."""
    for position, (name, value) in enumerate(given.items(), first):
        if not isinstance(value, Tensor) and not (or_none and value is None):
            raise bad_argument(function, name, position, "Tensor", value)


def check_fits(value, dtype):
    """Raise RuntimeError unless the number `value` fits into `dtype`; negative integers wrap in unsigned dtypes,
    floats do not."""
    # This test takes 0.1 µs, and most values pass it.
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
        # The C++ name, except for integers other than int.
        kind = f"{dtype.name}_t" if dtype.is_integer and dtype.name != "int32" else dtype.cpp_name
        message = f"value cannot be converted to type {kind} without overflow"
        raise fail(RuntimeError, message, f"{value} lies outside what {dtype} can hold.")


def held_by(value, dtype):
    """Return the Python number `value` as `dtype` stores it: without a fraction, and wrapped. Raise RuntimeError as
    `check_fits` does."""
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
