"""`torch.func`: derivatives as functions of functions. Source: https://docs.pytorch.org/docs/2.13/func.html"""

from __future__ import annotations

import functools

from .engine.autograd import functional as _functional
from .engine.autograd.differentiate import grad as _grad
from .engine.autograd.grad_mode import enable_grad as _enable_grad
from .engine.errors import fail, unsupported
from .engine.registry import NAMESPACES as _NAMESPACES
from .engine.tensor import Tensor


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient, value) of `func`, whose result must be one number. Source: torch.func.grad_and_value."""

    @functools.wraps(func)
    def derived(*args, **kwargs):
        with _enable_grad():
            positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
            xs = {
                p: args[p].view_as(args[p]) if args[p].requires_grad else args[p].detach().requires_grad_()
                for p in positions
            }
            out = func(*[xs.get(i, a) for i, a in enumerate(args)], **kwargs)
            value, aux = out if has_aux else (out, None)
            if not isinstance(value, Tensor) or value.ndim:
                raise fail(
                    RuntimeError,
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{getattr(value, 'ndim', 0)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                    "Reduce it: .sum() or .mean().",
                )
            connected = any(args[p].requires_grad for p in positions)
            gs = _grad(value, tuple(xs.values()), create_graph=True, materialize_grads=True)
            gs = tuple(g if connected else g.detach() for g in gs)
            value = value if connected else value.detach()
        found = gs[0] if isinstance(argnums, int) else gs
        return (found, (value, aux)) if has_aux else (found, value)

    return derived


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`, whose result must be one number. Source: torch.func.grad."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derived(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return derived


def _with_argnums(derivative, func, argnums):
    def derived(*args):
        positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)

        def of_chosen(*xs):
            given = list(args)
            for p, x in zip(positions, xs):
                given[p] = x
            return func(*given)

        result = derivative(of_chosen, tuple(args[p] for p in positions))
        return result[0] if isinstance(argnums, int) else result

    return derived


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func`, by reverse mode. Source: torch.func.jacrev."""
    if has_aux:
        raise unsupported("jacrev", "has_aux")
    return _with_argnums(_functional.jacobian, func, argnums)


def hessian(func, argnums=0):
    """A function that returns the Hessian of `func`. Source: torch.func.hessian."""
    if not isinstance(argnums, int):
        return _with_argnums(_functional.hessian, func, argnums)
    return lambda *args: _functional.hessian(lambda x: func(*args[:argnums], x, *args[argnums + 1 :]), args[argnums])


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function from v to v^T J). Source: torch.func.vjp."""
    if has_aux:
        raise unsupported("vjp", "has_aux")
    with _enable_grad():
        xs = tuple(p.detach().requires_grad_() for p in primals)
        out = func(*xs)

    def pull_back(*v):
        return _grad(out, xs, v[0] if len(v) == 1 else v, retain_graph=True, materialize_grads=True)

    return (out.detach() if isinstance(out, Tensor) else tuple(o.detach() for o in out)), pull_back


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` for each entry of a batch, results stacked. Here a loop: same numbers, not faster. Source: torch.func.vmap."""

    def mapped(*args):
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = {a.shape[d] for a, d in zip(args, dims) if d is not None}
        if len(sizes) != 1:
            raise fail(
                ValueError,
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for the mapped "
                "dimension",
                "Every mapped argument needs the same number of entries.",
            )
        rows = [func(*(a if d is None else a.select(d, i) for a, d in zip(args, dims))) for i in range(sizes.pop())]
        stack = _NAMESPACES[""]["stack"]
        if isinstance(rows[0], tuple):
            return tuple(stack(column, out_dims) for column in zip(*rows))
        return stack(rows, out_dims)

    return mapped
