"""Similarities. Source: https://docs.pytorch.org/docs/stable/nn.html#distance-functions"""

from __future__ import annotations

from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.layer import Layer


class CosineSimilarity(Layer, function=F.cosine_similarity, hidden="dim eps"):
    """x1·x2 / (|x1| |x2|) along `dim`, where each norm is at least eps."""

    dim: int = 1
    eps: float = 1e-08

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        """Return the similarities, in [-1, 1]."""
        return self._function(x1, x2, self.dim, self.eps)
