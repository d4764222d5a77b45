"""Losses with a margin between classes. Source: https://docs.pytorch.org/docs/2.13/nn.functional.html#loss-functions"""

from __future__ import annotations

import autolab
from autolab.engine.exact.arguments import as_number
from autolab.engine.core.errors import bad_argument
from autolab.engine.core.errors import fail
from autolab.engine.exact.dtype_errors import not_implemented
from autolab.engine.core.record import OPS
from autolab.nn.functional.loss import (
    check_tensors,
    legacy_reduction,
    not_differentiable,
    reduction_number,
)
from autolab.engine.core.tensor import Tensor


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the C classes of max(0, margin - input[y] + input[j])^p, j other than y; times weight[y].

    input: (N, C) or (C,), target: class numbers (N,) or (). Its gradient cannot be differentiated again. Raises
    TypeError, ValueError or RuntimeError, in PyTorch's words, for what does not fit, NotImplementedError for scores
    that are not float32 or float64. Source: torch.nn.functional.multi_margin_loss."""
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    if p not in (1, 2):
        raise fail(ValueError, "only p == 1 and p == 2 supported", f"p is {p}.")
    if weight is not None and weight.dim() != 1:
        raise fail(ValueError, "weight must be one-dimensional", "One weight for each class.")
    check_tensors("multi_margin_loss", input=input, target=target)
    limit = as_number(margin)
    if limit is None:
        raise bad_argument("multi_margin_loss", "margin", 4, "Number", margin)
    not_differentiable("multi_margin_loss", weight=weight)
    _check_multi_margin(input, target, weight)
    return OPS["multi_margin_loss"].call(input, target, int(p), limit, weight, number)


def _check_scores(input):
    """Raise RuntimeError unless `input` has a score for each of one class or more, for each sample if there are
    samples."""
    classes = input.shape[-1] if input.dim() else 1
    if input.dim() > 2 or classes == 0:
        raise fail(
            RuntimeError,
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}",
            "A number for each class, for each sample.",
        )
    return classes


def _check_dtypes(kernel, input, target, weight=None):
    """Raise what PyTorch's kernel raises for scores that are not float32 or float64, and for targets and weights that
    do not go with them."""
    if input.dtype not in (autolab.float32, autolab.float64):
        raise not_implemented(kernel, input._array.dtype)
    for value, wanted in ((target, autolab.int64), (weight, input.dtype)):
        if value is not None and value.dtype is not wanted:
            message = f"expected scalar type {wanted.short} but found {value.dtype.short}"
            raise fail(
                RuntimeError,
                message,
                "Class numbers are whole numbers (.long()); weights have the dtype of the scores.",
            )


def _check_multi_margin(input, target, weight):
    classes = _check_scores(input)
    samples = input.shape[0] if input.dim() == 2 else 1
    if target.dim() > 1 or target.numel() != samples:
        raise fail(
            RuntimeError,
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{samples}], but got {list(target.shape)}. Input has shape {list(input.shape)}.",
            "One class number for each sample.",
        )
    if weight is not None and weight.numel() != classes:
        message = f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        raise fail(RuntimeError, message, "One weight for each class.")
    _check_dtypes("multi_margin_loss_cpu_kernel", input, target, weight)
    if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < classes:
        raise fail(
            RuntimeError, "target out of range", f"Classes are numbered from 0 to {classes - 1}."
        )


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over right classes y and wrong classes j of max(0, 1 - input[y] + input[j]), divided by the number of
    classes C.

    input: (N, C) or (C,); target, of the same shape: the numbers of the right classes, and -1 after the last of them.
    Its gradient cannot be differentiated again. Raises TypeError, ValueError or RuntimeError, in PyTorch's words, for
    what does not fit, NotImplementedError for scores that are not float32 or float64. Source:
    torch.nn.functional.multilabel_margin_loss."""
    number = reduction_number(legacy_reduction(size_average, reduce, reduction))
    check_tensors("multilabel_margin_loss", input=input, target=target)
    classes = _check_scores(input)
    fits = (
        target.shape == input.shape
        if input.dim() == 2
        else target.dim() <= 1 and target.numel() == classes
    )
    if not fits:
        message = (
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
        raise fail(
            RuntimeError,
            message,
            "Each sample has as many places for class numbers as classes; fill them up with -1.",
        )
    if target.numel() and not -1 <= int(target.min()) <= int(target.max()) < classes:
        message = "argument #2 'target' is out of range"
        raise fail(
            RuntimeError,
            message,
            f"Classes are numbered from 0 to {classes - 1}; -1 ends the list.",
        )
    _check_dtypes("multilabel_margin_loss_forward_out_frame", input, target)
    return OPS["multilabel_margin_loss"].call(input, target, number)[0]
