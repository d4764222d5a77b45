"""Multi-head attention.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
"""

from __future__ import annotations

import math
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.functional.attention import canonical_mask
from autolab.nn.modules.linear import Linear
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear layer, with PyTorch's name for the output projection of attention."""


class MultiheadAttention(Module):
    """Multi-head attention: each head projects queries, keys and values and attends; a last projection joins the heads.

    query (L, N, embed_dim), key and value (S, N, embed_dim); (N, L, …) with batch_first; or without N. Result: (output
    shaped like the query, weights (N, L, S) or None). dropout: applied to the weights in training. Vaswani et al.,
    "Attention Is All You Need" (2017). Raise ValueError or AssertionError for sizes that do not match,
    NotImplementedError for add_bias_kv, add_zero_attn, kdim and vdim.
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
        given = {"kdim": kdim, "vdim": vdim}
        refused = {name: size not in (None, embed_dim) for name, size in given.items()}
        refused |= {"add_bias_kv": add_bias_kv, "add_zero_attn": add_zero_attn}
        for name, wanted in refused.items():
            if wanted:
                note = "Use a Linear layer that maps keys and values to embed_dim features first."
                raise unsupported("MultiheadAttention", name, note)
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = self.vdim = embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        if self.head_dim * num_heads != embed_dim:
            raise fail(
                AssertionError,
                "embed_dim must be divisible by num_heads",
                f"embed_dim is {embed_dim} and num_heads is {num_heads}.",
            )
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.in_proj_weight = Parameter(autolab.empty((3 * embed_dim, embed_dim), **options))
        self.register_parameter(
            "in_proj_bias", Parameter(autolab.empty(3 * embed_dim, **options)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self._reset_parameters()

    def _reset_parameters(self):
        init.xavier_uniform_(self.in_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)

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
        """Return (output, weights).

        key_padding_mask (N, S) masks keys; attn_mask (L, S) or (N * heads, L, S) masks pairs. True masks a position,
        numbers are added. average_attn_weights=False: weights have shape (N, heads, L, S). is_causal: a hint that
        attn_mask is the causal mask.
        """
        hidden = canonical_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
        mask = canonical_mask(attn_mask, "attn_mask", query)
        _check_shapes(query, key, value, hidden, mask, self.embed_dim)
        batched = query.dim() == 3
        if is_causal and mask is None:
            raise fail(
                RuntimeError,
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                "`generate_square_subsequent_mask` to create this mask.",
                "is_causal is only a hint. Pass the mask as attn_mask, too.",
            )
        if not batched:
            query, key, value = _convert_each_once(lambda x: x.unsqueeze(1), query, key, value)
            hidden = None if hidden is None else hidden.unsqueeze(0)
        elif self.batch_first:
            query, key, value = _convert_each_once(lambda x: x.transpose(1, 0), query, key, value)
        sizes = (query.shape[1], self.num_heads, query.shape[0], key.shape[0])
        mask = _joined_masks(_shaped_mask(mask, sizes), hidden, sizes)
        q, k, v = [
            x.view(x.shape[0], sizes[0] * self.num_heads, self.head_dim).transpose(0, 1)
            for x in _project(query, key, value, self.in_proj_weight, self.in_proj_bias)
        ]
        dropout_p = self.dropout if self.training else 0.0
        if need_weights:
            weights, output = _attend_with_weights(q, k, v, mask, dropout_p)
            weights = weights.view(*sizes)
            weights = weights.mean(dim=1) if average_attn_weights else weights
        else:
            weights, output = None, _attend(q, k, v, mask, dropout_p, sizes[0])
        output = output.transpose(0, 1).reshape(-1, self.embed_dim)
        output = F.linear(output, self.out_proj.weight, self.out_proj.bias).view(query.shape)
        if not batched:
            return output.squeeze(1), None if weights is None else weights.squeeze(0)
        return output.transpose(1, 0) if self.batch_first else output, weights


def _check_shapes(query, key, value, key_padding_mask, attn_mask, embed_dim):
    """Raise AssertionError in PyTorch's words for dimensions that do not match."""
    dims, width = query.dim(), query.shape[-1]
    start = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    hidden = dims - 1 if key_padding_mask is None else key_padding_mask.dim()
    mask = 2 if attn_mask is None else attn_mask.dim()
    checks = {
        f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor": dims
        in (2, 3),
        f"{start} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively": (
            key.dim() == value.dim() == dims
        ),
        f"{start} `key_padding_mask` to be `None` or {dims - 1}-D but found {hidden}-D tensor instead": (
            hidden == dims - 1
        ),
        f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask}-D tensor instead": mask
        in (2, 3),
        f"was expecting embedding dimension of {embed_dim}, but got {width}": width == embed_dim,
        f"key shape {key.shape} does not match value shape {value.shape}": key.shape == value.shape,
    }
    for message, holds in checks.items():
        if not holds:
            raise _misfit(message)


