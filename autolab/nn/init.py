"""Initial values for parameters. Each function fills its tensor in place, without recording, and returns it.

The numbers come from the default stream (or `generator`) in PyTorch's order, so that the same seed gives the same
weights.
Source: https://docs.pytorch.org/docs/2.13/nn.init.html
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.random import Generator

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS = {
    **dict.fromkeys(
        (
            "linear",
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
            "sigmoid",
        ),
        1,
    ),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity, by its name; `param` is leaky_relu's slope (0.01).

    Raises ValueError for an unknown name.
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise fail(
            ValueError,
            f"Unsupported nonlinearity {nonlinearity}",
            f"Known are {', '.join(_GAINS)}, leaky_relu.",
        )
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise fail(
            ValueError,
            f"negative_slope {param} not a valid number",
            "The slope is an int or a float.",
        )
    return math.sqrt(2.0 / (1 + slope**2))


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Numbers between a and b."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normally distributed numbers."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed numbers, those outside [a, b] drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=3,
        )
    inside = (
        math.erf((b - mean) / std / math.sqrt(2.0)) - math.erf((a - mean) / std / math.sqrt(2.0))
    ) / 2
    if inside > 0.3:
        low, high = (autolab.tensor(limit, dtype=tensor.dtype).item() for limit in (a, b))
        result = tensor.normal_(mean, std, generator=generator)
        while (outside := (result < low) | (result > high)).any():
            again = autolab.empty_like(result).normal_(mean, std, generator=generator)
            result = autolab.where(outside, again, result)
        return tensor if result is tensor else tensor.copy_(result)
    return _by_rejection(tensor, mean, std, a, b, generator)


def _by_rejection(tensor, mean, std, a, b, generator):
    """Draw uniformly from [a, b] and accept with the density's height: when few normal numbers would fall there."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, chance = autolab.empty_like(tensor), autolab.empty_like(tensor)

    def rejected(draws):
        height = ((draws - mean) / std).pow(2) * -0.5 - peak
        return chance.uniform_(generator=generator).log_() > height

    result = tensor.uniform_(a, b, generator=generator).clone()
    pending = rejected(result)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = autolab.where(pending, candidates, result)
        pending = pending & rejected(candidates)
    return tensor.copy_(result)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal, 0 elsewhere. Raises ValueError unless the tensor is a matrix."""
    _check_matrix(tensor)
    return tensor.copy_(autolab.eye(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel (out, in, ...) of a convolution that passes its channels through unchanged, in each of the groups."""
    if tensor.dim() not in (3, 4, 5):
        raise fail(
            ValueError,
            "Only tensors with 3, 4, or 5 dimensions are supported",
            "It is for convolution kernels.",
        )
    if tensor.shape[0] % groups:
        raise fail(
            ValueError,
            "dim 0 must be divisible by groups",
            "Every group gets as many output channels.",
        )
    per_group = tensor.shape[0] // groups
    tensor.zero_()
    center = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, tensor.shape[1])):
            tensor[(group * per_group + channel, channel, *center)] = 1
    return tensor


def _check_matrix(tensor):
    if tensor.dim() != 2:
        raise fail(
            ValueError,
            "Only tensors with 2 dimensions are supported",
            f"This one has {tensor.dim()}.",
        )


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs feed one output and how many outputs one input feeds, for a weight (out, in, ...)."""
    if tensor.dim() < 2:
        raise fail(
            ValueError,
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            "A bias has no fan: use uniform_ or zeros_ for it.",
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode):
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise fail(
            ValueError,
            f"Mode {mode.lower()} not supported, please use one of {modes}",
            "fan_in keeps the variance forwards, fan_out backwards.",
        )
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in ±gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform in ±gain * sqrt(3 / fan) (He et al., 2015); `a` is the slope of leaky_relu."""
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = (
        math.sqrt(3.0) * std
    )  # in this order: another one changes last bits of every Linear layer
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with standard deviation gain / sqrt(fan) (He et al., 2015); `a` is the slope of leaky_relu."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix, times gain; dimensions after the first are seen as one (Saxe et al., 2013)."""
    if tensor.dim() < 2:
        raise fail(
            ValueError,
            "Only tensors with 2 or more dimensions are supported",
            "Rows are orthogonal to rows.",
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draws = (
        autolab.empty((rows, columns), dtype=tensor.dtype)
        .normal_(0, 1, generator=generator)
        .cpu()
        .numpy()
    )
    q, r = np.linalg.qr(draws.T if rows < columns else draws)
    q *= np.sign(np.diagonal(r))  # with a positive diagonal of r, q is unique
    tensor.copy_(autolab.from_numpy(q.T if rows < columns else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, with the share `sparsity` of each column set to zero (Martens, 2010)."""
    _check_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[autolab.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new, old = function.__name__, function.__name__[:-1]

    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    renamed.__name__, renamed.__doc__ = old, f"Deprecated: use `{new}`."
    return renamed


uniform, normal, constant, eye, dirac = map(
    _deprecated, (uniform_, normal_, constant_, eye_, dirac_)
)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
