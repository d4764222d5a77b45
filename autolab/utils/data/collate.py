"""How a list of samples becomes a batch.

Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_collate
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor


def _mapping_like(like, values):
    """The dict `values` in a container of the kind of `like`, with its other attributes; a dict where that cannot be
    made."""
    try:
        if isinstance(like, MutableMapping):
            new = copy.copy(like)
            new.update(values)
            return new
        return type(like)(values)
    except TypeError:
        return values


def _sequence_like(like, values):
    """The list `values` in a container of the kind of `like`, with its other attributes; a list where that cannot be
    made."""
    try:
        if isinstance(like, MutableSequence):
            new = copy.copy(like)
            for i, value in enumerate(values):
                new[i] = value
            return new
        return type(like)(values)
    except TypeError:
        return values


def _unknown(kind):
    return fail(
        TypeError,
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}",
        "Convert it in __getitem__, or pass a collate_fn of your own.",
    )


def _tensors(batch, *, collate_fn_map=None):
    return autolab.stack(list(batch), 0)


def _arrays(batch, *, collate_fn_map=None):
    if batch[0].dtype.kind in "SUO":
        raise _unknown(batch[0].dtype)
    return autolab.stack([autolab.as_tensor(array) for array in batch], 0)


def _scalars(batch, *, collate_fn_map=None):
    return autolab.as_tensor(np.stack(batch))


def _floats(batch, *, collate_fn_map=None):
    return autolab.tensor(batch, dtype=autolab.float64)


def _integers(batch, *, collate_fn_map=None):
    return autolab.tensor(batch)


def _texts(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {
    Tensor: _tensors,
    np.ndarray: _arrays,
    (np.bool_, np.number, np.object_): _scalars,
    float: _floats,
    int: _integers,
    str: _texts,
    bytes: _texts,
}
"""How `default_collate` makes a batch of values of a class; put functions `f(batch, *, collate_fn_map)` for your own
classes in."""


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Samples of one class as a batch: by the function for that class in `collate_fn_map`, dicts and sequences by part.

    Raises TypeError for other classes, RuntimeError when samples have different lengths.
    """
    first = batch[0]
    known = collate_fn_map or {}
    for kind in (type(first), *known):
        if kind in known and (kind is type(first) or isinstance(first, kind)):
            return known[kind](batch, collate_fn_map=collate_fn_map)
    together = lambda values: collate(values, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _mapping_like(
            first, {key: together([sample[key] for sample in batch]) for key in first}
        )
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(together(part) for part in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise fail(
                RuntimeError,
                "each element in list of batch should be of equal size",
                "Samples of different lengths cannot be stacked: pad them, or pass a collate_fn of your own.",
            )
        parts = [together(part) for part in zip(*batch)]
        return parts if isinstance(first, tuple) else _sequence_like(first, parts)
    raise _unknown(type(first))


def default_collate(batch: Any) -> Any:
    """Samples along a new first dimension: tensors and arrays stacked, numbers to tensors, dicts and tuples by part.

    Floats become float64, ints int64, strings stay a list. Raises TypeError for anything else, RuntimeError when
    samples have different lengths or shapes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """A single sample with NumPy arrays and numbers made tensors; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else autolab.as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return autolab.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        parts = [default_convert(part) for part in data]
        return parts if isinstance(data, tuple) else _sequence_like(data, parts)
    return data
