"""The backward pass as it mostly is: one root, one gradient per node, no hooks, nobody watching, all in host memory.

It does what `engine._Pass.run` does, in the same order, without asking at every node for what is rarely there: a third less time on graphs
of scalars. `tests/engine/test_straight.py` holds the two together.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np
from numpy import ndarray

from .. import device as devices
from .. import observe
from ..tensor import Tensor
from . import namespaces
from .engine import accumulate
from .grad_mode import per_thread
from .node import AccumulateGrad, apply_fix

_by_age = attrgetter("sequence_nr")


def of_number(loss, retain_graph) -> bool:
    """`loss.backward()` of a 0-d tensor, if it can be done here."""
    return (
        type(loss) is Tensor
        and loss._node is not None
        and loss._view is None
        and not loss._d.ndim
        and observe.observer is None
        and not devices.away()
        and backward(loss._node, loss.dtype.scalar(1), retain_graph)
    )


def backward(root, g, retain_graph) -> bool:
    """Runs the pass from the node `root`, at which the raw array `g` arrives. False, and nothing done, when this graph needs `_Pass`."""
    planned = _plan(root)
    if planned is None:
        return False
    silence = per_thread.state.silence
    if silence is None:
        with np.errstate(all="ignore"):
            _run(*planned, root, g, retain_graph)
        return True
    variable, quiet = silence
    before = variable.set(quiet)
    try:
        _run(*planned, root, g, retain_graph)
    finally:
        variable.reset(before)
    return True


def _plan(root) -> tuple[list, dict, dict] | None:
    """(nodes, newest first; how many gradients each leaf waits for; a place for each gradient), or None for a graph that is not so plain."""
    if not root.direct or root.hooks is not None:
        return None
    order, pending = [root], {root: None}
    waiting: dict = {}
    for node in order:
        for n in node.inputs:
            if n in pending:
                if n in waiting:
                    waiting[n] += 1
            elif n is not None:
                if n.hooks is not None:
                    return None
                if n.direct:
                    order.append(n)
                elif n.__class__ is AccumulateGrad and n.variable._hooks is None and n.variable._req:
                    waiting[n] = 1
                else:
                    return None
                pending[n] = None
    order.sort(key=_by_age, reverse=True)
    return order, waiting, pending


def _run(order, waiting, pending, root, g, retain_graph):
    m = namespaces.raw(np)
    pending[root] = g
    for node in order:
        g = pending.pop(node)
        if g is None:  # no contribution to it was differentiable
            out = (None,) * len(node.inputs)
        else:
            out = node.backward_raw(m, g)
            if node.fix is not None:
                out = apply_fix(m, node.fix, out)
        for target, contribution in zip(node.inputs, out):
            if target is None:
                continue
            if contribution is not None:
                before = pending[target]
                if before is not None:
                    contribution = before + contribution
                elif (
                    target in waiting
                    and contribution.__class__ is ndarray
                    and (contribution is g or contribution.base is not None)
                ):
                    contribution = contribution.copy()  # .grad must not share memory with a gradient somebody else holds
                pending[target] = contribution
            if target in waiting:
                left = waiting[target] = waiting[target] - 1
                if not left:
                    _finish(target.variable, pending.pop(target))
        if not retain_graph:
            if node.frees_all:
                node.saved = None
            else:
                node.release()


def _finish(leaf, g):
    if leaf._grad is None:
        leaf._grad = g
    elif g is not None:
        accumulate(leaf, g)
