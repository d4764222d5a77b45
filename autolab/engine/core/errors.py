"""Errors in PyTorch's exact words, with one more sentence for the learner.

Every module raises through `fail`, so that the message stays comparable with PyTorch's while the note (PEP 678) says
why it happened and what to do; Python prints it under the traceback.
"""

import math
import re
from typing import Any

import numpy as np


TOO_MANY = re.compile(r"\w+\(\) takes .*positional arguments? but \d+ w(as|ere) given")
"""What Python says of a call with too many arguments."""


class LinAlgError(RuntimeError):
    """A matrix was singular, not positive-definite, or an iteration did not converge (``torch.linalg.LinAlgError``)."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # the name PyTorch shows in a traceback


WITNESSES: list[Any] = []
"""Who is told of errors: objects with `refused(error)`, of one that `fail` just made, and `failed(op, args, error,
inplace)`, of one that an operation raised. `engine/exact/failing.py` adds what `autolab.explain()` needs."""


def fail(kind: type[Exception], message: str, note: str | None = None) -> Exception:
    """The exception `kind(message)` with `note` attached; the caller raises it.

    >>> error = fail(RuntimeError, "shape '[4]' is invalid for input of size 6", "A view keeps the number of elements.")
    >>> error.__notes__
    ['A view keeps the number of elements.']

    Where a tensor was among the arguments of the call that failed, a further note names `autolab.explain()`, which
    shows it."""
    error = kind(message)
    if note:
        error.add_note(note)
    for witness in WITNESSES:
        witness.refused(error)
    return error


def beyond_numpy(error: Exception) -> Exception:
    """PyTorch's error for what NumPy could not make room for, or has too many dimensions for NumPy; any other error as
    it is.

    >>> print(beyond_numpy(ValueError("array is too big")))
    Storage size calculation overflowed
    """
    text = str(error)
    if isinstance(error, MemoryError):
        shape, kind = getattr(error, "shape", None), getattr(error, "dtype", np.dtype("byte"))
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


def too_many_dimensions() -> Exception:
    """The error for a tensor of more dimensions than NumPy has."""
    message = "tensors of more than 64 dimensions are not supported by autolab"
    return fail(RuntimeError, message, "PyTorch has no such limit; the arrays of NumPy, which hold the numbers here, have it.")


def type_name(value: object) -> str:
    """What PyTorch's messages call the type of a value.

    >>> type_name(1.5), type_name(np.int64(1))
    ('float', 'numpy.int64')
    """
    kind = type(value)
    name = kind.__name__
    return f"numpy.{name}" if kind.__module__ == "numpy" else _TORCHS_TYPES.get(name, name)


_TORCHS_TYPES = {"dtype": "torch.dtype", "device": "torch.device", "Generator": "torch._C.Generator"}


def bad_argument(function: str, name: str, position: int | None, kind: str, value: object) -> Exception:
    """PyTorch's TypeError for one argument of the wrong type.

    >>> print(bad_argument("exp", "input", 1, "Tensor", 2.0))
    exp(): argument 'input' (position 1) must be Tensor, not float
    """
    return misfit(function, name, position, kind, value, f"not {type_name(value)}")


def misfit(function: str, name: str, position: int | None, kind: str, value: object, found: str) -> Exception:
    """The TypeError for an argument that is no `kind`; `overloads` words it anew where that is not what the call looked
    like."""
    where = f" (position {position})" if position else ""
    message = f"{function}(): argument '{name}'{where} must be {kind}, {found}"
    error: Any = fail(TypeError, message, f"'{name}' was given {value!r:.60}.")
    error.misfit = name, kind, value
    return error  # type: ignore[no-any-return]
