"""`vmap`: a function for each entry of a batch. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.func.vmap.html"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ..engine.core.errors import fail
from ..engine.exact.refusals import unsupported
from ..engine.exact.random import default_generator
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees


@contextlib.contextmanager
def _no_random_numbers():
    """Raise RuntimeError afterwards if random numbers were drawn."""
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
    out_dims: int | tuple[Any, ...] | None = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `func` for each entry of a batch and stacks the results. Here it is a loop: the same
    numbers, not faster.

    in_dims: which dimension of each argument counts the entries (None: the argument is the same for all), a number or
    nested like the arguments; out_dims: where that dimension stands in the results. Arguments and results may be nested
    tuples, lists and dicts; keyword arguments are the same for all. randomness: 'error' refuses random numbers, 'same'
    draws once, 'different' for each entry. chunk_size: how many entries PyTorch takes at a time; changes nothing here.
    Raises ValueError for dimensions that do not fit the arguments. Source: torch.func.vmap.

    Example:
        >>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
        tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        message = f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        note = "It says whether the function may draw random numbers, and whether each entry draws new ones."
        raise fail(RuntimeError, message, note)
    if not (chunk_size is None or chunk_size > 0):
        message = f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        raise fail(ValueError, message, "It counts entries; leave it out.")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        name = getattr(func, "__name__", repr(func))
        n, dims, flat, spec = _entries(name, in_dims, args)
        start = default_generator.get_state()
        rows = []
        with _no_random_numbers() if randomness == "error" else contextlib.nullcontext():
            for i in range(n):
                if randomness == "same":
                    default_generator.set_state(start)
                entry = [x if d is None else x.select(d, i) for x, d in zip(flat, dims)]
                rows.append(func(*trees.unflatten(entry, spec), **kwargs))
        return _stacked(name, rows, out_dims)

    return mapped


_ONE_PER_ARGUMENT = (
    "Give one dimension per argument: (0, None). None means: the same for every entry."
)


def _entries(name, in_dims, args):
    """Return (size of the batch, dimension of each leaf or None, leaves, structure) of the arguments."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise fail(
            ValueError,
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.",
            _ONE_PER_ARGUMENT,
        )
    if not args:
        raise fail(
            ValueError,
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. "
            "The latter is unsupported.",
            "Call the function that vmap returned with the batch.",
        )
    flat, spec = trees.flatten(args)
    dims = trees.broadcast(in_dims, spec)
    if dims is None:
        raise fail(
            ValueError,
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure {trees.flatten(in_dims)[1]} but inputs has "
            f"structure {spec}.",
            _ONE_PER_ARGUMENT,
        )
    dims = [None if d is None else _dimension(call, x, d) for x, d in zip(flat, dims)]
    sizes = [x.shape[d] for x, d in zip(flat, dims) if d is not None]
    if not sizes:
        message = "vmap: Expected at least one Tensor to vmap over"
        raise fail(ValueError, message, "All of in_dims are None, so nothing counts the entries.")
    if len(set(sizes)) > 1:
        raise fail(
            ValueError,
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension",
            "Every mapped argument needs the same number of entries.",
        )
    if not sizes[0]:
        raise unsupported("vmap", "in_dims", "The batch is empty: give one entry at least.")
    return sizes[0], dims, flat, spec


def _dimension(call, x, d):
    if not isinstance(d, int):
        problem = (
            f"Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
        )
    elif not isinstance(x, Tensor):
        problem = (
            f"Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please use None as "
            "the respective in_dim"
        )
    elif not -x.ndim <= d < x.ndim:
        problem = (
            f"Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so expected in_dim to satisfy "
            f"-{x.ndim} <= in_dim < {x.ndim}."
        )
    else:
        return d % x.ndim
    raise fail(ValueError, f"{call}{problem}", _ONE_PER_ARGUMENT)


def _stacked(name, rows, out_dims):
    """Return the results of all entries as one, each leaf stacked along its dimension of `out_dims`."""
    leaves, spec = [trees.flatten(row)[0] for row in rows], trees.flatten(rows[0])[1]
    dims = trees.broadcast(out_dims, spec)
    if dims is None or not all(d is None or isinstance(d, int) for d in dims):
        raise fail(
            ValueError,
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {trees.flatten(out_dims)[1]} but outputs has structure {spec}.",
            "Give one dimension per result: an int, or None.",
        )
    joined = [_joined(name, column, d) for column, d in zip(zip(*leaves), dims)]
    return trees.unflatten(joined, spec)


def _joined(name, column, d):
    first = column[0]
    if d is None:
        if isinstance(first, Tensor) and not all(NAMESPACES[""]["equal"](first, x) for x in column):
            message = (
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
            note = (
                "The result differs from entry to entry, so it needs a dimension that counts them."
            )
            raise fail(ValueError, message, note)
        return first
    for x in column:
        if not isinstance(x, Tensor):
            raise fail(
                ValueError,
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to None for output?",
                "Numbers can be stacked as tensors: torch.tensor(…), or out_dims=None.",
            )
    return NAMESPACES[""]["stack"](column, d)
