"""Losses of class numbers: the negative log-likelihood, under cross entropy. What losses share, and all others, is in
`loss.py`."""

from __future__ import annotations

import numpy as np

from ..devices import demands
from ..core.errors import fail
from .functions import internal
from .activation import floating
from .loss import MEAN, NONE, SUM


class _Classes:
    """Scores (N, C, ...) and class numbers (N, ...), or (C) and (), seen as one batch; with each sample's weight."""

    def __init__(self, xp, scores, target, weight, ignore_index):
        self.xp, self.shape = xp, scores.shape
        self.scores = scores if scores.ndim > 1 else scores.reshape(1, -1)
        self.target_shape = target.shape if scores.ndim > 1 else ()
        target = xp.asarray(target, np.int64).reshape(self.scores.shape[:1] + self.scores.shape[2:])
        self.counted = counted = target != ignore_index
        self.classes = xp.where(counted, target, 0)
        wrong = counted & ((target < 0) | (target >= self.scores.shape[1]))
        demands.none(
            xp, wrong, lambda: self._out_of_bounds(target[wrong][0] if xp is np else "of a sample")
        )
        one = counted.astype(scores.dtype)
        self.weights = one if weight is None else one * weight[self.classes]

    def _out_of_bounds(self, found):
        count = self.scores.shape[1]
        note = f"There are {count} classes, numbered from 0 to {count - 1}."
        return fail(IndexError, f"Target {found} is out of bounds.", note)

    def picked(self):
        """The score of the right class of each sample."""
        if self.scores.ndim == 2:
            return self.scores[self.xp.arange(len(self.classes)), self.classes]
        return self.xp.take_along_axis(self.scores, self.classes[:, None], axis=1)[:, 0]

    def placed(self, values):
        """An array of the scores' shape with `values` (one per sample) at the right classes and 0 elsewhere."""
        grad = self.xp.zeros(self.scores.shape, values.dtype)
        if grad.ndim == 2:
            grad[self.xp.arange(len(self.classes)), self.classes] = values
            return grad.reshape(self.shape)
        self.xp.put_along_axis(
            grad,
            self.classes[:, None],
            self.xp.broadcast_to(values, self.classes.shape)[:, None],
            axis=1,
        )
        return grad.reshape(self.shape)


_INT64 = np.dtype(np.int64)


def _places(xp, scores, target, weight, ignore_index):
    """Where the right classes are among the scores laid out flat, in the usual case: a batch of scores, each with a
    class number that exists and counts, and no weights. None in all others.

    Then one pick is all there is to do: 3 µs for few samples, where the general way takes 13."""
    if (
        xp is not np
        or weight is not None
        or scores.ndim != 2
        or target.ndim != 1
        or target.dtype != _INT64
    ):
        return None
    if 0 <= ignore_index < scores.shape[1] or not target.size:
        return None
    try:
        return np.ravel_multi_index((np.arange(target.size), target), scores.shape)
    except ValueError:  # a number that is no class
        return None


def _nll(xp, self, target, weight, reduction, ignore_index):
    places = _places(xp, self, target, weight, ignore_index)
    if places is not None:
        loss = -self.take(places)
        if reduction == NONE:
            return loss, self.dtype.type(0)
        count, total = self.dtype.type(places.size), np.add.reduce(loss)
        return (total / count if reduction == MEAN else total), count
    batch = _Classes(xp, self, target, weight, ignore_index)
    loss = -batch.picked() * batch.weights
    if reduction == NONE:
        loss = xp.where(batch.weights == 0, 0, loss)  # an ignored -inf must not become nan
        return loss.reshape(batch.target_shape), xp.zeros((), self.dtype)[()]
    total_weight = xp.add.reduce(batch.weights, axis=None)
    total = xp.add.reduce(loss, axis=None)
    return (total / total_weight if reduction == MEAN else total), total_weight


def _nll_backward(xp, grad_output, self, target, weight, reduction, ignore_index, total_weight):
    places = _places(xp, self, target, weight, ignore_index)
    if places is not None:
        grad = np.zeros(self.shape, self.dtype)
        share = self.dtype.type(-1)
        grad.put(places, (share / total_weight if reduction == MEAN else share) * grad_output)
        return grad
    batch = _Classes(xp, self, target, weight, ignore_index)
    share = -batch.weights
    if reduction == MEAN:
        share = xp.where(batch.counted, share / total_weight, 0)  # all ignored: 0 / 0
    return batch.placed(share * grad_output.reshape(share.shape if reduction == NONE else ()))


internal(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight)",
    operands=("total_weight",),
    forward=_nll_backward,
    node="NllLossBackwardBackward0",
    vjp={
        "grad_output": lambda m, g, target, weight, reduction, ignore_index: m.nll_loss(
            g, target, weight, reduction, ignore_index
        )[0]
    },
    samples=lambda s: [
        (s.randn(), s.randn(2, 3), s.integers(3, 2), s.positive(3), SUM, -100, s.positive())
    ],
)


def kernel_name(ndim):
    """What PyTorch calls its kernel of the negative log-likelihood of scores with so many dimensions; error messages
    name it."""
    return "nll_loss_out_frame" if ndim <= 2 else "nll_loss2d_forward_out_frame"


for _name, _node, _samples in (
    (
        "nll_loss",
        "NllLossBackward0",
        lambda s: [
            (s.randn(2, 3), s.integers(3, 2), None, MEAN),
            (s.randn(3, 4), s.integers(4, 3), s.positive(4), SUM),
            (s.randn(3), s.integers(3), None, MEAN),
            (s.randn(2, 3), s.integers(3, 2), s.positive(3), NONE),
        ],
    ),
    (
        "nll_loss2d",
        "NllLoss2DBackward0",
        lambda s: [
            (s.randn(2, 3, 2, 2), s.integers(3, 2, 2, 2), None, MEAN),
            (s.randn(1, 3, 2, 2), s.integers(3, 1, 2, 2), s.positive(3), SUM),
        ],
    ),
):
    internal(
        f"{_name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
        outputs=("output", "total_weight"),
        nondiff=("total_weight",),
        forward=floating(kernel_name(2 if _name == "nll_loss" else 4), _nll),
        node=_node,
        vjp={
            "self": lambda m, g, self, target, weight, reduction, ignore_index, total_weight: (
                m.nll_loss_backward(
                    g[0], self, target, weight, reduction, ignore_index, total_weight
                )
            )
        },
        latex=r"-\frac{1}{n} \sum {self}_{{target}}",
        vjp_latex={"self": r"-\frac{{g}}{n} \cdot [c = {target}]"},
        samples=_samples,
    )
