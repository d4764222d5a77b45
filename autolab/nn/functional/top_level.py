"""Functions of `nn.functional` that PyTorch also has at its top level: `torch.cosine_similarity`, `torch.dropout` …
Some have other arguments there.

Source: https://docs.pytorch.org/docs/2.13/torch.html"""

from __future__ import annotations

from autolab.engine.core.tensor import Tensor
from autolab.engine.exact import signatures
from autolab.nn import functional as F
from autolab.nn.functional import (  # noqa: F401
    celu_,
    cosine_similarity,
    rms_norm,
    selu_,
    threshold_,
)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return `F.celu`."""
    return F.celu(input, alpha)


def selu(input: Tensor) -> Tensor:
    """Return `F.selu`."""
    return F.selu(input)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Return `F.threshold`."""
    return F.threshold(input, threshold, value)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `F.dropout`; the argument `train` is required."""
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `F.dropout` in place; the argument `train` is required."""
    return F.dropout(input, p, train, inplace=True)


signatures.put_in_front({"f": globals()})
