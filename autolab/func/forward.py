"""Derivatives along a direction: `jvp`, and what PyTorch builds on it: `jacfwd` and `hessian`.

PyTorch finds them by forward mode: every tensor carries its derivative along. There is no forward mode here. `jvp`
takes two reverse passes: u^T J is linear in u, so the derivative of (u^T J) v with respect to u is J v, whatever u is.
`jacfwd` takes the reverse passes of `jacrev`. The numbers are those of forward mode, but for the last digit. Source:
https://docs.pytorch.org/docs/2.13/func.api.html; the trick: https://j-towns.github.io/2017/06/12/A-new-trick.html"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.core.errors import fail
from ..engine.exact.refusals import unsupported
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees
from .reverse import jacrev, vjp

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return (func(*primals), J v): how the result changes when the primals move along the tangents v.

    primals: a tuple of tensors or of nested tuples, lists and dicts of tensors; tangents: nested and shaped alike.
    `func` has to be differentiable twice (see the top of this file). Raises RuntimeError for tangents of another
    structure or shape. Source: torch.func.jvp."""
    for name, given in (("strict", strict), ("has_aux", has_aux)):
        if given:
            raise unsupported("jvp", name)
    if not isinstance(primals, tuple):
        message = (
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
        raise fail(RuntimeError, message, "One argument is a tuple, too: (x,).")
    (xs, spec), (vs, spec_v) = trees.flatten(primals), trees.flatten(tangents)
    if spec != spec_v:
        raise fail(
            RuntimeError,
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {spec} and tangents with structure {spec_v}",
            "There is one direction for each argument: jvp(f, (x,), (v,)).",
        )
    for x, v in zip(xs, vs):
        _check_direction(x, v)
    result, pull_back = vjp(func, *primals)
    _, push_forward = vjp(pull_back, trees.mapped(NAMESPACES[""]["zeros_like"], result))
    return result, push_forward(tangents)[0]


def _check_direction(x, v):
    for t, what in ((x, "primals"), (v, "tangents")):
        if not isinstance(t, Tensor):
            message = f"{_JVP}: Expected {what} to only contain Tensors, got {type(t)}"
            raise fail(RuntimeError, message, "Other arguments can be bound with a lambda.")
    if x.shape != v.shape:
        raise fail(
            RuntimeError,
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of "
            f"size {list(x.shape)} while the given forward gradient is of size {list(v.shape)}.",
            "A direction says for each element how fast it moves.",
        )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return `jacrev(func, argnums, has_aux=has_aux)`, for there is no forward mode here: PyTorch's reason to prefer
    `jacfwd` for few arguments and large results does not hold. Source: torch.func.jacfwd."""
    if randomness != "error":
        raise unsupported("jacfwd", "randomness", "Draw the random numbers before the function.")
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return a function that gives the second derivatives of `func`: `jacfwd(jacrev(func, argnums), argnums)`.

    Entries have shape result.shape + argument.shape + argument.shape, nested like the result and twice like the
    arguments. Source: torch.func.hessian."""
    return jacfwd(jacrev(func, argnums), argnums)
