"""How a list of samples becomes a batch.

Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_collate
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor


def _unknown(kind):
    return fail(
        TypeError,
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}",
        "Convert it in __getitem__, or pass a collate_fn of your own.",
    )


def default_collate(batch: Any) -> Any:
    """Stack samples along a new first dimension: tensors, arrays and numbers to tensors, dicts and tuples by part.

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
    if isinstance(first, (np.bool_, np.number)):
        return autolab.as_tensor(np.stack(batch))
    if isinstance(first, float):
        return autolab.tensor(batch, dtype=autolab.float64)
    if isinstance(first, int):
        return autolab.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if not isinstance(first, Sequence):
        raise _unknown(type(first))
    if any(len(sample) != len(first) for sample in batch):
        raise fail(
            RuntimeError,
            "each element in list of batch should be of equal size",
            "Samples of different lengths cannot be stacked: pad them, or pass a collate_fn of your own.",
        )
    parts = [default_collate(part) for part in zip(*batch)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


def default_convert(data: Any) -> Any:
    """Return a single sample with NumPy arrays and numbers made tensors; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else autolab.as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return autolab.as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        parts = [default_convert(part) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return data
