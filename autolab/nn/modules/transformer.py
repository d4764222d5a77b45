"""Transformers: stacked layers of attention and feed-forward networks.

Source: https://docs.pytorch.org/docs/stable/nn.html#transformer-layers
"""

from __future__ import annotations

import copy
import math
from typing import Any
from collections.abc import Callable

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.functional.attention import canonical_mask
from autolab.nn.modules.attention import MultiheadAttention
from autolab.nn.modules.container import ModuleList
from autolab.nn.modules.dropout import Dropout
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.nn.modules.normalization import LayerNorm
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise fail(
            RuntimeError,
            f"activation should be relu/gelu, not {activation}",
            "Or pass any function of a tensor.",
        )
    return getattr(F, activation)


class _Layer(Module):
    """The base of both kinds of layers: attentions, a network of two Linear layers, norms and dropouts."""

    _attentions: tuple[str, ...] = ()

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **options
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, **options))
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _ff_block(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(self, attention, memory, mask, hidden, is_causal):
        """Return a function of x: the attention of x to `memory`, or to x itself if `memory` is None."""

        def block(x):
            seen = x if memory is None else memory
            return attention(x, seen, seen, hidden, False, mask, is_causal=is_causal)[0]

        return block

    def _run_blocks(self, x, *attentions):
        """Return x after all blocks. Each block is added to its input, with normalisation before (norm_first) or
        after."""
        for i, block in enumerate((*attentions, self._ff_block), 1):
            norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + drop(block(norm(x))) if self.norm_first else norm(x + drop(block(x)))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a network of two Linear layers; each result is added to its input and normalised.

    src (S, N, d_model), (N, S, d_model) with batch_first, or (S, d_model). norm_first: normalise before instead of
    after. activation: "relu", "gelu" or a function. Raise RuntimeError for another name.
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's result, shaped like src. Masks as in MultiheadAttention."""
        hidden = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", src, src_mask, "src_mask"
        )
        mask = canonical_mask(src_mask, "src_mask", src)
        return self._run_blocks(src, self._attend(self.self_attn, None, mask, hidden, is_causal))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result, then a network of two Linear layers; each result is added to
    its input and normalised.

    tgt and memory: shaped like src of TransformerEncoderLayer, which documents the settings.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's result, shaped like tgt. Masks as in MultiheadAttention."""
        look_back = self._attend(
            self.self_attn, None, tgt_mask, tgt_key_padding_mask, tgt_is_causal
        )
        look_at_memory = self._attend(
            self.multihead_attn, memory, memory_mask, memory_key_padding_mask, memory_is_causal
        )
        return self._run_blocks(tgt, look_back, look_at_memory)


def _triangle(size, device=None, dtype=None):
    return autolab.triu(
        autolab.full((size, size), -math.inf, dtype=dtype, device=device), diagonal=1
    )


def _copies(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """A chain of num_layers copies of a layer, followed by a norm if one is given.

    enable_nested_tensor, mask_check: settings that only make PyTorch faster; they have no effect here.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the result of the last layer, shaped like src. is_causal: a hint that mask is the causal mask."""
        hidden = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src, mask, "mask")
        mask = canonical_mask(mask, "mask", src)
        output = src
        for layer in self.layers:
            output = layer(output, mask, hidden, bool(is_causal))
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """A chain of num_layers copies of a layer, followed by a norm if one is given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the result of the last layer, shaped like tgt. tgt_is_causal: a hint that tgt_mask is the
        causal mask."""
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder for src and a decoder for tgt that attends to the encoder's result; all weights are Xavier-uniform.

    src (S, N, d_model), tgt (T, N, d_model); (N, S, d_model) with batch_first; or without N. Result: shaped like tgt.
    settings: the layers' settings, by keyword. Vaswani et al., "Attention Is All You Need" (2017). Raise RuntimeError
    for sizes that do not match.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        **settings: Any,
    ) -> None:
        super().__init__()
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps
        own = {n: v for n, v in settings.items() if n in ("bias", "device", "dtype")}
        norm = lambda: LayerNorm(d_model, layer_norm_eps, **own)
        self.encoder: Any = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, **settings), num_encoder_layers, norm()
        )
        self.decoder: Any = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, **settings), num_decoder_layers, norm()
        )
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead = d_model, nhead
        self.batch_first = settings.get("batch_first", False)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's result. Masks as in MultiheadAttention."""
        batch, message = 0 if self.batch_first else 1, ""
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            message = "the batch number of src and tgt must be equal"
        elif src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            message = "the feature number of src and tgt must be equal to d_model"
        if message:
            note = f"d_model is {self.d_model}. src and tgt must have the same batch size."
            raise fail(RuntimeError, message, note)
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike = None, dtype: DType | None = None
    ) -> Tensor:
        """Return the causal mask (sz, sz), which hides later positions: -inf above the diagonal, 0 elsewhere."""
        return _triangle(sz, device, dtype)
