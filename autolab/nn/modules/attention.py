"""Attention with several heads.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
"""

from __future__ import annotations

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import init
from autolab.nn.functional.attention import canonical_mask, multi_head_attention_forward
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear layer; the name is that of PyTorch's projection behind attention."""


class MultiheadAttention(Module):
    """Each head projects queries, keys and values, attends, and a last projection joins the heads' results.

    query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim); (N, L, …) with batch_first; or without N. Result:
    (output shaped like the query, weights (N, L, S) or None). dropout: of the weights, in training. add_bias_kv,
    add_zero_attn: one more key and value, learnt or zero. Vaswani et al., "Attention Is All You Need" (2017). Raises
    ValueError or AssertionError for sizes that do not fit.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise fail(
                ValueError,
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead",
                "Each head takes an equal share of the features.",
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = (
            embed_dim if kdim is None else kdim,
            embed_dim if vdim is None else vdim,
        )
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise fail(
                AssertionError,
                "embed_dim must be divisible by num_heads",
                f"They are {embed_dim} and {num_heads}.",
            )
        options = {"device": device, "dtype": dtype}
        self._make_parameters(bias, add_bias_kv, options)
        self._reset_parameters()

    def _make_parameters(self, bias, add_bias_kv, options):
        width = self.embed_dim
        apart = {"q_proj_weight": width, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(autolab.empty((3 * width, width), **options))
            for name in apart:
                self.register_parameter(name, None)
        else:
            for name, features in apart.items():
                self.register_parameter(
                    name, Parameter(autolab.empty((width, features), **options))
                )
            self.register_parameter("in_proj_weight", None)
        self.register_parameter(
            "in_proj_bias", Parameter(autolab.empty(3 * width, **options)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(width, width, bias=bias, **options)
        if add_bias_kv:
            self.bias_k = Parameter(autolab.empty((1, 1, width), **options))
            self.bias_v = Parameter(autolab.empty((1, 1, width), **options))
        else:
            self.bias_k = self.bias_v = None

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights). key_padding_mask (N, S) hides keys, attn_mask (L, S) or (N * heads, L, S) hides pairs:
        True hides, numbers are added. average_attn_weights=False: weights (N, heads, L, S). is_causal: attn_mask is the
        triangle."""
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask"
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", query)
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(1, 0) if turned else output, weights


def _turned(query, key, value):
    """Each with batch and positions exchanged; what was one tensor stays one, because then one product projects all."""
    turned = {id(x): x.transpose(1, 0) for x in (query, key, value)}
    return turned[id(query)], turned[id(key)], turned[id(value)]
