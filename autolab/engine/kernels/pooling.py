"""Pooling over windows of the last two dimensions of an array; leading dimensions and memory order are kept.

The maximum of a window is computed along one axis first, and then along the other axis of the result. This takes k + k
passes instead of k * k, each a `maximum` of two strided slices. As in PyTorch, the first of equal numbers (row by row)
wins.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from . import reuse as memory, threads
from .gpu import module, off_host
from .scatter import add_at

BLOCK = 1 << 20
_OPERATIONS = 20  # operations per element, weighted by memory cost: for `threads.split`


class _Sizes(NamedTuple):
    size: tuple[int, int]
    out: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)


class Windows(_Sizes):
    """The sizes of a pooling as (height, width) pairs. Derived properties are computed once."""

    @cached_property
    def reach(self):
        """Return the height and width that the windows cover, from the first padded position."""
        each = zip(self.out, self.kernel, self.stride, self.dilation)
        return tuple((o - 1) * s + d * (k - 1) + 1 for o, k, s, d in each)

    @cached_property
    def covered(self):
        """Return whether the windows lie inside the image."""
        return self.padding == (0, 0) and all(r <= n for r, n in zip(self.reach, self.size))

    @cached_property
    def apart(self):
        """Return whether the windows do not overlap."""
        return all(s >= d * (k - 1) + 1 for k, s, d in zip(self.kernel, self.stride, self.dilation))

    @cached_property
    def lines(self):
        """Return, per axis and position in a window, the slice of a padded axis that all windows read at that
        position."""
        return [
            [slice(k * d, k * d + (o - 1) * s + 1, s) for k in range(count)]
            for o, count, s, d in zip(self.out, self.kernel, self.stride, self.dilation)
        ]

    @cached_property
    def taps(self):
        """Return, per position in a window (row by row), the index of the elements that all windows read at that
        position."""
        return [(..., rows, columns) for rows in self.lines[0] for columns in self.lines[1]]


def _pad_to_windows(x, win, fill):
    """Return `x` padded with `fill` to exactly the area that the windows cover. Rows and columns outside all windows
    are cut off."""
    if win.covered:
        return x
    padded = _empty(x, win.reach)
    padded.fill(fill)
    part = _input_part(padded, win)
    part[...] = x[..., : part.shape[-2], : part.shape[-1]]
    return padded


def _input_part(padded, win):
    """Return the part of a padded array that belongs to the input."""
    (ph, pw), (h, w) = win.padding, win.size
    return padded[..., ph : ph + h, pw : pw + w]


def _empty(x, size):
    """Return an uninitialized array with the dtype, memory order and leading dimensions of `x`."""
    shape = (*x.shape[:-2], *size)
    return module(x).empty(shape, x.dtype) if off_host(x) else memory.empty_like(x, shape=shape)


def _zeros(x, size):
    made = _empty(x, size)
    made.fill(0)
    return made


def _over_windows(function, x, win, fill):
    """Return `function` reduced over all positions of each window; `fill` is the padding value."""
    if off_host(x):
        windows = _windows(_pad_to_windows(x, win, fill), win)
        whole = windows.max if function is np.maximum else windows.sum
        return whole(axis=(-2, -1)).astype(x.dtype, copy=False)
    result = _empty(x, win.out)
    # A maximum reduces rows first, because their memory runs are longer; a sum keeps the order of its additions.
    first = 0 if function is np.maximum else 1

    def work(q):
        covered, out = _pad_to_windows(x[q], win, fill), result[q]
        size = list(covered.shape)
        size[first - 2] = win.out[first]
        between = threads.scratch_like("pooled", covered, tuple(size))
        for axis, source, target in ((first, covered, between), (1 - first, between, out)):
            places = [(..., line) + (slice(None),) * (1 - axis) for line in win.lines[axis]]
            if len(places) == 1:
                target[...] = source[places[0]]
            else:
                function(source[places[0]], source[places[1]], out=target)
            for place in places[2:]:
                function(target, source[place], out=target)

    _by_channels(x, work)
    return result


def _windows(covered, win):
    """Return a view (..., rows, columns, kernel rows, kernel columns) of the elements that each window covers."""
    *lead, row, column = covered.strides
    (sy, sx), (dy, dx) = win.stride, win.dilation
    strides = (*lead, sy * row, sx * column, dy * row, dx * column)
    shape = (*covered.shape[:-2], *win.out, *win.kernel)
    return module(covered).lib.stride_tricks.as_strided(covered, shape, strides)


def _by_channels(x, work):
    """Call `work(index)` for blocks of channels that fit in the cache, with several threads."""
    axis = x.ndim - 3
    count, before = x.shape[axis], (slice(None),) * axis
    size = max(1, BLOCK * count // max(1, x.nbytes))
    threads.in_blocks(
        lambda start, stop: work((*before, slice(start, stop))), count, size, _OPERATIONS * x.size
    )


# -- maximum -----------------------------------------------------------------------------------------------------------
def lowest(dtype):
    """Return the smallest value of a dtype, the neutral element of a maximum."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def maximum(x, win):
    """Return the largest number of each window."""
    return _over_windows(np.maximum, x, win, lowest(x.dtype))


