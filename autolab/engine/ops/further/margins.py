"""Losses that want the scores of right classes to be higher by a margin than those of the others.

Sums are added in PyTorch's order: class after class in the dtype of the scores, sample after sample in float64. PyTorch
has no derivative of their gradients, and neither has this. Sources: torch.nn.functional.multi_margin_loss,
multilabel_margin_loss; Crammer and Singer, "On the Algorithmic Implementation of Multiclass Kernel-based Vector
Machines" (2001).
"""

from __future__ import annotations

import numpy as np

from ..functions import internal
from ..loss import MEAN, NONE
from ..remainder import not_differentiable


def _rows(x):
    return x if x.ndim == 2 else x.reshape(1, -1)


def _of_all(xp, losses, reduction, dtype):
    """The sum or mean of one float64 loss for each sample, added one after the other."""
    total = _in_turn(xp, losses)
    return (total / np.float64(losses.size) if reduction == MEAN else total).astype(dtype)


def _in_turn(xp, losses):
    return xp.cumsum(losses)[-1] if losses.size else xp.zeros((), losses.dtype)[()]


# -- one right class ---------------------------------------------------------------------------------------------------
def _too_close(xp, self, target, margin):
    """How far each score of `self` (N, C) reaches into the margin below that of the right class; 0 there and where it
    does not."""
    x, rows = _rows(self), xp.arange(target.size)
    right = target.reshape(-1)
    z = x.dtype.type(margin) - x[rows, right][:, None] + x
    z = xp.where(z > 0, z, x.dtype.type(0))
    z[rows, right] = 0
    return z, rows, right


def _multi_margin(xp, self, target, p, margin, weight, reduction):
    z, _, right = _too_close(xp, self, target, margin)
    h = z if p == 1 else z * z
    if weight is not None:
        h = h * weight[right][:, None]
    losses = xp.cumsum(h, axis=1)[:, -1] / h.dtype.type(h.shape[1])
    if reduction == NONE:
        return losses.reshape(target.shape)
    return _of_all(xp, losses.astype(np.float64), reduction, self.dtype)


def _multi_margin_backward(xp, g, self, target, p, margin, weight, reduction):
    z, rows, right = _too_close(xp, self, target, margin)
    dtype, (samples, classes) = z.dtype, z.shape
    share = dtype.type(1 / (samples * classes) if reduction == MEAN and samples else 1 / classes)
    h = xp.where(z > 0, share if p == 1 else 2 * share * z, dtype.type(0))
    if weight is not None:
        h = h * weight[right][:, None]
    h[rows, right] = 0 - xp.cumsum(h, axis=1)[:, -1]
    return (h * g.reshape(-1, 1)).reshape(self.shape)


multi_margin_op = internal(
    "multi_margin_loss(Tensor self, Tensor target, Number p, Number margin, Tensor? weight, int reduction)",
    forward=_multi_margin,
    vjp={
        "self": lambda m, g, self, target, p, margin, weight, reduction: (
            m.multi_margin_loss_backward(g, self, target, p, margin, weight, reduction)
        )
    },
    latex=r"\frac{1}{C} \sum_{i \ne y} \max(0, {margin} - {self}_y + {self}_i)^{{p}}",
    vjp_latex={"self": r"\frac{{g}}{C} \cdot ([i = y] \cdot (-k) + [i \ne y])"},
)

not_differentiable(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Number p, Number margin, Tensor? weight, int reduction)",
    "multi_margin_loss_backward",
    differentiable=("grad_output", "self"),
    forward=_multi_margin_backward,
)


# -- several right classes ---------------------------------------------------------------------------------------------
def _listed(xp, target):
    """Which entries of `target` (N, C) count: those before the first -1 of their row."""
    return xp.cumsum(target < 0, axis=1) == 0


def _marked(xp, target, dtype):
    """1 at each right class of each sample, else 0."""
    counts, rows = _listed(xp, target), xp.arange(target.shape[0])[:, None]
    marks = xp.zeros(
        (target.shape[0], target.shape[1] + 1), dtype
    )  # one place more, for what does not count
    marks[rows, xp.where(counts, target, target.shape[1])] = 1
    return marks[:, :-1]


def _multilabel_margin(xp, self, target, reduction):
    x, right = _rows(self), _rows(target)
    marks, counts = _marked(xp, right, x.dtype), _listed(xp, right)
    sums, rows = xp.zeros(x.shape[0], np.float64), xp.arange(x.shape[0])
    for k in range(x.shape[1]):  # each right class in turn against all wrong ones
        z = _reaching(xp, x, marks, rows, xp.where(counts[:, k], right[:, k], 0), counts[:, k])
        sums = xp.cumsum(xp.concatenate((sums[:, None], z), axis=1), axis=1)[:, -1]
    losses = sums.astype(x.dtype)
    if reduction == NONE and self.ndim == 2:
        losses = losses / x.dtype.type(x.shape[1])
        return losses, marks.reshape(target.shape)
    total = _in_turn(xp, losses.astype(np.float64)) / np.float64(x.shape[1])
    if reduction == MEAN:
        total = total / np.float64(x.shape[0])
    return total.astype(x.dtype), marks.reshape(target.shape)


def _reaching(xp, x, marks, rows, right, counts):
    """How far each wrong class reaches into the margin of 1 below the class `right`; 0 where it does not."""
    z = 1 - x[rows, right][:, None] + x
    return xp.where((z > 0) & (marks == 0) & counts[:, None], z, x.dtype.type(0))


def _multilabel_margin_backward(xp, g, self, target, reduction, is_target):
    x, right, marks = _rows(self), _rows(target), _rows(is_target)
    counts, rows = _listed(xp, right), xp.arange(x.shape[0])
    samples, classes = x.shape
    times = xp.zeros(
        x.shape, np.int64
    )  # how often the share is added to, or for right classes taken from, each score
    for k in range(classes):
        now = xp.where(counts[:, k], right[:, k], 0)
        reached = _reaching(xp, x, marks, rows, now, counts[:, k]) > 0
        times += reached
        times[rows, now] += xp.count_nonzero(reached, axis=1)
    share = 1 / (samples * classes) if reduction == MEAN and samples else 1 / classes
    most = int(times.max(initial=0)) if xp is np else classes * classes  # a GPU is not waited for
    steps = xp.full(most + 1, share, x.dtype)  # added one by one, as PyTorch does
    steps[0] = 0
    grad = xp.cumsum(steps)[times]
    grad = xp.where(marks == 0, grad, 0 - grad)
    return (grad * g.reshape(-1, 1)).reshape(self.shape)


multilabel_margin_op = internal(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction)",
    outputs=("output", "is_target"),
    nondiff=("is_target",),
    forward=_multilabel_margin,
    vjp={
        "self": lambda m, g, self, target, reduction, is_target: m.multilabel_margin_loss_backward(
            g[0], self, target, reduction, is_target
        )
    },
    latex=r"\frac{1}{C} \sum_y \sum_{i \notin Y} \max(0, 1 - {self}_y + {self}_i)",
    vjp_latex={
        "self": r"\frac{{g}}{C} \cdot \text{(number of wrong classes, or minus that of right ones, within the margin)}"
    },
)

not_differentiable(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target)",
    "multilabel_margin_loss_backward",
    differentiable=("grad_output", "self"),
    operands=("is_target",),
    forward=_multilabel_margin_backward,
)
