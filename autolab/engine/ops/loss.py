"""Losses: one number that says how wrong a prediction is. `nn.functional` checks shapes and calls these. Those of class
numbers are in `class_losses.py`.

`reduction` is PyTorch's enum: 0 none, 1 mean, 2 sum. Each loss has an op for its backward formula, as PyTorch has,
which takes the
gradient of the reduced loss. Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math

import numpy as np

from ..devices import demands
from ..core.dtype import FROM_NUMPY, promote_types
from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..core.record import OPS
from .functions import internal
from .activation import floating

NONE, MEAN, SUM = 0, 1, 2


def _reduced(xp, loss, reduction):
    if reduction == NONE:
        return loss
    total = xp.add.reduce(loss, axis=None)
    return total / loss.dtype.type(loss.size) if reduction == MEAN else total


def _as(array, dtype):
    return array if array.dtype == dtype else array.astype(dtype)


def _numel(x):
    return math.prod(x.shape)  # of arrays and Tensors alike


def _share(reduction, numel):
    """The factor that a mean puts before each element's gradient."""
    return 1.0 / numel if reduction == MEAN and numel else 1.0


# -- of a difference -------------------------------------------------------------------------------------------------
_PAIRS = lambda s: [
    (s.randn(3), s.randn(3), MEAN),
    (s.randn(2, 3), s.randn(2, 3), SUM),
    (s.randn(2, 3), s.randn(2, 3), NONE),
]
_PAIR_GRADS = lambda s: [
    (s.randn(), s.randn(3), s.randn(3), MEAN),
    (s.randn(2, 3), s.randn(2, 3), s.randn(2, 3), NONE),
]


def _mse(xp, self, target, reduction):
    d = self - target
    return _reduced(xp, d * d, reduction)


def _mse_backward(xp, grad_output, self, target, reduction):
    d = self - target
    return d.dtype.type(2 * _share(reduction, d.size)) * d * grad_output


internal(
    "mse_loss(Tensor self, Tensor target, int reduction=1)",
    dtype="promote",
    forward=floating("mse_cpu", _mse),
    vjp={
        "self": lambda m, g, self, target, reduction: m.mse_loss_backward(
            g, self, target, reduction
        ),
        "target": lambda m, g, self, target, reduction: m.mse_loss_backward(
            g, target, self, reduction
        ),
    },
    latex=r"\frac{1}{n} \sum ({self} - {target})^{2}",
    vjp_latex={
        "self": r"\frac{2}{n} \cdot ({self} - {target}) \cdot {g}",
        "target": r"\frac{2}{n} \cdot ({target} - {self}) \cdot {g}",
    },
    samples=_PAIRS,
)

internal(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)",
    operands=("grad_output", "self", "target"),
    forward=_mse_backward,
    vjp={
        "grad_output": lambda m, g, self, target, reduction: m.mse_loss_backward(
            g, self, target, reduction
        ),
        "self": lambda m, g, grad_output, reduction, self_sym_numel: (
            g * grad_output * (2 * _share(reduction, self_sym_numel))
        ),
        "target": lambda m, g, grad_output, reduction, self_sym_numel: (
            g * grad_output * (-2 * _share(reduction, self_sym_numel))
        ),
    },
    node="MseLossBackwardBackward0",
    samples=_PAIR_GRADS,
)


def _smooth_l1(xp, self, target, reduction, beta):
    z = abs(self - target)
    half = z.dtype.type(0.5)
    return _reduced(
        xp,
        xp.where(z < beta, half * z * z / z.dtype.type(beta), z - half * z.dtype.type(beta))[()],
        reduction,
    )


def _smooth_l1_backward(xp, grad_output, self, target, reduction, beta):
    d = self - target
    share = d.dtype.type(_share(reduction, d.size))
    return share * xp.where(abs(d) >= beta, xp.sign(d), d / d.dtype.type(beta))[()] * grad_output


internal(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
    dtype="promote",
    operands=("self", "target"),
    node="SmoothL1LossBackward0",
    forward=floating("smooth_l1_cpu", _smooth_l1),
    vjp={
        "self": lambda m, g, self, target, reduction, beta: m.smooth_l1_loss_backward(
            g, self, target, reduction, beta
        ),
        "target": lambda m, g, self, target, reduction, beta: m.smooth_l1_loss_backward(
            g, target, self, reduction, beta
        ),
    },
    latex=r"\frac{1}{n} \sum \begin{cases} \frac{({self} - {target})^{2}}{2 \cdot {beta}} & "
    r"|{self} - {target}| < {beta} \\ "
    r"|{self} - {target}| - {beta} / 2 & \text{else} \end{cases}",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \min(\max(({self} - {target}) / {beta}, -1), 1)",
        "target": r"\frac{{g}}{n} \cdot \min(\max(({target} - {self}) / {beta}, -1), 1)",
    },
    samples=_PAIRS,
)

