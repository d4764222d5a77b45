"""`grad`, which refuses a batch of vectors. Source: torch.autograd.grad."""

from __future__ import annotations

import functools

from ..core import differentiate
from ..exact.refusals import unsupported


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
    if is_grads_batched:
        note = "Call grad once for each vector, with retain_graph=True, or use torch.func.vjp and vmap."
        raise unsupported("grad", "is_grads_batched", note)
    return differentiate.grad(
        outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads
    )