def max_indices(x, win):
    """Return the position of the largest number of each window, as h * W + w (int64). NaN counts as largest, and the
    last NaN wins. If a window contains only the lowest number, return its first position in the image."""
    xp, (h, w), (dy, dx) = module(x), win.size, win.dilation
    windows = _windows(_pad_to_windows(x, win, lowest(x.dtype)), win)
    windows = windows.reshape(*x.shape[:-2], *win.out, win.kernel[0] * win.kernel[1])
    top, left = (xp.arange(o) * s - p for o, s, p in zip(win.out, win.stride, win.padding))
    best = windows.argmax(axis=-1)
    if not win.covered:
        i, j = xp.divmod(xp.arange(windows.shape[-1]), win.kernel[1])
        y, c = top[:, None, None] + i * dy, left[:, None] + j * dx
        inside = (y >= 0) & (y < h) & (c >= 0) & (c < w)
        wins = xp.take_along_axis(xp.broadcast_to(inside, windows.shape), best[..., None], -1)
        best = xp.where(wins[..., 0], best, inside.argmax(axis=-1))
    if x.dtype.kind == "f":
        nan = windows != windows
        last = windows.shape[-1] - 1 - nan[..., ::-1].argmax(axis=-1)
        best = xp.where(nan.any(axis=-1), last, best)
    i, j = xp.divmod(best, win.kernel[1])
    found = (top[:, None] + i * dy) * w + (left + j * dx)
    return found if win.covered else xp.where(inside.any(axis=-1), found, -1)


def max_backward(g, x, largest, win):
    """Return the gradient of the input: add each g to the first position of its window that equals `largest`."""
    usual = not off_host(g) and g.size and g.dtype.kind == "f" and g.dtype.itemsize >= 4
    if not usual or not np.isfinite(largest).all():
        return scatter(g, max_indices(x, win), win.size)
    if g.strides != largest.strides:
        g, given = memory.empty_like(largest), g
        g[...] = given
    dx = memory.empty_like(x)
    _by_channels(x, lambda q: _max_backward(g[q], x[q], largest[q], win, dx[q]))
    return dx


def _max_backward(g, x, largest, win, dx):
    """Write the gradient of the input into `dx`. `largest` must be finite. A bit mask selects the winning positions,
    because `where` takes several times as long."""
    covered = _pad_to_windows(x, win, -np.inf)
    inner = dx if covered is x else memory.empty_like(covered)
    inner.fill(0)
    word = np.dtype(f"i{g.dtype.itemsize}")
    bits, mask = g.view(word), threads.scratch_like("mask", g, g.shape, word)
    taken, wins = (
        threads.scratch_like(name, g, g.shape, np.dtype(bool)) for name in ("taken", "wins")
    )
    taken.fill(False)
    signs = wins.view(np.int8)
    for tap in win.taps:
        np.equal(covered[tap], largest, out=wins)
        np.greater(wins, taken, out=wins)  # wins and not yet taken
        np.logical_or(taken, wins, out=taken)
        np.negative(signs, out=signs)  # all bits set where this position wins
        np.copyto(mask, signs)  # multiplying integers and bytes would need a buffer
        if win.apart:
            np.bitwise_and(bits, mask, out=inner[tap].view(word))
        else:
            inner[tap] += np.bitwise_and(bits, mask, out=mask).view(g.dtype)
    if inner is not dx:
        dx.fill(0)
        part = _input_part(inner, win)
        dx[..., : part.shape[-2], : part.shape[-1]] = part


