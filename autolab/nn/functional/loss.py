"""Loss functions. Source: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions

`reduction` is "none" (one value per element or sample), "mean" or "sum". `size_average` and `reduce` are its deprecated
form. All functions raise ValueError for another reduction.
"""

from __future__ import annotations

import warnings

import numpy as np

import autolab
from autolab.engine.exact.arguments import check_tensors
from autolab.engine.autograd.modes import is_grad_enabled
from autolab.engine.autograd.autocast import in_float32
from autolab.engine.core.errors import fail
from autolab.engine.core.record import OPS
from autolab.engine.exact.kinds import check_settings
from autolab.engine.exact.refusals import unsupported
from autolab.engine.core.tensor import Tensor

_NUMBER = {"none": 0, "mean": 1, "sum": 2}


def legacy_reduction(size_average, reduce, reduction):
    """Return `reduction`, or the reduction that the deprecated booleans select (with PyTorch's warning)."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        said = "none"
    else:
        said = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{said}' instead.",
        stacklevel=4,
    )
    return said


def reduction_number(reduction):
    """Return PyTorch's number for "none", "mean" or "sum". Raise ValueError for anything else."""
    if reduction not in _NUMBER:
        raise fail(
            ValueError,
            f"{reduction} is not a valid value for reduction",
            "It is 'none', 'mean' or 'sum'.",
        )
    return _NUMBER[reduction]


def _reduced(loss, number):
    return loss if number == 0 else loss.mean() if number == 1 else loss.sum()


def _plus(x, number):
    # PyTorch's losses, written in C++, add numbers this way
    return OPS["add_scalar"].call(x, number)


def _same_shape(input, target):
    """Return both tensors in their common shape, with PyTorch's warning if they had to be broadcast."""
    if target.size() == input.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=5,
    )
    return autolab.broadcast_tensors(input, target)


def not_differentiable(function, **arguments):
    """Raise RuntimeError in PyTorch's words if one of `arguments` requires a gradient that `function` does not
    compute."""
    for name, value in arguments.items():
        if value is not None and value.requires_grad and is_grad_enabled():
            raise fail(
                RuntimeError,
                f"The function '{function}' is not differentiable with respect to argument '{name}'. "
                "Only floating-point tensors can require a gradient, and this one cannot.",
                "Pass it detached: .detach().",
            )


@in_float32
def _difference_loss(name, input, target, size_average, reduce, reduction, *settings, weight=None):
    """Return the result of the op `name` for two tensors, reduced. Refuse `weight`."""
    if weight is not None:
        note = 'Multiply by the weights: (weight * loss).mean(), reduction="none".'
        raise unsupported(name, "weight", note)
    if name == "huber_loss":
        target = target.to(input.dtype)
    pair = _same_shape(input, target)
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    if name == "l1_loss":
        return _reduced((pair[0] - pair[1]).abs(), number)
    return OPS[name].call(*pair, number, *settings)


