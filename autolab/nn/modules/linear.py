"""Linear maps. Source: https://docs.pytorch.org/docs/stable/nn.html#linear-layers"""

from __future__ import annotations

import math
from typing import Any

import autolab
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class Identity(Module):
    """Gives its input back; takes (and ignores) any arguments, so it can stand in for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """`input` itself."""
        return input


class Linear(Module):
    """y = x A^T + b, for x of shape (*, in_features); y has shape (*, out_features).

    `weight` (out_features, in_features) and `bias` (out_features) start uniform in ±1/sqrt(in_features).
    Raises RuntimeError when the last dimension or the dtype of x does not fit.

    Example:

        >>> layer = nn.Linear(3, 2)
        >>> layer(torch.zeros(5, 3)).shape, layer.weight.shape, layer.bias.shape
        (torch.Size([5, 2]), torch.Size([2, 3]), torch.Size([2]))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(
            autolab.empty((out_features, in_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(autolab.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random parameters: first the weight, then the bias."""
        init.kaiming_uniform_(
            self.weight, a=math.sqrt(5)
        )  # a = sqrt(5) makes the bound 1/sqrt(fan_in)
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """x A^T + b."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