def scatter(g, indices, size):
    """Return zeros (…, *size) with each g added at its flat index."""
    lead, count = g.shape[:-2], size[0] * size[1]
    xp = module(g)
    flat = xp.zeros((int(np.prod(lead)), count), g.dtype)
    rows, each = xp.arange(len(flat))[:, None], int(np.prod(g.shape[-2:]))
    indices, g = indices.reshape(len(flat), each), g.reshape(len(flat), each)
    # A window with only padding has no winner.
    indices, g = xp.maximum(indices, 0), xp.where(indices < 0, g.dtype.type(0), g)
    add_at(xp, flat, (rows, indices), g)
    return flat.reshape(*lead, *size)


# -- mean --------------------------------------------------------------------------------------------------------------
def divisors(xp, win, count_include_pad, override):
    """Return the divisor of each window's sum: a number, or an array of `xp` (rows, columns)."""
    if override is not None:
        return override
    rows, columns = _counts(np, win, count_include_pad)
    if (rows == rows[0]).all() and (columns == columns[0]).all():
        return int(rows[0] * columns[0])
    rows, columns = _counts(xp, win, count_include_pad)
    return rows[:, None] * columns


def _counts(xp, win, count_include_pad):
    """Yield the number of rows and the number of columns that each window counts."""
    for n, o, k, s, p in zip(win.size, win.out, win.kernel, win.stride, win.padding):
        start = xp.arange(o) * s - p
        stop = xp.minimum(start + k, n + p)
        yield stop - start if count_include_pad else xp.minimum(stop, n) - xp.maximum(start, 0)


def mean(x, win, divisor):
    """Return the mean of each window."""
    return _divided(_over_windows(np.add, x, win, 0), divisor)


def _divided(a, divisor):
    if not isinstance(divisor, int):
        return a / divisor.astype(a.dtype)
    return a / a.dtype.type(divisor) if a.dtype.kind == "f" else a // divisor


def mean_backward(g, win, divisor):
    """Return the adjoint of `mean`."""
    share = _divided(g, divisor)
    size = [max(r, p + n) for r, p, n in zip(win.reach, win.padding, win.size)]
    dx = _zeros(g, size)
    for tap in win.taps:
        dx[tap] += share
    return _input_part(dx, win)


# -- adaptive windows --------------------------------------------------------------------------------------------------
def adaptive_edges(n, out):
    """Return the first position, and one past the last, of each of `out` windows that divide `n` positions evenly."""
    i = np.arange(out)
    return i * n // out, -(-(i + 1) * n // out)


@lru_cache(64)
def _adaptive(size, out):
    """Return the place of each of `out` (rows, columns) windows in the result, and its place in an input of `size`."""
    rows, columns = (list(zip(*adaptive_edges(n, o))) for n, o in zip(size, out))
    return [
        ((..., i, j), (..., slice(int(top), int(bottom)), slice(int(left), int(right))))
        for i, (top, bottom) in enumerate(rows)
        for j, (left, right) in enumerate(columns)
    ]


def adaptive_maximum(x, out):
    """Return (values, flat indices) of the largest number in each of `out` (rows, columns) windows."""
    xp, width = module(x), x.shape[-1]
    values = xp.empty((*x.shape[:-2], *out), x.dtype)
    indices = xp.empty(values.shape, np.int64)
    for place, (_, rows, columns) in _adaptive(x.shape[-2:], tuple(out)):
        window = x[..., rows, columns].reshape(*x.shape[:-2], -1)
        k = window.argmax(-1)
        values[place] = xp.take_along_axis(window, k[..., None], -1)[..., 0]
        across = columns.stop - columns.start
        indices[place] = (rows.start + k // across) * width + columns.start + k % across
    return values, indices


def adaptive_mean(x, out):
    """Return the mean of each of `out` (rows, columns) windows that divide the last two dimensions evenly."""
    result = module(x).empty((*x.shape[:-2], *out), x.dtype)
    for place, window in _adaptive(x.shape[-2:], tuple(out)):
        result[place] = x[window].mean((-2, -1))
    return result


def adaptive_mean_backward(g, size):
    """Return the adjoint of `adaptive_mean`, for an input of `size` (rows, columns)."""
    dx = _zeros(g, size)
    for place, window in _adaptive(tuple(size), g.shape[-2:]):
        part = dx[window]
        part += (g[place] / g.dtype.type(part.shape[-2] * part.shape[-1]))[..., None, None]
    return dx
