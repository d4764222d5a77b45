"""Attention: each position looks at others and takes a mean of their values.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.scaled_dot_product_attention.html
"""

from __future__ import annotations

import math
import warnings

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.ops.functions import NAMESPACES
from autolab.nn.functional.basic import dropout
from autolab.engine.core.tensor import Tensor

_F = NAMESPACES["nn.functional"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T * scale + mask) value for query (*, L, E), key (*, S, E), value (*, S, Ev): (*, L, Ev).

    attn_mask: shaped like (or broadcast to) (*, L, S): True where a query may look, or numbers that are added;
    is_causal: position i looks at positions up to i. scale: 1/sqrt(E) when left out. dropout_p: also in evaluation.
    enable_gqa: fewer heads of keys and values than of queries. A row that may look nowhere gives zeros.
    Raises RuntimeError for both a mask and is_causal, and for shapes that do not fit.
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = (_for_each_query_head(query, x) for x in (key, value))
    if is_causal:
        attn_mask = autolab.ones(
            query.size(-2), key.size(-2), dtype=autolab.bool, device=query.device
        ).tril()
    # PyTorch scales both factors by the root, so that products of half precision do not overflow.
    root = math.sqrt(_default_scale(query.size(-1)) if scale is None else scale)
    scores = (query * root) @ (key.transpose(-2, -1) * root)
    if attn_mask is None:
        weights = scores.softmax(-1)
    else:
        weights = _masked_softmax(scores + _additive(attn_mask, scores.dtype))
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return weights @ value


def _check_attention(query, key, value, attn_mask, is_causal):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() < 2:
            raise fail(
                RuntimeError,
                "Expected query, key, and value to all be  at least 2 dimensional, but got "
                f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead.",
                f"{name} needs positions and features.",
            )
    if attn_mask is None:
        return
    if is_causal:
        raise fail(
            RuntimeError,
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
            "is_causal is a mask already; join it to your own by & (of bool masks) or + (of numbers).",
        )
    if attn_mask.dtype != autolab.bool and attn_mask.dtype != query.dtype:
        raise fail(
            RuntimeError,
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.cpp_name} and  query.dtype: {query.dtype.cpp_name} instead.",
            "A bool mask says where to look; a mask of numbers is added to the scores.",
        )


def _default_scale(size):
    """1 / sqrt(size); infinite for vectors of no numbers, as a division of floats is in PyTorch."""
    return 1.0 / math.sqrt(size) if size else math.inf


def _for_each_query_head(query, x):
    return x.repeat_interleave(query.size(-3) // x.size(-3), -3)


def _additive(mask, dtype):
    if mask.dtype != autolab.bool:
        return mask
    return autolab.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)


def _masked_softmax(scores):
    """Softmax along the last dimension, zeros in rows where every score is -inf."""
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    if not nowhere.any():
        return scores.softmax(-1)
    return scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)


# -- several heads -----------------------------------------------------------------------------------------------------


def _assert(holds, message, note):
    if not holds:
        raise fail(AssertionError, message, note)


def canonical_mask(mask, name, like, other=None, other_name=""):
    """A mask of numbers to add, of the dtype of `like`: 0 where a bool mask is False, -inf where it is True.

    Warns when `other` is a mask of another dtype. Raises AssertionError for masks of whole numbers."""
    if mask is None:
        return None
    is_bool = mask.dtype == autolab.bool
    _assert(
        is_bool or mask.is_floating_point(),
        f"only bool and floating types of {name} are supported",
        "True hides a position; numbers are added to the scores.",
    )
    if other is not None and mask.dtype != other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    return (
        autolab.zeros_like(mask, dtype=like.dtype).masked_fill_(mask, -math.inf)
        if is_bool
        else mask
    )


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch; raises AssertionError in PyTorch's words for dimensions that do not fit."""
    note = "Positions, batch, features; or positions, features."
    _assert(
        query.dim() in (2, 3),
        f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor",
        note,
    )
    kind, dim = ("batched", 3) if query.dim() == 3 else ("unbatched", 2)
    start = f"For {kind} ({dim}-D) `query`, expected"
    _assert(
        key.dim() == value.dim() == dim,
        f"{start} `key` and `value` to be {dim}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
        note,
    )
    if key_padding_mask is not None:
        _assert(
            key_padding_mask.dim() == dim - 1,
            f"{start} `key_padding_mask` to be `None` or {dim - 1}-D but found {key_padding_mask.dim()}-D tensor instead",
            "It says of each sequence which of its positions are padding.",
        )
    if attn_mask is not None:
        _assert(
            attn_mask.dim() in (2, 3),
            f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
            "Queries by keys, for all heads or for each.",
        )
        if dim == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _assert(
                tuple(attn_mask.shape) == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
                "Heads, queries, keys.",
            )
    return dim == 3


def _split(projected, parts):
    """The parts of (L, N, parts * E), each (L, N, E), in one copy."""
    width = projected.size(-1) // parts
    apart = (
        projected.unflatten(-1, (parts, width))
        .unsqueeze(0)
        .transpose(0, -2)
        .squeeze(-2)
        .contiguous()
    )
    return [apart[i] for i in range(parts)]


def _project_packed(q, k, v, weight, bias):
    """Queries, keys and values by one packed weight; in one product where they are the same tensor."""
    linear, width = _F["linear"], q.size(-1)
    if k is v and q is k:
        return _split(linear(q, weight, bias), 3)
    if k is v:
        w_q, w_kv = weight.split([width, 2 * width])
        b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
        return [linear(q, w_q, b_q), *_split(linear(k, w_kv, b_kv), 2)]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((q, k, v), weight.chunk(3), biases)]


