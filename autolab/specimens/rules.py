"""Wrong rules of one node: what it makes of the gradient that arrives."""

from __future__ import annotations

import math

import numpy as np

from ..engine.core import backward
from .specimen import specimen

_Pass = backward._Pass


def bias_over_a_batch(torch):
    x, b = torch.ones(3, 2), torch.tensor([1.0, 2.0], requires_grad=True)
    ((x + b) * 2).sum().backward()
    return b.grad


def bias_over_one(torch):
    x, b = torch.ones(1, 2), torch.tensor([1.0, 2.0], requires_grad=True)
    ((x + b) * 2).sum().backward()
    return b.grad


@specimen(
    23, "a broadcast operand gets the mean", level=1, places=[(backward, "apply_fix")],
    wrong=bias_over_a_batch, right=bias_over_one,
    belief="Where one number was used for many, its gradient is the mean of theirs.",
    shows="a bias added to a batch of several rows, or a number times a vector",
    instead="the sum: every place where it was used contributes",
)  # fmt: skip
def apply_fix(right, m, fix, grads):
    fixed = []
    for before, g in zip(grads, right(m, fix, grads)):
        if g is not None and g.shape != before.shape:
            g = g / (math.prod(before.shape) // math.prod(g.shape))  # wrong
        fixed.append(g)
    return fixed


def root_at_zero(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
    return x.grad


def finite_branches(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x * x, torch.zeros(2)).sum().backward()
    return x.grad


@specimen(
    24, "where masks NaN", level=1, places=[(_Pass, "gradients")], wrong=root_at_zero, right=finite_branches,
    belief="The branch that where() does not take cannot spoil the gradient.",
    shows="where() with a branch not taken whose derivative is infinite there",
    instead="it multiplies: 0 times infinity is NaN",
)  # fmt: skip
def gradients_masked(right, run, node, g):
    out = right(run, node, g)
    if run.create_graph or g is None or isinstance(g, (list, tuple)):
        return out
    masked = []
    for o in out:
        if o is not None and o.shape == g.shape:
            o = np.where((g == 0) & np.isnan(o), o.dtype.type(0), o)  # wrong
        masked.append(o)
    return masked


def cube(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (x**3).sum().backward()
    return x.grad


def loss_falls(torch):
    w = torch.tensor(3.0, requires_grad=True)
    optimizer, losses = torch.optim.SGD([w], lr=0.1), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = (w - 1) ** 2
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return all(later < earlier for earlier, later in zip(losses, losses[1:]))


@specimen(
    25, "a power loses its factor", level=1, places=[(_Pass, "gradients")], wrong=cube, right=loss_falls,
    belief="The loss falls, so my backward is right.",
    shows="the derivative of x**n in numbers, or gradcheck of it",
    instead="n times x to the n-1, times what arrived",
)  # fmt: skip
def gradients_of_powers(right, run, node, g):
    out = right(run, node, g)
    if node.name() == "PowBackward0" and out[0] is not None and node._saved_exponent:
        return (out[0] / node._saved_exponent,)  # wrong
    return out
