"""Errors of nodes that cannot run because a saved tensor was freed or changed in place, in PyTorch's words."""

from __future__ import annotations

import functools
from typing import Any

from . import anomaly
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..core.node import Node
from ..core.tensor import attach

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)


def freed() -> Exception:
    """Return the error for a backward pass through a graph whose saved tensors an earlier pass freed.

    >>> str(freed())[:57]
    'Trying to backward through the graph a second time (or di'
    """
    return fail(
        RuntimeError,
        FREED,
        "backward() freed what this graph had saved to save memory; run the forward pass again, or pass "
        "retain_graph=True to the first backward().",
    )


def stale(
    node: Any,
    storage: Any,
    version: int,
    shape: tuple[int, ...],
    dtype: Any,
    made_by: Any,
    nr: int = 0,
) -> Exception:
    """Return the error for a saved tensor, an output of the node `made_by`, that was changed in place later. nr: the
    number of that output. As in PyTorch, only a node that saved its own output reports it; for an operand the message
    says output 0."""
    which = ""
    if made_by is not None and made_by.inputs:
        which = f", which is output {nr} of {re_name(made_by.name())},"
    now = storage.version
    short = FROM_NUMPY[dtype].short
    kind = "CPUBoolType" if short == "Bool" else f"torch.{short}Tensor"
    return fail(
        RuntimeError,
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} [{', '.join(map(str, shape))}]]{which} is at version {now}; expected version {version} instead. "
        f"{_where_hint()}",
        f"{node.name()} saved this tensor for its gradient, and an operation whose name ends in _ (or +=) changed it {now - version} time(s) "
        "afterwards; use the out-of-place form, or change it after backward().",
    )


def re_name(name: str) -> str:
    """Return the name of a node as torch's messages abbreviate it.

    >>> re_name("MulBackward0"), re_name("torch::autograd::CopySlices")
    ('Mul', 'torch::autograd::CopySlices')
    """
    head, found, tail = name.rpartition("Backward")
    return head + tail.replace("0", "") if found and (tail.isdigit() or not tail) else name


def _where_hint() -> str:
    """Return the last sentence of the error about a changed saved tensor, in torch's words."""
    if anomaly.is_anomaly_enabled():
        return (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed "
            "in there or anywhere later. Good luck!"
        )
    return (
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


@functools.partial(attach, to=Node)
class _Refusals:
    _freed, _stale = staticmethod(freed), stale
