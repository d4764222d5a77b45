"""Pooling windows of the last two dimensions of an array; leading dimensions and the order in memory are kept.

A window's largest number is found along one axis first, then along the other in what is left: k + k passes instead of k
* k, each a `maximum` of two strided slices. The first of equal numbers (row by row) wins, as in PyTorch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import reuse as memory, taps, threads
from .scatter import add_at
from .gpu import module, off_host

BLOCK = 1 << 20
_OPERATIONS = 20  # per element, times the cost of memory: for `threads.split`
_WORDS, _BOOL = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}, np.dtype(bool)


class Windows(NamedTuple):
    """Sizes of a pooling: (height, width) pairs."""

    size: tuple[int, int]
    out: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)

    @property
    def reach(self):
        """Height and width that the windows cover, from the first padded position."""
        return tuple(
            (o - 1) * s + d * (k - 1) + 1
            for o, k, s, d in zip(self.out, self.kernel, self.stride, self.dilation)
        )

    @property
    def apart(self):
        """Whether no position lies in two windows."""
        return all(s >= d * (k - 1) + 1 for k, s, d in zip(self.kernel, self.stride, self.dilation))

    def along(self, axis, k):
        """The slice of a padded axis that position `k` of every window reads."""
        start = k * self.dilation[axis]
        return slice(start, start + (self.out[axis] - 1) * self.stride[axis] + 1, self.stride[axis])

    def taps(self):
        """Per window position, row by row: the two slices."""
        return [
            (..., self.along(0, i), self.along(1, j))
            for i in range(self.kernel[0])
            for j in range(self.kernel[1])
        ]


class _Places(NamedTuple):
    """What is asked of the sizes of a pooling again and again."""

    covered: bool  # whether the windows lie inside of the image
    apart: bool
    tiled: bool  # whether they neither overlap nor leave gaps
    rows: list  # per row of a window: the place of what all windows read there
    columns: list
    taps: list


@lru_cache(256)
def _places(win):
    covered = win.padding == (0, 0) and all(r <= n for r, n in zip(win.reach, win.size))
    tiled = (
        all(s == k and d == 1 for k, s, d in zip(win.kernel, win.stride, win.dilation))
        and win.reach == win.size
    )
    rows = [(..., win.along(0, i), slice(None)) for i in range(win.kernel[0])]
    columns = [(..., win.along(1, j)) for j in range(win.kernel[1])]
    return _Places(covered, win.apart, win.apart and tiled, rows, columns, win.taps())


def _covered(x, win, fill):
    """`x` with borders of `fill`, exactly what the windows cover (rows that none covers are cut off)."""
    if _places(win).covered:
        return x
    if off_host(x):
        padded = module(x).empty((*x.shape[:-2], *win.reach), x.dtype)
    else:
        padded = memory.empty_like(x, shape=(*x.shape[:-2], *win.reach))
    padded.fill(fill)
    part = padded[
        ...,
        win.padding[0] : win.padding[0] + x.shape[-2],
        win.padding[1] : win.padding[1] + x.shape[-1],
    ]
    part[...] = x[..., : part.shape[-2], : part.shape[-1]]
    return padded


def _uncovered(padded, win):
    """The adjoint of `_covered`: what belongs to the input itself."""
    (ph, pw), (h, w) = win.padding, win.size
    part = padded[..., ph : ph + h, pw : pw + w]
    if part.shape[-2:] == (h, w):
        return part
    whole = _zeros(padded, (h, w))
    whole[..., : part.shape[-2], : part.shape[-1]] = part
    return whole


def _zeros(x, size):
    """Zeros of the dtype, order in memory and leading dimensions of `x`."""
    shape = (*x.shape[:-2], *size)
    return module(x).zeros(shape, x.dtype) if off_host(x) else memory.zeros_like(x, shape=shape)


def _combined(function, x, places, out):
    """`function` over what lies at these places of `x`, into `out`."""
    if len(places) == 1:
        out[...] = x[places[0]]
        return out
    function(x[places[0]], x[places[1]], out=out)
    for place in places[2:]:
        function(out, x[place], out=out)
    return out


def _over_windows(function, x, win, fill):
    """`function` over all positions of each window; `fill` stands in the padding."""
    if off_host(x):
        xp, covered = module(x), _covered(x, win, fill)
        *lead, row, column = covered.strides
        steps = (
            *lead,
            win.stride[0] * row,
            win.stride[1] * column,
            win.dilation[0] * row,
            win.dilation[1] * column,
        )
        windows = xp.lib.stride_tricks.as_strided(
            covered, (*x.shape[:-2], *win.out, *win.kernel), steps
        )
        return (windows.max if function is np.maximum else windows.sum)(axis=(-2, -1)).astype(
            x.dtype, copy=False
        )
    result, places = memory.empty_like(x, shape=(*x.shape[:-2], *win.out)), _places(win)

    def work(q):
        covered = _covered(x[q], win, fill)
        lead, (h, w) = covered.shape[:-2], covered.shape[-2:]
        if function is np.maximum:  # rows lie in longer runs of memory
            between = threads.scratch_like("pooled", covered, (*lead, win.out[0], w))
            _combined(
                function,
                _combined(function, covered, places.rows, between),
                places.columns,
                result[q],
            )
        else:  # a sum keeps its order of additions
            between = threads.scratch_like("pooled", covered, (*lead, h, win.out[1]))
            _combined(
                function,
                _combined(function, covered, places.columns, between),
                places.rows,
                result[q],
            )

    _by_channels(x, work)
    return result


def _by_channels(x, work):
    """Calls `work(index)` for blocks of channels that stay in the cache, over threads."""
    axis = x.ndim - 3
    count, before = x.shape[axis], (slice(None),) * axis
    size = max(1, BLOCK * count // max(1, x.nbytes))
    threads.in_blocks(
        lambda start, stop: work((*before, slice(start, stop))), count, size, _OPERATIONS * x.size
    )


def lowest(dtype):
    """What never wins a maximum of this dtype."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


