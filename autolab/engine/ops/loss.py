"""Losses: one number that says how wrong a prediction is. `nn.functional` checks shapes and calls these. The losses of
class numbers are in `class_losses.py`.

`reduction` is PyTorch's enum: 0 none, 1 mean, 2 sum. `<loss>_backward` takes the gradient of the reduced loss.
Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import FROM_NUMPY, promote_types
from ..core.errors import fail
from ..core.record import OPS
from ..devices import demands
from ..exact.dtype_errors import not_implemented
from .activation import floating
from .functions import internal
from .with_backward import rule, with_backward

NONE, MEAN, SUM = 0, 1, 2


def _reduced(xp, loss, reduction):
    if reduction == NONE:
        return loss
    total = xp.add.reduce(loss, axis=None)
    return total / loss.dtype.type(loss.size) if reduction == MEAN else total


def _as(array, dtype):
    return array if array.dtype == dtype else array.astype(dtype)


def _share(reduction, numel):
    """Return the factor that a mean puts before each element's gradient."""
    return 1.0 / numel if reduction == MEAN and numel else 1.0


# -- of a difference -------------------------------------------------------------------------------------------------
def _of_difference(schema, bend, **record):
    """Register a loss of self - target: with respect to the target everything has the opposite sign.

    bend: gives the rule of `<name>_backward` for `self` (1) and for `target` (-1)."""
    name, _, params = schema.rstrip(")").partition("(")
    last = [p.partition("=")[0].split()[-1] for p in params.split(", ")[2:]]
    with_backward(
        schema,
        vjp={"target": rule(f"{name}_backward", "target", "self", *last)},
        curvature={"self": bend(1), "target": bend(-1)},
        operands=("self", "target"),
        samples=lambda s: [
            (s.randn(3), s.randn(3), MEAN),
            (s.randn(2, 3), s.randn(2, 3), SUM),
            (s.randn(2, 3), s.randn(2, 3), NONE),
        ],
        **record,
    )


def _mse(xp, self, target, reduction):
    d = self - target
    return _reduced(xp, d * d, reduction)


def _mse_backward(xp, grad_output, self, target, reduction):
    d = self - target
    return d.dtype.type(2 * _share(reduction, d.size)) * d * grad_output


def _mse_bend(sign):
    return lambda m, g, grad_output, reduction, self_sym_numel: (
        g * grad_output * (sign * 2 * _share(reduction, self_sym_numel))
    )


_of_difference(
    "mse_loss(Tensor self, Tensor target, int reduction=1)",
    _mse_bend,
    dtype="promote",
    forward=floating("mse_cpu", _mse),
    backward=_mse_backward,
    latex=r"\frac{1}{n} \sum ({self} - {target})^{2}",
    vjp_latex={
        "self": r"\frac{2}{n} \cdot ({self} - {target}) \cdot {g}",
        "target": r"\frac{2}{n} \cdot ({target} - {self}) \cdot {g}",
    },
)


def _smooth_l1(xp, self, target, reduction, beta):
    z = abs(self - target)
    half, beta = z.dtype.type(0.5), z.dtype.type(beta)
    return _reduced(xp, xp.where(z < beta, half * z * z / beta, z - half * beta)[()], reduction)


def _smooth_l1_backward(xp, grad_output, self, target, reduction, beta):
    d = self - target
    share = d.dtype.type(_share(reduction, d.size))
    return share * xp.where(abs(d) >= beta, xp.sign(d), d / d.dtype.type(beta))[()] * grad_output


def _smooth_l1_bend(sign):
    return lambda m, g, grad_output, self, target, reduction, beta, self_sym_numel: (
        g
        * grad_output
        * (sign * _share(reduction, self_sym_numel) / beta)
        * (m.abs(self - target) < beta)
    )


_of_difference(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
    _smooth_l1_bend,
    dtype="promote",
    node="SmoothL1LossBackward0",
    forward=floating("smooth_l1_cpu", _smooth_l1),
    backward=_smooth_l1_backward,
    latex=r"\frac{1}{n} \sum \begin{cases} \frac{({self} - {target})^{2}}{2 \cdot {beta}} & "
    r"|{self} - {target}| < {beta} \\ "
    r"|{self} - {target}| - {beta} / 2 & \text{else} \end{cases}",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \min(\max(({self} - {target}) / {beta}, -1), 1)",
        "target": r"\frac{{g}}{n} \cdot \min(\max(({target} - {self}) / {beta}, -1), 1)",
    },
)


def _huber_of_floats(xp, self, target, reduction, delta):
    z = abs(self - target)
    half, limit = z.dtype.type(0.5), z.dtype.type(delta)
    losses = xp.where(z <= delta, half * z * z, limit * (z - half * limit))[()]
    return _reduced(xp, losses.astype(self.dtype, copy=False), reduction)


