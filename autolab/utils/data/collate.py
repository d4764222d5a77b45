"""How a list of samples becomes a batch.

Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_collate
"""

from collections.abc import Mapping, Sequence

import numpy as np

import autolab
from autolab.engine.errors import fail
from autolab.engine.tensor import Tensor


def _rebuilt(like, values):
    """`values` in a container of the kind of `like`; a list where that kind cannot be built from a list."""
    try:
        return type(like)(values)
    except TypeError:
        return values


def _unknown(kind):
    return fail(
        TypeError,
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}",
        "Convert it in __getitem__, or pass a collate_fn of your own.",
    )


def default_collate(batch):
    """Samples along a new first dimension: tensors and arrays stacked, numbers to tensors, dicts and tuples by part.

    Floats become float64, ints int64, strings stay a list. Raises TypeError for anything else, RuntimeError when
    samples have different lengths or shapes.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return autolab.stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise _unknown(first.dtype)
        return autolab.stack([autolab.as_tensor(array) for array in batch], 0)
    if isinstance(first, np.generic):
        return autolab.as_tensor(np.stack(batch))
    if isinstance(first, float):
        return autolab.tensor(batch, dtype=autolab.float64)
    if isinstance(first, int):
        return autolab.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise fail(
                RuntimeError,
                "each element in list of batch should be of equal size",
                "Samples of different lengths cannot be stacked: pad them, or pass a collate_fn of your own.",
            )
        parts = [default_collate(part) for part in zip(*batch)]
        return parts if isinstance(first, tuple) else _rebuilt(first, parts)
    raise _unknown(type(first))


def default_convert(data):
    """A single sample with NumPy arrays and numbers made tensors; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else autolab.as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return autolab.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        parts = [default_convert(part) for part in data]
        return parts if isinstance(data, tuple) else _rebuilt(data, parts)
    return data
