"""What may stand in the brackets of `x[...]`: index tensors and masks, and lists, which are read as one or the
other."""

from __future__ import annotations

import warnings

import numpy as np

from ..exact.arguments import as_number
from ..exact.dtypes import positions
from ..core.errors import fail
from ..core.tensor import Tensor, wrap


def as_index(x, dim, shape):
    """An index tensor as torch normalises it: masks become positions, lists become tensors. Returns a list, one entry
    per dimension it covers."""
    if not isinstance(x, Tensor):
        a = np.asarray(x)
        if a.dtype.kind == "U":
            raise fail(
                TypeError,
                "new(): invalid data type 'str'",
                "A tensor is indexed by position; names belong to dicts.",
            )
        x = wrap(a.astype(np.int64) if not a.size or a.dtype.kind == "i" else a)
    if x.dtype.name in ("bool", "uint8"):
        for k, n in enumerate(x.shape):
            if dim + k >= len(shape) or n != shape[dim + k]:
                raise fail(
                    IndexError,
                    f"The shape of the mask {list(x.shape)} at index {k} does not match the shape of the indexed tensor {list(shape)} at "
                    f"index {dim + k}",
                    "A mask says yes or no for every entry, so it has the tensor's sizes.",
                )
        with x._storage.device.backend:
            found = x._storage.device.xp.nonzero(x._array if x.ndim else x._array.reshape(1))
            return [wrap(positions(i)) for i in found]
    if x.dtype.name not in ("int64", "int32"):
        raise fail(
            IndexError,
            "tensors used as indices must be long, int, byte or bool tensors",
            f"This index is {x.dtype}; convert it with .long().",
        )
    return [x]


def as_coordinates(key):
    """Whether a list is read as a tuple: one of fewer than 32 entries with a list, tensor, slice, None or `...` among
    them."""
    if len(key) >= 32 or not any(
        k is None or k is Ellipsis or isinstance(k, _NO_NUMBERS) for k in key
    ):
        return False
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] instead of "
        "x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error or a "
        "different result",
        UserWarning,
        stacklevel=5,  # the line with the brackets
    )
    return True


_NO_NUMBERS = (Tensor, list, tuple, range, np.ndarray, slice)


def consumed_by(k):
    """How many dimensions the entry `k` of an index is about."""
    if k is None or k is Ellipsis or isinstance(k, (bool, np.bool_)):
        return 0
    if isinstance(k, Tensor):
        return k.ndim if k.dtype.name in ("bool", "uint8") else 1
    if isinstance(k, (list, np.ndarray)):
        a = np.asarray(k)
        return a.ndim if a.dtype == bool else 1
    return 1


def check_mask(key, value):
    """Raises PyTorch's error for one number written where a mask of bytes says so."""
    masks = [k for k in key if isinstance(k, Tensor) and k.ndim]
    if (
        len(masks) == 1
        and masks[0].dtype.name == "uint8"
        and (value.numel() == 1 if isinstance(value, Tensor) else as_number(value) is not None)
    ):
        message = "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        raise fail(RuntimeError, message, "Convert the mask: mask.bool().")
