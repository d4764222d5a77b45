"""Normalisation functions. Source:
https://docs.pytorch.org/docs/2.13/nn.functional.html#non-linear-activation-functions"""

from __future__ import annotations

import math
from collections.abc import Sequence

import autolab
from autolab.engine.exact.arguments import check_tensors
from autolab.engine.core.errors import fail
from autolab.engine.exact.dtype_errors import not_implemented
from autolab.engine.exact.refusals import unsupported
from autolab.engine.ops.normalization import batch_normalized
from autolab.engine.core.record import OPS
from autolab.engine.exact.kinds import check_settings
from autolab.engine.core.tensor import Tensor


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return (x - mean) / standard deviation * weight + bias for each channel (dimension 1) of the input x.

    With `training`, mean and variance come from this batch, and the running values move towards them by the fraction
    `momentum`, in place. Otherwise the running values are used. Raise ValueError for a single value per channel in
    training, RuntimeError if the numbers of channels differ. Ioffe and Szegedy, "Batch Normalization" (2015).
    """
    check_settings(
        "batch_norm", ("training", 6, "bool", training), ("momentum", 7, "float", momentum)
    )
    if training:
        _check_count(input.shape[:1] + input.shape[2:], input.shape)
    if eps < 0 or (training and eps == 0):
        kind = "positive during training" if training else "non-negative"
        raise fail(
            ValueError,
            f"batch_norm eps must be {kind}, but got {eps}",
            "eps is added to the variance so that the division is never by 0.",
        )
    return batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _check_count(sizes, shown):
    """Raise ValueError if only a single value, counted from `sizes`, is normalised."""
    if math.prod(sizes) == 1:
        raise fail(
            ValueError,
            f"Expected more than 1 value per channel when training, got input size {shown}",
            "A single value per channel has variance 0, so it cannot be normalized. Use a bigger batch, or call model.eval().",
        )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return (input - mean) / standard deviation * weight + bias over the last dimensions, whose sizes are
    `normalized_shape`.

    Raise RuntimeError if the sizes differ. Ba, Kiros and Hinton, "Layer Normalization" (2016).
    """
    return autolab.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each sample's channels (dimension 1) in `num_groups` groups, each with its own mean and variance.

    Raise RuntimeError if the channels cannot be divided evenly, ValueError for a single value per group. Wu and He,
    "Group Normalization" (2018).
    """
    if input.dim() < 2:
        raise fail(
            RuntimeError,
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}",
            "The channels must be dimension 1 of the input.",
        )
    size = input.shape
    _check_count((size[0] * size[1] // num_groups, *size[2:]), list(size))
    return autolab.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample on its own, as batch norm does for a batch.

    Raise ValueError for a single value per channel. Ulyanov, Vedaldi and Lempitsky, "Instance Normalization" (2016).
    """
    check_settings(
        "instance_norm",
        ("use_input_stats", 6, "bool", use_input_stats),
        ("momentum", 7, "float", momentum),
        ("eps", 8, "float", eps),
    )
    if running_mean is not None or running_var is not None or not use_input_stats:
        raise unsupported("instance_norm", "running statistics", "Use batch_norm for them.")
    if math.prod(input.shape[2:]) == 1:
        raise fail(
            ValueError,
            f"Expected more than 1 spatial element when training, got input size {input.shape}",
            "A single value per channel has variance 0, so it cannot be normalized.",
        )
    samples, channels = input.size(0), input.size(1)
    weight, bias = (None if v is None else v.repeat(samples) for v in (weight, bias))
    flat = input.contiguous().view(1, samples * channels, *input.shape[2:])
    y = batch_normalized(flat, weight, bias, None, None, True, momentum, eps)
    return y.view(input.shape)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Return `input` divided by its root mean square over the last dimensions, of sizes `normalized_shape`, times
    `weight`.

    Raise RuntimeError if the sizes differ. Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
    """
    check_tensors("rms_norm", input=input)
    check_settings("rms_norm", ("normalized_shape", 2, "int[]", normalized_shape))
    shape = normalized_shape
    shape = [shape] if isinstance(shape, int) else list(shape)
    if list(input.shape[-len(shape) :]) != shape:
        expected = ", ".join(map(str, shape))
        raise fail(
            RuntimeError,
            f"Given normalized_shape={shape}, expected input with shape [*{expected}], but got input of size{list(input.shape)}",
            "normalized_shape names the sizes of the last dimensions, which are normalised together.",
        )
    if not input.is_floating_point():
        raise not_implemented("rms_norm", input._array.dtype)
    x = (
        input.float() if input.dtype is autolab.float16 else input
    )  # squares of float16 numbers overflow easily
    eps = autolab.finfo(x.dtype).eps if eps is None else eps
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    y = x * OPS["add_scalar"].call(x.pow(2).mean(dims, keepdim=True), eps).rsqrt()
    return (y if weight is None else y * weight).to(input.dtype)