def _project_apart(inputs, weights, bias):
    width = inputs[0].size(-1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    for name, x, w in zip(("query", "key", "value"), inputs, weights):
        expected = (width, x.size(-1))
        _assert(
            tuple(w.shape) == expected,
            f"expecting {name} weights shape of {expected}, but got {w.shape}",
            "kdim and vdim say how many features keys and values have.",
        )
    return [_F["linear"](x, w, b) for x, w, b in zip(inputs, weights, biases)]


def _shaped_mask(mask, batch, num_heads, target, source):
    """attn_mask with three dimensions; raises RuntimeError for sizes that do not fit."""
    if mask is None:
        return None
    expected = (target, source) if mask.dim() == 2 else (batch * num_heads, target, source)
    if tuple(mask.shape) != expected:
        raise fail(
            RuntimeError,
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.",
            "Queries by keys; in front batch times heads.",
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _one_more_key(mask):
    return None if mask is None else _F["pad"](mask, (0, 1))


def _joined_masks(attn_mask, key_padding_mask, batch, num_heads, source):
    if key_padding_mask is None:
        return attn_mask
    for dim, size in ((0, batch), (1, source)):
        _assert(
            key_padding_mask.shape[dim] == size,
            f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {key_padding_mask.shape[dim]}",
            "One row for each sequence, one entry for each key.",
        )
    hidden = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
    hidden = hidden.reshape(batch * num_heads, 1, source)
    return hidden if attn_mask is None else attn_mask + hidden


def _heads(x, batch, num_heads):
    """(L, N, E) as (N * heads, L, E / heads)."""
    return x.view(x.shape[0], batch * num_heads, -1).transpose(0, 1)


def _weighted(q, k, v, mask, dropout_p):
    """(weights, output) of attention whose weights are asked for, over (N * heads, L, E)."""
    scaled = q * math.sqrt(1.0 / q.size(-1))
    scores = (
        scaled.bmm(k.transpose(-2, -1))
        if mask is None
        else autolab.baddbmm(mask, scaled, k.transpose(-2, -1))
    )
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return weights, weights.bmm(v)


def _unweighted(q, k, v, mask, dropout_p, is_causal, batch):
    """The output of attention whose weights nobody asks for, over the same, as (N * heads, L, E)."""
    apart = lambda x: x.view(batch, -1, *x.shape[1:])
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 else apart(mask)
    return scaled_dot_product_attention(
        apart(q), apart(k), apart(v), mask, dropout_p, is_causal
    ).flatten(0, 1)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """(output, weights or None) of attention with several heads; the work of nn.MultiheadAttention, which see.

    query (L, N, E), key and value (S, N, …), or without N. Raises AssertionError or RuntimeError in PyTorch's words;
    NotImplementedError for static_k and static_v.
    Source: torch.nn.functional.multi_head_attention_forward.
    """
    _refuse_static(static_k, static_v)
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, width = query.shape
    attn_mask, key_padding_mask = _canonical_masks(attn_mask, key_padding_mask, query, is_causal)
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else attn_mask
    if use_separate_proj_weight:
        q, k, v = _project_apart(
            (query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias
        )
    else:
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _shaped_mask(attn_mask, batch, num_heads, target, key.shape[0])
    if bias_k is not None and bias_v is not None:
        k, v = (
            autolab.cat([k, bias_k.repeat(1, batch, 1)]),
            autolab.cat([v, bias_v.repeat(1, batch, 1)]),
        )
        attn_mask, key_padding_mask = _one_more_key(attn_mask), _one_more_key(key_padding_mask)
    q, k, v = (_heads(x, batch, num_heads) for x in (q, k, v))
    if add_zero_attn:
        k, v = (
            autolab.cat([x, k.new_zeros((batch * num_heads, 1, k.size(-1)))], 1) for x in (k, v)
        )
        attn_mask, key_padding_mask = _one_more_key(attn_mask), _one_more_key(key_padding_mask)
    source = k.size(1)
    mask = _joined_masks(attn_mask, key_padding_mask, batch, num_heads, source)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        weights, output = _weighted(q, k, v, mask, dropout_p)
        weights = weights.view(batch, num_heads, target, source)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        weights, output = None, _unweighted(q, k, v, mask, dropout_p, is_causal, batch)
    output = _F["linear"](
        output.transpose(0, 1).reshape(target * batch, width), out_proj_weight, out_proj_bias
    )
    output = output.view(target, batch, output.size(1))
    return (
        (output, weights)
        if batched
        else (output.squeeze(1), None if weights is None else weights.squeeze(0))
    )


def _refuse_static(static_k, static_v):
    """Raises NotImplementedError for keys and values that were projected already."""
    for name, given in (("static_k", static_k), ("static_v", static_v)):
        if given is not None:
            raise unsupported("multi_head_attention_forward", name)


def _canonical_masks(attn_mask, key_padding_mask, query, is_causal):
    """Both masks as floats to add. Raises RuntimeError for the hint `is_causal` without the mask it is about."""
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask"
    )
    if is_causal and attn_mask is None:
        raise fail(
            RuntimeError,
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask.",
            "is_causal only says what the mask is.",
        )
    return canonical_mask(attn_mask, "attn_mask", query), key_padding_mask


def _check_widths(query, key, value, embed_dim, num_heads, separate):
    width = query.size(-1)
    _assert(
        width == embed_dim,
        f"was expecting embedding dimension of {embed_dim}, but got {width}",
        "The last dimension of the query is what the first weight multiplies.",
    )
    _assert(
        width // num_heads * num_heads == width,
        f"embed_dim {width} not divisible by num_heads {num_heads}",
        "Each head takes an equal share of the features.",
    )
    if separate:
        _assert(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
            "Each key has a value.",
        )
    else:
        _assert(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
            "Each key has a value.",
        )
