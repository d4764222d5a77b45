"""`grad`, with a batch of vectors too. Source: torch.autograd.grad."""

from __future__ import annotations

import functools

from ..core import differentiate
from ..core.errors import fail
from ..ops.functions import NAMESPACES
from ..core.tensor import Tensor


@functools.wraps(differentiate.grad)
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    if not is_grads_batched:
        return differentiate.grad(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph,
            allow_unused,
            materialize_grads,
        )
    grad_outputs = (
        (grad_outputs,)
        if isinstance(grad_outputs, Tensor) or grad_outputs is None
        else tuple(grad_outputs)
    )
    if any(g is None for g in grad_outputs):
        raise fail(
            RuntimeError,
            "is_grads_batched=True needs grad_outputs",
            "Give a batch of vectors: the first dimension counts them.",
        )
    n = len(grad_outputs[0])
    rows = []
    for i in range(n):
        vectors = tuple(g[i] for g in grad_outputs)
        retain = True if i < n - 1 else retain_graph
        rows.append(
            differentiate.grad(
                outputs, inputs, vectors, retain, create_graph, allow_unused, materialize_grads
            )
        )
    stack = NAMESPACES[""]["stack"]
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))