internal(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta)",
    operands=("grad_output", "self", "target"),
    forward=_smooth_l1_backward,
    vjp={
        "grad_output": lambda m, g, self, target, reduction, beta: m.smooth_l1_loss_backward(
            g, self, target, reduction, beta
        ),
        "self": lambda m, g, grad_output, self, target, reduction, beta, self_sym_numel: (
            g
            * grad_output
            * (_share(reduction, self_sym_numel) / beta)
            * (m.abs(self - target) < beta)
        ),
        "target": lambda m, g, grad_output, self, target, reduction, beta, self_sym_numel: (
            g
            * grad_output
            * (-_share(reduction, self_sym_numel) / beta)
            * (m.abs(self - target) < beta)
        ),
    },
    node="SmoothL1LossBackwardBackward0",
    samples=lambda s: [(s.randn(), s.randn(3), s.randn(3), MEAN, 0.5)],
)


def _huber(xp, self, target, reduction, delta):
    z = abs(self - target)
    half, limit = z.dtype.type(0.5), z.dtype.type(delta)
    losses = xp.where(z <= delta, half * z * z, limit * (z - half * limit))[()]
    return _reduced(xp, losses.astype(self.dtype, copy=False), reduction)


_huber_of_floats = floating("huber_cpu", _huber)


def _huber_of_any(xp, self, target, reduction, delta):
    ours, common = (
        FROM_NUMPY[self.dtype],
        promote_types(FROM_NUMPY[self.dtype], FROM_NUMPY[target.dtype]),
    )
    if common.category > ours.category:  # the loss of each element has the dtype of `self`
        message = (
            f"result type {common.short} can't be cast to the desired output type {ours.short}"
        )
        raise fail(
            RuntimeError,
            message,
            "Predictions are floating-point numbers: convert them with .float().",
        )
    if not common.is_inexact:
        raise not_implemented("huber_cpu", common.np)
    return _huber_of_floats(xp, self, target, reduction, delta)


def _huber_backward(xp, grad_output, self, target, reduction, delta):
    d = self - target
    share, limit = d.dtype.type(_share(reduction, d.size)), d.dtype.type(delta)
    return share * xp.minimum(xp.maximum(d, -limit), limit) * grad_output


internal(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)",
    operands=("self", "target"),
    forward=_huber_of_any,
    vjp={
        "self": lambda m, g, self, target, reduction, delta: m.huber_loss_backward(
            g, self, target, reduction, delta
        ),
        "target": lambda m, g, self, target, reduction, delta: m.huber_loss_backward(
            g, target, self, reduction, delta
        ),
    },
    latex=r"\frac{1}{n} \sum \begin{cases} \frac{({self} - {target})^{2}}{2} & |{self} - {target}| \le {delta} \\ "
    r"{delta} \cdot (|{self} - {target}| - {delta} / 2) & \text{else} \end{cases}",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \min(\max({self} - {target}, -{delta}), {delta})",
        "target": r"\frac{{g}}{n} \cdot \min(\max({target} - {self}, -{delta}), {delta})",
    },
    samples=_PAIRS,
)

internal(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta)",
    operands=("grad_output", "self", "target"),
    forward=_huber_backward,
    vjp={
        "grad_output": lambda m, g, self, target, reduction, delta: m.huber_loss_backward(
            g, self, target, reduction, delta
        ),
        "self": lambda m, g, grad_output, self, target, reduction, delta, self_sym_numel: (
            g * grad_output * _share(reduction, self_sym_numel) * (m.abs(self - target) < delta)
        ),
        "target": lambda m, g, grad_output, self, target, reduction, delta, self_sym_numel: (
            g * grad_output * -_share(reduction, self_sym_numel) * (m.abs(self - target) < delta)
        ),
    },
    node="HuberLossBackwardBackward0",
    samples=lambda s: [(s.randn(), s.randn(3), s.randn(3), MEAN, 0.5)],
)


# -- of probabilities ------------------------------------------------------------------------------------------------
def _bce(xp, self, target, weight, reduction):
    for name, values, note in (
        (
            "input",
            self,
            "It must hold probabilities: pass it through sigmoid first, or use binary_cross_entropy_with_logits.",
        ),
        ("target", target, "Targets are probabilities, often 0 or 1."),
    ):
        message = f"all elements of {name} should be between 0 and 1"
        demands.none(
            xp,
            ~((values >= 0) & (values <= 1)),
            lambda message=message, note=note: fail(RuntimeError, message, note),
        )
    loss = (target - 1) * xp.maximum(xp.log1p(-self), -100) - target * xp.maximum(
        xp.log(self), -100
    )
    return _reduced(xp, loss if weight is None else loss * weight, reduction)


def _bce_backward(xp, grad_output, self, target, weight, reduction):
    grad = grad_output * (self - target) / xp.maximum((1 - self) * self, self.dtype.type(1e-12))
    if weight is not None:
        grad = grad * weight
    return grad / grad.dtype.type(grad.size) if reduction == MEAN else grad


