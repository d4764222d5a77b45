"""Gradients as functions, by reverse mode: `vjp`, `grad`, `grad_and_value`, `jacrev`.

Source: https://docs.pytorch.org/docs/2.13/func.api.html"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.core.differentiate import grad as _grad
from ..engine.autograd.functional import unit
from ..engine.autograd.modes import enable_grad, is_grad_enabled
from ..engine.autograd.graph import disable_saved_tensors_hooks
from ..engine.core.errors import fail
from ..engine.ops.functions import NAMESPACES
from ..engine.core.tensor import Tensor
from . import trees
from .arguments import chosen, no_complex, positions, replaced, tensors_of, with_aux
from .levels import Level, without_inference

_TORCH = NAMESPACES[""]
_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor | None],
    create_graph: bool,
) -> list[Tensor]:
    """Gradients of the outputs, weighted by `vectors`; zeros for an input that nothing reaches. The graph stays."""
    live = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if not live:
        return [_TORCH["zeros_like"](x) for x in inputs]
    ys, vs = zip(*live)
    grads = _grad(ys, inputs, vs, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return [_TORCH["zeros_like"](x) if g is None else g for g, x in zip(grads, inputs)]


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives (gradient, value) of `func`, whose result must be one number.

    argnums: by which positional argument, or which (a tuple: a tuple of gradients); an argument may be a nested tuple,
    list or dict of tensors, and its gradient is nested alike. has_aux: `func` gives (result, anything made of tensors)
    and so does this, as the value. Raises RuntimeError unless the result is a 0-d tensor. Source:
    torch.func.grad_and_value."""

    @functools.wraps(func)
    @without_inference()
    def derived(*args, **kwargs):
        with disable_saved_tensors_hooks(_NO_HOOKS), Level() as level, enable_grad():
            xs = level.enter(chosen(args, argnums))
            out, aux = with_aux(
                func(*replaced(args, argnums, xs), **kwargs), has_aux, "grad_and_value(f)(*args)"
            )
            if not isinstance(out, Tensor):
                message = f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(out)}"
                raise fail(
                    RuntimeError,
                    message,
                    "A gradient belongs to a number that was computed with tensors.",
                )
            if out.ndim:
                raise fail(
                    RuntimeError,
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                    "Reduce it: .sum() or .mean().",
                )
            flat, spec = trees.flatten(xs if isinstance(argnums, tuple) else xs[0])
            grads = gradients((out,), flat, (None,), level.concerns_others(out))
            result = level.leave(
                (trees.unflatten(grads, spec), out, aux)
                if has_aux
                else (trees.unflatten(grads, spec), out)
            )
        return (result[0], result[1:]) if has_aux else result

    return derived


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, whose result must be one number; (gradient, aux) with `has_aux`.

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
    """(func(*primals), a function from v to the gradients v^T J, one per primal), and aux where `has_aux`.

    Primals, result and v may be nested tuples, lists and dicts of tensors; v is nested and shaped like the result. The
    function may be called as often as one likes. Raises RuntimeError for results that are no floating-point tensors.
    Source: torch.func.vjp."""
    return pulled_back(func, primals, None, has_aux)


@without_inference()
def pulled_back(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    argnums: int | tuple[int, ...] | None,
    has_aux: bool,
) -> tuple[Any, ...]:
    """`vjp` by the primals that `argnums` names (None: by all)."""
    with disable_saved_tensors_hooks(_NO_HOOKS), Level() as level, enable_grad():
        places = tuple(range(len(primals))) if argnums is None else argnums
        xs = level.enter(chosen(primals, places) if primals else ())
        inputs, spec_in = trees.flatten(
            xs if argnums is None or isinstance(argnums, tuple) else xs[0]
        )
        out, aux = with_aux(
            func(*(replaced(primals, places, xs) if primals else ())), has_aux, "vjp(f, *primals)"
        )
        aux = level.leave(aux) if has_aux else None
        ys, spec_out = tensors_of(out, "vjp(f, *primals)")
        result = level.leave(out)
        for y in ys:
            if not (y.dtype.is_floating_point or y.dtype.is_complex):
                message = f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {y.dtype}"
                raise fail(
                    RuntimeError,
                    message,
                    "Whole numbers have no derivative; what is not differentiated goes into aux.",
                )

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
        live = create_graph and level.concerns_others(
            *ys, *(v for v in vs if isinstance(v, Tensor))
        )
        grads = gradients(ys, inputs, vs, live)
        return trees.unflatten(grads if live else [g.detach() for g in grads], spec_in)

    return (result, pull_back, aux) if has_aux else (result, pull_back)


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` by reverse mode: one backward pass per element of the result.

    Entries have shape result.shape + argument.shape; they are nested like the result and, inside, like the arguments.
    argnums, has_aux as in `grad`. chunk_size and _preallocate_and_copy say in PyTorch how much memory may be used; rows
    are always found one by one here. Raises ValueError for a chunk_size below 1, RuntimeError for complex tensors.
    Source: torch.func.jacrev."""
    if not (chunk_size is None or chunk_size > 0):
        raise fail(
            ValueError,
            "jacrev: `chunk_size` should be greater than 0.",
            "It counts rows; leave it out.",
        )

    @functools.wraps(func)
    @without_inference()
    def derived(*args):
        no_complex("jacrev", args, "inputs")
        positions(args, argnums)
        output, pull_back, *aux = pulled_back(func, args, argnums, has_aux)
        ys, spec_out = trees.flatten(output)
        no_complex("jacrev", ys, "outputs")
        xs, spec_in = trees.flatten(chosen(args, argnums))
        zeros = [_TORCH["zeros_like"](y) for y in ys]
        by_output = []
        for i, y in enumerate(ys):
            seeds = [unit(y, place) for place in range(y.numel())]
            rows = []
            for seed in seeds or [zeros[i]]:  # an empty result: one row tells what it depends on
                basis = [seed if i == k else zero for k, zero in enumerate(zeros)]
                rows.append(trees.flatten(pull_back(trees.unflatten(basis, spec_out)))[0])
            blocks = [
                _TORCH["stack"]([r[k] for r in rows])
                .narrow(0, 0, len(seeds))
                .view((*y.shape, *x.shape))
                for k, x in enumerate(xs)
            ]
            block = trees.unflatten(blocks, spec_in)
            by_output.append(block[0] if isinstance(argnums, int) else block)
        result = trees.unflatten(by_output, spec_out)
        return (result, *aux) if has_aux else result

    return derived
