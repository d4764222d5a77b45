"""Linear maps. Source: https://docs.pytorch.org/docs/stable/nn.html#linear-layers"""

from __future__ import annotations

from typing import Any

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F, init
from autolab.nn._arguments import DeviceLike
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter


class Identity(Module):
    """A layer that returns its input. It ignores all constructor arguments, so it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return `input` itself."""
        return input


class Linear(Module):
    """y = x A^T + b for x of shape (*, in_features); y has shape (*, out_features).

    `weight` (out_features, in_features) and `bias` (out_features) start uniform in ±1/sqrt(in_features). Raise
    RuntimeError if the last dimension or the dtype of x does not match.

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
        empty = autolab.empty((out_features, in_features), device=device, dtype=dtype)
        self.weight = Parameter(empty)
        if bias:
            self.bias = Parameter(autolab.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random parameters: first the weight, then the bias."""
        init._reset_linear(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return x A^T + b."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