def _misfit(message):
    note = "Queries are (positions, batch, features), masks (queries, keys) and padding masks (batch, keys)."
    return fail(AssertionError, message, note)


def _convert_each_once(convert, query, key, value):
    """Convert each distinct tensor once, so that equal arguments stay one object and one product can project them
    all."""
    converted = {id(x): convert(x) for x in (query, key, value)}
    return converted[id(query)], converted[id(key)], converted[id(value)]


def _split(projected, parts):
    """Split (L, N, parts * E) into `parts` tensors (L, N, E), with a single copy."""
    width = projected.size(-1) // parts
    apart = projected.unflatten(-1, (parts, width)).unsqueeze(0).transpose(0, -2).squeeze(-2)
    apart = apart.contiguous()
    return [apart[i] for i in range(parts)]


def _project(q, k, v, weight, bias):
    """Project queries, keys and values by one packed weight; if they are the same tensor, in one product."""
    width = q.size(-1)
    if k is v and q is k:
        return _split(F.linear(q, weight, bias), 3)
    if k is v:
        w_q, w_kv = weight.split([width, 2 * width])
        b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
        return [F.linear(q, w_q, b_q), *_split(F.linear(k, w_kv, b_kv), 2)]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip((q, k, v), weight.chunk(3), biases)]


def _shaped_mask(mask, sizes):
    """Return attn_mask with three dimensions. Raise RuntimeError for sizes that do not match."""
    if mask is None:
        return None
    batch, num_heads, target, source = sizes
    expected = (target, source) if mask.dim() == 2 else (batch * num_heads, target, source)
    if tuple(mask.shape) != expected:
        raise fail(
            RuntimeError,
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.",
            "The mask has the shape (queries, keys), or (batch * heads, queries, keys).",
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _joined_masks(attn_mask, key_padding_mask, sizes):
    """Return the sum of both masks for each head of each sequence."""
    if key_padding_mask is None:
        return attn_mask
    batch, num_heads, _, source = sizes
    for dim, size in enumerate((batch, source)):
        if (found := key_padding_mask.shape[dim]) != size:
            raise _misfit(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {found}")
    hidden = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
    hidden = hidden.reshape(batch * num_heads, 1, source)
    return hidden if attn_mask is None else attn_mask + hidden


def _attend_with_weights(q, k, v, mask, dropout_p):
    """Return (weights, output) of attention over (N * heads, L, E)."""
    scaled, keys = q * math.sqrt(1.0 / q.size(-1)), k.transpose(-2, -1)
    scores = scaled.bmm(keys)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if dropout_p > 0.0:
        weights = F.dropout(weights, dropout_p)
    return weights, weights.bmm(v)


def _attend(q, k, v, mask, dropout_p, batch):
    """Return only the output of attention over (N * heads, L, E), without the weights."""
    apart = lambda x: x.view(batch, -1, *x.shape[1:])
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 else apart(mask)
    return F.scaled_dot_product_attention(apart(q), apart(k), apart(v), mask, dropout_p).flatten(
        0, 1
    )
