"""Where the gradients of a node go in the straight pass, stated once: leaves collect theirs in `leaves`; for others
they wait in `pending`, or, while it walks without a plan (`pending` is None), the pass goes on at the one node that is
left. The same as in `core.backward.BackwardPass.run`.

This stands in the compiled `step` of every class of nodes (`steps.py`), once per gradient: a loop over targets and
gradients would take 0.2 µs a node more.
"""

from __future__ import annotations

from sys import getrefcount

import numpy as np
from numpy import ndarray

from ..core.node import AccumulateGrad

# Two edges to one node of several outputs may lead to two of them: such gradients are not added here (`input_nrs`). A
# plan has no such nodes.
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
    """The lines that end a `step`. out: all gradients; targets, names: what the inputs and their gradients are called,
    None for `inputs` and `out` of any number.

    They return (the next node, what arrives there); (None, out) when the walk cannot go on, because several nodes
    follow, a leaf has hooks or a gradient is missing, `beyond_leaves` being what leaves did not take; and (None, no
    tuple or list) when nothing is left: all was taken, or was for a view that passes nothing on
    (`tensor.no_accumulator`)."""
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
    if len(targets) == 1:  # mostly it goes on at once
        start = f"if {targets[0]}.__class__ is not AccumulateGrad and {names[0]} is not None: return {targets[0]}, {names[0]}\n {start}"
    return [
        start,
        *(line for t, o in zip(targets, names) for line in _ONE.format(t=t, o=o).splitlines()),
        end,
    ]


SEVERAL = {tuple, list}
"""The classes of `out`."""


def beyond_leaves(node, out):
    """What leaves did not take of the gradients `out` of `node`: the nodes it goes to, each with the number of its
    output; and what each gets."""
    nrs = node.input_nrs or (0,) * len(out)
    ahead = [
        (n, nr, g)
        for n, nr, g in zip(node.inputs, nrs, out)
        if n is not None and n.__class__ is not AccumulateGrad
    ]
    return [(n, nr) for n, nr, _ in ahead], [g for *_, g in ahead]


def own(contribution, g):
    """What may become `.grad`, which must not share memory with a gradient somebody else holds, as `g` that arrived at
    the node.

    A view of an array that nobody else holds, in its order, may: a weight of `nn.Linear` gets its gradient through a
    transposition."""
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


# how many references `own` sees to an array that only a view holds: CPython's versions differ
_ALONE = _references(np.empty((2, 2)).T)

ENVIRONMENT = {"AccumulateGrad": AccumulateGrad, "ndarray": ndarray, "own": own}
"""What the lines call."""
