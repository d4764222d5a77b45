"""3 x 3 convolutions with fewer multiplications: Winograd's minimal filtering F(2 x 2, 3 x 3).

A tile of 2 x 2 outputs reads 4 x 4 inputs: 36 multiplications for each pair of channels. The tile and the filter turned
into sums and differences first (`B^T d B` and `G w G^T`), 16 products do; sums and differences of these are the outputs
(`A^T m A`). For all tiles at once these are 16 matrix products, over channels alone. The gradient of the weight is the
adjoint of the same: 16 products, too.

The changes of basis are products as well, of a matrix of 16 x 16, 4 x 16 or 16 x 9 constants and the numbers at each
place of a tile: most additions are of zeros, but a product is fast, and one call. Between calls Python wants its lock,
for which a second thread waits.

Rounding is like that of the sums it stands for: B and A hold 0, 1 and -1, G also 1/2. Where those give inf this gives
NaN (inf - inf), so that a result that is not finite is None, and the caller computes it from windows. Source: Lavin,
Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import reuse as memory, threads
from .layout import batch_first, batch_last, by_pixel

CHANNELS = 64  # with fewer, the changes of basis take what the products save (measured on processors with AVX-512)
# the same for the gradient of the weight when several threads share its 16 places, for all of them gather all tiles
SHARED = 96
COLUMNS, GRADIENT_COLUMNS = (
    128,
    64,
)  # of a product from which reading 16 matrices of filters for 9 pays
PRODUCT = 512  # forward: of channels and images; with less, tiles are copied in pieces so short that nothing is won
NUMBERS = 1 << 15  # of a matrix of tiles, about: 16 such matrices take 2 MB

_B = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])  # transposed, as is A
_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, -1]])
_A = np.array([[1, 1, 1, 0], [0, 1, -1, 1]])
_OF_IMAGE, _OF_FILTER, _OF_PRODUCTS = (
    {t: np.kron(m, m).astype(t) for t in (np.float32, np.float64)} for m in (_B, _G, _A)
)
# operations to change the basis of one filter of a channel, times the cost of memory: for `threads.split`
_PER_FILTER = 1000.0


def pays(filters, channels, n, dtype, geo, found="output"):
    """Whether a convolution of `n` images by so many filters is faster this way; `found`: or the gradient of its
    "input" or "weight"."""
    fewest, forwards = min(filters, channels), found == "output"
    return (
        geo.kernel == (3, 3)
        and geo.stride == geo.dilation == (1, 1)
        and geo.groups == 1
        and fewest >= (SHARED if found == "weight" and threads.available() > 1 else CHANNELS)
        and min(geo.size) >= 4
        and (fewest * n >= PRODUCT or not forwards)
        and math.prod(_tiles(geo)) * n >= (COLUMNS if forwards else GRADIENT_COLUMNS)
        and dtype.type in _OF_FILTER
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
        finite.append(
            _outputs(filters, _image_tiles(x, rows, columns, padding), bias, pixels, rows, columns)
        )

    threads.hand_out(
        work,
        _blocks(tiles, max(filters.shape[1:]), x.shape[3], halved=threads.available() > 1),
        8.0 * len(x) * y.size,
    )
    return all(finite)


def _by_filters(x, weight, bias, y, padding, tiles, turned):
    """`_by_rows` for less tiles than filters: threads share the transformed channels, and then the filters."""
    (c, o), pixels, finite = (len(x), len(y)), by_pixel(y), []
    tiled, every = (
        memory.empty((16, c, math.prod(tiles) * x.shape[3]), x.dtype),
        [(0, n) for n in tiles],
    )

    def transform(part, parts):
        share = threads.share(part, parts, c)
        _image_tiles(x[share], *every, padding, out=tiled[:, share])

    def work(part, parts):
        share = threads.share(part, parts, o)
        filters = _filters(weight[:, share] if turned else weight[share], turned)
        finite.append(
            _outputs(filters, tiled, None if bias is None else bias[share], pixels[share], *every)
        )

    threads.split(transform, 50.0 * tiled.size, c)
    threads.split(work, 8.0 * c * y.size, o)
    return all(finite)


def grad_weight(g, x, geo):
    """`convolution.grad_weight` for arrays that `pays`; None when the result is not finite.

    Threads share the 16 places, so that nothing has to be added up between them."""
    (o, c), tiles = (g.shape[1], x.shape[1]), _tiles(geo)
    g, x = batch_last(g), batch_last(x)
    total = memory.empty((16, o, c), x.dtype)

    def work(part, parts):
        places = threads.share(part, parts, 16)
        target = total[places]
        for number, (rows, columns) in enumerate(
            _blocks(tiles, max(c, o) * len(target) // 16, g.shape[-1], halved=part % 2)
        ):
            right, left = (
                _image_tiles(x, rows, columns, geo.padding, places),
                _gradient_tiles(g, rows, columns, places),
            )
            found = threads.scratch("products", target.shape, total.dtype) if number else target
            np.matmul(left, right.swapaxes(1, 2), out=found)
            if number:
                target += found

    threads.split(work, 8.0 * g.size * c, 4)
    made = _gradient(total)
    return made if math.isfinite(made.sum()) else None


# -- the changes of basis ----------------------------------------------------------------------------------------------
def _changed(matrix, numbers, out):
    """Fills `out` (places, C, columns) from `numbers` (other places, C, columns). One small product per channel, whose
    operands OpenBLAS reads where they lie; a product of all channels it would copy first, which takes twice as long."""
    np.matmul(matrix, numbers.swapaxes(0, 1), out=out.swapaxes(0, 1))
    return out


def _filters(weight, turned, out=None):
    """G w G^T: (16, O, C), or (16, C, O) `turned`. A product with a matrix of nine columns, one for each place in the
    filter."""
    turn = _OF_FILTER[weight.dtype.type]
    made = np.matmul(turn[:, ::-1].copy() if turned else turn, weight.reshape(-1, 9).T, out=out)
    made = made.reshape(16, *weight.shape[:2])
    return made.swapaxes(1, 2) if turned else made


def _all_filters(weight, turned):
    """`_filters`, over threads."""
    o, c = weight.shape[:2]
    made = memory.empty((16, o * c), weight.dtype)

    def work(part, parts):
        share = threads.share(part, parts, o)
        _filters(weight[share], turned, made[:, share.start * c : share.stop * c])

    threads.split(work, _PER_FILTER * o * c, o)
    made = made.reshape(16, o, c)
    return made.swapaxes(1, 2) if turned else made


def _gradient(total):
    """G^T u G: (O, C, 3, 3), the adjoint of `_filters`."""
    o, c = total.shape[1:]
    made, turn = np.empty((o, c, 3, 3), total.dtype), _OF_FILTER[total.dtype.type]
    filters, places = made.reshape(-1, 9), total.reshape(16, -1).T

    def work(part, parts):
        share = threads.share(part, parts, o * c)
        np.matmul(places[share], turn, out=filters[share])

    threads.split(work, _PER_FILTER * o * c, o)
    return made


def _image_tiles(x, rows, columns, padding, places=slice(None), out=None):
    """B^T d B for these rows and columns of tiles of x (C, H, W, N), at some of the 16 `places`: (places, C, rows *
    columns * N)."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    top, left = 2 * rows[0] - padding[0], 2 * columns[0] - padding[1]
    part = _by_parity(x, (top, top + 2 * height + 2), (left, left + 2 * width + 2))
    channel, row, parity, pixel, number = part.strides
    read = (
        4,
        2,
        2,
        len(x),
        height,
        width * x.shape[3],
    )  # line in the tile, column // 2, column % 2, …
    patches = threads.scratch("patches", read, x.dtype)
    patches[...] = np.ndarray(
        read, x.dtype, part, 0, (row, pixel, parity, channel, 2 * row, number)
    )
    change = _OF_IMAGE[x.dtype.type][places]
    if out is None:
        out = threads.scratch(
            "image tiles", (len(change), len(x), height * width * x.shape[3]), x.dtype
        )
    return _changed(change, patches.reshape(16, *out.shape[1:]), out)


