"""3 x 3 convolutions with fewer multiplications: Winograd's minimal filtering F(2 x 2, 3 x 3).

A tile of 2 x 2 outputs reads 4 x 4 inputs, which takes 36 multiplications for each pair of channels. When the tile and
the filter are first turned into sums and differences (`B^T d B` and `G w G^T`), 16 products do; sums and differences
of these are the outputs (`A^T m A`). For all tiles at once these are 16 matrix products, over channels alone. The
gradient of the weight is the adjoint of the same: 16 products, too.

The changes of basis are products as well, of a matrix of 16 x 16, 4 x 16 or 16 x 9 constants and the numbers at each
place of a tile. Most additions are of zeros, but a product is fast, and one call.

Rounding is like that of the sums it stands for, because B and A hold 0, 1 and -1, G also 1/2. Where those give inf this
gives NaN (inf - inf). So a result that is not finite is None, and the caller computes it from windows. Source: Lavin,
Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import reuse as memory, threads
from .layout import batch_first, batch_last, by_pixel

CHANNELS = (
    64  # with fewer, the changes of basis take what the products save (measured with AVX-512)
)
COLUMNS, GRADIENT_COLUMNS = (
    128,
    64,
)  # of a product, from which 16 matrices of filters in place of 9 pay
PRODUCT = 512  # forward: of channels and images; with less, tiles are copied in too short pieces
NUMBERS = 1 << 15  # of a matrix of tiles, about: 16 such matrices take 2 MB

_B = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])  # transposed, as is A
_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, -1]])
_A = np.array([[1, 1, 1, 0], [0, 1, -1, 1]])
_OF_IMAGE, _OF_FILTER, _OF_PRODUCTS = (
    {t: np.kron(m, m).astype(t) for t in (np.float32, np.float64)} for m in (_B, _G, _A)
)


def pays(filters, channels, n, dtype, geo, found="output"):
    """Return whether a convolution of `n` images by so many filters is faster this way; `found`: or the gradient of its
    "input" or "weight"."""
    fewest, forwards = min(filters, channels), found == "output"
    return (
        geo.kernel == (3, 3)
        and geo.stride == geo.dilation == (1, 1)
        and geo.groups == 1
        and fewest >= CHANNELS
        and min(geo.size) >= 4
        and (fewest * n >= PRODUCT or not forwards)
        and math.prod(_tiles(geo)) * n >= (COLUMNS if forwards else GRADIENT_COLUMNS)
        and dtype.type in _OF_FILTER
    )


def forward(x, weight, bias, geo, turned=False):
    """Return `convolution.forward` for arrays that `pays`; None when the result is not finite.

    `turned`: with the kernel rotated by half a turn, inputs and outputs exchanged."""
    filters = _filters(weight, turned)
    o, n = filters.shape[1], x.shape[0]
    x, y, finite = batch_last(x), memory.empty((o, *geo.out, n), x.dtype), []

    def work(first, last):
        tiles = _image_tiles(x, first, last, geo)
        products = threads.scratch("products", (*filters.shape[:2], tiles.shape[2]), x.dtype)
        np.matmul(filters, tiles, out=products)
        if bias is not None:
            products[5] += bias[:, None]  # this product is added to all four outputs
        made = threads.scratch("outputs", (4, *products.shape[1:]), x.dtype)
        _change(_OF_PRODUCTS[x.dtype.type], products, made)
        finite.append(math.isfinite(made.sum()))
        made = by_pixel(made.reshape(2, 2, o, last - first, -1, n))
        pixels = by_pixel(y[:, 2 * first : 2 * last])
        for p in range(2):
            for q in range(2):  # the last row and column of tiles may reach over the edge
                target = pixels[:, p::2, q::2]
                target[...] = made[p, q, :, : target.shape[1], : target.shape[2]]

    threads.hand_out(work, _blocks(geo, max(filters.shape[1:]), n), 8.0 * len(x) * y.size)
    return batch_first(y) if all(finite) else None


def grad_weight(g, x, geo):
    """Return `convolution.grad_weight` for arrays that `pays`; None when the result is not finite."""
    (n, c), o = x.shape[:2], g.shape[1]
    g, x, sums = batch_last(g), batch_last(x), []
    blocks = _blocks(geo, max(c, o), n)

    def work(part, parts):
        total = None
        for first, last in blocks[part::parts]:
            image = _image_tiles(x, first, last, geo).swapaxes(1, 2)
            gradient = _gradient_tiles(g, first, last)
            if total is None:
                total = memory.empty((16, o, c), x.dtype)
                np.matmul(gradient, image, out=total)
            else:
                total += np.matmul(
                    gradient, image, out=threads.scratch("products", total.shape, x.dtype)
                )
        sums.append(total)

    threads.split(work, 8.0 * g.size * c, len(blocks))
    total = sums[0]
    for other in sums[1:]:
        total += other
    made = total.reshape(16, -1).T @ _OF_FILTER[x.dtype.type]  # the adjoint of `_filters`
    return made.reshape(o, c, 3, 3) if math.isfinite(made.sum()) else None


# -- the changes of basis ----------------------------------------------------------------------------------------------
def _change(matrix, numbers, out):
    """Fill `out` (places, C, columns) from `numbers` (other places, C, columns). One small product per channel, whose
    operands OpenBLAS reads where they lie; a product of all channels it would copy first, which takes twice as long."""
    np.matmul(matrix, numbers.swapaxes(0, 1), out=out.swapaxes(0, 1))
    return out


def _filters(weight, turned):
    """Return G w G^T: (16, O, C), or (16, C, O) `turned`."""
    matrix = _OF_FILTER[weight.dtype.type]
    made = memory.empty((16, weight.shape[0] * weight.shape[1]), weight.dtype)
    np.matmul(matrix[:, ::-1].copy() if turned else matrix, weight.reshape(-1, 9).T, out=made)
    made = made.reshape(16, *weight.shape[:2])
    return made.swapaxes(1, 2) if turned else made


def _image_tiles(x, first, last, geo):
    """Return B^T d B for these rows of tiles of x (C, H, W, N): (16, C, rows * columns * N)."""
    height, width, (py, px) = last - first, _tiles(geo)[1], geo.padding
    part = _by_parity(x, 2 * first - py, 2 * height + 2, -px, width + 1)
    channel, row, parity, pixel, number = part.strides
    # The line in the tile, the column // 2, the column % 2, the channel, and then the tiles.
    read = 4, 2, 2, len(x), height, width * x.shape[3]
    strides = row, pixel, parity, channel, 2 * row, number
    return _changed(_OF_IMAGE, "image tiles", np.ndarray(read, x.dtype, part, 0, strides))


def _gradient_tiles(g, first, last):
    """Return A g A^T for these rows of tiles of g (O, H, W, N): (16, O, rows * columns * N)."""
    height, width = last - first, -(-g.shape[2] // 2)
    part = _by_parity(g, 2 * first, 2 * height, 0, width)
    channel, row, parity, pixel, number = part.strides
    read = 2, 2, len(g), height, width * g.shape[3]
    patches = np.ndarray(read, g.dtype, part, 0, (row, parity, channel, 2 * row, number))
    return _changed({t: m.T for t, m in _OF_PRODUCTS.items()}, "gradient tiles", patches)


def _changed(matrices, name, patches):
    """Return the tiles (places..., C, rows, columns) in another basis."""
    copied = threads.scratch("patches", patches.shape, patches.dtype)
    copied[...] = patches
    channels, rows, columns = patches.shape[-3:]
    matrix = matrices[patches.dtype.type]
    out = threads.scratch(name, (len(matrix), channels, rows * columns), patches.dtype)
    return _change(matrix, copied.reshape(-1, *out.shape[1:]), out)


# -- tiles in memory ---------------------------------------------------------------------------------------------------
def _tiles(geo):
    """Return how many rows and columns of tiles there are; the last ones may reach over the edge."""
    return -(-geo.out[0] // 2), -(-geo.out[1] // 2)


def _blocks(geo, channels, n):
    """Return the rows of tiles in pieces that fit the cache: a list of (first row, end)."""
    rows, columns = _tiles(geo)
    total, threaded = rows * columns * n, threads.available()
    count = max(1, min(total // COLUMNS, round(total * channels / NUMBERS)))
    return list(threads.shares(0, rows, min(rows, -(-count // threaded) * threaded)))


def _by_parity(x, top, lines, left, half):
    """Return some lines of x (C, H, W, N) and 2 * `half` columns, zero outside of the image, even columns and odd ones
    apart: (C, lines, 2, half, N).

    Tiles side by side lie two columns apart; in this order, what they read lies side by side. The array is valid until
    this thread asks again."""
    channels, h, w, n = x.shape
    made = threads.scratch("part of an image", (channels, lines, 2, half, n), x.dtype)
    a, b = (min(max(edge - top, 0), lines) for edge in (0, h))
    made[:, :a] = made[:, b:] = 0
    source, target = by_pixel(x), by_pixel(made)
    for parity in range(2):
        first = left + parity
        # Of this parity's columns, c to d lie inside of the image.
        c, d = (min(max(0, (edge - first + 1) // 2), half) for edge in (0, w))
        made[:, a:b, parity, :c] = made[:, a:b, parity, d:] = 0
        columns = slice(first + 2 * c, max(0, first + 2 * d - 1), 2)
        target[:, a:b, parity, c:d] = source[:, top + a : top + b, columns]
    return made
