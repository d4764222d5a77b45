"""Derivatives of functions: `jacobian`, `hessian`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api"""

from __future__ import annotations

from ..core.device import filled
from ..core.differentiate import grad
from ..core.errors import fail
from ..core.record import OPS
from ..core.tensor import Tensor, wrap
from ..exact.refusals import unsupported
from .modes import enable_grad


def _tuple(x, what, function):
    """Return (x as a tuple of Tensors, whether it was one already). Raises TypeError for anything else."""
    was_tuple = isinstance(x, tuple)
    items = x if was_tuple else (x,)
    for i, t in enumerate(items):
        if not isinstance(t, Tensor):
            which = f"value at index {i}" if was_tuple else f"given {what}"
            message = f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has type {type(t)}."
            raise fail(TypeError, message, "Other arguments can be bound with a lambda.")
    return items, was_tuple


def _run(function, func, inputs, strict, create_graph):
    """Return (inputs of a graph of their own, whether they were a tuple, outputs of `func`, whether they were one).

    The inputs are copies that require grad, or views when the result must stay connected."""
    if strict:
        note = "The output does not depend on the input, so its derivative should be 0."
        raise unsupported(function, "strict", note)
    given, tuple_in = _tuple(inputs, "inputs", function)
    xs = tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_()
        for t in given
    )
    ys, tuple_out = _tuple(func(*xs), "outputs of the user-provided function", function)
    return xs, tuple_in, ys, tuple_out


def _returned(items, was_tuple, create_graph):
    """Return `items` as the caller gets them: one or a tuple, without a graph unless it was asked for."""
    items = tuple(t if create_graph else t.detach() for t in items)
    return items if was_tuple else items[0]


def _number(t, value, *before):
    """Return `value` everywhere, in a tensor of t's device and dtype and of shape (*before, *t.shape)."""
    return wrap(filled(t._storage.device, value, (*before, *t._array.shape), t.dtype))


def unit(t, position):
    """Return a tensor like `t` of zeros with a 1 at a flat position: the gradient that asks for one row of the
    Jacobian."""
    v = _number(t, 0)
    with t._storage.device.backend:
        v._array.reshape(-1)[position] = 1
    return v


def gradients(outputs, inputs, vectors, create_graph):
    """Return gradients of the outputs, each weighted by its vector; zeros for an input that nothing reaches. The graph
    stays."""
    live = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    grads = (None,) * len(inputs)
    if live:
        ys, vs = zip(*live)
        grads = grad(ys, inputs, vs, True, create_graph, allow_unused=True)
    return tuple(_number(x, 0) if g is None else g for g, x in zip(grads, inputs))


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """Return all partial derivatives: entry [i, j] has shape output_i.shape + input_j.shape; tuples where func takes or
    gives tuples.

    One backward pass per output element; `vectorize` only tells torch how to arrange them.
    Source: torch.autograd.functional.jacobian.

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy != "reverse-mode":
        note = "autolab differentiates in reverse mode only."
        raise unsupported("jacobian", "strategy", note)
    with enable_grad():
        xs, tuple_in, ys, tuple_out = _run("jacobian", func, inputs, strict, create_graph)

        def block(y):
            if not y.requires_grad or not y.numel():
                return [_number(x, 0, *y._array.shape) for x in xs]
            rows = [gradients((y,), xs, (unit(y, j),), create_graph) for j in range(y.numel())]
            shapes = [y._array.shape + x._array.shape for x in xs]
            return [OPS["stack"].call(c, 0).view(shape) for c, shape in zip(zip(*rows), shapes)]

        blocks = tuple(_returned(block(y), tuple_in, create_graph) for y in ys)
        return blocks if tuple_out else blocks[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """Return second derivatives of a function with one output element; `vectorize` as in `jacobian`. Source:
    torch.autograd.functional.hessian."""
    given, tuple_in = _tuple(inputs, "inputs", "hessian")

    def gradient(*xs):
        return jacobian(lambda *a: _one_number(func(*a), "hessian").squeeze(), xs, True)

    result = jacobian(gradient, given, create_graph, strict)
    return result if tuple_in else result[0][0]


def _one_number(y, function):
    """Return `y`. Raises RuntimeError unless it is one tensor with one element."""
    note = "hessian() needs a function that returns a single number."
    problem = "contain a single element" if isinstance(y, Tensor) else "be a single Tensor"
    if not isinstance(y, Tensor) or y.numel() != 1:
        message = f"The Tensor returned by the function given to {function} should {problem}"
        raise fail(RuntimeError, message, note)
    return y
