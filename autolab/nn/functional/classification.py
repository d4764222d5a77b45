"""Losses for classification, from class numbers or class probabilities.

Source: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions
"""

from __future__ import annotations

import autolab
from autolab.engine.autograd.autocast import in_float32
from autolab.engine.core.errors import fail
from autolab.engine.exact.arguments import check_tensors
from autolab.engine.exact.refusals import no_dimensions
from autolab.engine.exact.dtype_errors import not_implemented
from autolab.engine.ops.class_losses import kernel_name
from autolab.engine.core.record import OPS
from autolab.engine.exact.kinds import check_settings
from autolab.nn.functional.activation import log_softmax
from autolab.nn.functional.loss import legacy_reduction, not_differentiable, reduction_number
from autolab.engine.core.tensor import Tensor


@in_float32
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -weight[t] * input[t] for log-probabilities input (N, C), (C) or (N, C, d1, ...) and class numbers target.

    target: int64 of shape (N), () or (N, d1, ...). The mean divides by the sum of the weights used; targets equal to
    `ignore_index` are not counted. Raise IndexError for a class that does not exist.
    """
    reduction = reduction_number(legacy_reduction(size_average, reduce, reduction))
    check_tensors("nll_loss_nd", input=input, target=target)
    check_tensors("nll_loss_nd", 3, or_none=True, weight=weight)
    return _nll_loss(input, target, weight, reduction, ignore_index)


def _nll_loss(input, target, weight, reduction, ignore_index):
    """Return `nll_loss` of arguments known to be tensors. reduction: PyTorch's number for it."""
    _check_classes(input, target, weight)
    if input._array.ndim <= 2:
        return OPS["nll_loss"].call(input, target, weight, reduction, ignore_index)[0]
    if input.dim() == 4:
        return OPS["nll_loss2d"].call(input, target, weight, reduction, ignore_index)[0]
    n, c = input.shape[:2]
    out = OPS["nll_loss2d"].call(
        input.reshape(n, c, 1, -1), target.reshape(n, 1, -1), weight, reduction, ignore_index
    )[0]
    return out.view(n, *input.shape[2:]) if reduction == 0 else out


def _check_classes(input, target, weight):
    """Raise PyTorch's errors for scores, class numbers and class weights that do not match."""
    scores = input._array.shape
    if (
        len(scores) == 2
        and target._array.shape == scores[:1]
        and target.dtype is autolab.int64
        and weight is None
    ):
        return  # the common case: the checks below take 1 µs
    n_dim, places = input.dim(), target.dim()
    sizes, batch = list(input.shape), target.shape[0] if places else 0
    by_place = [*sizes[:1], *sizes[2:]]
    rows = "One class number for each row of scores."
    images = "Scores (N, C, H, W) go with class numbers (N, H, W)."
    of_numbers = target.dtype in (autolab.int64, autolab.uint8)
    no_numbers = (
        RuntimeError,
        f"expected target dtype to be Long or Byte, but got {target.dtype.short}",
        "Class numbers are integers: target.long(). Probabilities need the shape of the input.",
    )
    checks = [
        (
            n_dim < 1,
            ValueError,
            "Expected 1 or more dimensions (got 0)",
            "The scores must have a dimension for the classes.",
        ),
        (
            n_dim > 1 and sizes[0] != batch,
            ValueError,
            f"Expected input batch_size ({(sizes or [0])[0]}) to match target batch_size ({batch}).",
            rows,
        ),
        (
            n_dim <= 2 and places > 1,
            RuntimeError,
            "0D or 1D target tensor expected, multi-target not supported",
            "Class numbers have the shape (N); squeeze the extra dimension, or pass probabilities as floats.",
        ),
        (
            n_dim == 4 and places != 3,
            RuntimeError,
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {places}",
            images,
        ),
        (
            n_dim > 2 and n_dim != 4 and by_place != list(target.shape),
            RuntimeError,
            f"Expected target size {by_place}, got {list(target.shape)}",
            "One class number for each position.",
        ),
        (not of_numbers, *no_numbers),
        (
            n_dim == places == 1 and batch != 1,
            ValueError,
            f"For 1D input, 1D target must have size 1, but got target size: {batch}",
            "One sample has one class.",
        ),
        (
            n_dim == 4 and by_place != list(target.shape),
            RuntimeError,
            f"size mismatch (got input: {sizes} , target: {list(target.shape)}",
            images,
        ),
    ]
    for wrong, kind, message, note in checks:
        if wrong:
            raise fail(kind, message, note)
    if weight is not None:
        _check_weight(input, weight)


def _check_weight(input, weight):
    """Raise PyTorch's errors for class weights that do not match the scores."""
    n_dim = input.dim()
    _check_classes_of_weight(weight, input.shape[0 if n_dim == 1 else 1], n_dim > 2)
    if not input.is_floating_point():
        raise not_implemented(kernel_name(n_dim), input._array.dtype)
    if weight.dtype is not input.dtype:
        raise fail(
            RuntimeError,
            f"expected scalar type {input.dtype.short} but found {weight.dtype.short}",
            "Convert the weights to the dtype of the scores.",
        )
    not_differentiable("nll_loss_nd" if n_dim > 2 else "nll_loss_forward", weight=weight)


