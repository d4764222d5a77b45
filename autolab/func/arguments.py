"""What the transforms check about what they are given, in PyTorch's words."""

from __future__ import annotations

from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from . import trees


def chosen(args, argnums):
    """The arguments that `argnums` names: a tuple, of one for an int. Raises RuntimeError for positions that are not
    there."""
    return tuple(args[i] for i in positions(args, argnums))


def positions(args, argnums):
    """`argnums` as a tuple of positions counted from the front."""
    if not isinstance(argnums, (int, tuple)):
        message = f"argnums must be int or Tuple[int, ...], got: {type(argnums)}"
        raise fail(
            RuntimeError, message, "argnums says by which arguments to differentiate: 0, or (0, 1)."
        )
    places = tuple(
        _position(i, len(args)) for i in ((argnums,) if isinstance(argnums, int) else argnums)
    )
    if not places:
        raise fail(
            RuntimeError,
            "argnums must be non-empty",
            "argnums says by which arguments to differentiate: 0, or (0, 1).",
        )
    if len(set(places)) != len(places):
        message = f"argnums elements must be unique, got {places}"
        raise fail(
            RuntimeError, message, "Name each argument once; negative numbers count from the end."
        )
    return places


def _position(i, n):
    if not isinstance(i, int):
        raise fail(
            RuntimeError, f"argnum must be int, got: {type(i)}", "Arguments are counted from 0."
        )
    if not -n <= i < n:
        message = f"Got argnum={i}, but only {n} positional inputs"
        raise fail(
            RuntimeError,
            message,
            "Arguments are counted from 0; keyword arguments cannot be differentiated by.",
        )
    return i % n


def replaced(args, argnums, new):
    """`args` with the arguments that `argnums` names replaced by `new`."""
    result = list(args)
    for i, x in zip(positions(args, argnums), new):
        result[i] = x
    return result


def with_aux(output, has_aux, function):
    """(output, aux): aux is None unless `has_aux`. Raises RuntimeError unless a function with `has_aux` gives a
    pair."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        message = (
            f"{function}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
        raise fail(
            RuntimeError,
            message,
            "Return the result to differentiate first, what else you want second.",
        )
    return output


def tensors_of(output, function):
    """(leaves, structure) of what a function gave back. Raises RuntimeError unless all are tensors, one at least."""
    leaves, spec = trees.flatten(output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        message = f"{function}: Expected f to be a function that has non-empty output (got output = {leaves})"
        raise fail(RuntimeError, message, "Does the function end with `return`?")
    for t in leaves:
        if not isinstance(t, Tensor):
            message = f"{function}: expected f(*primals) to return only tensors, got unsupported type {type(t)}"
            raise fail(
                RuntimeError,
                message,
                "With has_aux=True a function may give back a second value that is not differentiated.",
            )
    return leaves, spec


def no_complex(name, tree, what):
    """Raises RuntimeError for complex tensors, which have no Jacobian here."""
    for i, t in enumerate(trees.flatten(tree)[0]):
        if isinstance(t, Tensor) and t.dtype.is_complex:
            message = f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            raise fail(
                RuntimeError,
                message,
                "A Jacobian is a table of real derivatives: take .real and .imag.",
            )
