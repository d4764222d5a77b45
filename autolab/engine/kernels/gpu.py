"""Convolution and normalisation kernels for GPU arrays, computed on whole arrays with functions that NumPy and CuPy
share.

A GPU works best with few large kernels, so it needs none of the blocks, threads and reused memory that help a CPU's
caches. Each function has the name and arguments of the CPU function that it replaces.
"""

from __future__ import annotations

import numpy as np

from ..devices import device as devices


def off_host(x):
    """Return whether `x` is a GPU array."""
    return x.__class__ is not np.ndarray and not isinstance(x, np.generic)


def module(x):
    """Return the array module of `x`: NumPy, CuPy or the simulated GPU's module."""
    return devices.of(x).xp


# -- convolution -------------------------------------------------------------------------------------------------------
def _columns(x, geo):
    """Return the elements of all windows as matrices (groups, C / groups * kh * kw, N * oh * ow)."""
    xp, (n, c) = module(x), x.shape[:2]
    (oh, ow), (kh, kw), (sy, sx), (py, px), (dy, dx) = (
        geo.out,
        geo.kernel,
        geo.stride,
        geo.padding,
        geo.dilation,
    )
    x = xp.pad(x, ((0, 0), (0, 0), (py, py), (px, px))) if py or px else xp.ascontiguousarray(x)
    batch, channel, row, column = x.strides
    windows = xp.lib.stride_tricks.as_strided(
        x, (c, kh, kw, n, oh, ow), (channel, dy * row, dx * column, batch, sy * row, sx * column)
    )
    return windows.reshape(geo.groups, -1, n * oh * ow)


def _by_channel(y, groups):
    """Reshape an array (N, O, …) to (groups, O / groups, N * …), with the channels of each group together."""
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, -1)


def _by_batch(y, channels, n, size):
    """Return the inverse of `_by_channel`, contiguous."""
    return module(y).ascontiguousarray(y.reshape(channels, n, *size).swapaxes(0, 1))


def forward(x, weight, bias, geo):
    o = weight.shape[0]
    y = module(x).matmul(weight.reshape(geo.groups, o // geo.groups, -1), _columns(x, geo))
    y = _by_batch(y, o, x.shape[0], geo.out)
    if bias is not None:
        y += bias[:, None, None]
    return y


def grad_weight(g, x, geo):
    o, c = g.shape[1], x.shape[1]
    found = module(g).matmul(_by_channel(g, geo.groups), _columns(x, geo).swapaxes(1, 2))
    return found.reshape(o, c // geo.groups, *geo.kernel)


def grad_input(g, weight, geo):
    xp, n, (o, cg) = module(g), g.shape[0], weight.shape[:2]
    (h, w), (oh, ow), (kh, kw), (sy, sx), (py, px), (dy, dx) = (
        geo.size, geo.out, geo.kernel, geo.stride, geo.padding, geo.dilation,
    )  # fmt: skip
    columns = xp.matmul(
        weight.reshape(geo.groups, o // geo.groups, -1).swapaxes(1, 2), _by_channel(g, geo.groups)
    )
    columns = columns.reshape(cg * geo.groups, kh, kw, n, oh, ow)
    height, width = (
        max(h + 2 * py, (oh - 1) * sy + dy * (kh - 1) + 1),
        max(w + 2 * px, (ow - 1) * sx + dx * (kw - 1) + 1),
    )
    padded = xp.zeros((cg * geo.groups, n, height, width), g.dtype)
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dy, i * dy + (oh - 1) * sy + 1, sy)
            part = padded[:, :, rows, slice(j * dx, j * dx + (ow - 1) * sx + 1, sx)]
            part += columns[:, i, j]  # not `padded[…] +=`, which would copy the sum onto itself
    return xp.ascontiguousarray(padded[:, :, py : py + h, px : px + w].swapaxes(0, 1))


def grad_bias(g):
    return g.sum(axis=(0, *range(2, g.ndim)))


# -- normalisation of rows ---------------------------------------------------------------------------------------------
def standardize(rows, weight, bias, eps):
    d = rows.dtype
    mean = rows.mean(axis=1)
    centred = rows - mean[:, None]
    variance = (centred * centred).mean(axis=1)
    inverse = 1 / module(rows).sqrt(variance + d.type(eps))
    result = centred * (inverse if weight is None else inverse * weight)[:, None]
    return (result if bias is None else result + bias[:, None]), mean, variance, inverse


def scaled(rows, weight, bias):
    return rows * weight[:, None] + bias[:, None]


def standardize_backward(g, rows, mean, inverse, weight, want_input=True):
    share = rows.dtype.type(1 / rows.shape[1])
    standard = (rows - mean[:, None]) * inverse[:, None]
    total, product = g.sum(axis=1), (g * standard).sum(axis=1)
    if not want_input:
        return None, product, total
    scale = (inverse if weight is None else inverse * weight)[:, None]
    return (
        (g - (total * share)[:, None] - standard * (product * share)[:, None]) * scale,
        product,
        total,
    )