def _gradient_tiles(g, rows, columns, places):
    """A g A^T for these rows and columns of tiles of g (O, H, W, N), at some of the 16 `places`: (places, O, rows *
    columns * N)."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    bottom, right = 2 * rows[1], 2 * columns[1]
    if bottom <= g.shape[1] and right <= g.shape[2]:
        part = (
            by_pixel(g)[:, 2 * rows[0] : bottom, 2 * columns[0] : right]
            .reshape(-1, height, 2, width, 2)
            .swapaxes(3, 4)
        )
    else:
        part = by_pixel(_by_parity(g, (2 * rows[0], bottom), (2 * columns[0], right))).reshape(
            -1, height, 2, 2, width
        )
    patches = threads.scratch(
        "gradient patches", (2, 2, len(g), height, width, g.shape[3]), g.dtype
    )
    by_pixel(patches)[...] = part.transpose(2, 3, 0, 1, 4)
    change = _OF_PRODUCTS[g.dtype.type].T[places]
    out = threads.scratch(
        "gradient tiles", (len(change), len(g), height * width * g.shape[3]), g.dtype
    )
    return _changed(change, patches.reshape(4, *out.shape[1:]), out)


def _outputs(filters, tiled, bias, pixels, rows, columns):
    """A^T m A, where m are the products of filters (16, O, C) and tiles (16, C, columns), into an image `by_pixel`, at
    these rows and columns of tiles. Returns whether all is finite."""
    products = threads.scratch("products", (*filters.shape[:2], tiled.shape[2]), tiled.dtype)
    np.matmul(filters, tiled, out=products)
    if bias is not None:
        products[5] += bias  # this product is added to all four outputs
    made = threads.scratch("outputs", (4, *products.shape[1:]), products.dtype)
    _changed(_OF_PRODUCTS[products.dtype.type], products, made)
    _place(made, pixels, rows, columns)
    return math.isfinite(made.sum())


# -- tiles in memory ---------------------------------------------------------------------------------------------------
def _tiles(geo):
    """Rows and columns of tiles; the last ones may reach over the edge."""
    return -(-geo.out[0] // 2), -(-geo.out[1] // 2)


def _blocks(tiles, channels, n, halved):
    """So many rows and columns of tiles in pieces that fit the cache, each (first row, end), (first column, end);
    `halved`: `threads.out_of_step`.

    A row is cut only where it is much longer than the cache: short products take longer than what they save."""
    rows, columns = tiles
    total = rows * columns * n
    count, threaded = (
        max(1, min(total // COLUMNS, round(total * channels / NUMBERS))),
        threads.available(),
    )
    count = min(rows, -(-count // threaded) * threaded)
    parts = min(columns, max(1, columns * n * channels // (2 * NUMBERS)))
    pieces = [
        (piece, part)
        for piece in threads.shares(0, rows, count)
        for part in threads.shares(0, columns, parts)
    ]
    if not halved or columns == parts:
        return pieces
    lines, (first, last) = pieces[0]
    middle = (first + last) // 2
    return threads.out_of_step(pieces, ((lines, (first, middle)), (lines, (middle, last))))


def _place(made, pixels, rows, columns):
    """Outputs (4, O, columns) of these rows and columns of tiles, into an image; the last ones may reach over its
    edge."""
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


def _by_parity(x, lines, columns):
    """Lines (from, to) and columns of x (C, H, W, N), zero outside of the image, even columns and odd ones apart: (C,
    lines, 2, columns / 2, N).

    Tiles side by side lie two columns apart; like this what they read lies side by side. Valid until this thread asks
    again."""
    (top, bottom), (left, right), (channels, h, w, n) = lines, columns, x.shape
    half = (right - left) // 2
    made = threads.scratch("part of an image", (channels, bottom - top, 2, half, n), x.dtype)
    a, b = (min(max(edge, 0), h) - top for edge in lines)
    made[:, :a] = made[:, b:] = 0
    source, target = by_pixel(x), by_pixel(made)
    for parity in range(2):
        first = left + parity
        c, d = (
            min(max(0, (edge - first + 1) // 2), half) for edge in (0, w)
        )  # of this parity's columns, those inside
        made[:, a:b, parity, :c] = made[:, a:b, parity, d:] = 0
        target[:, a:b, parity, c:d] = source[
            :, top + a : top + b, first + 2 * c : max(0, first + 2 * d - 1) : 2
        ]
    return made
