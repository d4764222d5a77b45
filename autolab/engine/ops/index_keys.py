"""Parse the entries of an index `x[...]`: numbers, index tensors and masks, and lists, which become one of these."""

from __future__ import annotations

import numpy as np

from ..exact.dtypes import positions
from ..exact.refusals import unsupported
from ..core.errors import fail
from ..core.tensor import Tensor, wrap


def as_index(x, dim, shape):
    """Return an index tensor in torch's normal form, as a list with one entry per dimension that it covers: masks
    become positions, lists become tensors."""
    if not isinstance(x, Tensor):
        a = np.asarray(x)
        x = wrap(a.astype(np.int64) if not a.size or a.dtype.kind == "i" else a)
    if x.dtype.is_bool:
        for k, n in enumerate(x.shape):
            if dim + k >= len(shape) or n != shape[dim + k]:
                raise fail(
                    IndexError,
                    f"The shape of the mask {list(x.shape)} at index {k} does not match the shape of the indexed tensor {list(shape)} at "
                    f"index {dim + k}",
                    "A mask says yes or no for every entry, so it has the tensor's sizes.",
                )
        with x._storage.device.backend:
            return [wrap(positions(i)) for i in x._storage.device.xp.nonzero(x._array)]
    if x.dtype.name not in ("int64", "int32"):
        _no_bytes(x)
        raise fail(
            IndexError,
            "tensors used as indices must be long, int, byte or bool tensors",
            f"This index is {x.dtype}; convert it with .long().",
        )
    return [x]


def _no_bytes(x):
    """Raise NotImplementedError for a uint8 tensor, which PyTorch uses as a mask."""
    if x.dtype.name == "uint8":
        note = "Write mask.bool() for a mask, index.long() for positions."
        raise unsupported("Tensor.__getitem__", "index of dtype uint8", note)


def number_of(k):
    """Convert a 0-d tensor or NumPy number in an index to a Python number: an int, or a bool for a mask. Return
    anything else unchanged."""
    if isinstance(k, Tensor):
        _no_bytes(k)
        k = k if k.dtype.is_floating_point else k._array
    kind = getattr(k.dtype, "kind", "f")
    return bool(k) if kind == "b" else int(k) if kind in "iu" else k


_NO_NUMBERS = (Tensor, list, tuple, range, np.ndarray, slice, type(None), type(...))


def entries(key):
    """Return the entries of an index as a tuple. Raise NotImplementedError for a list with entries other than numbers,
    because a future version of PyTorch will interpret it differently."""
    if isinstance(key, list) and any(isinstance(k, _NO_NUMBERS) for k in key):
        note = "Write x[tuple(index)] for one entry per dimension, x[torch.tensor(index)] for one tensor."
        raise unsupported("Tensor.__getitem__", "nested list as index", note)
    return key if key.__class__ is tuple else (key,)


def consumed_by(k):
    """Return the number of dimensions that the index entry `k` covers."""
    if k is None or k is Ellipsis or isinstance(k, (bool, np.bool_)):
        return 0
    if isinstance(k, Tensor):
        return k.ndim if k.dtype.is_bool else 1
    a = np.asarray(k) if isinstance(k, (list, np.ndarray)) else None
    return 1 if a is None or a.dtype != bool else a.ndim
