"""`vmap`: a function for each entry of a batch. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.func.vmap.html"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ..engine.core.errors import fail
from ..engine.exact.random import default_generator
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees

_TORCH = NAMESPACES[""]


def check_randomness(randomness):
    """Raises RuntimeError unless `randomness` is 'error', 'different' or 'same'."""
    if randomness not in ("error", "different", "same"):
        message = f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        raise fail(
            RuntimeError,
            message,
            "It says whether the function may draw random numbers, and whether anew for each entry.",
        )


@contextlib.contextmanager
def watched(randomness):
    """Raises RuntimeError afterwards where `randomness` is 'error' and random numbers were drawn."""
    before = default_generator.get_state() if randomness == "error" else None
    yield
    if before is not None and (before._array != default_generator.get_state()._array).any():
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
    """`func` for each entry of a batch; its results are stacked. Here it is a loop: the same numbers, not faster.

    in_dims: which dimension of each argument counts the entries (None: the argument is the same for all), a number or
    nested like the arguments; out_dims: where that dimension stands in the results. Arguments and results may be nested
    tuples, lists and dicts; keyword arguments are the same for all. randomness: 'error' refuses random numbers, 'same'
    draws once, 'different' for each entry. chunk_size: how many entries PyTorch takes at a time; changes nothing here.
    Raises ValueError for dimensions that do not fit the arguments. Source: torch.func.vmap.

    Example:

        >>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
        tensor([2., 2., 2.])
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        message = f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        raise fail(ValueError, message, "It counts entries; leave it out.")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        name = _name(func)
        _check_out_dims(name, out_dims)
        n, dims, flat, spec = _entries(name, in_dims, args)

        def row(i):
            entry = [
                x if d is None else x.select(d, i) if n else _zeros_of_entry(x, d)
                for x, d in zip(flat, dims)
            ]
            return func(*trees.unflatten(entry, spec), **kwargs)

        rows = []
        start = default_generator.get_state() if randomness == "same" else None
        with watched(randomness):
            for i in range(n or 1):  # of an empty batch, one entry of zeros tells the shapes
                if start is not None:
                    default_generator.set_state(start)
                rows.append(row(i))
        return _stacked(name, rows, out_dims, n)

    return mapped


def _name(func):
    if hasattr(func, "__name__"):
        return func.__name__
    return (
        f"functools.partial({_name(func.func)}, ...)"
        if isinstance(func, functools.partial)
        else repr(func)
    )


def _zeros_of_entry(x, d):
    """Zeros like an entry of the empty batch `x`, with its history."""
    return x.sum(d).to(x.dtype)


def _check_out_dims(name, out_dims):
    for d in trees.flatten(out_dims)[0]:
        if not (d is None or isinstance(d, int)):
            raise fail(
                ValueError,
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing where in "
                "the outputs the vmapped dimension should appear.",
                "0 puts the entries first.",
            )


def _entries(name, in_dims, args):
    """(size of the batch, dimension of each leaf or None, leaves, structure) of the arguments."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise fail(
            ValueError,
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.",
            "Give one dimension per argument: (0, None).",
        )
    if not args:
        raise fail(
            ValueError,
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. "
            "The latter is unsupported.",
            "Call what vmap gave back with the batch.",
        )
    flat, spec = trees.flatten(args)
    dims = trees.broadcast(in_dims, spec)
    if dims is None:
        raise fail(
            ValueError,
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure {trees.flatten(in_dims)[1]} but inputs has "
            f"structure {spec}.",
            "Give one dimension per argument: (0, None).",
        )
    mapped_dims = [None if d is None else _dimension(call, x, d) for x, d in zip(flat, dims)]
    sizes = [x.shape[d] for x, d in zip(flat, mapped_dims) if d is not None]
    if not sizes:
        raise fail(
            ValueError,
            "vmap: Expected at least one Tensor to vmap over",
            "All of in_dims are None, so nothing counts the entries.",
        )
    if any(size != sizes[0] for size in sizes):
        raise fail(
            ValueError,
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension",
            "Every mapped argument needs the same number of entries.",
        )
    return sizes[0], mapped_dims, flat, spec


def _dimension(call, x, d):
    if not isinstance(d, int):
        message = f"{call}Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
        raise fail(ValueError, message, "None means: the same for every entry.")
    if not isinstance(x, Tensor):
        raise fail(
            ValueError,
            f"{call}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please use None as "
            "the respective in_dim",
            "None means: the same for every entry.",
        )
    if not -x.ndim <= d < x.ndim:
        raise fail(
            ValueError,
            f"{call}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so expected in_dim to satisfy "
            f"-{x.ndim} <= in_dim < {x.ndim}.",
            "One dimension of the tensor counts the entries; a single number has none.",
        )
    return d % x.ndim


def _stacked(name, rows, out_dims, n):
    """The results of all entries as one, each leaf stacked along its dimension of `out_dims`."""
    leaves = [trees.flatten(row)[0] for row in rows]
    spec = trees.flatten(rows[0])[1]
    single = isinstance(rows[0], Tensor)
    prefix = (
        out_dims[0] if single and isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
    )
    dims = trees.broadcast(prefix, spec)
    if dims is None:
        raise fail(
            ValueError,
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {trees.flatten(out_dims)[1]} but outputs has structure {spec}.",
            "Give one dimension per result.",
        )
    return trees.unflatten(
        [_joined(name, column, d, n) for column, d in zip(zip(*leaves), dims)], spec
    )


def _joined(name, column, d, n):
    if d is None:
        if isinstance(column[0], Tensor) and not all(_same(column[0], x) for x in column[1:]):
            message = (
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
            raise fail(
                ValueError,
                message,
                "The result differs from entry to entry, so it needs a dimension that counts them.",
            )
        return column[0]
    for x in column:
        if not isinstance(x, Tensor):
            raise fail(
                ValueError,
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to None for output?",
                "Numbers can be stacked as tensors: torch.tensor(…), or out_dims=None.",
            )
    stacked = _TORCH["stack"](column, d)
    return stacked if n else stacked.narrow(d, 0, 0)


def _same(a, b):
    return a is b or (a.shape == b.shape and bool((a == b).all()))