# -- maximum -----------------------------------------------------------------------------------------------------------
def maximum(x, win):
    """The largest number of each window."""
    return _over_windows(np.maximum, x, win, lowest(x.dtype))


def max_indices(x, win):
    """Where the largest number of each window lies, as h * W + w (int64). NaN counts as largest, and the last one
    wins."""
    xp, (h, w), (sy, sx), (py, px), (dy, dx) = (
        module(x),
        win.size,
        win.stride,
        win.padding,
        win.dilation,
    )
    top, left = xp.arange(win.out[0]) * sy - py, xp.arange(win.out[1]) * sx - px
    if (
        off_host(x)
        and not py
        and not px
        and all(reach <= size for reach, size in zip(win.reach, win.size))
    ):
        i, j = xp.divmod(_places_in_windows(x, win), win.kernel[1])
        return (top[:, None] + i * dy) * w + (left + j * dx)
    best = xp.full((*x.shape[:-2], *win.out), lowest(x.dtype), x.dtype)
    where = xp.full(best.shape, -1, np.int64)
    for i in range(win.kernel[0]):
        for j in range(win.kernel[1]):
            y, c = top + i * dy, left + j * dx
            inside = ((y >= 0) & (y < h))[:, None] & ((c >= 0) & (c < w))
            value = x[..., y.clip(0, h - 1)[:, None], c.clip(0, w - 1)]
            wins = inside & ((value > best) | (value != value) | (where < 0))
            best = xp.where(wins, value, best)
            where = xp.where(wins, y[:, None] * w + c, where)
    return where


