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
from autolab.engine.exact.refusals import unsupported

__all__ = [
    "calculate_gain", "constant", "constant_", "kaiming_normal", "kaiming_normal_", "kaiming_uniform",
    "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal_", "trunc_normal_", "uniform", "uniform_",
    "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid".split()
)
_GAINS = {**dict.fromkeys(_LINEAR, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


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
    if inside <= 0.3:
        raise unsupported(
            "trunc_normal_",
            "a, b",
            "Less than 30 % of the normal distribution lies between a and b: choose wider limits.",
        )
    low, high = (autolab.tensor(limit, dtype=tensor.dtype).item() for limit in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        again = autolab.empty_like(result).normal_(mean, std, generator=generator)
        result = autolab.where(outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)


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


# Names that old tutorials still use.
uniform, normal, constant = map(_deprecated, (uniform_, normal_, constant_))
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
