"""Errors in PyTorch's exact words, with one more sentence for the learner.

Every module raises through `fail`, so that the message stays comparable with PyTorch's while the note (PEP 678) says
why it happened and what to do; Python prints it under the traceback.
"""

import math
import re

from .failing import refused

TOO_MANY = re.compile(r"\w+\(\) takes .*positional arguments? but \d+ w(as|ere) given")
"""What Python says of a call with too many arguments."""


class LinAlgError(RuntimeError):
    """A matrix was singular, not positive-definite, or an iteration did not converge (``torch.linalg.LinAlgError``)."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # the name PyTorch shows in a traceback


def fail(kind, message, note=None):
    """Return the exception `kind(message)` with `note` attached; the caller raises it.

        raise fail(RuntimeError, "shape '[4]' is invalid for input of size 6", "A view keeps the number of elements.")

    Where a tensor was among the arguments of the call that failed, a further note names `autolab.explain()`, which shows it.
    """
    error = kind(message)
    if note:
        error.add_note(note)
    return refused(error)


def beyond_numpy(error):
    """PyTorch's error for what NumPy could not make room for, or has too many dimensions for NumPy; any other error as it is."""
    text = str(error)
    if isinstance(error, MemoryError):
        shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
        asked = "" if shape is None else f": you tried to allocate {math.prod(shape) * kind.itemsize} bytes"
        cause = f"DefaultCPUAllocator: can't allocate memory{asked}. Error code 12 (Cannot allocate memory)"
        message = f"[enforce fail at alloc_cpu.cpp:127] err == 0. {cause}"
        return fail(RuntimeError, message, "The computer has not that much memory.")
    if not isinstance(error, ValueError):
        return error
    if "array is too big" in text or text.startswith("Maximum allowed"):
        return fail(RuntimeError, "Storage size calculation overflowed", "So many numbers cannot even be counted in bytes.")
    if any(words in text for words in ("maximum supported dimension", "number of dimensions must be within", "ndmin must be")):
        return too_many_dimensions()
    return error


def too_many_dimensions():
    """The error for a tensor of more dimensions than NumPy has."""
    message = "tensors of more than 64 dimensions are not supported by autolab"
    return fail(RuntimeError, message, "PyTorch has no such limit; the arrays of NumPy, which hold the numbers here, have it.")


def type_name(value):
    kind = type(value)
    name = kind.__name__
    return f"numpy.{name}" if kind.__module__ == "numpy" else _TORCHS_TYPES.get(name, name)


_TORCHS_TYPES = {"dtype": "torch.dtype", "device": "torch.device", "Generator": "torch._C.Generator"}


def bad_argument(function, name, position, kind, value):
    """PyTorch's TypeError for one argument of the wrong type."""
    return misfit(function, name, position, kind, value, f"not {type_name(value)}")


def misfit(function, name, position, kind, value, found):
    """The TypeError for an argument that is no `kind`; `overloads` words it anew where that is not what the call looked like."""
    where = f" (position {position})" if position else ""
    message = f"{function}(): argument '{name}'{where} must be {kind}, {found}"
    error = fail(TypeError, message, f"'{name}' was given {value!r:.60}.")
    error.misfit = name, kind, value
    return error


def unsupported(function, argument, note=None):
    """Return the NotImplementedError for an argument that PyTorch has and this engine has not."""
    return fail(
        NotImplementedError,
        f"{function}(): argument '{argument}' is not supported by autolab",
        note or f"PyTorch accepts '{argument}' here; autolab refuses it rather than ignoring it. Leave it out.",
    )


def check_dim(dim, ndim):
    """Return `dim` counted from the front, for a tensor of `ndim` dimensions (a 0-d tensor counts as 1-d here).

    Raises IndexError when there is no such dimension.
    """
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise fail(
        IndexError,
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})",
        f"The tensor has {ndim} dimension{'' if ndim == 1 else 's'}; they are counted from 0, or from -1 backwards.",
    )


def no_dimensions(dim):
    """PyTorch's error for a dimension of a 0-d tensor, where an op needs a real one."""
    message = f"Dimension specified as {dim} but tensor has no dimensions"
    return fail(IndexError, message, "A 0-d tensor is a single number; unsqueeze(0) makes a list of one.")


def check_dims(dims, ndim):
    """Return the dimensions `dims` (an int or a sequence) counted from the front, as a tuple.

    Raises IndexError when one does not exist and RuntimeError when one appears twice.
    """
    wrapped = tuple(check_dim(dim, ndim) for dim in ((dims,) if isinstance(dims, int) else dims))
    for position, dim in enumerate(wrapped):
        if dim in wrapped[:position]:
            raise fail(
                RuntimeError,
                f"dim {dim} appears multiple times in the list of dims",
                "Name each dimension once; -1 and ndim - 1 are the same dimension.",
            )
    return wrapped
