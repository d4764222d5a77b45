"""Loss functions. `nn.functional` checks shapes and calls these. Losses of class numbers are in `class_losses.py`.

`reduction` is PyTorch's enum: 0 none, 1 mean, 2 sum.
Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math

from ..core.errors import fail
from ..core.record import OPS
from ..devices import demands
from .activation import floating
from .functions import internal

NONE, MEAN, SUM = 0, 1, 2


def _reduced(xp, loss, reduction):
    if reduction == NONE:
        return loss
    total = xp.add.reduce(loss, axis=None)
    return total / loss.dtype.type(loss.size) if reduction == MEAN else total


def _share(reduction, array):
    """Return the factor by which a mean scales each element's gradient."""
    return 1.0 / math.prod(array.shape) if reduction == MEAN and 0 not in array.shape else 1.0


# -- losses of a difference ------------------------------------------------------------------------------------------
def _register_difference_loss(schema, forward, slope, latex, bounded, **record):
    """Register a loss of self - target; the gradient of the target has the opposite sign.

    slope(m, d, beta): the derivative of one element's loss with respect to the difference d. bounded: the formula of
    that derivative, in which D is the difference."""

    def towards(sign):
        def rule(m, g, self, target, reduction):
            return slope(m, self - target, None) * (sign * _share(reduction, self)) * g

        def rule_of_beta(m, g, self, target, reduction, beta):
            return slope(m, self - target, beta) * (sign * _share(reduction, self)) * g

        return rule_of_beta if "beta" in schema else rule

    name = schema.partition("(")[0]
    internal(
        schema,
        dtype="promote",
        operands=("self", "target"),
        forward=floating(name.replace("loss", "cpu"), forward),
        vjp={"self": towards(1), "target": towards(-1)},
        latex=rf"\frac{{1}}{{n}} \sum {latex}",
        vjp_latex={
            "self": rf"{bounded} \cdot {{g}}".replace("D", "({self} - {target})"),
            "target": rf"{bounded} \cdot {{g}}".replace("D", "({target} - {self})"),
        },
        samples=lambda s: [(s.randn(3), s.randn(3), how) for how in (MEAN, SUM, NONE)],
        **record,
    )


def _mse(xp, self, target, reduction):
    d = self - target
    return _reduced(xp, d * d, reduction)


_register_difference_loss(
    "mse_loss(Tensor self, Tensor target, int reduction=1)",
    _mse,
    lambda m, d, _: 2 * d,
    r"({self} - {target})^{2}",
    r"\frac{2}{n} \cdot D",
)


def _smooth_l1(scaled):
    """Return the kernel of the loss that is quadratic below `beta` and linear above. scaled: whether it is multiplied
    by beta."""

    def forward(xp, self, target, reduction, beta):
        z = abs(self - target)
        half, limit = z.dtype.type(0.5), z.dtype.type(beta)
        loss = xp.where(z < limit, half * z * z / limit, z - half * limit)[()]
        return _reduced(xp, loss * limit if scaled else loss, reduction)

    return forward


_register_difference_loss(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
    _smooth_l1(False),
    lambda m, d, beta: m.clamp(d / beta, -1, 1),
    r"\begin{cases} \frac{({self} - {target})^{2}}{2 \cdot {beta}} & |{self} - {target}| < {beta} \\ "
    r"|{self} - {target}| - {beta} / 2 & \text{else} \end{cases}",
    r"\frac{1}{n} \cdot \min(\max(D / {beta}, -1), 1)",
    node="SmoothL1LossBackward0",
)
_register_difference_loss(  # in PyTorch, beta is called delta here
    "huber_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
    _smooth_l1(True),
    lambda m, d, beta: m.clamp(d, -beta, beta),
    r"\begin{cases} \frac{({self} - {target})^{2}}{2} & |{self} - {target}| \le {beta} \\ "
    r"{beta} \cdot (|{self} - {target}| - {beta} / 2) & \text{else} \end{cases}",
    r"\frac{1}{n} \cdot \min(\max(D, -{beta}), {beta})",
)


# -- losses of probabilities -----------------------------------------------------------------------------------------
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


def _weighted_share(m, grad, self, weight, reduction):
    """Return each element's gradient multiplied by its weight, and for a mean divided by the number of elements."""
    if weight is not None:
        grad = grad * weight
    return m.div_scalar(grad, math.prod(self.shape)) if reduction == MEAN else grad


def _bce_rule(m, g, self, target, weight, reduction):
    grad = g * (self - target) / m.clamp((1 - self) * self, 1e-12, None)
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_target_rule(m, g, self, weight, reduction):
    return _weighted_share(m, g * (m.log(1 - self) - m.log(self)), self, weight, reduction)


internal(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
    operands=("self", "target", "weight"),
    forward=floating("binary_cross_entropy", _bce),
    vjp={"self": _bce_rule, "target": _bce_target_rule},
    latex=r"-\frac{1}{n} \sum ({target} \cdot \ln {self} + (1 - {target}) \cdot \ln(1 - {self}))",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot \frac{{self} - {target}}{{self} \cdot (1 - {self})}",
        "target": r"\frac{{g}}{n} \cdot (\ln(1 - {self}) - \ln {self})",
    },
    samples=lambda s: [(s.probabilities(3), s.probabilities(3), s.positive(3), MEAN)],
)


def _bce_logits(xp, self, target, weight, pos_weight, reduction):
    log_sigmoid = OPS["log_sigmoid"].forward(xp, self)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self - log_sigmoid
    return _reduced(xp, loss if weight is None else loss * weight, reduction)


def _bce_logits_rule(m, g, self, target, weight, pos_weight, reduction):
    if pos_weight is None:
        grad = (m.sigmoid(self) - target) * g
    else:
        positive = pos_weight * target
        grad = ((positive + 1 - target) * m.sigmoid(self) - positive) * g
    return _weighted_share(m, grad, self, weight, reduction)


def _bce_logits_target_rule(m, g, self, weight, pos_weight, reduction):
    grad = -self if pos_weight is None else m.softplus(-self) * pos_weight - m.softplus(self)
    return _weighted_share(m, grad * g, self, weight, reduction)


internal(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)",
    operands=("self", "target", "weight", "pos_weight"),
    forward=floating("log_sigmoid_cpu", _bce_logits),
    vjp={"self": _bce_logits_rule, "target": _bce_logits_target_rule},
    latex=r"\frac{1}{n} \sum (\ln(1 + e^{{self}}) - {target} \cdot {self})",
    vjp_latex={
        "self": r"\frac{{g}}{n} \cdot (\frac{1}{1 + e^{-{self}}} - {target})",
        "target": r"-\frac{{g}}{n} \cdot {self}",
    },
    samples=lambda s: [
        (s.randn(3), s.probabilities(3), None, None, SUM),
        (s.randn(3), s.probabilities(3), s.probabilities(3), s.positive(3), MEAN),
    ],
)
