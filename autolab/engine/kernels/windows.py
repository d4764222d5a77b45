"""What the outputs of a convolution read, gathered as matrices, block by block.

The output rows are cut into blocks whose windows fill about 4 MB, so that they are still in the cache when the matrix
product reads them. Padding is never materialised; a window that reaches over the edge is zero there. Which part of the
input goes where depends on sizes alone: `plan` works it out once for all images of these sizes, which takes as long as
a small convolution itself.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import threads
from .layout import Geometry, by_pixel

BLOCK = 1 << 22  # bytes of windows in one block
COLUMNS = 512  # a matrix product of fewer columns is slow
THIN = (
    1 << 14
)  # numbers in a matrix of filters that is multiplied in small products; any other is thick
ROW = {
    True: 32,
    False: 256,
}  # thin or not: columns from which a product for each output row pays (measured on a Zen 4)
# multiplications in such a product: up to there OpenBLAS reads its operands in place, beyond it copies them first
SMALL = 1e6
# multiplications by zeros, from which it pays to leave them out: about what a matrix product takes to begin
SPARED = 2e5


class Sizes(NamedTuple):
    """A convolution's sizes: `channels` and `filters` are those of a group, `item` is the size of a number in bytes."""

    geo: Geometry
    channels: int
    batch: int
    item: int
    filters: int

    @property
    def inner(self):
        """How many numbers an output is the sum of."""
        return self.channels * self.geo.kernel[0] * self.geo.kernel[1]

    @property
    def row(self):
        """How many columns of a matrix an output row is."""
        return self.geo.out[1] * self.batch

    @property
    def thin(self):
        return self.filters * self.inner <= THIN

    @property
    def by_rows(self):
        """Whether windows are better gathered along rows only; see `plan`."""
        kernel, stride, dilation = self.geo.kernel[0], self.geo.stride[0], self.geo.dilation[0]
        return kernel > stride and dilation == 1 and self.row >= ROW[self.thin]

    @property
    def few(self):
        """Whether there are less columns than filters, all of them in one block of windows."""
        columns = self.geo.out[0] * self.row
        return (
            self.geo.groups == 1
            and not self.by_rows
            and columns < self.filters
            and columns <= COLUMNS
        )


class Memory(NamedTuple):
    """How matrices (groups, a, b, rows, columns) lie in an array that fills its memory."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    def of(self, array):
        """They as a view of `array`."""
        return np.ndarray(self.shape, array.dtype, array, self.offset, self.strides)


class Product(NamedTuple):
    """filters[..., inner] @ windows = outputs. `inner` is None when all of the filters' columns take part."""

    inner: slice | None
    windows: Memory
    outputs: Memory


class Block(NamedTuple):
    """Output rows start … start + rows. `gathered` is the shape of the array in which windows are gathered, () where
    the input is that array. `inside` is the part of the input that one copy brings there; None when some of it is zero
    or lies apart. Then `zeros` are places in the array, and `copies` (place in it, column of the kernel, place in what
    that column reads)."""

    start: int
    rows: int
    gathered: tuple[int, ...]
    inside: Memory | None
    zeros: tuple
    copies: tuple
    products: tuple[Product, ...]


