"""Activation functions. Source: https://docs.pytorch.org/docs/2.13/nn.functional.html#non-linear-activation-functions

With `inplace=True`, the function overwrites its input, increases its version by one, and returns it.
"""

from __future__ import annotations

import warnings

import autolab
from typing import Any

from autolab.engine.exact.arguments import as_int, check_tensors
from autolab.engine.core.errors import bad_argument
from autolab.engine.inplace.changes import apply_inplace
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import check_dim
from autolab.engine.exact.dtype_errors import not_implemented
from autolab.engine.ops.activation import SELU_ALPHA, SELU_SCALE
from autolab.engine.core.record import OPS
from autolab.engine.exact.kinds import check_settings
from autolab.engine.exact.signatures import marked
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def _run(name, inplace, *args):
    op = OPS[name]
    return apply_inplace(op, args) if inplace else op.call(*args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(0, x).

    Example:

        >>> F.relu(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """
    return _run("relu", inplace, input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(0, x), 6)."""
    return _run("hardtanh", inplace, input, 0, 6)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return x limited to [min_val, max_val]. Raise ValueError if min_val is larger than max_val."""
    if min_val > max_val:
        raise fail(
            ValueError, "min_val cannot be greater than max_val", "The lower limit must come first."
        )
    return _run("hardtanh", inplace, input, min_val, max_val)


def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where x > threshold (or x is nan), else value.

    Raise RuntimeError if the dtype of x cannot hold the value. Source: torch.nn.functional.threshold."""
    check_tensors("threshold", input=input)
    fill = input.masked_fill_ if inplace else input.masked_fill
    return fill(input <= threshold, value)


threshold = _threshold  # the function's name in PyTorch's errors


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else negative_slope * x."""
    check_settings(f"leaky_relu{marked(inplace)}", ("negative_slope", 2, "Number", negative_slope))
    return _run("leaky_relu", inplace, input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return x where x > 0, else a * x. In training, draw a from [lower, upper) for each element; else a is their mean.

    Raise RuntimeError for bounds that are not finite or in the wrong order. Source: torch.nn.functional.rrelu."""
    return (autolab.rrelu_ if inplace else autolab.rrelu)(input, lower, upper, training)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x where x > 0, else weight * x, with one weight, or one for each channel (dimension 1)."""
    return autolab.prelu(input, weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha * (exp(x) - 1)."""
    check_settings(f"elu{marked(inplace)}", ("alpha", 2, "Number", alpha))
    return _run("elu", inplace, input, alpha, 1, 1)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return scale * elu(x, alpha) with the constants that keep mean 0 and variance 1 from layer to layer."""
    check_tensors("selu_" if inplace else "selu", input=input)
    return _run("elu", inplace, input, SELU_ALPHA, SELU_SCALE, 1)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha * (exp(x / alpha) - 1). Raise RuntimeError for alpha = 0."""
    check_settings(f"celu{marked(inplace)}", ("alpha", 2, "Number", alpha))
    if alpha == 0:
        raise fail(
            RuntimeError,
            "ZeroDivisionError: alpha cannot be 0 for CELU",
            "alpha must not be 0, because the formula divides by it.",
        )
    return _run("elu", inplace, input, alpha, 1, 1 / alpha)


def _in_place(function):
    """Return `function` with inplace=True; its name ends in an underscore."""

    def overwrite(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, **kwargs, inplace=True)

    overwrite.__name__ = overwrite.__qualname__ = function.__name__.strip("_") + "_"
    overwrite.__doc__ = f"Apply `{function.__name__.strip('_')}` in place."
    return overwrite


relu_, hardtanh_, threshold_, leaky_relu_, elu_, selu_, celu_, rrelu_ = map(
    _in_place, (relu, hardtanh, _threshold, leaky_relu, elu, selu, celu, rrelu)
)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return x * Phi(x), where Phi is the normal distribution function; approximate="tanh" uses a formula with tanh."""
    return _run("gelu", False, input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x * sigmoid(x)."""
    return _run("silu", inplace, input)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """Return log(1 + exp(beta * x)) / beta, or x itself where beta * x > threshold."""
    return _run("softplus", False, input, beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """Return x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x - lambd above lambd, x + lambd below -lambd, 0 between. Raise RuntimeError for a negative lambd."""
    check_tensors("softshrink", input=input)
    if not input.is_floating_point():
        raise not_implemented("softshrink_check", input._array.dtype)
    if lambd < 0:
        raise fail(
            RuntimeError,
            f"lambda must be in range [0, 3.40282e+38] for input dtype {input.dtype.short}, but found {lambd}",
            "lambd must not be negative: values from -lambd to lambd become 0.",
        )
    return _run("softshrink", False, input, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x where |x| > lambd, else 0."""
    return _run("hardshrink", False, input, lambd)


def logsigmoid(input: Tensor) -> Tensor:
    """Return log(1 / (1 + exp(-x)))."""
    return _run("log_sigmoid", False, input)


def sigmoid(input: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)).

    Example:

        >>> F.sigmoid(torch.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Return (exp(x) - exp(-x)) / (exp(x) + exp(-x))."""
    return input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return a * sigmoid(b), where a and b are the halves of the input along `dim`. Raise RuntimeError if its size is
    odd."""
    if input.dim() == 0:
        raise fail(
            RuntimeError,
            "glu does not support scalars because halving size must be even",
            "glu splits the dimension into two halves, so its size must be even.",
        )
    if as_int(dim) is None:
        raise bad_argument("glu", "dim", 2, "int", dim)
    halved = check_dim(dim, input.dim())
    if input.shape[halved] % 2:
        message = (
            f"Halving dimension must be even, but dimension {halved} is size {input.shape[halved]}"
        )
        raise fail(
            RuntimeError,
            message,
            "glu splits the dimension into two halves, so its size must be even.",
        )
    if not input.is_floating_point():
        raise not_implemented("glu_cpu", input._array.dtype)
    a, b = input.split(input.shape[halved] // 2, dim) if input.shape[halved] else (input, input)
    return a * b.sigmoid()


def _softmax_dim(name, input, dim, stacklevel):
    """Return `dim`. If it is None, give PyTorch's warning and return PyTorch's default dimension."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """Return exp(x_i) / sum_j exp(x_j) along `dim`; omitting `dim` is deprecated and gives a warning.

    Example:

        >>> F.softmax(torch.tensor([1., 2., 3.]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    return input.softmax(_softmax_dim("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """Return softmax(-x) along `dim`."""
    return (-input).softmax(_softmax_dim("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """Return log(softmax(x)) along `dim`, computed without overflow.

    Example:

        >>> F.log_softmax(torch.tensor([1., 2., 3.]), dim=0)
        tensor([-2.4076, -1.4076, -0.4076])
    """
    return input.log_softmax(_softmax_dim("log_softmax", input, dim, _stacklevel), dtype=dtype)