def _check_classes_of_weight(weight, classes, short=False, function=""):
    if weight.dim() != 1 or weight.shape[0] != classes:
        message = f"{function}weight tensor should be defined either for all {classes} classes or no classes but got "
        message += f"weight tensor of shape: {list(weight.shape)}"
        if short:
            message = "weight tensor should be defined either for all or no classes"
        raise fail(RuntimeError, message, "Pass one weight for each class.")


@in_float32
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the negative log-likelihood of the softmax of raw scores input (N, C), (C) or (N, C, d1, ...).

    target: class numbers as in `nll_loss`, or probabilities with the shape of `input`. label_smoothing mixes the target
    with the uniform distribution. Raise RuntimeError or ValueError in PyTorch's words if the shapes do not match.

    Example:

        >>> scores = torch.tensor([[2., 0., 0.]], requires_grad=True)
        >>> loss = F.cross_entropy(scores, torch.tensor([0]))
        >>> loss
        tensor(0.2395, grad_fn=<NllLossBackward0>)
        >>> loss.backward()
        >>> scores.grad
        tensor([[-0.2130,  0.1065,  0.1065]])
    """
    check_settings(
        "cross_entropy_loss",
        ("ignore_index", 5, "int", ignore_index),
        ("label_smoothing", 6, "float", label_smoothing),
    )
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    check_tensors("cross_entropy_loss", input=input, target=target)
    check_tensors("cross_entropy_loss", 3, or_none=True, weight=weight)
    if not input._array.ndim and target.is_floating_point():
        raise no_dimensions(1)
    if target._array.shape == input._array.shape:
        return _soft_cross_entropy(input, target, weight, number, ignore_index, label_smoothing)
    log_p = log_softmax(input, 0 if input._array.ndim == 1 else 1)
    if label_smoothing == 0.0:
        return _nll_loss(log_p, target, weight, number, ignore_index)
    _check_smoothing(label_smoothing)
    return _smoothed_cross_entropy(log_p, target, weight, number, ignore_index, label_smoothing)


def _check_smoothing(label_smoothing):
    if not 0.0 <= label_smoothing <= 1.0:
        raise fail(
            RuntimeError,
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}",
            "label_smoothing is the part of the target probability that is spread over all classes.",
        )


def _soft_cross_entropy(input, target, weight, number, ignore_index, label_smoothing):
    """Return the cross-entropy for probabilities as target."""
    if not target.is_floating_point():
        raise fail(
            RuntimeError,
            f"Expected floating point type for target with class probabilities, got {target.dtype.short}",
            "A target of the input's shape holds probabilities; class numbers have the shape (N).",
        )
    if ignore_index >= 0:
        raise fail(
            RuntimeError,
            "ignore_index is not supported for floating point target",
            "A target of class probabilities has no class to ignore. Use class numbers with ignore_index.",
        )
    class_dim = 0 if input.dim() == 1 else 1
    classes = input.shape[class_dim]
    if weight is not None:
        _check_classes_of_weight(weight, classes, function="cross_entropy: ")
    log_p = log_softmax(input, class_dim)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        target = target * (1 - label_smoothing) + label_smoothing / classes
    loss = log_p * target
    if weight is not None:
        loss = loss * _by_class(weight, input.dim(), class_dim)
    if number == 0:
        return -loss.sum(class_dim)
    total, samples = -loss.sum(), input.numel() // classes if input.numel() else 0
    return total if number == 2 else OPS["div_scalar"].call(total, samples)


def _by_class(weight, ndim, class_dim):
    shape = [1] * ndim
    shape[class_dim] = weight.shape[0]
    return weight.view(shape)


def _smoothed_cross_entropy(log_p, target, weight, number, ignore_index, label_smoothing):
    """Return (1 - s) * nll + s / C * (the sum of all -log-probabilities), where s is `label_smoothing`."""
    class_dim = 0 if log_p.dim() == 1 else 1
    classes = log_p.shape[class_dim]
    nll = _nll_loss(log_p, target, weight, number, ignore_index)
    by_class = log_p if weight is None else log_p * _by_class(weight, log_p.dim(), class_dim)
    ignored = target == ignore_index
    uniform = (-by_class.sum(class_dim)).masked_fill(ignored, 0.0)
    if number:
        uniform = uniform.sum()
    if number == 1:
        counted = ~ignored
        if weight is not None:
            counted = weight.gather(0, target[counted].flatten())
        uniform = uniform / counted.sum()
    scale = OPS["mul_scalar"].call
    return scale(nll, 1 - label_smoothing) + scale(uniform, label_smoothing / classes)