def _huber(xp, self, target, reduction, delta):
    ours = FROM_NUMPY[self.dtype]
    common = promote_types(ours, FROM_NUMPY[target.dtype])
    if common.category > ours.category:  # the loss of each element has the dtype of `self`
        message = (
            f"result type {common.short} can't be cast to the desired output type {ours.short}"
        )
        note = "Predictions are floating-point numbers: convert them with .float()."
        raise fail(RuntimeError, message, note)
    if not common.is_inexact:
        raise not_implemented("huber_cpu", common.np)
    return floating("huber_cpu", _huber_of_floats)(xp, self, target, reduction, delta)


def _huber_backward(xp, grad_output, self, target, reduction, delta):
    d = self - target
    share, limit = d.dtype.type(_share(reduction, d.size)), d.dtype.type(delta)
    return share * xp.minimum(xp.maximum(d, -limit), limit) * grad_output


def _huber_bend(sign):
    return lambda m, g, grad_output, self, target, reduction, delta, self_sym_numel: (
        g
        * grad_output
        * (sign * _share(reduction, self_sym_numel))
        * (m.abs(self - target) < delta)
    )


_of_difference(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)",
    _huber_bend,
    forward=_huber,
    backward=_huber_backward,
    latex=r"\frac{1}{n} \sum \begin{cases} \frac{({self} - {target})^{2}}{2} & |{self} - {target}| \le {delta} \\ "
    r"{delta} \cdot (|{self} - {target}| - {delta} / 2) & \text{else} \end{cases}",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \min(\max({self} - {target}, -{delta}), {delta})",
        "target": r"\frac{{g}}{n} \cdot \min(\max({target} - {self}, -{delta}), {delta})",
    },
)


# -- of probabilities ------------------------------------------------------------------------------------------------
_PROBABILITIES = "It must hold probabilities: pass it through sigmoid first, or use binary_cross_entropy_with_logits."


def _check_probabilities(xp, name, values, note):
    message = f"all elements of {name} should be between 0 and 1"
    outside = ~((values >= 0) & (values <= 1))
    demands.none(xp, outside, lambda: fail(RuntimeError, message, note))


def _bce(xp, self, target, weight, reduction):
    _check_probabilities(xp, "input", self, _PROBABILITIES)
    _check_probabilities(xp, "target", target, "Targets are probabilities, often 0 or 1.")
    log, log_rest = xp.maximum(xp.log(self), -100), xp.maximum(xp.log1p(-self), -100)
    loss = (target - 1) * log_rest - target * log
    return _reduced(xp, loss if weight is None else loss * weight, reduction)


def _bce_backward(xp, grad_output, self, target, weight, reduction):
    grad = grad_output * (self - target) / xp.maximum((1 - self) * self, self.dtype.type(1e-12))
    if weight is not None:
        grad = grad * weight
    return grad / grad.dtype.type(grad.size) if reduction == MEAN else grad


def _weighted_share(m, grad, self, weight, reduction):
    """Return each element's gradient with its weight, and divided by their number for a mean."""
    if weight is not None:
        grad = grad * weight
    return m.div_scalar(grad, math.prod(self.shape)) if reduction == MEAN else grad


def _bce_target(m, g, self, weight, reduction):
    return _weighted_share(m, g * (m.log(1 - self) - m.log(self)), self, weight, reduction)


def _bce_curvature(m, g, grad_output, self, target, weight, reduction):
    """g times the derivative of (x - t) / (x (1 - x)) with respect to x, kept finite at 0 and 1."""
    grad = (g * grad_output) * (
        (self * self - 2 * self * target + target)
        / ((self + 1e-12) * (self + 1e-12) * (1 - self + 1e-12) * (1 - self + 1e-12))
    )
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_target_curvature(m, g, grad_output, self, weight, reduction):
    return _weighted_share(m, -(g * grad_output) / (self * (1 - self)), self, weight, reduction)


with_backward(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
    operands=("self", "target", "weight"),
    forward=floating("binary_cross_entropy", _bce),
    backward=_bce_backward,
    vjp={"target": _bce_target},
    curvature={"self": _bce_curvature, "target": _bce_target_curvature},
    latex=r"-\frac{1}{n} \sum ({target} \cdot \ln {self} + (1 - {target}) \cdot \ln(1 - {self}))",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \frac{{self} - {target}}{{self} \cdot (1 - {self})}",
        "target": r"\frac{{g}}{n} \cdot (\ln(1 - {self}) - \ln {self})",
    },
    samples=lambda s: [
        (s.probabilities(3), s.probabilities(3), None, MEAN),
        (s.probabilities(2, 3), s.probabilities(2, 3), s.probabilities(2, 3), SUM),
        (s.probabilities(3), s.probabilities(3), s.positive(3), NONE),
    ],
)


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
    vjp={"self": _bce_logits_rule, "target": _bce_logits_target_rule},
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
