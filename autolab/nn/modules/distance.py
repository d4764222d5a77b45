"""Distances and similarities. Source: https://docs.pytorch.org/docs/stable/nn.html#distance-functions"""

from __future__ import annotations

from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension: (N, D), (N, D) -> (N), or (N, 1) with `keepdim`."""

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """x1·x2 / (|x1| |x2|) along `dim`; each norm is taken as at least eps."""

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The similarities, in [-1, 1]."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
