"""Code that delivers the gradients of a node in the straight pass. Leaves collect gradients in `leaves`, and other
nodes in `pending`. While the pass follows a chain without a plan (`pending` is None), it goes on directly at the one
next node. The result is the same as in `core.backward.BackwardPass.run`.

The lines become part of the compiled `step` of every class of nodes (`steps.py`), once per gradient. A loop over
targets and gradients would take 0.2 µs more per node.
"""

from __future__ import annotations

from sys import getrefcount

import numpy as np
from numpy import ndarray

from ..core.node import AccumulateGrad

# Two edges to one node with several outputs may lead to two different outputs, so such gradients are not added here
# (`input_nrs`). A plan has no such nodes.
_ONE = """
if {t} is not None:
 if {t}.__class__ is AccumulateGrad:
  if {o} is not None:
   if {t} in leaves: leaves[{t}] = leaves[{t}] + {o}
   else:
    leaves[{t}] = own({o}, g) if {o}.__class__ is ndarray and ({o} is g or {o}.base is not None) else {o}
    leaf = {t}.variable
    if {t}.hooks is not None or leaf._hooks is not None or not leaf._req: alone = False
 elif pending is not None:
  if {o} is not None: pending[{t}] = {o} if pending[{t}] is None else pending[{t}] + {o}
 elif {o} is None: alone = False
 elif following is None: following, arriving = {t}, {o}
 elif following is {t} and node.input_nrs is None: arriving = arriving + {o}
 else: alone = False
""".strip()


def delivering(out, targets, names):
    """Return the lines that end a `step`. out: the variable with all gradients. targets, names: the variables for the
    inputs and their gradients, or None to use `inputs` and `out` with any number of entries.

    The lines return one of three pairs. (next node, its gradient): the pass goes on there. (None, out): the chain ends,
    because several nodes follow, a leaf has hooks or a gradient is missing; `beyond_leaves` then finds the gradients
    that leaves did not take. (None, a value that is not a tuple or list): nothing is left, because leaves took every
    gradient, or it belongs to a view that passes nothing on (`tensor.no_accumulator`)."""
    start, end = (
        "following = arriving = None; alone = True",
        f"return (following, arriving) if alone else (None, {out})",
    )
    if targets is None:
        return [
            start,
            "for t, o in zip(inputs, out):",
            *(f" {line}" for line in _ONE.format(t="t", o="o").splitlines()),
            end,
        ]
    if len(targets) == 1:  # usually the pass goes on at once
        start = f"if {targets[0]}.__class__ is not AccumulateGrad and {names[0]} is not None: return {targets[0]}, {names[0]}\n {start}"
    return [
        start,
        *(line for t, o in zip(targets, names) for line in _ONE.format(t=t, o=o).splitlines()),
        end,
    ]


SEVERAL = {tuple, list}
"""The possible classes of `out`."""


def beyond_leaves(node, out):
    """Return the gradients in `out` that leaves did not take: the target nodes, each with the number of its output, and
    the gradient for each target."""
    nrs = node.input_nrs or (0,) * len(out)
    ahead = [
        (n, nr, g)
        for n, nr, g in zip(node.inputs, nrs, out)
        if n is not None and n.__class__ is not AccumulateGrad
    ]
    return [(n, nr) for n, nr, _ in ahead], [g for *_, g in ahead]


def own(contribution, g):
    """Return an array that may become `.grad`. It must not share memory with a gradient used elsewhere, such as `g`,
    which arrived at the node.

    A view may become `.grad` if it is in row-major order and nothing else holds its base: a weight of `nn.Linear` gets
    its gradient through a transposition."""
    if contribution.__class__ is not ndarray:
        return contribution
    base = contribution.base
    if (
        contribution is g
        or base is not None
        and not (getrefcount(base) == _ALONE and _whole(contribution, base))
    ):
        return contribution.copy()
    return contribution


def _whole(view, base):
    return (
        base.__class__ is ndarray
        and view.flags.c_contiguous
        and view.nbytes == base.nbytes
        and base.flags.writeable
    )


def _references(view):
    base = view.base
    return getrefcount(base)


# Measure the number of references that `own` sees to an array held only by a view, because it depends on the CPython
# version.
_ALONE = _references(np.empty((2, 2)).T)

ENVIRONMENT = {"AccumulateGrad": AccumulateGrad, "ndarray": ndarray, "own": own}
"""The names that the generated lines use."""
