"""The common case of a backward pass: one root, one gradient per node, no hooks, no observer, all tensors in host
memory.

It does the same as `core.backward.BackwardPass.run`, in the same order, but does not test at every node for rare
features, which halves the time on graphs of scalars. `tests/engine/test_straight.py` compares the two.

It begins without a plan: while each node sends gradients to at most one other node (and to leaves), no gradient has to
wait. Where the graph branches, the rest is planned. Where it needs hooks or a node with several outputs, `BackwardPass`
takes over with the gradients that have arrived so far.
"""

from __future__ import annotations

import contextvars
from operator import attrgetter

import numpy as np

from ..core import observe
from ..core.backward import add_to_grad, execute
from ..core.grad_mode import guard, per_thread
from ..core.node import AccumulateGrad
from ..core.tensor import Tensor
from .delivery import SEVERAL, beyond_leaves
from .threads import shared

_by_age = attrgetter("sequence_nr")


def of_number(loss, retain_graph) -> bool:
    """Run `loss.backward()` of a 0-d tensor as `core.differentiate.backward` does, and return True. Do nothing and
    return False if this path cannot run the graph."""
    return (
        type(loss) is Tensor
        and loss._node is not None
        and loss._view is None
        and not loss._array.ndim
        and observe.observer is None
        and backward(loss._node, loss.dtype.one, retain_graph)
    )


def backward(root, g, retain_graph) -> bool:
    """Run the pass from the node `root`, at which the raw array `g` arrives, as `core.backward.execute` does, and
    return True. Do nothing and return False if `root` needs `BackwardPass`."""
    _ = per_thread.state  # registers this thread
    if not _SILENCE:
        with np.errstate(all="ignore"):
            return _run_chain(root, g, retain_graph)
    variable, quiet = _SILENCE
    before = variable.set(quiet)
    try:
        return _run_chain(root, g, retain_graph)
    finally:
        variable.reset(before)


def _numpy_error_state():
    """Return (variable, value) for the context variable in which NumPy keeps its error state: setting it silences NumPy
    in 0.1 µs. Return () if there is none. The variable has no public name, so find the one that `np.seterr` changes."""
    here, quiet = contextvars.copy_context(), contextvars.copy_context()
    quiet.run(np.seterr, all="ignore")
    changed = [
        (variable, value) for variable, value in quiet.items() if here.get(variable) is not value
    ]
    return changed[0] if len(changed) == 1 else ()


_SILENCE = _numpy_error_state()


# -- chains, without a plan --------------------------------------------------------------------------------------------
def _run_chain(node, g, retain_graph):
    """Run nodes in order while the graph is a chain, as `core.backward.BackwardPass.run` does. If it branches,
    `_run_rest` runs the rest."""
    leaves: dict = {}  # each leaf's AccumulateGrad -> the sum so far
    before = None  # the previous node
    while True:
        try:
            done = node.step(g, retain_graph, leaves, None)
        except BaseException:
            _accumulate_complete(leaves, [node])
            raise
        if done is None:
            if before is None:
                return False
            _run_rest([(node, _output_of(before, node))], [g], leaves, retain_graph)
            return True
        before = node
        node, g = done
        if node is None:
            break
    if g.__class__ in SEVERAL:
        _run_rest(*beyond_leaves(before, g), leaves, retain_graph)
        return True
    shared.inside = True
    try:
        if not shared.several:
            _accumulate(leaves)
            return True
    finally:
        shared.inside = False
    with guard:
        _accumulate(leaves)
    return True


def _accumulate(leaves):
    """Add the gradients of `leaves` to `.grad`. The caller holds `guard`, unless it is the only thread."""
    for target, total in leaves.items():
        leaf = target.variable
        if leaf._grad is None:
            leaf._grad = total
        else:
            add_to_grad(leaf, total)


def _output_of(before, node):
    """Return the output number of `node` to which the edge from `before` leads."""
    return 0 if before.input_nrs is None else before.input_nrs[before.inputs.index(node)]


def _accumulate_complete(leaves, left):
    """Before an error is raised, accumulate the gradients of leaves that need none of the remaining nodes `left`, as
    PyTorch does."""
    left = dict.fromkeys(left)
    queue = list(left)
    for node in queue:
        for n in node.inputs:
            if n is not None and n not in left:
                left[n] = None
                queue.append(n)
    with guard:
        _accumulate({leaf: total for leaf, total in leaves.items() if leaf not in left})


def _run_rest(roots, seeds, leaves, retain_graph):
    """Continue with a plan at the nodes `roots`, where the gradients `seeds` arrive."""
    planned = _plan([n for n, _ in roots], leaves)
    if planned is not None:
        order, pending = planned
        for (node, _), g in zip(roots, seeds):
            if g is not None:
                pending[node] = g if pending[node] is None else pending[node] + g
        return _run(order, pending, leaves, retain_graph)
    roots += [(leaf, 0) for leaf in leaves]
    seeds += leaves.values()
    leaves.clear()
    execute(roots, seeds, retain_graph=retain_graph)


# -- branching graphs, with a plan -------------------------------------------------------------------------------------
def _plan(roots, leaves) -> tuple[list, dict] | None:
    """Return (nodes, newest first; a place for the gradient of each), or None if the graph needs `BackwardPass`; see
    `core.backward.plan`.

    leaves: the leaves that have already received a gradient."""
    if not all(map(_is_plain_leaf, leaves)):
        return None
    pending = dict.fromkeys(roots)
    order = list(pending)
    for node in order:
        if not node.direct or node.hooks is not None:
            return None
        for n in node.inputs:
            if n is None or n in pending:
                continue
            if n.__class__ is not AccumulateGrad:
                order.append(n)
                pending[n] = None
            elif not _is_plain_leaf(n):
                return None
    order.sort(key=_by_age, reverse=True)
    return order, pending


def _is_plain_leaf(node):
    return node.hooks is None and node.variable._hooks is None and node.variable._req


def _run(order, pending, leaves, retain_graph):
    """Run planned nodes as `core.backward.BackwardPass.run` does."""
    try:
        for node in order:
            g = pending.pop(node)
            if g is not None:
                target, g = node.step(g, retain_graph, leaves, pending)
                if target is not None:
                    pending[target] = g if pending[target] is None else pending[target] + g
            elif not retain_graph:  # its contributions were not differentiable
                node.release()
    except BaseException:
        _accumulate_complete(leaves, [node, *pending])
        raise
    with guard:
        _accumulate(leaves)
