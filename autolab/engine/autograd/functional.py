"""Derivatives of functions: `jacobian`, `hessian`, `vjp`, `jvp`, `hvp`, `vhp`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api"""

from __future__ import annotations

from ..devices import device as devices
from ..core.errors import fail
from ..exact.refusals import unsupported
from ..core.tensor import Tensor, wrap
from ..core.differentiate import grad
from .modes import enable_grad


def _tuple(x, what, function):
    """(x as a tuple of Tensors, whether it was one already). Raises TypeError otherwise."""
    was_tuple = isinstance(x, tuple)
    items = x if was_tuple else (x,)
    for i, t in enumerate(items):
        if not isinstance(t, Tensor):
            which = f"value at index {i}" if was_tuple else f"given {what}"
            raise fail(
                TypeError,
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has type {type(t)}.",
                "Pass tensors; other arguments can be bound with a lambda.",
            )
    return items, was_tuple


def _prepared(inputs, create_graph):
    """Inputs of a graph of their own: copies that require grad, or views when the result must stay connected."""
    return tuple(
        (t.view_as(t) if t.requires_grad else t.detach().requires_grad_())
        if create_graph
        else t.detach().requires_grad_()
        for t in inputs
    )


def _run(func, inputs, function, strict):
    """The results of `func` as a tuple, and whether they were one."""
    outputs = func(*inputs)
    items, was_tuple = _tuple(outputs, "outputs of the user-provided function", function)
    if strict:
        _check_outputs_require_grad(items)
    return items, was_tuple


def _check_outputs_require_grad(outputs):
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            raise fail(
                RuntimeError,
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode.",
                "The output does not depend on the input.",
            )


def _unwrapped(items, was_tuple):
    return tuple(items) if was_tuple else items[0]


def _finished(items, create_graph):
    return tuple(t if create_graph else t.detach() for t in items)


def _zeros(t):
    return _number(t, 0)


def _number(t, value, *before):
    """`value` everywhere, in a tensor of t's device and dtype and of shape (*before, *t.shape)."""
    return wrap(devices.filled(t._storage.device, value, (*before, *t._array.shape), t.dtype))


def unit(t, position):
    """A tensor like `t` of zeros with a 1 at a flat position: the gradient that asks for one row of the Jacobian."""
    v = devices.filled(t._storage.device, 0, t._array.shape, t.dtype)
    with t._storage.device.backend:
        v.reshape(-1)[position] = 1
    return wrap(v)


def _filled(grads, inputs, strict, message):
    out = []
    for i, (g, x) in enumerate(zip(grads, inputs)):
        if g is None:
            if strict:
                raise fail(
                    RuntimeError,
                    message.format(i=i),
                    "strict=True asks that every output depends on every input.",
                )
            g = _zeros(x)
        out.append(g)
    return tuple(out)


def _gradients(outputs, inputs, vectors, create_graph):
    """Gradients of the outputs that depend on anything, each weighted by its vector; None for an input that nothing
    reaches."""
    live = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if not live:
        return (None,) * len(inputs)
    ys, vs = zip(*live)
    return grad(ys, inputs, vs, create_graph=create_graph, allow_unused=True)


