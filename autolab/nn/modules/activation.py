"""Activations as layers. Source:
https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity"""

from __future__ import annotations

import warnings

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init as nn_init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class _Activation(Module):
    """A layer without parameters; `_shown` names the settings that its repr tells."""

    _shown: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        """The settings, and inplace=True when it is."""
        parts = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


class ReLU(_Activation):
    """max(0, x).

    Example:

        >>> nn.ReLU()(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.relu(input, inplace=self.inplace)


class RReLU(_Activation):
    """x where x > 0, else a * x with a slope a drawn anew for each number; in evaluation the mean of the bounds (Xu et
    al., 2015).

    lower, upper: the slopes are drawn from this interval, from the default stream. Source: torch.nn.RReLU."""

    _shown = ("lower", "upper")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class SELU(_Activation):
    """scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) with the constants of Klambauer et al. (2017)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.selu(input, self.inplace)


class SiLU(_Activation):
    """x * sigmoid(x), also called swish."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.silu(input, inplace=self.inplace)


class Mish(_Activation):
    """x * tanh(softplus(x)) (Misra, 2019)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.mish(input, inplace=self.inplace)


class Hardsigmoid(_Activation):
    """0 below -3, 1 above 3, x/6 + 1/2 between."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_Activation):
    """x * hardsigmoid(x) (Howard et al., 2019)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    Example:

        >>> nn.Sigmoid()(torch.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return autolab.sigmoid(input)


class Tanh(_Activation):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)).

    Example:

        >>> nn.Tanh()(torch.tensor([0., 1.]))
        tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return autolab.tanh(input)


class LogSigmoid(_Activation):
    """log(1 / (1 + exp(-x)))."""

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.logsigmoid(input)


class Softsign(_Activation):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.softsign(input)


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.tanhshrink(input)


class Threshold(_Activation):
    """x where x > threshold, else value."""

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Hardtanh(_Activation):
    """x limited to [min_val, max_val]."""

    _shown: tuple[str, ...] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, value in (
            ("min_value", "min_val", min_value),
            ("max_value", "max_val", max_value),
        ):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise fail(
                AssertionError,
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})",
                "The interval has to have a length.",
            )

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(_Activation):
    """x where x > 0, else alpha * (exp(x) - 1) (Clevert et al., 2015)."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017)."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Activation):
    """x where x > 0, else negative_slope * x."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class PReLU(_Activation):
    """x where x > 0, else weight * x, the weight learned: one for all, or one for each channel (dimension 1)."""

    _shown = ("num_parameters",)

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
        """The function, element by element."""
        return F.prelu(input, self.weight)


class GELU(_Activation):
    """x * Phi(x), with Phi the normal distribution function; `approximate="tanh"` uses a formula with tanh."""

    _shown = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.gelu(input, approximate=self.approximate)


class GLU(_Activation):
    """a * sigmoid(b), a and b the halves of the input along `dim` (Dauphin et al., 2016)."""

    _shown = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Half as long as `input` along `dim`."""
        return F.glu(input, self.dim)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."""

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.softplus(input, self.beta, self.threshold)


class Softshrink(_Activation):
    """x - lambd above lambd, x + lambd below -lambd, 0 between."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The limit."""
        return str(self.lambd)


class Hardshrink(_Activation):
    """x where |x| > lambd, else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function, element by element."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The limit."""
        return str(self.lambd)


class Softmax(_Activation):
    """exp(x_i) / sum_j exp(x_j) along `dim`.

    Example:

        >>> nn.Softmax(dim=1)(torch.tensor([[1., 1.], [0., 1.]]))
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """

    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that add up to 1 along `dim`."""
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_Activation):
    """softmax(-x) along `dim`."""

    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that add up to 1 along `dim`."""
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_Activation):
    """log(softmax(x)) along `dim`, computed without overflow."""

    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Logarithms of probabilities."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(_Activation):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that add up to 1 over the channels."""
        if input.dim() not in (3, 4):
            raise fail(
                ValueError,
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead",
                "Images have the shape (N, C, H, W).",
            )
        return F.softmax(input, -3, _stacklevel=5)
