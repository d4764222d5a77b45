"""Embedding layers: tables of vectors looked up by index.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
"""

from __future__ import annotations

from typing import Any, Self

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init
from autolab.engine.exact.refusals import unsupported
from autolab.nn.functional.bags import join_bags
from autolab.nn.functional.basic import check_padding_idx
from autolab.nn.modules.layer import shown_unless_default
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


_DEFAULTS = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}


class _Table(Module):
    """The base of Embedding and EmbeddingBag: a table of vectors, one of which may represent padding."""

    _within = "Padding_idx"

    def _make_table(self, padding_idx, weight, device, dtype):
        shape = (self.num_embeddings, self.embedding_dim)
        if padding_idx is not None:
            padding_idx = check_padding_idx(padding_idx, shape[0], self._within)
        self.padding_idx = padding_idx
        if weight is not None and tuple(weight.shape) != shape:
            raise fail(
                AssertionError,
                "Shape of weight does not match num_embeddings and embedding_dim",
                f"The table given has shape {tuple(weight.shape)}.",
            )
        table = autolab.empty(shape, device=device, dtype=dtype) if weight is None else weight
        self.weight = Parameter(table)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new normally distributed vectors; the padding row becomes zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Self:
        """Return a layer with the given table (num_embeddings, embedding_dim), frozen unless `freeze=False`."""
        if embeddings.dim() != 2:
            message = "Embeddings parameter is expected to be 2-dimensional"
            raise fail(AssertionError, message, "The table needs one row for each index.")
        layer = cls(*embeddings.shape, _weight=embeddings, **settings)
        layer.weight.requires_grad = not freeze
        return layer


class Embedding(_Table):
    """Rows of `weight` (num_embeddings, embedding_dim), selected by an integer tensor of any shape (*).

    The result has shape (*, embedding_dim). The row `padding_idx` starts at zero and gets no gradient.

    Example:

        >>> nn.Embedding(10, 4)(torch.tensor([[1, 2, 3]])).shape
        torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make_table(padding_idx, _weight, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows of the table at the indices `input`."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return the sizes, then every setting that is not the default."""
        defaults = {"padding_idx": None, **_DEFAULTS, "sparse": False}
        return f"{self.num_embeddings}, {self.embedding_dim}" + shown_unless_default(self, defaults)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of rows of `weight` (num_embeddings, embedding_dim) for each bag of indices: (bags,
    embedding_dim).

    Input: row numbers (bags, n), or (all,) with offsets (bags,), the start of each bag. The row `padding_idx` starts at
    zero and is not counted.
    """

    _within = "padding_idx"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_table(padding_idx, _weight, device, dtype)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Return one row for each bag."""
        refused = {
            "scale_grad_by_freq": self.scale_grad_by_freq,
            "sparse": self.sparse,
            "max_norm": self.max_norm is not None,
            "per_sample_weights": per_sample_weights is not None,
            "include_last_offset": self.include_last_offset,
        }
        for name, wanted in refused.items():
            if wanted:
                raise unsupported("EmbeddingBag", name)
        return join_bags(input, self.weight, offsets, self.mode, self.padding_idx)

    def extra_repr(self) -> str:
        """Return the sizes, the mode, then every setting that is not the default."""
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        settings = shown_unless_default(self, _DEFAULTS) + f", mode={self.mode!r}"
        return sizes + settings + shown_unless_default(self, {"padding_idx": None})
