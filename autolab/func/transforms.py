"""Functions that turn a function into its derivative: `grad`, `vjp`, `jacrev`, `hessian`.

A transform differentiates with respect to copies of its arguments that exist only while it runs. A tensor from outside
that needs a gradient stays connected, so transforms can be nested, and a program can train through their results. A
result that depends on the copies alone leaves the transform without a graph.

Source: https://docs.pytorch.org/docs/2.13/func.api.html"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..engine.autograd.functional import gradients, unit
from ..engine.autograd.modes import enable_grad, is_grad_enabled
from ..engine.core.errors import fail
from ..engine.core.node import AccumulateGrad, edge
from ..engine.core.tensor import Tensor
from ..engine.exact.refusals import unsupported
from ..engine.ops.functions import NAMESPACES
from . import trees

_TORCH = NAMESPACES[""]


class _Level:
    """One call of a transform. It marks its copies of tensors, and is open while the function runs."""

    def __init__(self):
        self.open, self.tracked = True, is_grad_enabled()

    def copy(self, t):
        """Return a tensor with the memory of `t` with respect to which this level differentiates."""
        if not isinstance(t, Tensor):
            message = f"Thing passed to transform API must be Tensor, got {type(t)}"
            note = "Make a tensor of it: torch.tensor(…); or let argnums name other arguments."
            raise fail(ValueError, message, note)
        if t.requires_grad:
            return t.view_as(t)
        copy = t.detach().requires_grad_()
        copy._level = self
        return copy

    def result(self, t):
        """Return `t` in the form that it has outside this level."""
        return t if self.tracked and self.has_outer_gradient(t) else t.detach()

    def has_outer_gradient(self, *tensors):
        """Return whether one of `tensors` depends on a leaf that needs a gradient and was made outside this level, or
        by an enclosing level that is still open."""
        found = dict.fromkeys(edge(t) for t in tensors if t.requires_grad)
        waiting = list(found)
        while waiting:
            node = waiting.pop()
            if isinstance(node, AccumulateGrad):
                level = node.variable.__dict__.get("_level")
                if level is None or level is not self and level.open:
                    return True
            inputs = node.inputs  # type: ignore[union-attr]
            new = [n for n in inputs if n is not None and n not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return False


def _positions(args, argnums):
    places, n = (argnums,) if isinstance(argnums, int) else tuple(argnums), len(args)
    for i in places:
        if not isinstance(i, int) or not -n <= i < n:
            note = "argnums says by which arguments to differentiate: 0, or (0, 1)."
            raise fail(RuntimeError, f"Got argnum={i}, but only {n} positional inputs", note)
    return [i % n for i in places]


def _no_aux(name, has_aux):
    if has_aux:
        raise unsupported(name, "has_aux", "Append other results to a list, or compute them again.")


def _vjp(func, args, argnums):
    """Return the result of `vjp` with respect to the arguments at the positions `argnums`."""
    level, places, args = _Level(), _positions(args, argnums), list(args)
    with enable_grad():
        xs = tuple(trees.mapped(level.copy, args[i]) for i in places)
        for i, x in zip(places, xs):
            args[i] = x
        out = func(*args)
        (inputs, spec_in), (ys, spec_out) = trees.flatten(xs), trees.flatten(out)
        for y in ys:
            if not isinstance(y, Tensor) or not y.dtype.is_floating_point:
                got = f"Tensor with dtype {y.dtype}" if isinstance(y, Tensor) else type(y)
                message = f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got {got}"
                raise fail(RuntimeError, message, "Only such numbers have a derivative.")
        result = trees.mapped(level.result, out)
    level.open = False

    def pull_back(cotangents, retain_graph=True, create_graph=None):
        vs, spec = trees.flatten(cotangents)
        if spec != spec_out:
            message = "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
            raise fail(RuntimeError, message, "v is nested like the result of the function.")
        graph = is_grad_enabled() if create_graph is None else create_graph
        live = graph and level.has_outer_gradient(*ys, *vs)
        grads = gradients(ys, inputs, vs, live)
        return trees.unflatten(grads if live else [g.detach() for g in grads], spec_in)

    return result, pull_back


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (func(*primals), a function from v to the gradients v^T J, one per primal).

    Primals, result and v may be nested tuples, lists and dicts of tensors; v has the structure and shapes of the
    result. The returned function may be called any number of times. Raise RuntimeError for results that are not
    floating-point tensors. Source: torch.func.vjp."""
    _no_aux("vjp", has_aux)
    return _vjp(func, primals, range(len(primals)))


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`, whose result must be one number.

    argnums: the positional argument to differentiate with respect to, or a tuple of several, which gives a tuple of
    gradients. An argument may be a nested tuple, list or dict of tensors; its gradient has the same structure. Raise
    RuntimeError unless the result is a 0-d tensor. Source: torch.func.grad.

    Example:
        >>> torch.func.grad(torch.sin)(torch.tensor(0.))
        tensor(1.)
    """
    _no_aux("grad", has_aux)
    name = "grad_and_value(f)(*args)"  # as PyTorch's error says

    @functools.wraps(func)
    def derived(*args, **kwargs):
        def number(*args):
            out = func(*args, **kwargs)
            if not isinstance(out, Tensor):
                message = f"{name}: Expected f(*args) to return a Tensor, got {type(out)}"
                note = "A gradient belongs to a number that was computed with tensors."
                raise fail(RuntimeError, message, note)
            if out.ndim:
                message = f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to "
                message += "use the vjp or jacrev APIs instead?"
                raise fail(RuntimeError, message, "Reduce it: .sum() or .mean().")
            return out

        value, pull_back = _vjp(number, args, argnums)
        gradients = pull_back(_TORCH["ones_like"](value))
        return gradients[0] if isinstance(argnums, int) else gradients

    return derived


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in reverse mode: one backward pass per element of the
    result.

    Entries have shape result.shape + argument.shape; they are nested like the result and, inside, like the arguments.
    argnums: as in `grad`. chunk_size: PyTorch's setting to limit memory; here, rows are always computed one by
    one. Source: torch.func.jacrev."""
    _no_aux("jacrev", has_aux)

    @functools.wraps(func)
    def derived(*args):
        output, pull_back = _vjp(func, args, argnums)
        ys, spec_out = trees.flatten(output)
        xs, spec_in = trees.flatten(tuple(args[i] for i in _positions(args, argnums)))
        zeros = [_TORCH["zeros_like"](y) for y in ys]

        def row(i, place):
            basis = [*zeros[:i], unit(ys[i], place), *zeros[i + 1 :]]
            return trees.flatten(pull_back(trees.unflatten(basis, spec_out)))[0]

        def block(i, y):
            columns = zip(*[row(i, place) for place in range(y.numel())])
            parts = [_TORCH["stack"](c).view((*y.shape, *x.shape)) for c, x in zip(columns, xs)]
            if not y.numel():
                parts = [y.new_zeros((*y.shape, *x.shape)) for x in xs]
            found = trees.unflatten(parts, spec_in)
            return found[0] if isinstance(argnums, int) else found

        return trees.unflatten([block(i, y) for i, y in enumerate(ys)], spec_out)

    return derived


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of `func`: `jacrev(jacrev(func, argnums), argnums)`.

    Entries have shape result.shape + argument.shape + argument.shape, nested like the result and twice like the
    arguments. Source: torch.func.hessian."""
    return jacrev(jacrev(func, argnums), argnums)
