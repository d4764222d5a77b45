"""Register an operation together with the operation of its gradient, as in PyTorch: `mse_loss` and `mse_loss_backward`.

A backward pass is then one kernel, and the gradient of a gradient has PyTorch's names (`MseLossBackwardBackward0`).
"""

from __future__ import annotations

from ..core.record import parsed
from .functions import internal


def rule(name, *reads):
    """Return a rule that calls the operation `name` with the gradient and the saved values named in `reads`.

    >>> rule("neg").__code__.co_varnames, rule("mul", "other").__code__.co_varnames
    (('m', 'g'), ('m', 'g', 'other'))
    """
    arguments = ", ".join(("g", *reads))
    return eval(
        f"lambda m, {arguments}: m.{name}({arguments})"
    )  # a node saves the values that rules name as arguments


def flat(m, g):
    """Return the gradient zero for a piecewise constant slope; it still has a place in the graph, as in PyTorch."""
    return m.zeros_like(g)


def with_backward(schema, *, backward, again=None, curvature=None, **record):
    """Register the operation of `schema` and `<name>_backward`; return the first.

    backward: the kernel of the gradient, called with xp, the gradient and the operation's arguments. again: the
    operation for the gradient with respect to the gradient, and the arguments that it reads; by default
    `<name>_backward` with all of them. curvature: rules of `<name>_backward` for the operation's own tensors; by
    default its first tensor gets zeros."""
    said = parsed(schema)
    name, params = f"{said['name']}_backward", said["params"]
    op = internal(schema, vjp={params[0]: rule(name, *params)}, **record)

    listed = ", ".join(f"{kind} {p}" for kind, p in zip(said["kinds"], params))
    internal(
        f"{name}(Tensor grad_output, {listed})",
        forward=backward,
        vjp={
            "grad_output": rule(*(again or (name, *params))),
            **(curvature or {params[0]: flat}),
        },
        operands=("grad_output", *op.operands) if op.operands else (),
        node=op.node.replace("Backward", "BackwardBackward"),
    )
    return op
