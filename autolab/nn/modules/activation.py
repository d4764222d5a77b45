"""Activations as layers. Source:
https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity"""

from __future__ import annotations

from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init as nn_init
from autolab.nn.modules.module import Module, name_init
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class _Activation(Module):
    """A layer that applies one function with the layer's settings.

    `_settings` names the attributes that the function takes after its input, in order; `_hidden` names those that the
    repr leaves out.
    """

    _function: Any
    _settings: tuple[str, ...] = ()
    _hidden: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name_init(cls)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to `input`."""
        return type(self)._function(input, *[getattr(self, name) for name in self._settings])

    def extra_repr(self) -> str:
        """Return the settings, and inplace=True when it is."""
        shown = [n for n in self._settings if n != "inplace" and n not in self._hidden]
        parts = [f"{name}={getattr(self, name)!r}" for name in shown]
        if getattr(self, "inplace", False) and "inplace" not in self._hidden:
            parts.append("inplace=True")
        return ", ".join(parts)


class _InPlace(_Activation):
    """An activation whose only setting is whether it overwrites its input."""

    _settings: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace):
    """max(0, x).

    Example:

        >>> nn.ReLU()(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    _function = F.relu


class SELU(_InPlace):
    """scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) with the constants of Klambauer et al. (2017)."""

    _function = F.selu


class SiLU(_InPlace):
    """x * sigmoid(x), also called swish."""

    _function = F.silu


class Hardswish(_InPlace):
    """0 below -3, x above 3, x * (x + 3) / 6 between (Howard et al., 2019)."""

    _function = F.hardswish
    _hidden = ("inplace",)


class RReLU(_Activation):
    """x where x > 0, else a * x with a random slope a for each number; in evaluation the mean of the bounds.

    lower, upper: the slopes are drawn from this interval, from the default stream. Xu et al. (2015)."""

    _function = F.rrelu
    _settings = ("lower", "upper", "training", "inplace")
    _hidden = ("training",)

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    Example:

        >>> nn.Sigmoid()(torch.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """

    _function = autolab.sigmoid


class Tanh(_Activation):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)).

    Example:

        >>> nn.Tanh()(torch.tensor([0., 1.]))
        tensor([0.0000, 0.7616])
    """

    _function = autolab.tanh


class LogSigmoid(_Activation):
    """log(1 / (1 + exp(-x)))."""

    _function = F.logsigmoid


class Softsign(_Activation):
    """x / (1 + |x|)."""

    _function = F.softsign


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    _function = F.tanhshrink


class Threshold(_Activation):
    """x where x > threshold, else value."""

    _function = F.threshold
    _settings = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace


class Hardtanh(_Activation):
    """x limited to [min_val, max_val]."""

    _function = F.hardtanh
    _settings = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace
        if max_val <= min_val:
            raise fail(
                AssertionError,
                f"max_val ({max_val}) must be greater than min_val ({min_val})",
                "The interval has to have a length.",
            )


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    _hidden = ("min_val", "max_val")

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class _WithAlpha(_Activation):
    _settings = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


class ELU(_WithAlpha):
    """x where x > 0, else alpha * (exp(x) - 1) (Clevert et al., 2015)."""

    _function = F.elu


class CELU(_WithAlpha):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017)."""

    _function = F.celu


class LeakyReLU(_Activation):
    """x where x > 0, else negative_slope * x."""

    _function = F.leaky_relu
    _settings = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace


class PReLU(Module):
    """x where x > 0, else weight * x, the weight learned: one for all, or one for each channel (dimension 1)."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(autolab.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        nn_init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to `input`."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


class GELU(_Activation):
    """x * Phi(x), with Phi the normal distribution function; `approximate="tanh"` uses a formula with tanh."""

    _settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to `input`."""
        return F.gelu(input, approximate=self.approximate)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."""

    _function = F.softplus
    _settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


class _Shrink(_Activation):
    _settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Return the limit."""
        return str(self.lambd)


class Softshrink(_Shrink):
    """x - lambd above lambd, x + lambd below -lambd, 0 between."""

    _function = F.softshrink


class Hardshrink(_Shrink):
    """x where |x| > lambd, else 0."""

    _function = F.hardshrink


class GLU(_Activation):
    """a * sigmoid(b), a and b the halves of the input along `dim` (Dauphin et al., 2016)."""

    _function = F.glu
    _settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class _AlongDim(_Activation):
    _settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the function of `input` along `dim`."""
        return type(self)._function(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x_i) / sum_j exp(x_j) along `dim`.

    Example:

        >>> nn.Softmax(dim=1)(torch.tensor([[1., 1.], [0., 1.]]))
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """

    _function = F.softmax


class Softmin(_AlongDim):
    """softmax(-x) along `dim`."""

    _function = F.softmin


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`, computed without overflow."""

    _function = F.log_softmax