@lru_cache(512)
def plan(sizes, by_rows, part=0, parts=1, trimmed=False, alone=False):
    """The blocks of output rows of thread `part` of so many.

    A product has matrices of shape (groups, a, b, inner, columns): a matrices, each cut into b along its columns (see
    `cuts`). Of the two ways to gather, `by_rows` copies less: an input row is copied once for each column of the
    kernel, and the windows of an output row are kh such rows that follow each other, so that windows share memory.
    `inner` is then (kh, channels, kw), and there is a matrix per output row. Otherwise `inner` is (channels, kh, kw),
    and one matrix has the windows of the whole block.

    trimmed: output rows that reach over the edge leave out what is zero, in products of their own, where that spares
    enough (`by_rows` only). alone: the outputs of each block lie in an array of their own, (groups, filters, rows, out
    width, N), and not in one of all rows."""
    geo = sizes.geo
    first, last = _rows(geo, part, parts)
    area = sizes.item * geo.groups * sizes.channels * geo.kernel[1] * sizes.row
    if geo.pointwise:
        rows = geo.out[0]
    elif by_rows:
        rows = (BLOCK // area - geo.kernel[0]) // geo.stride[0] + 1
    else:
        rows = max(BLOCK // (area * geo.kernel[0]), COLUMNS // sizes.row)
    blocks = -(-(last - first) // max(1, rows))
    make = _row_block if by_rows and not geo.pointwise else _whole_block
    return tuple(
        make(sizes, start, stop - start, trimmed, alone)
        for start, stop in threads.shares(first, last, blocks)
    )


def _rows(geo, part, parts):
    """The first output row of thread `part` of so many, and the first one after its last."""
    share = threads.share(part, parts, geo.out[0])
    return share.start, share.stop


def cuts(filters, columns):
    """Into how many products of equal size one of `columns` columns is cut, for a matrix of filters with so many
    numbers."""
    if filters > THIN or filters * columns <= SMALL:
        return 1
    least = math.ceil(filters * columns / SMALL)
    return next((k for k in range(least, min(columns // 64, 8 * least) + 1) if columns % k == 0), 1)


# -- gathering ---------------------------------------------------------------------------------------------------------
def sources(x, geo, part=0, parts=1):
    """What each column of the kernel reads: arrays (groups, channels, H, columns, N) of an `x` of this shape.

    What neighbouring outputs read lies side by side: for a stride, every stride-th column is copied to an array of its
    own. There the rows that thread `part` of so many does not read are left as they are. Valid until this thread asks
    again."""
    step = geo.stride[1]
    if step == 1:
        return [x] * geo.kernel[1]
    first, last = (row * geo.stride[0] - geo.padding[0] for row in _rows(geo, part, parts))
    rows = slice(max(0, first), max(0, last + (geo.kernel[0] - 1) * geo.dilation[0]))
    phases = {}
    for phase, _ in set(_places(geo)):
        if phase not in phases:
            columns = by_pixel(x)[:, :, :, phase::step]
            phases[phase] = threads.scratch(
                ("phase", phase), (*columns.shape, x.shape[-1]), x.dtype
            )
            by_pixel(phases[phase])[:, :, rows] = columns[:, :, rows]
    return [phases[phase] for phase, _ in _places(geo)]


def gather(x, sources, block, gathered=None, channels=None):
    """The array in which the windows of `block` lie: of an input x (groups, channels, H, W, N) that fills its memory,
    and its `sources`.

    Valid until this thread gathers again. Or, of an array `gathered` in which windows are not by rows, the part of
    these `channels` only."""
    if not block.gathered:
        return x
    if gathered is None:
        gathered = threads.scratch("windows", block.gathered, x.dtype)
    inside = None if block.inside is None else block.inside.of(x)
    if channels is not None:
        gathered, sources = gathered[:, channels], [source[:, channels] for source in sources]
        inside = None if inside is None else inside[:, channels]
    if inside is not None:
        np.copyto(gathered, inside)
        return gathered
    for place in block.zeros:
        gathered[place] = 0
    for place, column, read in block.copies:
        source = sources[column]
        gathered[place] = (source if len(block.gathered) == 7 else source.swapaxes(1, 2))[read]
    return gathered


def _places(geo):
    """Per column of the kernel: which phase of the columns it reads, and the place in it that output column 0 reads."""
    starts = (j * geo.dilation[1] - geo.padding[1] for j in range(geo.kernel[1]))
    return [(start % geo.stride[1], start // geo.stride[1]) for start in starts]


def _reached(first, step, count, size):
    """Of the places first, first + step … (count of them): those in 0 … size - 1, as (from, to), and where they lie, as
    a slice."""
    a = min(count, max(0, -(first // step)))
    b = max(a, min(count, (size - 1 - first) // step + 1))
    start = first + a * step
    return a, b, slice(start, start + (b - a - 1) * step + 1, step) if a < b else slice(0, 0)


def _outside(a, b, n):
    """The slices of 0 … n - 1 that a … b - 1 leaves; none that is empty."""
    return [slice(*ends) for ends in ((0, a), (b, n)) if ends[0] < ends[1]]


def _widths(geo):
    """Per column of the kernel: from and to which output column it reads inside of the image, and the slice of its
    source."""
    step = geo.stride[1]
    return [
        _reached(place, 1, geo.out[1], -(-(geo.size[1] - phase) // step))
        for phase, place in _places(geo)
    ]


def _strides(sizes):
    """Of an input (groups, channels, H, W, N), in bytes."""
    h, w = sizes.geo.size
    pixel = sizes.batch * sizes.item
    return sizes.channels * h * w * pixel, h * w * pixel, w * pixel, pixel, sizes.item


def _outputs(sizes, rows, start, each, count, b):
    """Output rows start … start + count of `rows` in memory, as matrices: one for each row, or one of all."""
    line = sizes.row * sizes.item
    a, columns = (count, sizes.row) if each else (1, sizes.row * count)
    strides = (
        sizes.filters * rows * line,
        line,
        columns // b * sizes.item,
        rows * line,
        sizes.item,
    )
    return Memory((sizes.geo.groups, a, b, sizes.filters, columns // b), start * line, strides)


# -- two ways to gather ------------------------------------------------------------------------------------------------
def _whole_block(sizes, start, m, trimmed, alone):
    """(groups, channels, kh, kw, rows, out width, N): one matrix has the windows of the whole block."""
    geo, row, item = sizes.geo, sizes.row, sizes.item
    (kh, kw), (sy, _), (py, px), (dy, dx) = geo.kernel, geo.stride, geo.padding, geo.dilation
    b = cuts(sizes.filters * sizes.inner, m * row)
    outputs = _outputs(sizes, m if alone else geo.out[0], 0 if alone else start, False, m, b)
    group, channel, line, pixel, _ = _strides(sizes)
    shape, columns = (geo.groups, 1, b, sizes.inner, m * row // b), m * row // b * item
    if geo.pointwise:
        windows = Memory(shape, start * line, (group, 0, columns, channel, item))
        return Block(start, m, (), None, (), (), (Product(None, windows, outputs),))
    products = (
        Product(
            None,
            Memory(shape, 0, (sizes.inner * m * row * item, 0, columns, m * row * item, item)),
            outputs,
        ),
    )
    gathered = (geo.groups, sizes.channels, kh, kw, m, geo.out[1], sizes.batch)
    top, all_, zeros, copies = start * sy - py, slice(None), [], []
    for i in range(kh):
        a, b, lines = _reached(top + i * dy, sy, m, geo.size[0])
        zeros += [(all_, all_, i, all_, rows) for rows in _outside(a, b, m)]
        for j, (c, d, columns) in enumerate(_widths(geo) if a < b else ()):
            zeros += [(all_, all_, i, j, slice(a, b), edge) for edge in _outside(c, d, geo.out[1])]
            if c < d:
                copies.append(
                    ((all_, all_, i, j, slice(a, b), slice(c, d)), j, (all_, all_, lines, columns))
                )
    if zeros or geo.stride[1] > 1:
        return Block(start, m, gathered, None, tuple(zeros), tuple(copies), products)
    inside = Memory(
        gathered,
        top * line - px * pixel,
        (group, channel, dy * line, dx * pixel, sy * line, pixel, item),
    )
    return Block(start, m, gathered, inside, (), (), products)


def _row_block(sizes, start, m, trimmed, alone):
    """(groups, input rows, channels, kw, out width, N): a matrix for each output row, kh input rows of these."""
    geo, row, item = sizes.geo, sizes.row, sizes.item
    (kh, kw), (sy, _), (py, px), (_, dx) = geo.kernel, geo.stride, geo.padding, geo.dilation
    top, out_rows, out_start = start * sy - py, m if alone else geo.out[0], 0 if alone else start
    first, last = top, top + (m - 1) * sy + kh
    pieces = _pieces(sizes, top, m) if trimmed else None
    if pieces:
        first = max(0, first)
        last = max(first, min(geo.size[0], last))
    else:
        pieces = [(0, m, 0, kh)]
    read, line, b = (
        last - first,
        sizes.channels * kw * row * item,
        cuts(sizes.filters * sizes.inner, row),
    )
    products = []
    for r, count, low, high in pieces:
        inner = sizes.channels * kw * (high - low)
        windows = Memory(
            (geo.groups, count, b, inner, row // b),
            (top + r * sy + low - first) * line if inner else 0,
            (line * read, line * sy, row // b * item, row * item, item),
        )
        columns = (
            None
            if (low, high) == (0, kh)
            else slice(sizes.channels * kw * low, sizes.channels * kw * high)
        )
        products.append(
            Product(columns, windows, _outputs(sizes, out_rows, out_start + r, True, count, b))
        )
    gathered = (geo.groups, read, sizes.channels, kw, geo.out[1], sizes.batch)
    all_, zeros, copies = slice(None), [], []
    a, b, lines = _reached(first, 1, read, geo.size[0])
    zeros += [(all_, rows) for rows in _outside(a, b, read)]
    for j, (c, d, columns) in enumerate(_widths(geo) if a < b else ()):
        zeros += [(all_, slice(a, b), all_, j, edge) for edge in _outside(c, d, geo.out[1])]
        if c < d:
            copies.append(
                ((all_, slice(a, b), all_, j, slice(c, d)), j, (all_, lines, all_, columns))
            )
    if zeros or geo.stride[1] > 1 or not read:
        return Block(start, m, gathered, None, tuple(zeros), tuple(copies), tuple(products))
    group, channel, height, pixel, _ = _strides(sizes)
    inside = Memory(
        gathered, first * height - px * pixel, (group, height, channel, dx * pixel, pixel, item)
    )
    return Block(start, m, gathered, inside, (), (), tuple(products))


def _pieces(sizes, top, m):
    """Output rows whose windows have the same rows inside of the image: (row in the block, how many, first and last row
    of the kernel)."""
    kh, sy, h = sizes.geo.kernel[0], sizes.geo.stride[0], sizes.geo.size[0]
    pieces, spared = [], 0
    for r in range(m):
        low, high, _ = _reached(top + r * sy, 1, kh, h)
        spared += kh - high + low
        if pieces and pieces[-1][2:] == (low, high):
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + 1, low, high)
        else:
            pieces.append((r, 1, low, high))
    each = sizes.geo.groups * sizes.filters * sizes.channels * sizes.geo.kernel[1] * sizes.row
    return pieces if spared * each >= (len(pieces) - 1) * SPARED else None
