"""Derivatives along a direction: `jvp`, `jacfwd` and `hessian`.

PyTorch finds them by forward mode: every tensor carries its derivative along. There is no forward mode here. The
product J v is found by two reverse passes: u^T J is linear in u, so the derivative of (u^T J) v by u is J v, whatever u
is. The numbers are those of forward mode (but for the last digit); it takes about the time of two backward passes, and
keeps the graph until then. Source: https://docs.pytorch.org/docs/2.13/func.api.html; the trick:
https://j-towns.github.io/2017/06/12/A-new-trick.html"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..engine.core.differentiate import grad as _grad
from ..engine.autograd.functional import unit
from ..engine.autograd.modes import enable_grad
from ..engine.core.errors import fail
from ..engine.exact.refusals import unsupported
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees
from .arguments import chosen, no_complex, replaced, tensors_of, with_aux
from .batching import check_randomness, watched
from .levels import Level, depends, without_inference
from .reverse import jacrev

_TORCH = NAMESPACES[""]
_JVP = "jvp(f, primals, tangents)"


class _Linear:
    """`func` at its arguments, and what gives J v for any v: built once, asked as often as one likes."""

    @without_inference()
    def __init__(self, func, args, argnums, has_aux):
        with Level() as self.level, enable_grad():
            primals, spec = trees.flatten(chosen(args, argnums) if args else ())
            _check_tensors(primals, "primals")
            for x in primals:
                _check_floating(x, "primal")
            self.inputs = [self.level.fresh(x) for x in primals]
            xs = trees.unflatten(self.inputs, spec)
            out, aux = with_aux(func(*replaced(args, argnums, xs)), has_aux, _JVP)
            self.aux = self.level.leave(aux) if has_aux else None
            self.ys, self.spec_out = tensors_of(out, _JVP)
            self.out = self.level.leave(out)
            self._build()

    def _build(self):
        """u^T J as a function of u, for every result that has a graph."""
        self.seeds = [
            self.level.fresh(_TORCH["zeros_like"](y).detach()) if y.requires_grad else None
            for y in self.ys
        ]
        live = [(y, u) for y, u in zip(self.ys, self.seeds) if u is not None]
        products: tuple[Tensor | None, ...] = (None,) * len(self.inputs)
        if live:
            ys, us = zip(*live)
            products = _grad(ys, self.inputs, us, create_graph=True, allow_unused=True)
        self.products = [g if g is not None and g.requires_grad else None for g in products]

    @without_inference()
    def along(self, tangents):
        """J v, flat: one tensor per result."""
        tangents = [v.clone() if v.is_inference() else v for v in tangents]
        terms = [(g, v) for g, v in zip(self.products, tangents) if g is not None]
        seeds = [u for u in self.seeds if u is not None]
        derivatives: Iterator[Tensor | None] = iter((None,) * len(seeds))
        with enable_grad():
            live = self.level.concerns_others(*self.ys, *tangents)
            if terms and seeds:
                gs, vs = zip(*terms)
                derivatives = iter(
                    _grad(gs, seeds, vs, retain_graph=True, create_graph=live, allow_unused=True)
                )
            by_result = [None if u is None else next(derivatives) for u in self.seeds]
            columns = [
                _TORCH["zeros_like"](y).detach() if c is None else c
                for c, y in zip(by_result, self.ys)
            ]
            return columns if live and self.level.tracked else [c.detach() for c in columns]


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """(func(*primals), J v), and aux where `has_aux`: how the result changes when the primals move along the tangents
    v.

    primals: a tuple of tensors or of nested tuples, lists and dicts of tensors; tangents: nested and shaped alike.
    strict: raise where the result does not depend on the primals, instead of giving zeros. has_aux: `func` gives
    (result, what is not differentiated). Found by two reverse passes, for there is no forward mode here (see the top of
    this file); so `func` has to be differentiable twice. Raises RuntimeError for tangents of another structure or
    shape. Source: torch.func.jvp."""
    if not isinstance(primals, tuple):
        message = (
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
        raise fail(RuntimeError, message, "One argument is a tuple, too: (x,).")
    xs, spec = trees.flatten(primals)
    vs, spec_v = trees.flatten(tangents)
    if spec != spec_v:
        raise fail(
            RuntimeError,
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {spec} and tangents with structure {spec_v}",
            "There is one direction for each argument: jvp(f, (x,), (v,)).",
        )
    _check_tensors(xs, "primals")
    _check_tensors(vs, "tangents")
    for x, v in zip(xs, vs):
        _check_direction(x, v)
    linear = _Linear(func, primals, tuple(range(len(primals))), has_aux)
    if strict and not all(depends(y, linear.inputs) for y in linear.ys):
        message = "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        raise fail(
            RuntimeError, message, "strict=True asks that every result depends on the arguments."
        )
    out = trees.unflatten(linear.along(vs), linear.spec_out)
    return (linear.out, out, linear.aux) if has_aux else (linear.out, out)


def _check_tensors(leaves, what):
    if not leaves:
        raise fail(
            RuntimeError,
            f"{_JVP}: Expected {what} to contain at least one Tensor.",
            "There is nothing to differentiate by.",
        )
    for x in leaves:
        if not isinstance(x, Tensor):
            message = f"{_JVP}: Expected {what} to only contain Tensors, got {type(x)}"
            raise fail(RuntimeError, message, "Other arguments can be bound with a lambda.")


def _check_floating(t, what):
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        message = f"Expected {what} to be floating point or complex, but got: {t.dtype}"
        raise fail(
            ValueError,
            message,
            "A derivative needs values that can change by small amounts; use .float() first.",
        )


def _check_direction(x, v):
    _check_floating(x, "primal")
    _check_floating(v, "tangent")
    if x.shape != v.shape:
        raise fail(
            RuntimeError,
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of "
            f"size {list(x.shape)} while the given forward gradient is of size {list(v.shape)}.",
            "A direction says for each element how fast it moves.",
        )
    if x.dtype is not v.dtype:
        raise unsupported(
            "jvp",
            "tangents",
            f"The tangent has dtype {v.dtype}, its primal {x.dtype}: convert it with .to(primal.dtype).",
        )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] | None = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` column by column: J v for each unit vector v of the arguments.

    Entries have shape result.shape + argument.shape; they are nested like the result and, inside, like the arguments.
    argnums: as in `grad`, None for all; has_aux as there. randomness: whether `func` may draw random numbers ('error':
    no), once ('same') or once per column ('different'). Columns are found by two reverse passes, as in `jvp`: PyTorch's
    reason to prefer `jacfwd` for few arguments and large results does not hold here. Raises RuntimeError for complex
    tensors. Source: torch.func.jacfwd."""

    @functools.wraps(func)
    @without_inference()
    def derived(*args):
        no_complex("jacfwd", args, "inputs")
        check_randomness(randomness)
        places = tuple(range(len(args))) if argnums is None else argnums
        flat, spec_in = trees.flatten(chosen(args, places))
        with watched(randomness):
            linear = _Linear(func, args, places, has_aux)
        no_complex("jacfwd", linear.ys, "outputs")
        zeros = [_TORCH["zeros_like"](x) for x in flat]
        columns: list[list[Tensor]] = []
        for i, x in enumerate(flat):
            for place in range(x.numel()):
                at = (
                    linear
                    if randomness != "different" or not columns
                    else _Linear(func, args, places, has_aux)
                )
                columns.append(
                    at.along([unit(x, place) if i == k else zero for k, zero in enumerate(zeros)])
                )
        sizes = [x.numel() for x in flat]
        shown = columns or [
            linear.along(zeros)
        ]  # no arguments: one column tells what depends on what
        by_output = []
        for k in range(len(linear.ys)):
            parts = _TORCH["stack"]([c[k] for c in shown]).narrow(0, 0, len(columns))
            parts = _TORCH["movedim"](parts, 0, -1).split(sizes, -1)
            block = trees.unflatten(
                [
                    p.unflatten(-1, x.shape) if x.ndim else p.squeeze(-1)
                    for p, x in zip(parts, flat)
                ],
                spec_in,
            )
            by_output.append(block[0] if isinstance(argnums, int) else block)
        result = trees.unflatten(by_output, linear.spec_out)
        return (result, linear.aux) if has_aux else result

    return derived


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: `jacfwd(jacrev(func, argnums), argnums)`, as in PyTorch.

    Entries have shape result.shape + argument.shape + argument.shape, nested like the result and twice like the
    arguments. Source: torch.func.hessian."""
    return jacfwd(jacrev(func, argnums), argnums)
