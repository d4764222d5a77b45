"""3 x 3 convolutions with fewer multiplications: Winograd's minimal filtering F(2 x 2, 3 x 3).

A tile of 2 x 2 outputs reads 4 x 4 inputs: 36 multiplications for each pair of channels. The tile and the filter turned into sums and
differences first (`B^T d B` and `G w G^T`), 16 products do; sums and differences of these are the outputs (`A^T m A`). For all tiles at once
these are 16 matrix products, over channels alone. The gradient of the weight is the adjoint of the same: 16 products, too.

Rounding is like that of the sums it stands for: B and A hold 0, 1 and -1, G also 1/2. What is not finite would spread over a tile, so that a result
that is not finite is None, and the caller computes it by the definition.
Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

import math

import numpy as np

from . import memory, threads
from .layout import batch_first, batch_last

CHANNELS = 96  # with fewer, sums and differences take what the products save (measured on processors with AVX-512)
COLUMNS = {False: 128, True: 64}  # forward, backward: of a product from which reading 16 matrices of filters for 9 pays
NUMBERS = 1 << 16  # of a matrix of tiles: four of them, and what is made of them, stay in a core's cache of 1-2 MB

_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
_SIGNS = np.array([1, 1, 1, -1])  # A's last row is left positive for the tiles of a gradient, and turned here
_TO_TILES = {t: np.kron(_G, _G).astype(t) for t in (np.float32, np.float64)}  # a filter of 9 numbers to 16
_TO_FILTER = {t: (np.kron(_SIGNS, _SIGNS)[:, None] * turn).astype(t) for t, turn in _TO_TILES.items()}
_ROWS = ((np.subtract, 0, 2), (np.add, 1, 2), (np.subtract, 2, 1), (np.subtract, 1, 3))  # B^T, row by row


def pays(filters, channels, n, dtype, geo, backward=False):
    """Whether a convolution of `n` images by so many filters is faster this way (backward: one of its gradients)."""
    return (
        geo.kernel == (3, 3)
        and geo.stride == geo.dilation == (1, 1)
        and geo.groups == 1
        and min(filters, channels) >= CHANNELS
        and min(geo.size) >= 4
        and math.prod(_tiles(geo)) * n >= COLUMNS[backward]
        and dtype.type in _TO_TILES
    )


def forward(x, weight, bias, geo, turned=False):
    """`convolution.forward` for arrays that `pays`; None when the result is not finite.

    `turned`: with the kernel rotated by half a turn, inputs and outputs exchanged."""
    filters = _filters(weight, turned)
    (o, c), n, tiles, pad = filters.shape[2:], x.shape[0], _tiles(geo), geo.padding
    x, y = batch_last(x), memory.empty((o, *geo.out, n), x.dtype)
    pixels, finite = _pixels(y), []
    bias = None if bias is None else bias[:, None]

    def work(part, parts):
        first, last = part * tiles[0] // parts, (part + 1) * tiles[0] // parts
        image = _by_parity(x, 2 * first - pad[0], 2 * (last - first) + 2, pad[1], tiles[1] + 1, "image")
        for start, stop in _blocks(first, last, max(c, o), tiles[1] * n):
            rows = stop - start
            made = _outputs(image, filters, bias, start - first, rows, tiles[1])
            finite.append(math.isfinite(made.sum()))
            outputs = _pixels(made.reshape(2, 2, o, rows, tiles[1], n))
            for p in range(2):
                for q in range(2):
                    target = pixels[:, 2 * start + p : 2 * stop : 2, q::2]
                    target[...] = outputs[p, q, :, : target.shape[1], : target.shape[2]]

    threads.split(work, 8.0 * c * y.size, tiles[0])
    return batch_first(y) if all(finite) else None


def grad_weight(g, x, geo):
    """`convolution.grad_weight` for arrays that `pays`; None when the result is not finite.

    Threads share the rows of the transformed gradient, so that nothing has to be added up between them."""
    (o, c), tiles, pad = (g.shape[1], x.shape[1]), _tiles(geo), geo.padding
    g, x = batch_last(g), batch_last(x)
    total = np.empty((4, 4, o, c), x.dtype)

    def work(part, parts):
        image = _by_parity(x, -pad[0], 2 * tiles[0] + 2, pad[1], tiles[1] + 1, "image")
        gradient = _by_parity(g, 0, 2 * tiles[0], 0, tiles[1], "gradient")
        for i in range(part * 4 // parts, (part + 1) * 4 // parts):
            for start, stop in _blocks(0, tiles[0], max(c, o), tiles[1] * g.shape[-1]):
                right = _tile_row(image, i, start, stop - start, tiles[1])
                left = _gradient_row(gradient, i, start, stop - start, tiles[1])
                found = threads.scratch("found", (4, o, c), total.dtype) if start else total[i]
                np.matmul(left, right.swapaxes(1, 2), out=found)
                if start:
                    total[i] += found

    threads.split(work, 8.0 * g.size * c, 4)
    made = _gradient(total)
    return made if math.isfinite(made.sum()) else None


# -- the three changes of basis ----------------------------------------------------------------------------------------------
def _filters(weight, turned):
    """G w G^T: (4, 4, O, C), or (4, 4, C, O) `turned`. A product with a matrix of nine columns, one for each place in the filter."""
    o, c = weight.shape[:2]
    made, turn = np.empty((16, o * c), weight.dtype), _TO_TILES[weight.dtype.type]
    turn, places = turn[:, ::-1].copy() if turned else turn, weight.reshape(-1, 9).T

    def work(part, parts):
        share = slice(part * o // parts * c, (part + 1) * o // parts * c)
        np.matmul(turn, places[:, share], out=made[:, share])

    threads.split(work, 288.0 * o * c, o)
    made = made.reshape(4, 4, o, c)
    return made.swapaxes(2, 3) if turned else made


def _gradient(total):
    """G^T u G: (O, C, 3, 3), the adjoint of `_filters`."""
    o, c = total.shape[2:]
    made, turn = np.empty((o * c, 9), total.dtype), _TO_FILTER[total.dtype.type]
    places = total.reshape(16, -1).T

    def work(part, parts):
        share = slice(part * o // parts * c, (part + 1) * o // parts * c)
        np.matmul(places[share], turn, out=made[share])

    threads.split(work, 288.0 * o * c, o)
    return made.reshape(o, c, 3, 3)


def _tile_row(image, i, first, rows, columns):
    """Row i of B^T d B for tile rows first … first + rows, as matrices (4, C, rows * columns * N), one for each column of it."""
    operation, a, b = _ROWS[i]
    _, c, _, half, n = image.shape
    a, b = (image[:, :, 2 * first + k : 2 * (first + rows) + k - 1 : 2] for k in (a, b))
    line = operation(a, b, out=threads.scratch("line", (2, c, rows, half, n), image.dtype))
    (even, odd), made = line, threads.scratch("tiles", (4, c, rows, columns, n), image.dtype)
    even, after, odd, beyond = even[:, :, :-1], even[:, :, 1:], odd[:, :, :-1], odd[:, :, 1:]
    np.subtract(even, after, out=made[0])
    np.add(odd, after, out=made[1])
    np.subtract(after, odd, out=made[2])
    np.subtract(odd, beyond, out=made[3])
    return made.reshape(4, c, -1)


def _outputs(image, filters, bias, first, rows, columns):
    """A^T m A for tile rows first … first + rows: (2, 2, O, rows * columns * N), by the place of an output in its tile.

    Row by row of m, so that what one matrix product wrote is summed while it is in the cache."""
    o, count = filters.shape[2], rows * columns * image.shape[-1]
    found = threads.scratch("found", (4, o, count), image.dtype)
    made = threads.scratch("made", (2, 2, o, count), image.dtype)
    line = threads.scratch("part", (2, o, count), image.dtype)
    for i, target in enumerate((made[0], made[1], line, line)):
        np.matmul(filters[i], _tile_row(image, i, first, rows, columns), out=found)
        if i == 1 and bias is not None:
            found[1] += bias  # this product is added to all four outputs
        np.add(found[0], found[1], out=target[0])
        target[0] += found[2]
        np.subtract(found[1], found[2], out=target[1])
        target[1] -= found[3]
        if i in (1, 2):
            made[0] += target
        if i > 1:
            made[1] -= target
    return made


def _gradient_row(gradient, i, first, rows, columns):
    """Row i of A g A^T for tile rows first … first + rows, as matrices (4, O, rows * columns * N)."""
    _, o, _, _, n = gradient.shape
    above, below = (gradient[:, :, 2 * first + k : 2 * (first + rows) : 2] for k in (0, 1))
    made = threads.scratch("gradient tiles", (4, o, rows, columns, n), gradient.dtype)
    if i in (0, 3):
        made[::3] = above if i == 0 else below
    else:
        (np.add if i == 1 else np.subtract)(above, below, out=made[::3])
    np.add(made[0], made[3], out=made[1])
    np.subtract(made[0], made[3], out=made[2])
    return made.reshape(4, o, -1)


# -- tiles in memory ---------------------------------------------------------------------------------------------------------
def _tiles(geo):
    """Rows and columns of tiles; the last ones may reach over the edge."""
    return -(-geo.out[0] // 2), -(-geo.out[1] // 2)


def _blocks(first, last, channels, row):
    """Tile rows first … last in pieces that the cache holds, `row` columns of a matrix for each."""
    most = max(1, NUMBERS // (channels * row))
    return threads.shares(first, last, -(-(last - first) // most))


def _pixels(t):
    """(…, N) as one item per pixel: NumPy copies items of any size faster than short rows of numbers."""
    return t.view(f"V{t.shape[-1] * t.itemsize}")[..., 0]


def _by_parity(x, top, rows, left, half, name):
    """The rows top … top + rows of x, from column -left on, even columns and odd ones apart: (2, C, rows, half, N); zero outside of the image.

    Neighbouring tiles lie two columns apart; like this what they read lies side by side."""
    channels, h, w, n = x.shape
    made = threads.scratch(name, (2, channels, rows, half, n), x.dtype)
    a, b = min(rows, max(0, -top)), max(0, min(rows, h - top))
    made[:, :, :a] = 0
    made[:, :, b:] = 0
    source, target = _pixels(x), _pixels(made)
    for parity in range(2):
        place = parity - left  # of this parity's first column
        c, d = min(half, max(0, (1 - place) // 2)), max(0, min(half, (w - 1 - place) // 2 + 1))
        made[parity, :, a:b, :c] = 0
        made[parity, :, a:b, d:] = 0
        target[parity, :, a:b, c:d] = source[:, top + a : top + b, 2 * c + place : 2 * d + place - 1 : 2]
    return made
