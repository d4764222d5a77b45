"""Conversions between dtypes, NumPy dtypes and Python types, and torch's rules for them."""

from __future__ import annotations

import numpy as np

from ..core.dtype import FROM_NUMPY, bool_, dtype, float64, int64
from ..core.dtype import promote_types as promoted
from ..core.errors import fail

_PYTHON = {bool: bool_, int: int64, float: float64}


def promote_types(a, b) -> dtype:
    """Return the smallest dtype that holds both, by PyTorch's table. Source: torch.promote_types."""
    return promoted(as_dtype(a), as_dtype(b))


def positions(found):
    """Return positions or counts from NumPy as int64, as in torch. On a 32-bit platform, such as a browser, NumPy
    counts in int32; CuPy always counts in int64."""
    return found if found.dtype == np.int64 else found.astype(np.int64)


def as_indices(found):
    """Return positions or counts in the dtype that NumPy's `take`, `bincount` and `reduceat` accept.

    On a 32-bit platform, such as a browser, these functions refuse int64. Indexing with brackets accepts it."""
    return found.astype(np.intp, copy=False)


def as_dtype(d) -> dtype:
    """Return `torch.float32` or a Python type such as `float` as a `dtype`.

    As in torch, `dtype=int` means int64, `dtype=float` float64, `dtype=bool` bool."""
    if d.__class__ is dtype:
        return d
    if isinstance(d, type) and d in _PYTHON:
        return _PYTHON[d]
    raise fail(
        TypeError,
        f"dtype must be torch.dtype, not {type(d).__name__}",
        "Write for example dtype=torch.float32; NumPy's own dtypes are not taken.",
    )


def from_numpy_dtype(d: np.dtype) -> dtype:
    """Return the `dtype` of a NumPy array's elements. Raise PyTorch's TypeError if there is none."""
    try:
        return FROM_NUMPY[d]
    except KeyError:
        pass
    native = FROM_NUMPY.get(d.newbyteorder("=")) if d.kind in "biuf" else None
    if native is not None:
        raise fail(
            ValueError,
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported.",
            "Convert it first: array.astype(array.dtype.newbyteorder('=')).",
        )
    kind = "numpy.object_" if d.kind == "O" else f"numpy.{d.type.__name__}"
    raise fail(
        TypeError,
        f"can't convert np.ndarray of type {kind}. The only supported types are: float64, float32, float16, "
        "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.",
        "A tensor holds numbers of one type; text and mixed objects have to become numbers first.",
    )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return whether an in-place operation may convert `from_` to `to`: never from a higher category to a lower one.
    Source: torch.can_cast."""
    if from_.category > to.category:
        return False
    return not (to is bool_ and from_ is not bool_)
