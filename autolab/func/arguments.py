"""What the transforms check about what they are given, in PyTorch's words."""

from __future__ import annotations

from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from . import trees


def chosen(args, argnums):
    """Return the arguments that `argnums` names: a tuple, of one for an int. Raises RuntimeError for positions that
    are not there."""
    return tuple(args[i] for i in _positions(args, argnums))


def replaced(args, argnums, new):
    """Return `args` with the arguments that `argnums` names replaced by `new`."""
    result = list(args)
    for i, x in zip(_positions(args, argnums), new):
        result[i] = x
    return result


def _positions(args, argnums):
    """Return `argnums` as positions counted from the front."""
    note = "argnums says by which arguments to differentiate: 0, or (0, 1)."
    if not isinstance(argnums, (int, tuple)):
        message = f"argnums must be int or Tuple[int, ...], got: {type(argnums)}"
        raise fail(RuntimeError, message, note)
    places, n = (argnums,) if isinstance(argnums, int) else argnums, len(args)
    for i in places:
        if not isinstance(i, int):
            raise fail(RuntimeError, f"argnum must be int, got: {type(i)}", note)
        if not -n <= i < n:
            raise fail(RuntimeError, f"Got argnum={i}, but only {n} positional inputs", note)
    places = tuple(i % n for i in places)
    if len(set(places)) != len(places):
        message = f"argnums elements must be unique, got {places}"
        raise fail(RuntimeError, message, "Name each argument once.")
    if args and not places:
        raise fail(RuntimeError, "argnums must be non-empty", note)
    return places


def with_aux(output, has_aux, function):
    """Return (output, aux): aux is None unless `has_aux`. Raises RuntimeError unless a function with `has_aux` gives a
    pair."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise fail(
            RuntimeError,
            f"{function}: output of function f should be a tuple: (output, aux) if has_aux is True",
            "Return the result to differentiate first, and the rest second.",
        )
    return output


def tensors_of(output, function):
    """Return (leaves, structure) of the output of a function. Raises RuntimeError unless all are tensors, one at
    least."""
    leaves, spec = trees.flatten(output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        message = f"{function}: Expected f to be a function that has non-empty output (got output = {leaves})"
        raise fail(RuntimeError, message, "Does the function end with `return`?")
    for t in leaves:
        if not isinstance(t, Tensor):
            raise fail(
                RuntimeError,
                f"{function}: expected f(*primals) to return only tensors, got unsupported type {type(t)}",
                "With has_aux=True a function may return a second value that is not differentiated.",
            )
    return leaves, spec