def _weighted_share(m, grad, self, weight, reduction):
    """Each element's gradient with its weight, and divided by their number for a mean."""
    if weight is not None:
        grad = grad * weight
    return m.div_scalar(grad, _numel(self)) if reduction == MEAN else grad


def _bce_target_rule(m, g, self, weight, reduction):
    grad = g * (m.log(1 - self) - m.log(self))
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_curvature(m, g, self, target, weight, reduction):
    """g times the derivative of (x - t) / (x (1 - x)) by x, kept finite at 0 and 1."""
    grad = g * (
        (self * self - 2 * self * target + target)
        / ((self + 1e-12) * (self + 1e-12) * (1 - self + 1e-12) * (1 - self + 1e-12))
    )
    return _weighted_share(m, grad, self, weight, reduction)


internal(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
    operands=("self", "target", "weight"),
    forward=floating("binary_cross_entropy", _bce),
    vjp={
        "self": lambda m, g, self, target, weight, reduction: m.binary_cross_entropy_backward(
            g, self, target, weight, reduction
        ),
        "target": lambda m, g, self, weight, reduction: _bce_target_rule(
            m, g, self, weight, reduction
        ),
    },
    latex=r"-\frac{1}{n} \sum ({target} \cdot \ln {self} + (1 - {target}) \cdot \ln(1 - {self}))",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \frac{{self} - {target}}{{self} \cdot (1 - {self})}",
        "target": r"\frac{{g}}{n} \cdot (\ln(1 - {self}) - \ln {self})",
    },
    samples=lambda s: [
        (s.probabilities(3), s.probabilities(3), None, MEAN),
        (s.probabilities(2, 3), s.probabilities(2, 3), s.probabilities(2, 3), SUM),
    ],
)

internal(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction)",
    operands=("grad_output", "self", "target", "weight"),
    forward=_bce_backward,
    vjp={
        "grad_output": lambda m, g, self, target, weight, reduction: (
            m.binary_cross_entropy_backward(g, self, target, weight, reduction)
        ),
        "self": lambda m, g, grad_output, self, target, weight, reduction: _bce_curvature(
            m, g * grad_output, self, target, weight, reduction
        ),
        "target": lambda m, g, grad_output, self, weight, reduction: _bce_target_curvature(
            m, g * grad_output, self, weight, reduction
        ),
    },
    node="BinaryCrossEntropyBackwardBackward0",
    samples=lambda s: [
        (s.randn(), s.probabilities(3), s.probabilities(3), None, MEAN),
        (s.randn(3), s.probabilities(3), s.probabilities(3), s.positive(3), NONE),
    ],
)


def _bce_target_curvature(m, g, self, weight, reduction):
    grad = -g / (self * (1 - self))
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_logits(xp, self, target, weight, pos_weight, reduction):
    if self.dtype.kind != "f":
        raise not_implemented("log_sigmoid_cpu", self.dtype)
    # PyTorch computes in the memory of 1 - target
    kept, log_sigmoid = target.dtype, OPS["log_sigmoid"].forward(xp, self)[0]
    if pos_weight is not None:
        log_sigmoid = _as(log_sigmoid * ((pos_weight - 1) * target + 1), self.dtype)
    loss = _as(_as((1 - target) * self, kept) - log_sigmoid, kept)
    if weight is not None:
        loss = _as(loss * weight, kept)
    return _as(
        _reduced(xp, loss if kept.itemsize > 2 else loss.astype(np.float32), reduction), kept
    )


def _bce_logits_rule(m, g, self, target, weight, pos_weight, reduction):
    if pos_weight is None:
        grad = (m.sigmoid(self) - target) * g
    else:
        positive = pos_weight * target
        grad = ((positive + 1 - target) * m.sigmoid(self) - positive) * g
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_logits_target_rule(m, g, self, weight, pos_weight, reduction):
    if pos_weight is None:
        grad = -self * g
    else:
        grad = (m.softplus(-self) * pos_weight - m.softplus(self)) * g
    return _weighted_share(m, grad, self, weight, reduction)


internal(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)",
    operands=("self", "target", "weight", "pos_weight"),
    forward=_bce_logits,
    vjp={
        "self": lambda m, g, self, target, weight, pos_weight, reduction: _bce_logits_rule(
            m, g, self, target, weight, pos_weight, reduction
        ),
        "target": lambda m, g, self, weight, pos_weight, reduction: _bce_logits_target_rule(
            m, g, self, weight, pos_weight, reduction
        ),
    },
    latex=r"\frac{1}{n} \sum (\ln(1 + e^{{self}}) - {target} \cdot {self})",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot (\frac{1}{1 + e^{-{self}}} - {target})",
        "target": r"-\frac{{g}}{n} \cdot {self}",
    },
    samples=lambda s: [
        (s.randn(3), s.probabilities(3), None, None, MEAN),
        (s.randn(2, 3), s.probabilities(2, 3), s.probabilities(3), s.positive(3), SUM),
    ],
)