def _places_in_windows(x, win):
    """What `max_indices` says, counted within each window, for windows that need no padding: in few kernels, as a GPU
    wants them."""
    xp, (*lead, row, column) = module(x), x.strides
    steps = (
        *lead,
        win.stride[0] * row,
        win.stride[1] * column,
        win.dilation[0] * row,
        win.dilation[1] * column,
    )
    shape = (*x.shape[:-2], *win.out)
    windows = xp.lib.stride_tricks.as_strided(x, (*shape, *win.kernel), steps).reshape(*shape, -1)
    first = windows.argmax(axis=-1)
    if x.dtype.kind != "f":
        return first
    nan = windows != windows
    return xp.where(nan.any(axis=-1), windows.shape[-1] - 1 - nan[..., ::-1].argmax(axis=-1), first)


def max_backward(g, x, largest, win):
    """Sends each g to the first position of its window that holds `largest`."""
    if (
        off_host(g)
        or g.size == 0
        or g.dtype.kind != "f"
        or g.dtype.itemsize < 4
        or not np.isfinite(largest).all()
    ):
        return scatter(g, max_indices(x, win), win.size)
    if g.strides != largest.strides:
        g, given = memory.empty_like(largest), g
        g[...] = given
    dx = memory.empty_like(x)
    _by_channels(x, lambda q: _max_backward(g[q], x[q], largest[q], win, dx[q]))
    return dx


def _max_backward(g, x, largest, win, dx):
    """Fills `dx`; every `largest` is a number that its window holds."""
    covered, places = _covered(x, win, -np.inf), _places(win)
    inner = dx if covered is x else memory.empty_like(covered)
    if not places.tiled:
        inner.fill(0)
    word = _WORDS[g.dtype.itemsize]
    bits, mask = g.view(word), threads.scratch_like("mask", g, g.shape, word)
    taken, wins = (threads.scratch_like(name, g, g.shape, _BOOL) for name in ("taken", "wins"))
    signs = wins.view(np.int8)
    for number, tap in enumerate(places.taps):
        if number == 0:
            np.equal(covered[tap], largest, out=taken)
            np.copyto(wins, taken)
        elif number < len(places.taps) - 1:
            np.equal(covered[tap], largest, out=wins)
            np.greater(wins, taken, out=wins)  # wins and not taken
            np.logical_or(taken, wins, out=taken)
        else:
            np.logical_not(taken, out=wins)
        np.negative(signs, out=signs)  # all bits set where this tap wins
        np.copyto(mask, signs)  # a product of words and bytes would be made in a buffer
        if places.apart:
            np.bitwise_and(bits, mask, out=inner[tap].view(word))
        else:
            inner[tap] += np.bitwise_and(bits, mask, out=mask).view(g.dtype)
    if inner is not dx:
        dx[...] = _uncovered(inner, win)


def scatter(g, indices, size):
    """Adds each g at its flat index into zeros (…, *size)."""
    lead, count = g.shape[:-2], size[0] * size[1]
    xp = module(g)
    flat = xp.zeros((int(np.prod(lead)), count), g.dtype)
    rows, each = xp.arange(len(flat))[:, None], int(np.prod(g.shape[-2:]))
    indices, g = indices.reshape(len(flat), each), g.reshape(len(flat), each)
    if off_host(g) or (indices < 0).any():  # a window that sees nothing but padding has no winner
        indices, g = xp.maximum(indices, 0), xp.where(indices < 0, g.dtype.type(0), g)
    add_at(xp, flat, (rows, indices), g)
    return flat.reshape(*lead, *size)


def adaptive_edges(n, out, xp=np):
    """First and one past the last position of each of `out` windows that share `n` positions out evenly."""
    i = xp.arange(out)
    return i * n // out, -(-(i + 1) * n // out)


