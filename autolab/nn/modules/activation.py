"""Activation layers. Source:
https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity"""

from __future__ import annotations

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F, init as nn_init
from autolab.nn._arguments import DeviceLike
from autolab.nn.modules.layer import Layer


class ReLU(Layer, function=F.relu):
    """max(0, x).

    Example:

        >>> nn.ReLU()(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    inplace: bool = False


class SELU(Layer, function=F.selu):
    """scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) with the constants of Klambauer et al. (2017)."""

    inplace: bool = False


class SiLU(Layer, function=F.silu):
    """x * sigmoid(x), also called swish."""

    inplace: bool = False


class RReLU(Layer, function=F.rrelu, settings="lower upper training inplace", hidden="training"):
    """x where x > 0, else a * x with a random slope a for each element; in evaluation, a is the mean of the bounds.

    lower, upper: the interval from which slopes are drawn, with the default stream. Xu et al. (2015)."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


class Sigmoid(Layer, function=autolab.sigmoid):
    """1 / (1 + exp(-x)).

    Example:

        >>> nn.Sigmoid()(torch.tensor([0., 2.]))
        tensor([0.5000, 0.8808])
    """


class Tanh(Layer, function=autolab.tanh):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)).

    Example:

        >>> nn.Tanh()(torch.tensor([0., 1.]))
        tensor([0.0000, 0.7616])
    """


class LogSigmoid(Layer, function=F.logsigmoid):
    """log(1 / (1 + exp(-x)))."""


class Softsign(Layer, function=F.softsign):
    """x / (1 + |x|)."""


class Tanhshrink(Layer, function=F.tanhshrink):
    """x - tanh(x)."""


class Threshold(Layer, function=F.threshold):
    """x where x > threshold, else value."""

    threshold: float
    value: float
    inplace: bool = False


class Hardtanh(Layer, function=F.hardtanh):
    """x limited to [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def _set_up(self, settings):
        super()._set_up(settings)
        if self.max_val <= self.min_val:
            raise fail(
                AssertionError,
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})",
                "The upper bound must be greater than the lower bound.",
            )


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    _hidden = ("min_val", "max_val")

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(Layer, function=F.elu):
    """x where x > 0, else alpha * (exp(x) - 1) (Clevert et al., 2015)."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(Layer, function=F.celu):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017)."""

    alpha: float = 1.0
    inplace: bool = False


class LeakyReLU(Layer, function=F.leaky_relu):
    """x where x > 0, else negative_slope * x."""

    negative_slope: float = 0.01
    inplace: bool = False


class PReLU(Layer, function=F.prelu, settings="weight"):
    """x where x > 0, else weight * x with a learned weight: one for all, or one for each channel (dimension 1)."""

    num_parameters: int = 1
    init: float = 0.25
    device: DeviceLike = None
    dtype: DType | None = None

    def _set_up(self, settings):
        options = {name: settings.pop(name) for name in ("device", "dtype")}
        super()._set_up(settings)
        self._make_parameters({"weight": (self.num_parameters,)}, **options)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        nn_init.constant_(self.weight, self.init)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


class GELU(Layer, function=lambda input, approximate: F.gelu(input, approximate=approximate)):
    """x * Phi(x), with Phi the normal distribution function; `approximate="tanh"` uses a formula with tanh."""

    approximate: str = "none"


class Softplus(Layer, function=F.softplus):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."""

    beta: float = 1.0
    threshold: float = 20.0


class Softshrink(Layer, function=F.softshrink):
    """x - lambd above lambd, x + lambd below -lambd, 0 between."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        """Return lambd as text."""
        return str(self.lambd)


class Hardshrink(Layer, function=F.hardshrink):
    """x where |x| > lambd, else 0."""

    lambd: float = 0.5
    extra_repr = Softshrink.extra_repr


class GLU(Layer, function=F.glu):
    """a * sigmoid(b), where a and b are the halves of the input along `dim` (Dauphin et al., 2016)."""

    dim: int = -1


class _AlongDim(Layer):
    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer's function to `input` along `dim`."""
        return self._function(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim, function=F.softmax):
    """exp(x_i) / sum_j exp(x_j) along `dim`.

    Example:

        >>> nn.Softmax(dim=1)(torch.tensor([[1., 1.], [0., 1.]]))
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """

    dim: int | None = None


class Softmin(_AlongDim, function=F.softmin):
    """softmax(-x) along `dim`."""

    dim: int | None = None


class LogSoftmax(_AlongDim, function=F.log_softmax):
    """log(softmax(x)) along `dim`, computed without overflow."""

    dim: int | None = None
