"""Normalisation of rows: batch norm (a row per channel), layer and group norm (a row per sample or group).

Rows are processed in blocks of about 1 MB, so that the second and third pass over a block find it in the cache. The
variance is computed in two passes, from the differences to the mean.
"""

from __future__ import annotations

import numpy as np

from . import reuse as memory, threads, gpu as whole
from .convolution import ones

BLOCK = 1 << 20
_OPERATIONS = 45  # operations per element, weighted by memory cost: for `threads.split`


def channel_rows(x):
    """Return (N, C, …) as contiguous (C, M): a row per channel, batch innermost; no copy if a convolution made the
    array."""
    t = x.transpose(*range(1, x.ndim), 0)
    if not t.flags.c_contiguous and not whole.off_host(x):
        t, given = memory.empty(t.shape, t.dtype), t
        t[...] = given
    return t.reshape(x.shape[1], -1)


def from_channel_rows(rows, shape):
    """Return the inverse of `channel_rows`. Only images keep the batch innermost in memory."""
    x = rows.reshape(*shape[1:], shape[0]).transpose(len(shape) - 1, *range(len(shape) - 1))
    return x if len(shape) == 4 and not whole.off_host(x) else whole.module(x).ascontiguousarray(x)


def _in_blocks(rows, work):
    """Call `work(slice of rows)` for blocks of rows, with several threads."""
    count, length = rows.shape
    size = max(1, BLOCK // max(1, rows.itemsize * length))
    threads.in_blocks(
        lambda start, stop: work(slice(start, stop)), count, size, _OPERATIONS * rows.size
    )


def _dot(a, b):
    """Return the dot product of each row. Unlike `vecdot` (and `@`, for few results), `einsum` and `dot` release the
    interpreter lock."""
    return np.einsum("ij,ij->i", a, b)


def standardize(rows, weight, bias, eps):
    """Return (result, mean, variance, 1 / sqrt(variance + eps)) of each row; weight and bias are per row, or None."""
    if whole.off_host(rows):
        return whole.standardize(rows, weight, bias, eps)
    count, length = rows.shape
    result, d = memory.empty(rows.shape, rows.dtype), rows.dtype
    mean, variance, inverse = (np.empty(count, d) for _ in range(3))
    one = ones(length, d)

    def work(q):
        mean[q] = np.dot(rows[q], one) / d.type(length)
        t = np.subtract(rows[q], mean[q, None], out=result[q])
        variance[q] = _dot(t, t) / d.type(length)
        inverse[q] = 1 / np.sqrt(variance[q] + d.type(eps))
        t *= (inverse[q] if weight is None else inverse[q] * weight[q])[:, None]
        if bias is not None:
            t += bias[q, None]

    _in_blocks(rows, work)
    return result, mean, variance, inverse


def scaled(rows, weight, bias):
    """Return weight * row + bias for each row."""
    if whole.off_host(rows):
        return whole.scaled(rows, weight, bias)
    result = memory.empty(rows.shape, rows.dtype)

    def work(q):
        np.multiply(rows[q], weight[q, None], out=result[q])
        result[q] += bias[q, None]

    _in_blocks(rows, work)
    return result


def standardize_backward(g, rows, mean, inverse, weight, want_input=True):
    """Return (gradient of the rows or None, sum of g * standardized row, sum of g), with a weight per row or None."""
    if whole.off_host(g):
        return whole.standardize_backward(g, rows, mean, inverse, weight, want_input)
    count, length = rows.shape
    d = rows.dtype
    dx = memory.empty(g.shape, g.dtype) if want_input else None
    total, product = np.empty(count, d), np.empty(count, d)
    one, share = ones(length, d), d.type(1 / length)

    def work(q):
        t = threads.scratch("centred", rows[q].shape, d)
        np.subtract(rows[q], mean[q, None], out=t)
        total[q] = np.dot(g[q], one)
        product[q] = _dot(g[q], t) * inverse[q]
        if want_input:
            t *= (product[q] * inverse[q] * share)[:, None]
            o = np.subtract(g[q], (total[q] * share)[:, None], out=dx[q])
            o -= t
            o *= (inverse[q] if weight is None else inverse[q] * weight[q])[:, None]

    _in_blocks(rows, work)
    return dx, product, total
