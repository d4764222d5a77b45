"""Similarities. Source: https://docs.pytorch.org/docs/stable/nn.html#distance-functions"""

from __future__ import annotations

from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class CosineSimilarity(Module):
    """x1·x2 / (|x1| |x2|) along `dim`; each norm is taken as at least eps."""

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the similarities, in [-1, 1]."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
