"""Functions of `nn.functional` that PyTorch has at its top, too: `torch.cosine_similarity`, `torch.dropout` … some with
other arguments there.

Source: https://docs.pytorch.org/docs/2.13/torch.html"""

from __future__ import annotations

from collections.abc import Callable

from autolab.engine.core.tensor import Tensor
from autolab.engine.exact import signatures
from autolab.nn import functional as F
from autolab.nn.functional import (  # noqa: F401
    bilinear,
    celu_,
    cosine_similarity,
    pairwise_distance,
    rms_norm,
    selu_,
    threshold_,
)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`F.celu`. Source: torch.celu."""
    return F.celu(input, alpha)


def selu(input: Tensor) -> Tensor:
    """`F.selu`. Source: torch.selu."""
    return F.selu(input)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """`F.threshold`. Source: torch.threshold."""
    return F.threshold(input, threshold, value)


def adaptive_max_pool1d(input: Tensor, output_size: int | tuple[int]) -> tuple[Tensor, Tensor]:
    """(largest numbers, where they were): `F.adaptive_max_pool1d(…, return_indices=True)`. Source:
    torch.adaptive_max_pool1d."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)  # type: ignore[return-value]


def _dropout(name: str, function: Callable[..., Tensor], inplace: bool) -> Callable[..., Tensor]:
    def call(input: Tensor, p: float, train: bool) -> Tensor:
        return function(input, p, train, inplace)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`F.{function.__name__}`; `train` has to be given. Source: torch.{name}."
    return call


dropout, dropout_ = _dropout("dropout", F.dropout, False), _dropout("dropout_", F.dropout, True)
alpha_dropout, alpha_dropout_ = (
    _dropout("alpha_dropout", F.alpha_dropout, False),
    _dropout("alpha_dropout_", F.alpha_dropout, True),
)
feature_alpha_dropout = _dropout("feature_alpha_dropout", F.feature_alpha_dropout, False)

signatures.put_in_front({"f": globals()})
