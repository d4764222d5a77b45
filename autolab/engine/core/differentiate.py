"""`backward` and `grad`: check the user's arguments, and run a backward pass for them.

Source: https://docs.pytorch.org/docs/2.13/autograd.html"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from . import observe, op
from .backward import Root, execute, own
from .device import CPU, filled
from .errors import fail, type_name
from .node import accumulator
from .tensor import Tensor, wrap

CREATE_GRAPH_WARNING = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a memory leak. "
    "We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure to reset the .grad "
    "fields of your parameters to None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate gradients of `tensors` into the leaves' `.grad`. Source: torch.autograd.backward.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.backward([x * x, 2 * x])
    >>> x.grad
    tensor(8.)
    """
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        note = "Leave `inputs` out to accumulate into every leaf."
        raise fail(RuntimeError, "`inputs` argument to `backward()` cannot be empty.", note)
    retain, create_graph = _flags(retain_graph, create_graph)
    tensors = _listed(tensors)
    seeds = _starting_gradients(tensors, grad_tensors, create_graph)
    roots = _roots(tensors)
    if create_graph:
        warnings.warn(CREATE_GRAPH_WARNING, UserWarning, stacklevel=3)
    only = None
    if inputs is not None:
        refusal = "can't retain_grad on Tensor that has requires_grad=False"
        inputs = _checked_inputs(inputs, refusal, "autolab computes no gradient for this argument.")
        only = {_target(t)[0] for t in inputs}
        for t in inputs:  # as in PyTorch, a non-leaf keeps its gradient from now on
            t.retain_grad()
    plain = only is None and not create_graph and observe.observer is None
    if not (plain and op.engine.run_graph(roots, seeds, retain)):
        execute(roots, seeds, retain_graph=retain, create_graph=create_graph, only=only)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs` as a tuple, without changing `.grad`.

    grad_outputs: one vector per output (shaped like it). Raises RuntimeError for an input that the outputs do not
    depend on, unless allow_unused. Source: torch.autograd.grad.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    >>> (first,) = torch.autograd.grad(x ** 3, x, create_graph=True)
    >>> torch.autograd.grad(first, x)
    (tensor(18.),)
    """
    if is_grads_batched:
        message = "grad(): argument 'is_grads_batched' is not supported by autolab"
        note = "Call grad once for each vector, with retain_graph=True, or use torch.func.vjp and vmap."
        raise fail(NotImplementedError, message, note)
    if materialize_grads and allow_unused is False:
        message = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        note = "materialize_grads=True returns zeros for unused inputs, so leave allow_unused out or set it to True."
        raise fail(ValueError, message, note)
    retain, create_graph = _flags(retain_graph, create_graph)
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not inputs:
        note = "Pass the tensors whose gradients you want."
        raise fail(RuntimeError, "`inputs` argument to `grad()` cannot be empty.", note)
    seeds = _starting_gradients(outputs, grad_outputs, create_graph)
    roots = _roots(outputs)
    refusal = "One of the differentiated Tensors does not require grad"
    wanted = _checked_inputs(
        inputs, refusal, "Set requires_grad=True on the input before you compute the output."
    )
    keys = [_target(t) for t in wanted]
    captured = execute(
        roots, seeds, retain_graph=retain, create_graph=create_graph, targets=set(keys)
    )
    may_miss = materialize_grads if allow_unused is None else allow_unused
    for i, k in enumerate(keys):
        if captured.get(k) is None and not may_miss:
            message = f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
            message += "Set allow_unused=True if this is the desired behavior."
            note = "No path leads from the outputs to this input, so the derivative is zero everywhere."
            raise fail(RuntimeError, message, note)
    result = [
        _as_result(captured.get(k), t if materialize_grads else None, create_graph)
        for t, k in zip(inputs, keys)
    ]
    if observe.observer is not None:
        observe.observer.returned(keys, result)
    return tuple(result)


def _as_result(g: Any, zeros_like: Any, create_graph: bool) -> Tensor | None:
    """Return a captured gradient as a Tensor that shares no memory with another gradient. zeros_like: if the gradient
    is missing, return zeros shaped like this tensor."""
    if g is None and zeros_like is not None:
        t = wrap(filled(zeros_like._storage.device, 0, zeros_like._array.shape, zeros_like.dtype))
        t._req = create_graph
        return t
    return g if g is None or isinstance(g, Tensor) else wrap(own(g))


def _flags(retain_graph: Any, create_graph: Any) -> tuple[bool, bool]:
    """Return both flags of `backward` and `grad`. As in PyTorch, each may be a bool or an integer."""
    retain_graph = create_graph if retain_graph is None else retain_graph
    for name, value in (("create_graph", create_graph), ("retain_graph", retain_graph)):
        if not isinstance(value, int):
            message = f"'{type_name(value)}' object cannot be interpreted as an integer"
            raise fail(TypeError, message, f"`{name}` is True or False; {value!r:.60} came.")
    return bool(retain_graph), bool(create_graph)


def _listed(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _checked_inputs(inputs: Any, refusal: str, note: str) -> tuple[Tensor, ...]:
    """Return the tensors to differentiate with respect to, as a tuple. Raise torch's error `refusal` if one requires no
    gradient, or an error if there are none."""
    listed = _listed(inputs)
    for t in listed:
        if not isinstance(t, Tensor):
            message = f"all inputs have to be Tensors or GradientEdges, but got {type_name(t)}"
            raise fail(RuntimeError, message, "Pass the tensors themselves.")
        if not t.requires_grad:
            raise fail(RuntimeError, refusal, note)
    return listed


def _target(t: Tensor) -> Root:
    """Return the node and output number to which the gradient for `t` goes."""
    node = t.grad_fn
    return (accumulator(t) if node is None else node, t._nr)


def _roots(tensors: Sequence[Tensor]) -> list[Root]:
    """Return the node and output number of each tensor, where backward begins. Raise torch's error for a tensor without
    a graph."""
    for i, t in enumerate(tensors):
        if t.grad_fn is None and not (t.requires_grad and accumulator(t)):
            message = f"element {i} of tensors does not require grad and does not have a grad_fn"
            note = "No input of this computation has requires_grad=True (or it ran under no_grad, or was detached), "
            note += "so there is no graph to go back through."
            raise fail(RuntimeError, message, note)
    return [_target(t) for t in tensors]


def _starting_gradients(outputs: Sequence[Any], grads: Any, create_graph: bool) -> list[Any]:
    """Return the starting gradient of each result: the user's gradient, or 1 for a single number. These are arrays, or
    Tensors with create_graph."""
    grads = (None,) * len(outputs) if grads is None else _listed(grads)
    for g in grads:
        if g is not None and not isinstance(g, Tensor):
            message = f"gradients can be either Tensors or None, but got {type(g).__name__}"
            raise fail(TypeError, message, "Wrap it: torch.tensor(...).")
    if len(grads) < len(outputs):
        message = f"got {len(outputs)} tensors and {len(grads)} gradients"
        raise fail(RuntimeError, message, "Give one gradient per tensor.")
    return [
        _starting_gradient(i, t, g, create_graph) for i, (t, g) in enumerate(zip(outputs, grads))
    ]


def _starting_gradient(i: int, t: Tensor, g: Tensor | None, create_graph: bool) -> Any:
    """Return the starting gradient of the result `t`, output number `i`."""
    where, shape = t._storage.device, t._array.shape
    if g is None:
        if t.requires_grad and t._array.size != 1:
            note = f"This tensor has {t._array.size} elements, and a gradient belongs to one number: reduce it (.sum(), .mean()), "
            note += "or pass gradient= with the vector of the vector-Jacobian product."
            raise fail(RuntimeError, "grad can be implicitly created only for scalar outputs", note)
        one = filled(where, 1, shape, t.dtype)
        one = one[()] if where is CPU and not shape else one
        return wrap(one) if create_graph else one
    if g._array.shape != shape:
        message = f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}."
        raise fail(
            RuntimeError,
            message,
            "The gradient must have the shape of the output.",
        )
    if g._storage.device is not where:
        message = f"invalid gradient at index {i} - expected device {t.device} but got {g.device}"
        raise fail(
            RuntimeError,
            message,
            "The gradient has to be where the output is: move it with .to(device).",
        )
    if g.dtype is not t.dtype:
        g = g.to(t.dtype)
    return g if create_graph else g._array
