"""Gradients as functions, by reverse mode: `vjp`, `grad`, `grad_and_value`, `jacrev`.

Source: https://docs.pytorch.org/docs/2.13/func.api.html"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..engine.core.differentiate import grad as _grad
from ..engine.autograd.functional import unit
from ..engine.autograd.modes import enable_grad, is_grad_enabled
from ..engine.core.errors import fail
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees
from .arguments import chosen, replaced, tensors_of, with_aux
from .levels import Level, without_inference

_TORCH = NAMESPACES[""]


def _gradients(outputs, inputs, vectors, create_graph):
    """Return the gradients of the outputs, weighted by `vectors`; zeros for an input that nothing reaches. The graph
    stays."""
    live = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if not live:
        return [_TORCH["zeros_like"](x) for x in inputs]
    ys, vs = zip(*live)
    grads = _grad(ys, inputs, vs, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return [_TORCH["zeros_like"](x) if g is None else g for g, x in zip(grads, inputs)]


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives (gradient, value) of `func`, whose result must be one number.

    argnums: the positional argument to differentiate by, or several (a tuple: a tuple of gradients); an argument may be
    a nested tuple, list or dict of tensors, and its gradient is nested alike. has_aux: `func` gives (result, anything
    made of tensors) and so does this, as the value. Raises RuntimeError unless the result is a 0-d tensor. Source:
    torch.func.grad_and_value."""
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    @without_inference()
    def derived(*args, **kwargs):
        with Level() as level, enable_grad():
            xs = level.enter(chosen(args, argnums))
            out, aux = with_aux(func(*replaced(args, argnums, xs), **kwargs), has_aux, name)
            if not isinstance(out, Tensor):
                message = f"{name}: Expected f(*args) to return a Tensor, got {type(out)}"
                note = "A gradient belongs to a number that was computed with tensors."
                raise fail(RuntimeError, message, note)
            if out.ndim:
                raise fail(
                    RuntimeError,
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                    "Reduce it: .sum() or .mean().",
                )
            flat, spec = trees.flatten(xs if isinstance(argnums, tuple) else xs[0])
            grads = _gradients((out,), flat, (None,), level.concerns_others(out))
            gradient, value, *aux = level.leave(
                (trees.unflatten(grads, spec), out, *([aux] if has_aux else []))
            )
        return gradient, (value, *aux) if has_aux else value

    return derived


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the gradient of `func`, whose result must be one number; (gradient, aux) with
    `has_aux`.

    Arguments and errors are those of `grad_and_value`. Source: torch.func.grad.

    Example:
        >>> torch.func.grad(torch.sin)(torch.tensor(0.))
        tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derived(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derived


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (func(*primals), a function from v to the gradients v^T J, one per primal), and aux where `has_aux`.

    Primals, result and v may be nested tuples, lists and dicts of tensors; v is nested and shaped like the result. The
    function may be called as often as one likes. Raises RuntimeError for results that are no floating-point tensors.
    Source: torch.func.vjp."""
    return _pulled_back(func, primals, tuple(range(len(primals))), has_aux)


@without_inference()
def _pulled_back(func, primals, argnums, has_aux):
    """Return what `vjp` does, with respect to the primals that `argnums` names."""
    with Level() as level, enable_grad():
        xs = level.enter(chosen(primals, argnums))
        inputs, spec_in = trees.flatten(xs)
        out, aux = with_aux(func(*replaced(primals, argnums, xs)), has_aux, "vjp(f, *primals)")
        aux = (level.leave(aux),) if has_aux else ()
        ys, spec_out = tensors_of(out, "vjp(f, *primals)")
        result = level.leave(out)
        for y in ys:
            if not y.dtype.is_floating_point:
                message = f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {y.dtype}"
                note = "Whole numbers have no derivative; what is not differentiated goes into aux."
                raise fail(RuntimeError, message, note)

    @without_inference()
    def pull_back(cotangents, retain_graph=True, create_graph=None):
        vs, spec = trees.flatten(cotangents)
        if spec != spec_out:
            raise fail(
                RuntimeError,
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {trees.drawn(spec)}, primal output: {trees.drawn(spec_out)}",
                "v is nested like the result of the function.",
            )
        if create_graph is None:
            create_graph = is_grad_enabled()
        tensors = [*ys, *(v for v in vs if isinstance(v, Tensor))]
        live = create_graph and level.concerns_others(*tensors)
        grads = _gradients(ys, inputs, vs, live)
        return trees.unflatten(grads if live else [g.detach() for g in grads], spec_in)

    return result, pull_back, *aux


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of `func` by reverse mode: one backward pass per element of the result.

    Entries have shape result.shape + argument.shape; they are nested like the result and, inside, like the arguments.
    argnums, has_aux as in `grad`. chunk_size says in PyTorch how much memory may be used; rows are always found one by
    one here. Raises ValueError for a chunk_size below 1. Source: torch.func.jacrev."""
    if not (chunk_size is None or chunk_size > 0):
        message = "jacrev: `chunk_size` should be greater than 0."
        raise fail(ValueError, message, "It counts rows; leave it out.")

    @functools.wraps(func)
    @without_inference()
    def derived(*args):
        output, pull_back, *aux = _pulled_back(func, args, argnums, has_aux)
        ys, spec_out = trees.flatten(output)
        xs, spec_in = trees.flatten(chosen(args, argnums))
        zeros = [_TORCH["zeros_like"](y) for y in ys]
        by_output = []
        for i, y in enumerate(ys):
            seeds = [unit(y, place) for place in range(y.numel())]
            rows = []
            for seed in seeds or [zeros[i]]:  # an empty result: one row tells what it depends on
                basis = [*zeros[:i], seed, *zeros[i + 1 :]]
                rows.append(trees.flatten(pull_back(trees.unflatten(basis, spec_out)))[0])
            columns = [_TORCH["stack"](c).narrow(0, 0, len(seeds)) for c in zip(*rows)]
            blocks = [c.view((*y.shape, *x.shape)) for c, x in zip(columns, xs)]
            block = trees.unflatten(blocks, spec_in)
            by_output.append(block[0] if isinstance(argnums, int) else block)
        return (
            (trees.unflatten(by_output, spec_out), *aux)
            if has_aux
            else trees.unflatten(by_output, spec_out)
        )

    return derived
