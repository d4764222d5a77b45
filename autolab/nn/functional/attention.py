"""Attention: each position computes a weighted mean of the values at other positions.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.scaled_dot_product_attention.html
"""

from __future__ import annotations

import math
import warnings

import autolab
from autolab.engine.core.errors import fail
from autolab.nn.functional.basic import dropout
from autolab.engine.core.tensor import Tensor


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
    """Return softmax(query key^T * scale + mask) value, (*, L, Ev), for query (*, L, E), key (*, S, E), value (*, S,
    Ev).

    attn_mask: broadcasts to (*, L, S). A bool mask is True where attention is allowed; numbers are added to the scores.
    is_causal: position i attends only to positions up to i. scale: 1/sqrt(E) by default. dropout_p: applies in
    evaluation too. enable_gqa: allow fewer heads of keys and values than of queries. A row with all positions masked
    gives zeros. Raise RuntimeError for a mask together with is_causal, and for shapes that do not match.
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = (_for_each_query_head(query, x) for x in (key, value))
    if is_causal:
        attn_mask = autolab.ones(
            query.size(-2), key.size(-2), dtype=autolab.bool, device=query.device
        ).tril()
    # As in PyTorch, scale both factors by the root, so that products in half precision do not overflow.
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
            "is_causal=True already is a mask. Pass one mask: combine bool masks with &, float masks with +.",
        )
    if attn_mask.dtype != autolab.bool and attn_mask.dtype != query.dtype:
        raise fail(
            RuntimeError,
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.cpp_name} and  query.dtype: {query.dtype.cpp_name} instead.",
            "Use a bool mask (True: may be attended to) or a float mask, which is added to the scores.",
        )


def _default_scale(size):
    """Return 1 / sqrt(size), or infinity for size 0, as in PyTorch."""
    return 1.0 / math.sqrt(size) if size else math.inf


def _for_each_query_head(query, x):
    return x.repeat_interleave(query.size(-3) // x.size(-3), -3)


def _additive(mask, dtype):
    if mask.dtype != autolab.bool:
        return mask
    return autolab.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)


def _masked_softmax(scores):
    """Return softmax along the last dimension, with zeros in rows where every score is -inf."""
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    if not nowhere.any():
        return scores.softmax(-1)
    return scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)


def canonical_mask(mask, name, like, other=None, other_name=""):
    """Return a mask of numbers to add, with the dtype of `like`: 0 where a bool mask is False, -inf where it is True.

    Warn if `other` is a mask with another dtype. Raise AssertionError for integer masks."""
    if mask is None:
        return None
    is_bool = mask.dtype == autolab.bool
    if not (is_bool or mask.is_floating_point()):
        raise fail(
            AssertionError,
            f"only bool and floating types of {name} are supported",
            "In a bool mask, True hides a position. A float mask is added to the scores.",
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
