"""Initial values for parameters. Each function fills its tensor in place, without recording it, and returns the tensor.

The numbers come from the default stream (or `generator`) in PyTorch's order, so that the same seed gives the same
weights.
Source: https://docs.pytorch.org/docs/2.13/nn.init.html
"""

from __future__ import annotations

import math
import warnings

import numpy as np

import autolab
from autolab.engine import absent as _absent
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.random import Generator
from autolab.engine.exact.refusals import unsupported

__all__ = [
    "calculate_gain", "constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid".split()
)
_GAINS = {**dict.fromkeys(_LINEAR, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through the named nonlinearity; `param` is leaky_relu's slope (0.01).

    Raise ValueError for an unknown name.
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise fail(
            ValueError,
            f"Unsupported nonlinearity {nonlinearity}",
            f"Known are {', '.join(_GAINS)}, leaky_relu.",
        )
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers between a and b."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normally distributed numbers."""
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
    """Fill with normally distributed numbers; a number outside [a, b] is drawn again."""
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
    """Fill with `val`."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return tensor.zero_()


def _calculate_fan_in_and_fan_out(tensor):
    """Return the number of inputs of each output and of outputs of each input, for a weight (out, in, ...)."""
    if tensor.dim() < 2:
        raise fail(
            ValueError,
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            "A bias has one dimension, so it has no fan-in. Use uniform_ or zeros_ for it.",
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def _kaiming_std(tensor, a, mode, nonlinearity):
    """Return the standard deviation of He's initialisation for `tensor`."""
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise fail(
            ValueError,
            f"Mode {mode.lower()} not supported, please use one of {modes}",
            "fan_in keeps the variance in the forward pass, fan_out in the backward pass.",
        )
    fan = _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers in ±gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio,
    2010)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers in ±gain * sqrt(3 / fan) (He et al., 2015); `a` is the slope of leaky_relu."""
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers with standard deviation gain / sqrt(fan) (He et al., 2015); `a` is the slope of
    leaky_relu."""
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _reset_linear(weight: Tensor, bias: Tensor | None) -> None:
    """Draw `weight`, then `bias`, uniform in ±1/sqrt(fan_in): the initial values of Linear and the convolutions."""
    kaiming_uniform_(weight, a=math.sqrt(5))  # a = sqrt(5) makes the bound 1/sqrt(fan_in)
    if bias is not None:
        fan_in, _ = _calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(max(fan_in, 1))
        uniform_(bias, -bound, bound)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix times gain; dimensions after the first are merged into one (Saxe et al.,
    2013)."""
    if tensor.dim() < 2:
        raise fail(
            ValueError,
            "Only tensors with 2 or more dimensions are supported",
            "An orthogonal matrix needs at least two dimensions.",
        )
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draws = (
        autolab.empty((rows, columns), dtype=tensor.dtype)
        .normal_(0, 1, generator=generator)
        .cpu()
        .numpy()
    )
    q, r = np.linalg.qr(draws.T if rows < columns else draws)
    q *= np.sign(np.diagonal(r))  # makes q unique: the diagonal of r becomes positive
    tensor.copy_(autolab.from_numpy(q.T if rows < columns else q).reshape(tensor.shape))
    return tensor.mul_(gain)


__getattr__ = _absent.getattr_of("torch.nn.init")
