"""PyTorch's errors for missing dimensions, for arguments that autolab does not support, and for tensors that exceed
NumPy's limits."""

from __future__ import annotations

import math
import re

import numpy as np

from ..core.errors import fail

TOO_MANY = re.compile(r"\w+\(\) takes .*positional arguments? but \d+ w(as|ere) given")
"""A pattern for Python's error about too many arguments."""


class LinAlgError(RuntimeError):
    """A matrix is singular or not positive-definite, or an iteration did not converge
    (``torch.linalg.LinAlgError``)."""


LinAlgError.__name__ = LinAlgError.__qualname__ = (
    "_LinAlgError"  # the name that PyTorch shows in a traceback
)


def unsupported(function, argument, note=None):
    """Return the NotImplementedError for an argument that PyTorch has but this engine lacks."""
    return fail(
        NotImplementedError,
        f"{function}(): argument '{argument}' is not supported by autolab",
        note
        or f"PyTorch accepts '{argument}' here, but autolab does not support it. Leave it out.",
    )


def check_dim(dim, ndim):
    """Return `dim` counted from the front, for a tensor of `ndim` dimensions (a 0-d tensor counts as 1-d).

    Raise IndexError if the dimension does not exist.
    """
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    check_int64(dim)
    raise fail(
        IndexError,
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})",
        f"The tensor has {ndim} dimension{'' if ndim == 1 else 's'}; they are counted from 0, or from -1 backwards.",
    )


def check_int64(number):
    """Raise PyTorch's error for an integer that does not fit into 64 bits."""
    if not -(1 << 63) <= number < 1 << 63:
        note = f"{number} has more than 64 bits; sizes and positions are small whole numbers."
        raise fail(ValueError, "Overflow when unpacking long long", note)


def no_dimensions(dim):
    """Return PyTorch's error for the use of a dimension of a 0-d tensor."""
    message = f"Dimension specified as {dim} but tensor has no dimensions"
    return fail(
        IndexError, message, "A 0-d tensor is a single number; unsqueeze(0) makes a list of one."
    )


def check_dims(dims, ndim):
    """Return the dimensions `dims` (an int or a sequence) counted from the front, as a tuple.

    Raise IndexError if a dimension does not exist, RuntimeError if one appears twice.
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


def beyond_numpy(error: Exception) -> Exception:
    """Return PyTorch's error if NumPy ran out of memory or supports too few dimensions; return any other error
    unchanged.

    >>> print(beyond_numpy(ValueError("array is too big")))
    Storage size calculation overflowed
    """
    text = str(error)
    if isinstance(error, MemoryError):
        shape, kind = getattr(error, "shape", None), getattr(error, "dtype", np.dtype("byte"))
        asked = (
            ""
            if shape is None
            else f": you tried to allocate {math.prod(shape) * kind.itemsize} bytes"
        )
        cause = f"DefaultCPUAllocator: can't allocate memory{asked}. Error code 12 (Cannot allocate memory)"
        message = f"[enforce fail at alloc_cpu.cpp:127] err == 0. {cause}"
        return fail(
            RuntimeError, message, "The computer does not have that much memory. Use smaller sizes."
        )
    if not isinstance(error, ValueError):
        return error
    if "array is too big" in text or text.startswith("Maximum allowed"):
        return fail(
            RuntimeError,
            "Storage size calculation overflowed",
            "The tensor would need more bytes than 64-bit numbers can count. Check the sizes.",
        )
    if any(
        words in text
        for words in (
            "maximum supported dimension",
            "number of dimensions must be within",
            "ndmin must be",
        )
    ):
        return too_many_dimensions()
    return error


def too_many_dimensions() -> Exception:
    """Return the error for a tensor with more dimensions than NumPy supports."""
    message = "tensors of more than 64 dimensions are not supported by autolab"
    return fail(
        RuntimeError,
        message,
        "PyTorch has no such limit. autolab stores numbers in NumPy arrays, which have at most 64 dimensions.",
    )
