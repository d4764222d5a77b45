"""3 x 3 convolutions with fewer multiplications: Winograd's minimal filtering F(2 x 2, 3 x 3).

A tile of 2 x 2 outputs reads 4 x 4 inputs: 36 multiplications for each pair of channels. The tile and the filter turned into sums and
differences first (`B^T d B` and `G w G^T`), 16 products do; sums and differences of these are the outputs (`A^T m A`). For all tiles at once
these are 16 matrix products, over channels alone. The gradient of the weight is the adjoint of the same: 16 products, too.

Rounding is like that of the sums it stands for: B and A hold 0, 1 and -1, G also 1/2. Where those give inf this gives NaN (inf - inf), so that a
result that is not finite is None, and the caller computes it from windows.
Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import memory, threads
from .layout import batch_first, batch_last, by_pixel

CHANNELS = 96  # with fewer, sums and differences take what the products save (measured on processors with AVX-512)
COLUMNS = {False: 128, True: 64}  # forward, backward: of a product from which reading 16 matrices of filters for 9 pays
IMAGES = 8  # forward: with fewer, sums and differences run along memory in pieces so short that nothing is won (a ResNet-18 of 5 images: 4 % lost)
NUMBERS = 1 << 15  # of a matrix of tiles, about: 16 such matrices take 2 MB

_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, -1]])  # the last row turned, so that A^T is [1 1 1 0], [0 1 -1 1]
_TO_TILES = {t: np.kron(_G, _G).astype(t) for t in (np.float32, np.float64)}  # a filter of 9 numbers to 16
_PER_FILTER = 1000.0  # operations to change the basis of one filter of a channel, times the cost of memory: for `threads.split`
_LINES = ((np.subtract, 0, 2), (np.add, 1, 2), (np.subtract, 2, 1), (np.subtract, 1, 3))  # of B^T


def pays(filters, channels, n, dtype, geo, backward=False):
    """Whether a convolution of `n` images by so many filters is faster this way (backward: one of its gradients)."""
    return (
        geo.kernel == (3, 3)
        and geo.stride == geo.dilation == (1, 1)
        and geo.groups == 1
        and min(filters, channels) >= CHANNELS
        and min(geo.size) >= 4
        and (backward or n >= IMAGES)
        and math.prod(_tiles(geo)) * n >= COLUMNS[backward]
        and dtype.type in _TO_TILES
    )


def forward(x, weight, bias, geo, turned=False):
    """`convolution.forward` for arrays that `pays`; None when the result is not finite.

    `turned`: with the kernel rotated by half a turn, inputs and outputs exchanged."""
    o, n, tiles = weight.shape[turned], x.shape[0], _tiles(geo)
    x, y = batch_last(x), memory.empty((o, *geo.out, n), x.dtype)
    run = _by_filters if math.prod(tiles) * n < o else _by_rows
    finite = run(x, weight, None if bias is None else bias[:, None], y, geo.padding, tiles, turned)
    return batch_first(y) if finite else None


def _by_rows(x, weight, bias, y, padding, tiles, turned):
    """Fills `y`; threads take pieces of the tiles. Returns whether all is finite."""
    filters, pixels, finite = _all_filters(weight, turned), by_pixel(y), []

    def work(rows, columns):
        made = _products(filters, _image_tiles(_image(x, rows, columns, padding), range(4)), bias)
        finite.append(math.isfinite(made.sum()))
        _place(made, pixels, rows, columns)

    threads.hand_out(work, _blocks(tiles, max(filters.shape[2:]), x.shape[3], halved=threads.available() > 1), 8.0 * len(x) * y.size)
    return all(finite)


def _by_filters(x, weight, bias, y, padding, tiles, turned):
    """`_by_rows` for less tiles than filters: threads share the transformed channels, and then the filters."""
    (c, o), pixels, finite = (len(x), len(y)), by_pixel(y), []
    tiled, every = memory.empty((4, 4, c, math.prod(tiles) * x.shape[3]), x.dtype), [(0, n) for n in tiles]

    def transform(part, parts):
        share = threads.share(part, parts, c)
        _image_tiles(_image(x[share], *every, padding), range(4), tiled[:, :, share])

    def work(part, parts):
        share = threads.share(part, parts, o)
        filters = _filters(weight[:, share] if turned else weight[share], turned)
        made = _products(filters, tiled, None if bias is None else bias[share])
        finite.append(math.isfinite(made.sum()))
        _place(made, pixels[share], *every)

    threads.split(transform, 50.0 * tiled.size, c)
    threads.split(work, 8.0 * c * y.size, o)
    return all(finite)


def grad_weight(g, x, geo):
    """`convolution.grad_weight` for arrays that `pays`; None when the result is not finite.

    Threads share the lines of the transformed gradient, so that nothing has to be added up between them."""
    (o, c), tiles = (g.shape[1], x.shape[1]), _tiles(geo)
    g, x = batch_last(g), batch_last(x)
    total = memory.empty((4, 4, o, c), x.dtype)

    def work(part, parts):
        lines = range(4)[threads.share(part, parts, 4)]
        target = total[lines.start : lines.stop]
        for number, (rows, columns) in enumerate(_blocks(tiles, max(c, o) * len(lines) // 4, g.shape[-1], halved=part % 2)):
            right = _image_tiles(_image(x, rows, columns, geo.padding), lines)
            left = _gradient_tiles(_by_parity(g, (2 * rows[0], 2 * rows[1]), columns, "gradient"), lines)
            found = threads.scratch("products", target.shape, total.dtype) if number else target
            np.matmul(left, right.swapaxes(2, 3), out=found)
            if number:
                target += found

    threads.split(work, 8.0 * g.size * c, 4)
    made = _gradient(total)
    return made if math.isfinite(made.sum()) else None


# -- the three changes of basis ----------------------------------------------------------------------------------------------
def _filters(weight, turned, out=None):
    """G w G^T: (4, 4, O, C), or (4, 4, C, O) `turned`. A product with a matrix of nine columns, one for each place in the filter."""
    turn = _TO_TILES[weight.dtype.type]
    made = np.matmul(turn[:, ::-1].copy() if turned else turn, weight.reshape(-1, 9).T, out=out)
    made = made.reshape(4, 4, *weight.shape[:2])
    return made.swapaxes(2, 3) if turned else made


def _all_filters(weight, turned):
    """`_filters`, over threads."""
    o, c = weight.shape[:2]
    made = memory.empty((16, o * c), weight.dtype)

    def work(part, parts):
        share = threads.share(part, parts, o)
        _filters(weight[share], turned, made[:, share.start * c : share.stop * c])

    threads.split(work, _PER_FILTER * o * c, o)
    made = made.reshape(4, 4, o, c)
    return made.swapaxes(2, 3) if turned else made


def _gradient(total):
    """G^T u G: (O, C, 3, 3), the adjoint of `_filters`."""
    o, c = total.shape[2:]
    made, turn = np.empty((o, c, 3, 3), total.dtype), _TO_TILES[total.dtype.type]
    filters, places = made.reshape(-1, 9), total.reshape(16, -1).T

    def work(part, parts):
        share = threads.share(part, parts, o * c)
        np.matmul(places[share], turn, out=filters[share])

    threads.split(work, _PER_FILTER * o * c, o)
    return made


def _image_tiles(image, lines, out=None):
    """`lines` (some of 0 … 3) of B^T d B for the tiles of an `image` by parity, as matrices (lines, 4, C, rows * columns * N)."""
    _, c, rows, half, n = image.shape
    rows, columns = rows // 2 - 1, half - 1
    d = [image[:, :, k : 2 * rows + k - 1 : 2] for k in range(4)]
    turned = threads.scratch("image lines", (len(lines), 2, c, rows, half, n), image.dtype)
    for line, target in zip(lines, turned):
        operation, a, b = _LINES[line]
        operation(d[a], d[b], out=target)
    here, after = turned[:, :, :, :, :-1], turned[:, :, :, :, 1:]
    if out is None:
        out = threads.scratch("image tiles", (len(lines), 4, c, rows * columns * n), image.dtype)
    made = out.reshape(len(lines), 4, c, rows, columns, n)
    np.subtract(here, after, out=made[:, ::3])
    np.add(here[:, 1], after[:, 0], out=made[:, 1])
    np.subtract(after[:, 0], here[:, 1], out=made[:, 2])
    return out


def _gradient_tiles(gradient, lines):
    """`lines` of A g A^T for the tiles of a `gradient` by parity, as matrices (lines, 4, O, rows * columns * N)."""
    _, o, rows, columns, n = gradient.shape
    rows, above, below = rows // 2, gradient[:, :, ::2], gradient[:, :, 1::2]
    made = threads.scratch("gradient tiles", (len(lines), 4, o, rows, columns, n), gradient.dtype)
    for line, target in zip(lines, made[:, ::3]):
        if line in (0, 3):
            target[...] = above if line == 0 else below
        else:
            (np.add if line == 1 else np.subtract)(above, below, out=target)
    np.add(made[:, 0], made[:, 3], out=made[:, 1])
    np.subtract(made[:, 0], made[:, 3], out=made[:, 2])
    return made.reshape(len(lines), 4, o, -1)


def _products(filters, tiled, bias):
    """A^T m A, where m are the products of filters (4, 4, O, C) and tiles (4, 4, C, columns): (2, 2, O, columns), by the place of an output in its
    tile."""
    products = threads.scratch("products", (*filters.shape[:3], tiled.shape[-1]), tiled.dtype)
    np.matmul(filters, tiled, out=products)
    if bias is not None:
        products[1, 1] += bias  # this product is added to all four outputs
    o, columns = products.shape[2:]
    lines = threads.scratch("output lines", (2, 4, o, columns), products.dtype)
    _summed(products, lines)
    made = threads.scratch("outputs", (2, 2, o, columns), products.dtype)
    _summed(lines.swapaxes(0, 1), made.swapaxes(0, 1))
    return made


def _summed(m, out):
    """A^T along the first dimension."""
    np.add(m[1], m[2], out=out[0])
    np.subtract(m[1], m[2], out=out[1])
    np.add(out, m[::3], out=out)


# -- tiles in memory ---------------------------------------------------------------------------------------------------------
def _tiles(geo):
    """Rows and columns of tiles; the last ones may reach over the edge."""
    return -(-geo.out[0] // 2), -(-geo.out[1] // 2)


def _blocks(tiles, channels, n, halved):
    """So many rows and columns of tiles in pieces that fit the cache, each (first row, end), (first column, end); `halved`: `threads.out_of_step`."""
    rows, columns = tiles
    total = rows * columns * n
    count, threaded = max(1, min(total // COLUMNS[False], round(total * channels / NUMBERS))), threads.available()
    count = min(rows, -(-count // threaded) * threaded)
    pieces = [(piece, (0, columns)) for piece in threads.shares(0, rows, count)]
    if not halved or columns == 1:
        return pieces
    first = pieces[0][0]
    return threads.out_of_step(pieces, ((first, (0, columns // 2)), (first, (columns // 2, columns))))


def _place(made, pixels, rows, columns):
    """Outputs (2, 2, O, columns) of these rows and columns of tiles, into an image; the last ones may reach over its edge."""
    pixels = pixels[:, 2 * rows[0] : 2 * rows[1], 2 * columns[0] : 2 * columns[1]]
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    made = by_pixel(made.reshape(2, 2, len(pixels), height, width, -1))
    if pixels.shape[1:] == (2 * height, 2 * width):
        pixels.reshape(-1, height, 2, width, 2).transpose(2, 4, 0, 1, 3)[...] = made
        return
    for p in range(2):
        for q in range(2):
            target = pixels[:, p::2, q::2]
            target[...] = made[p, q, :, : target.shape[1], : target.shape[2]]


def _image(x, rows, columns, padding):
    """What these rows and columns of tiles read of x (C, H, W, N), `_by_parity`: of columns one more of each parity."""
    lines = 2 * rows[0] - padding[0], 2 * rows[1] + 2 - padding[0]
    return _by_parity(x, lines, (columns[0], columns[1] + 1), "image", padding[1])


def _by_parity(x, lines, columns, name, left=0):
    """Some lines of x (C, H, W, N), even columns and odd ones apart: (2, C, lines, columns, N). `columns` (from, to) of each parity, counted from
    column -left on; zero outside of the image.

    Neighbouring tiles lie two columns apart; like this what they read lies side by side."""
    channels, h, w, n = x.shape
    (top, end), (first, last) = lines, columns
    rows, count = end - top, last - first
    made = threads.scratch(name, (2, channels, rows, count, n), x.dtype)
    a, b = min(rows, max(0, -top)), max(0, min(rows, h - top))
    if a > 0:
        made[:, :, :a] = 0
    if b < rows:
        made[:, :, b:] = 0
    source, target = by_pixel(x), by_pixel(made)
    for parity in range(2):
        place = 2 * first + parity - left  # of this parity's first column
        c, d = min(count, max(0, (1 - place) // 2)), max(0, min(count, (w - 1 - place) // 2 + 1))
        if c > 0:
            made[parity, :, a:b, :c] = 0
        if d < count:
            made[parity, :, a:b, d:] = 0
        if c < d:
            target[parity, :, a:b, c:d] = source[:, top + a : top + b, 2 * c + place : 2 * d + place - 1 : 2]
    return made
