"""Dropout layers. Source: https://docs.pytorch.org/docs/stable/nn.html#dropout-layers"""

from __future__ import annotations

from autolab.nn import functional as F
from autolab.nn.functional.basic import check_probability
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        """Return the probability and whether the layer works in place."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, sets each element to zero with probability p and scales the others by 1/(1-p); else identity.

    Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors" (2012).

    Example:

        >>> layer = nn.Dropout(0.5)
        >>> layer.eval()(torch.ones(3))
        tensor([1., 1., 1.])
        >>> sorted(set(layer.train()(torch.ones(1000)).tolist()))
        [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with elements dropped."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Drops whole channels of an input (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels dropped."""
        return F.dropout2d(input, self.p, self.training, self.inplace)
