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
    """Call `func` on the inputs. Return (inputs with a graph of their own, was it a tuple, outputs, was it a tuple).

    The inputs are copies that require grad, or views of the caller's tensors if the result must stay connected to
    them."""
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


def _for_caller(items, was_tuple, create_graph):
    """Return `items` to the caller: as a tuple if `was_tuple`, and detached from the graph unless `create_graph`."""
    items = tuple(t if create_graph else t.detach() for t in items)
    return items if was_tuple else items[0]


def _filled_batch(t, value, *before):
    """Return a tensor of shape (*before, *t.shape) filled with `value`, on t's device and with t's dtype."""
    return wrap(filled(t._storage.device, value, (*before, *t._array.shape), t.dtype))


def unit(t, position):
    """Return zeros shaped like `t` with a 1 at a flat position. As a gradient, it selects one row of the Jacobian."""
    v = _filled_batch(t, 0)
    with t._storage.device.backend:
        v._array.reshape(-1)[position] = 1
    return v


def gradients(outputs, inputs, vectors, create_graph):
    """Return the gradients of the outputs, each weighted by its vector; zeros for an input that the outputs do not
    depend on. The graph is retained."""
    live = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    grads = (None,) * len(inputs)
    if live:
        ys, vs = zip(*live)
        grads = grad(ys, inputs, vs, True, create_graph, allow_unused=True)
    return tuple(_filled_batch(x, 0) if g is None else g for g, x in zip(grads, inputs))


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """Return all partial derivatives: entry [i, j] has shape output_i.shape + input_j.shape. The result is a tuple
    where `func` takes or returns a tuple.

    This runs one backward pass per output element. `vectorize` is accepted as in torch and changes nothing. Source:
    torch.autograd.functional.jacobian.

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
                return [_filled_batch(x, 0, *y._array.shape) for x in xs]
            rows = [gradients((y,), xs, (unit(y, j),), create_graph) for j in range(y.numel())]
            shapes = [y._array.shape + x._array.shape for x in xs]
            return [OPS["stack"].call(c, 0).view(shape) for c, shape in zip(zip(*rows), shapes)]

        blocks = tuple(_for_caller(block(y), tuple_in, create_graph) for y in ys)
        return blocks if tuple_out else blocks[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """Return the second derivatives of a function with one output element; `vectorize` is as in `jacobian`. Source:
    torch.autograd.functional.hessian."""
    given, tuple_in = _tuple(inputs, "inputs", "hessian")

    def gradient(*xs):
        return jacobian(lambda *a: _one_number(func(*a), "hessian").squeeze(), xs, True)

    result = jacobian(gradient, given, create_graph, strict)
    return result if tuple_in else result[0][0]


def _one_number(y, function):
    """Return `y`, or raise RuntimeError unless it is one tensor with one element."""
    note = "hessian() needs a function that returns a single number."
    problem = "contain a single element" if isinstance(y, Tensor) else "be a single Tensor"
    if not isinstance(y, Tensor) or y.numel() != 1:
        message = f"The Tensor returned by the function given to {function} should {problem}"
        raise fail(RuntimeError, message, note)
    return y
