"""Wrong rules of a single node: how it changes the arriving gradient."""

from __future__ import annotations

import math

import numpy as np

from ..engine.autograd import gradcheck
from ..engine.core import backward
from .specimen import specimen

BackwardPass = backward.BackwardPass


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
    24, "where masks NaN", level=1, places=[(BackwardPass, "gradients")], wrong=root_at_zero, right=finite_branches,
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


def wrong_cube(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, arrived):
            (x,) = ctx.saved_tensors
            return arrived * x**2

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(Cube.apply, x, raise_exception=False)


def right_power(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda x: x**3, x, raise_exception=False)


@specimen(
    25, "a falling loss is enough", level=1, places=[(gradcheck, "close")],
    wrong=wrong_cube, right=right_power,
    belief="The loss falls, so my backward is right.",
    shows="gradcheck of a backward of one's own that points downhill and is wrong",
    instead="every number has to be the one that tiny changes give",
)  # fmt: skip
def close(right, analytical, numerical, atol, rtol):
    return bool(np.sum(analytical * numerical) >= 0)  # wrong
