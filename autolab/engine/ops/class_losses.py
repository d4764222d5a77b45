"""The negative log-likelihood loss of class numbers, on which cross entropy is built. Other losses, and code that all
losses share, are in `loss.py`."""

from __future__ import annotations

import math

import numpy as np

from ..devices import demands
from ..core.errors import fail
from .functions import internal
from .activation import floating
from .loss import MEAN, NONE


def _batch(xp, scores, target, weight, ignore_index):
    """Return three values for the scores as one batch: the sizes (N, C, M), where M counts the elements behind the
    class dimension; the positions of the target classes; and the weights (N, M) of the samples, 0 for ignored ones."""
    shape = scores.shape
    sizes = *(shape[:2] if len(shape) > 1 else (1, *shape)), math.prod(shape[2:])
    target = xp.asarray(target, np.int64).reshape(sizes[0], sizes[2])
    counted = target != ignore_index
    classes = xp.where(counted, target, 0)
    wrong, note = (classes < 0) | (classes >= sizes[1]), f"Classes count from 0 to {sizes[1] - 1}."

    def out_of_bounds():
        found = classes[wrong][0] if xp is np else "of a sample"
        return fail(IndexError, f"Target {found} is out of bounds.", note)

    demands.none(xp, wrong, out_of_bounds)
    weights = counted.astype(scores.dtype)
    places = xp.arange(sizes[0])[:, None], classes, xp.arange(sizes[2])
    return sizes, places, weights if weight is None else weights * weight[classes]


def _nll(xp, self, target, weight, reduction, ignore_index):
    sizes, places, weights = _batch(xp, self, target, weight, ignore_index)
    loss = -self.reshape(sizes)[places] * weights
    if reduction == NONE:
        loss = xp.where(weights == 0, 0, loss)  # an ignored -inf must not become nan
        return loss.reshape(target.shape), xp.zeros((), self.dtype)[()]
    count, total = xp.add.reduce(weights, axis=None), xp.add.reduce(loss, axis=None)
    return (total / count if reduction == MEAN else total), count


def _nll_backward(xp, grad_output, self, target, weight, reduction, ignore_index, total_weight):
    sizes, places, weights = _batch(xp, self, target, weight, ignore_index)
    share = -weights
    if reduction == MEAN:
        share = xp.where(weights == 0, 0, share / total_weight)  # if all are ignored, this is 0 / 0
    grad = xp.zeros(sizes, self.dtype)
    grad[places] = share * grad_output.reshape(share.shape if reduction == NONE else ())
    return grad.reshape(self.shape)


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
)


def kernel_name(ndim):
    """Return the name of PyTorch's kernel for scores with `ndim` dimensions, as it appears in error messages."""
    return "nll_loss_out_frame" if ndim <= 2 else "nll_loss2d_forward_out_frame"


def _register(name, node, ndim, samples):
    internal(
        f"{name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
        outputs=("output", "total_weight"),
        nondiff=("total_weight",),
        forward=floating(kernel_name(ndim), _nll),
        node=node,
        vjp={
            "self": lambda m, g, self, target, weight, reduction, ignore_index, total_weight: (
                m.nll_loss_backward(
                    g[0], self, target, weight, reduction, ignore_index, total_weight
                )
            )
        },
        latex=r"-\frac{1}{n} \sum {self}_{{target}}",
        vjp_latex={"self": r"-\frac{{g}}{n} \cdot [c = {target}]"},
        samples=samples,
    )


_register(
    "nll_loss",
    "NllLossBackward0",
    2,
    lambda s: [
        (s.randn(3), s.integers(3), None, MEAN),
        (s.randn(2, 3), s.integers(3, 2), s.positive(3), NONE),
    ],
)
_register(
    "nll_loss2d",
    "NllLoss2DBackward0",
    4,
    lambda s: [(s.randn(2, 3, 2, 2), s.integers(3, 2, 2, 2), s.positive(3), MEAN)],
)