# differences -------------------------------------------------------------------------------------


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return (input - target)^2, reduced.

    Example:

        >>> F.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
        >>> F.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]), reduction="sum")
        tensor(4.)
    """
    given = input, target, size_average, reduce, reduction
    return _difference_loss("mse_loss", *given, weight=weight)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return |input - target|, reduced."""
    given = input, target, size_average, reduce, reduction
    return _difference_loss("l1_loss", *given, weight=weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return d^2 / (2 beta) where |d| < beta, else |d| - beta/2, for the difference d. Raise RuntimeError for a
    negative beta."""
    check_settings("smooth_l1_loss", ("beta", 4, "float", beta))
    if beta < 0:
        raise fail(
            RuntimeError,
            "smooth_l1_loss does not support negative values for beta.",
            "beta must not be negative: it is where the loss changes from quadratic to linear.",
        )
    given = input, target, size_average, reduce, reduction
    if beta == 0:
        return _difference_loss("l1_loss", *given)
    return _difference_loss("smooth_l1_loss", *given, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return d^2 / 2 where |d| <= delta, else delta (|d| - delta/2), for the difference d. Raise RuntimeError unless
    delta > 0."""
    check_settings("huber_loss", ("delta", 4, "float", delta))
    if delta <= 0:
        raise fail(
            RuntimeError,
            "huber_loss does not support non-positive values for delta.",
            "delta must be positive: it is where the loss changes from quadratic to linear.",
        )
    given = input, target, None, None, reduction
    return _difference_loss("huber_loss", *given, delta, weight=weight)


# probabilities -----------------------------------------------------------------------------------


@in_float32
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -(t log x + (1 - t) log(1 - x)) for probabilities x; each logarithm is at least -100.

    Raise ValueError if the shapes differ, RuntimeError if the input is not a probability.
    """
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    if target.size() != input.size():
        raise fail(
            ValueError,
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) "
            "is deprecated. Please ensure they have the same size.",
            "Pass one target for each probability.",
        )
    if target.dtype is not input.dtype and input.is_floating_point():
        raise fail(
            RuntimeError,
            f"Found dtype {target.dtype.short} but expected {input.dtype.short}",
            "Convert the target: target.to(input.dtype).",
        )
    if weight is not None:
        weight = weight.expand(np.broadcast_shapes(target.shape, weight.shape))
    not_differentiable("binary_cross_entropy", weight=weight)
    return OPS["binary_cross_entropy"].call(input, target, weight, number)


@in_float32
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return `binary_cross_entropy` of sigmoid(input), stable for large scores; `pos_weight` multiplies the positive
    term."""
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    if target.size() != input.size():
        raise fail(
            ValueError,
            f"Target size ({target.size()}) must be the same as input size ({input.size()})",
            "Pass one target for each score.",
        )
    if input.is_floating_point() and target.dtype is autolab.bool:
        target - target  # noqa: B018 (raises what subtracting a mask raises)
    if input.is_floating_point() and not target.is_floating_point():
        raise fail(
            RuntimeError,
            f"result type {input.dtype.short} can't be cast to the desired output type {target.dtype.short}",
            "Targets are probabilities, so floats: target.float().",
        )
    given = {"weight": weight, "pos_weight": pos_weight}
    check_tensors("binary_cross_entropy_with_logits", 3, or_none=True, **given)
    not_differentiable("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    loss = OPS["binary_cross_entropy_with_logits"].call(input, target, weight, pos_weight, number)
    return loss.to(target.dtype)


@in_float32
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return target * (log(target) - input) for log-probabilities input; "batchmean" divides the sum by the batch
    size."""
    check_settings("kl_div", ("log_target", None, "bool", log_target))
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=3,
        )
    by_batch = reduction == "batchmean"
    number = reduction_number("sum" if by_batch else reduction)
    check_tensors("kl_div", input=input, target=target)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise fail(
            RuntimeError, "kl_div: Integral inputs not supported.", "Probabilities are floats."
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        entropy = autolab.where(target == 0, 0.0, target * target.log())
        loss = entropy - target * input
    loss = _reduced(loss, number)
    return loss / input.size()[0] if by_batch and input.dim() else loss


# pairs of vectors ---------------------------------------------------------------------------------


@in_float32
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1; inputs (N, D) or (D), target (N) or
    ()."""
    check_settings("cosine_embedding_loss", ("margin", 4, "float", margin))
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    check_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    dim = target.dim()
    if dim > 1 or not input1.dim() == input2.dim() == dim + 1:
        message = (
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.size())} and {list(input2.size())}."
        )
        raise fail(RuntimeError, message, "Targets are (N) or (), the vectors (N, D) or (D).")
    square1, square2 = (_plus((x * x).sum(dim), 1e-12) for x in (input1, input2))
    cos = (input1 * input2).sum(dim) / (square1 * square2).sqrt()
    zero = autolab.zeros_like(cos)
    alike = autolab.where(target == 1, autolab.ones_like(cos) - cos, zero)
    apart = autolab.where(target == -1, _plus(cos, -margin).clamp(0), zero)
    return _reduced(alike + apart, number)