def _no_forward(strategy, name):
    if strategy != "reverse-mode":
        raise unsupported(name, "strategy", "autolab differentiates in reverse mode only.")


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """All partial derivatives: entry [i, j] has shape output_i.shape + input_j.shape; tuples where func takes or gives
    tuples.

    One backward pass per output element; `vectorize` only tells torch how to arrange them.
    Source: torch.autograd.functional.jacobian.

    Example:

        >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    _no_forward(strategy, "jacobian")
    with enable_grad():
        given, tuple_in = _tuple(inputs, "inputs", "jacobian")
        xs = _prepared(given, create_graph)
        ys, tuple_out = _run(func, xs, "jacobian", strict)
        rows = []
        for i, y in enumerate(ys):
            if not y.requires_grad and y.numel():
                rows.append(tuple(_number(x, 0, *y._array.shape) for x in xs))
                continue
            columns = []
            for j in range(y.numel()):
                gs = grad(
                    y,
                    xs,
                    unit(y, j),
                    retain_graph=True,
                    create_graph=create_graph,
                    allow_unused=True,
                )
                columns.append(
                    _filled(
                        gs,
                        xs,
                        strict,
                        f"Output {i} of the user-provided function is independent of input {{i}}. This is not allowed in "
                        "strict mode.",
                    )
                )
            from ..ops.functions import NAMESPACES

            stack = NAMESPACES[""]["stack"]
            rows.append(
                tuple(
                    stack([c[k] for c in columns]).view(y._array.shape + x._array.shape)
                    for k, x in enumerate(xs)
                )
            )
        rows = [_finished(r, create_graph) for r in rows]
        return _unwrapped([_unwrapped(r, tuple_in) for r in rows], tuple_out)


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """Second derivatives of a function with one output element; `vectorize` as in `jacobian`. Source:
    torch.autograd.functional.hessian."""
    _no_forward(outer_jacobian_strategy, "hessian")
    given, tuple_in = _tuple(inputs, "inputs", "hessian")

    def gradient(*xs):
        return jacobian(lambda *a: _single(func, a, "hessian"), xs, create_graph=True)

    result = jacobian(gradient, given, create_graph=create_graph, strict=strict)
    return result if tuple_in else result[0][0]


def _single(func, args, function):
    out = func(*args)
    items, was_tuple = _tuple(out, "outputs of the user-provided function", function)
    if was_tuple:
        raise fail(
            RuntimeError,
            f"The function given to {function} should return a single Tensor",
            "Return one number, not several tensors.",
        )
    if out.numel() != 1:
        raise fail(
            RuntimeError,
            f"The Tensor returned by the function given to {function} should contain a single element",
            "The Hessian belongs to a function with one number as its result.",
        )
    return out.squeeze()


def _vectors(v, like, function, what):
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (_number(like[0], 1),), False
        raise fail(
            RuntimeError,
            f"The vector v can only be None if the {what} with a single element.",
            "Give v, shaped like that tensor.",
        )
    items, was_tuple = _tuple(v, "v", function)
    if len(like) == 1 and len(items) != 1:
        raise fail(
            RuntimeError,
            "The given v should contain a single Tensor.",
            "v has the structure of what it multiplies.",
        )
    if len(items) != len(like):
        raise fail(
            RuntimeError,
            f"v is a tuple of invalid length: should be {len(like)} but got {len(items)}.",
            "One vector per tensor.",
        )
    for i, (a, b) in enumerate(zip(items, like)):
        if a._array.shape != b._array.shape:
            prefix = f"Entry {i} in " if len(like) > 1 else ""
            raise fail(
                RuntimeError,
                f"{prefix}v has invalid size: should be {b.shape} but got {a.shape}.",
                "v is shaped like the tensor it multiplies.",
            )
    return tuple(t.detach() if not t.requires_grad else t for t in items), was_tuple


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v^T J): one backward pass. Source: torch.autograd.functional.vjp."""
    with enable_grad():
        given, tuple_in = _tuple(inputs, "inputs", "vjp")
        xs = _prepared(given, create_graph)
        ys, tuple_out = _run(func, xs, "vjp", strict)
        vs, _ = _vectors(v, ys, "vjp", "user-provided function returns a single Tensor")
        gs = _gradients(ys, xs, vs, create_graph)
        gs = _filled(
            gs,
            xs,
            strict,
            "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
        )
        return _unwrapped(_finished(ys, create_graph), tuple_out), _unwrapped(
            _finished(gs, create_graph), tuple_in
        )


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), J v), by differentiating the vector-Jacobian product twice. Source:
    torch.autograd.functional.jvp."""
    with enable_grad():
        given, tuple_in = _tuple(inputs, "inputs", "jvp")
        xs = _prepared(given, create_graph)
        vs, _ = _vectors(v, xs, "jvp", "input to the user-provided function is a single Tensor")
        ys, tuple_out = _run(func, xs, "jvp", strict)
        dummy = tuple(_zeros(y).requires_grad_() for y in ys)
        gs = _gradients(ys, xs, dummy, True)
        gs = _filled(
            gs,
            xs,
            strict,
            "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
        )
        result = _filled(_gradients(gs, dummy, vs, create_graph), ys, False, "")
        return _unwrapped(_finished(ys, create_graph), tuple_out), _unwrapped(
            _finished(result, create_graph), tuple_out
        )


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v^T H) of a function with one output element. Source: torch.autograd.functional.vhp."""
    with enable_grad():
        given, tuple_in = _tuple(inputs, "inputs", "vhp")
        xs = _prepared(given, create_graph)
        vs, _ = _vectors(v, xs, "vhp", "input to the user-provided function is a single Tensor")
        y = _checked_scalar(func(*xs), "vhp")
        if strict:
            _check_outputs_require_grad((y,))
        gs = _filled(
            _gradients((y,), xs, (None,), True),
            xs,
            strict,
            "The function is independent of input {i}.",
        )
        hs = _gradients(gs, xs, vs, create_graph)
        hs = _filled(
            hs,
            xs,
            strict,
            "The gradient is independent of input {i}. This is not allowed in strict mode.",
        )
        return _finished((y,), create_graph)[0], _unwrapped(_finished(hs, create_graph), tuple_in)


def _checked_scalar(y, function):
    if not isinstance(y, Tensor) or y.numel() != 1:
        raise fail(
            RuntimeError,
            f"The Tensor returned by the function given to {function} should contain a single element",
            "A Hessian belongs to a function with one number as its result.",
        )
    return y


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), H v); the Hessian is symmetric, so this is `vhp`. Source: torch.autograd.functional.hvp."""
    with enable_grad():
        given, _ = _tuple(inputs, "inputs", "hvp")
        _checked_scalar(func(*[t.detach() for t in given]), "hvp")
    return vhp(func, inputs, v, create_graph, strict)
