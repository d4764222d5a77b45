"""`vmap`: call a function for each entry of a batch. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.func.vmap.html"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ..engine.core.errors import fail
from ..engine.exact.random import default_generator
from ..engine.exact.refusals import unsupported
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees


@contextlib.contextmanager
def _refuse_random_numbers():
    """Raise RuntimeError at the end of the block if random numbers were drawn inside it."""
    before = default_generator.get_state()._array
    yield
    if (before != default_generator.get_state()._array).any():
        raise fail(
            RuntimeError,
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap "
            "or perform the randomness operation out of vmap",
            "One draw for the whole batch and one per entry are different things: say which, with randomness=.",
        )


def vmap(
    func: Callable[..., Any],
    in_dims: int | tuple[Any, ...] = 0,
    out_dims: int = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `func` for each entry of a batch and stacks the results. It is a loop, so the
    results are the same as in PyTorch, but it is not faster.

    in_dims: the batch dimension of each argument (None: the argument is the same for all entries), a number or nested
    like the arguments. out_dims: the position of the batch dimension in all results. Arguments and results may be
    nested tuples, lists and dicts; keyword arguments are the same for all entries. randomness: 'error' refuses random
    numbers, 'same' draws once, 'different' for each entry. chunk_size: the number of entries that PyTorch processes at
    a time; no effect here. Raise ValueError for dimensions that do not match the arguments. Source: torch.func.vmap.

    Example:
        >>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        message = f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        note = "It says whether the function may draw random numbers, and whether each entry draws new ones."
        raise fail(RuntimeError, message, note)
    if not isinstance(out_dims, int):
        raise unsupported(
            "vmap", "out_dims that is not a number", "Move dimensions of a result: .movedim(0, 1)."
        )

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        n, dims, flat, spec = _entries(in_dims, args)
        start = default_generator.get_state()
        rows = []
        with _refuse_random_numbers() if randomness == "error" else contextlib.nullcontext():
            for i in range(n or 1):  # one entry of zeros shows which results an empty batch has
                if randomness == "same":
                    default_generator.set_state(start)
                entry = [x if d is None else _entry(x, d, i) for x, d in zip(flat, dims)]
                rows.append(func(*trees.unflatten(entry, spec), **kwargs))
        leaves, spec = [trees.flatten(row)[0] for row in rows], trees.flatten(rows[0])[1]
        joined = [_joined(column, out_dims) for column in zip(*leaves)]
        if not n and out_dims is not None:
            joined = [x.narrow(out_dims, 0, 0) for x in joined]
        return trees.unflatten(joined, spec)

    return mapped


def _entry(x, d, i):
    """Return entry `i` of a batch along dimension `d`; zeros if the batch is empty."""
    if x.shape[d]:
        return x.select(d, i)
    d %= x.ndim
    return x.new_zeros((*x.shape[:d], *x.shape[d + 1 :]))


def _spread(dims, spec):
    try:
        return trees.spread(dims, spec)
    except (ValueError, KeyError):
        message = f"vmap: in_dims={dims} is not compatible with the structure of what it counts"
        note = "Give one dimension each: (0, None). None means: the same for every entry."
        raise fail(ValueError, message, note) from None


def _entries(in_dims, args):
    """Return (size of the batch, batch dimension of each leaf or None, leaves, structure) of the arguments."""
    flat, spec = trees.flatten(args)
    dims = _spread(in_dims, spec)
    for x, d in zip(flat, dims):
        if d is not None and not (isinstance(x, Tensor) and -x.ndim <= d < x.ndim):
            what = f"of shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"that is {type(x)}"
            message = f"vmap: Got in_dim={d} for an input {what}"
            note = "in_dims names a dimension of a tensor for each argument, or None: the same for every entry."
            raise fail(ValueError, message, note)
    sizes = [x.shape[d] for x, d in zip(flat, dims) if d is not None]
    if len(set(sizes)) != 1:
        message = "vmap: Expected at least one Tensor to vmap over"
        if len(set(sizes)) > 1:
            message = f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        raise fail(ValueError, message, "Every mapped argument needs the same number of entries.")
    return sizes[0], dims, flat, spec


def _joined(column, d):
    """Return the results of all entries, stacked along dimension `d`."""
    if not all(isinstance(x, Tensor) for x in column):
        message = f"vmap: the function must only return Tensors, got type {type(column[0])}. Did you mean to set out_dims= to None for output?"
        raise fail(ValueError, message, "Numbers can be stacked as tensors: torch.tensor(…).")
    return NAMESPACES[""]["stack"](column, d)