def adaptive_maximum(x, out):
    """(values, flat indices) of the largest number in each of `out` (rows, columns) windows."""
    xp = module(x)
    values = xp.empty((*x.shape[:-2], *out), x.dtype)
    indices = xp.empty(values.shape, np.int64)
    width = x.shape[-1]
    for i, (top, bottom) in enumerate(zip(*adaptive_edges(x.shape[-2], out[0]))):
        for j, (left, right) in enumerate(zip(*adaptive_edges(width, out[1]))):
            window = x[..., top:bottom, left:right].reshape(*x.shape[:-2], -1)
            k = window.argmax(-1)
            values[..., i, j] = xp.take_along_axis(window, k[..., None], -1)[..., 0]
            indices[..., i, j] = (top + k // (right - left)) * width + left + k % (right - left)
    return values, indices


# -- mean --------------------------------------------------------------------------------------------------------------
def divisors(xp, win, count_include_pad, override):
    """By how much each window's sum is divided: a number, or an array of `xp` (rows, columns)."""
    if override is not None:
        return override
    rows, columns = _counts(np, win, count_include_pad)
    if (rows == rows[0]).all() and (columns == columns[0]).all():
        return int(rows[0] * columns[0])
    rows, columns = _counts(xp, win, count_include_pad)
    return rows[:, None] * columns


def _counts(xp, win, count_include_pad):
    """How many rows and how many columns each window counts."""
    for n, o, k, s, p in zip(win.size, win.out, win.kernel, win.stride, win.padding):
        start = xp.arange(o) * s - p
        stop = xp.minimum(start + k, n + p)
        yield stop - start if count_include_pad else xp.minimum(stop, n) - xp.maximum(start, 0)


def mean(x, win, divisor):
    """The mean of each window."""
    return _divided(_over_windows(np.add, x, win, 0), divisor)


def _divided(a, divisor):
    if not isinstance(divisor, int):
        return a / divisor.astype(a.dtype)
    return a / a.dtype.type(divisor) if a.dtype.kind == "f" else a // divisor


def mean_backward(g, win, divisor):
    """The adjoint of `mean`."""
    share = _divided(g, divisor)
    dx = _zeros(g, tuple(max(r, p + n) for r, p, n in zip(win.reach, win.padding, win.size)))
    for tap in win.taps():
        dx[tap] += share
    return _uncovered(dx, win)


def _shares(xp, n, out):
    """(what the windows that share `n` positions out evenly read, how many positions each of them)."""
    start, stop = adaptive_edges(n, out, xp)
    largest = int(np.subtract(*adaptive_edges(n, out)[::-1]).max(initial=1))
    return taps.Reading(
        xp,
        n,
        [taps.Tap(xp.minimum(start + j, n - 1), there=start + j < stop) for j in range(largest)],
    ), stop - start


_shares_on_the_host = lru_cache(64)(lambda n, out: _shares(np, n, out))
_MANY = 8  # positions per window, from which they are summed in one call


def _window_sums(x, out, axis):
    n = x.shape[axis]
    if not off_host(x) and n > _MANY * out:
        return taps.sums(x, *adaptive_edges(n, out), axis)
    return _reading(x, n, out)[0].of(x, axis)


def _reading(x, n, out):
    return _shares(module(x), n, out) if off_host(x) else _shares_on_the_host(n, out)


def _share_out(x, size, out):
    """`x`, of `out` (rows, columns) windows, divided by how many of `size` positions each window has."""
    rows, columns = (_reading(x, n, o)[1].astype(x.dtype) for n, o in zip(size, out))
    return x / rows[:, None] / columns


def adaptive_mean(x, out):
    """The mean of each of `out` (rows, columns) windows that share the last two dimensions out evenly."""
    return _share_out(_window_sums(_window_sums(x, out[1], -1), out[0], -2), x.shape[-2:], out)


def adaptive_mean_backward(g, size):
    """The adjoint of `adaptive_mean`, for an input of `size` (rows, columns)."""
    rows, columns = (_reading(g, n, o)[0] for n, o in zip(size, g.shape[-2:]))
    return columns.back(rows.back(_share_out(g, size, g.shape[-2:]), -2), -1)
