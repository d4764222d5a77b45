"""Convolution as gathering windows and multiplying matrices: the forward map and its two adjoints.

The output rows are cut into blocks whose windows fill about 4 MB, so that they are still in the cache when the matrix product reads them.
Nothing but the input is kept for the backward pass: windows are gathered again. Padding is never materialised; a window that reaches
over the edge is zero there. Source of the method: Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks" (2006).
"""

from __future__ import annotations

import math

import numpy as np

from . import memory, threads, whole, winograd
from .layout import Geometry, batch_first, batch_last

BLOCK = 1 << 22  # bytes of windows in one block
COLUMNS = 512  # a matrix product of fewer columns is slow
THIN = 1 << 14  # numbers in a matrix of filters that is multiplied in small products; any other is thick
ROW = {True: 32, False: 256}  # thin or not: columns from which a product for each output row pays (measured on a Zen 4)
SMALL = 1e6  # multiplications in such a product: up to there OpenBLAS reads its operands in place, beyond it copies them first


# -- windows ---------------------------------------------------------------------------------------------------------------
def _taps(x, geo):
    """Per column of the kernel: an array (groups, C / groups, H, columns, N) and the place in it of what output column 0 reads.

    What neighbouring outputs read lies side by side: for a stride, every stride-th column is copied to an array of its own."""
    (_, kw), (_, step), (_, pad), (_, dilation) = geo.kernel, geo.stride, geo.padding, geo.dilation
    places = [j * dilation - pad for j in range(kw)]
    if step == 1:
        return [(x, place) for place in places]
    phases = {}
    for phase in {place % step for place in places}:
        columns = x[:, :, :, phase::step]
        phases[phase] = threads.scratch(("phase", phase), columns.shape, x.dtype)
        phases[phase][...] = columns
    return [(phases[place % step], place // step) for place in places]


def _read(target, tap, first, step):
    """Fills `target` (groups, C / groups, rows, columns, N) with the rows first, first + step … of a tap; outside of the image is zero."""
    source, place = tap
    (rows, columns), (h, w) = target.shape[2:4], source.shape[2:4]
    a, c = min(rows, max(0, -(first // step))), min(columns, max(0, -place))
    b, d = max(a, min(rows, (h - 1 - first) // step + 1)), max(c, min(columns, w - place))
    if a:
        target[:, :, :a] = 0
    if b < rows:
        target[:, :, b:] = 0
    if c:
        target[:, :, a:b, :c] = 0
    if d < columns:
        target[:, :, a:b, d:] = 0
    if a < b and c < d:
        y = first + a * step
        target[:, :, a:b, c:d] = source[:, :, y : y + (b - a - 1) * step + 1 : step, place + c : place + d]


def _by_rows(geo, filters, inner, row):
    """Whether windows of `inner` numbers, `row` of them for each output row, are gathered along rows only; see `_windows`."""
    return geo.kernel[0] > geo.stride[0] and geo.dilation[0] == 1 and row >= ROW[filters * inner <= THIN]


def _windows(x, taps, geo, filters, by_rows, part, parts):
    """Yields (start, rows, windows) for the blocks of output rows of thread `part`: what these rows read, as matrices to be multiplied by
    `filters` filters (per group), of shape (groups, a, b, inner, columns): a matrices, each cut into b along its columns (see `_cuts`).

    Of the two ways to gather, `by_rows` copies less: an input row is copied once for each column of the kernel, and the windows of
    an output row are kh such rows that follow each other, so that windows share memory. `inner` is then (kh, C / groups, kw), and there is a
    matrix per output row. Otherwise `inner` is (C / groups, kh, kw), and one matrix has the windows of the whole block."""
    groups, cg, _, _, n = x.shape
    (kh, kw), (oh, ow), (sy, _), (py, _), (dy, _) = geo.kernel, geo.out, geo.stride, geo.padding, geo.dilation
    row, inner, item = ow * n, kh * cg * kw, x.itemsize
    first, last = part * oh // parts, (part + 1) * oh // parts
    if geo.pointwise:
        rows = oh
    elif by_rows:
        rows = (BLOCK // (item * groups * cg * kw * row) - kh) // sy + 1
    else:
        rows = max(BLOCK // (item * groups * inner), COLUMNS) // row
    blocks = -(-(last - first) // max(1, rows))
    for start, stop in threads.shares(first, last, blocks):
        m = stop - start
        if by_rows:
            read = (m - 1) * sy + kh
            gathered = threads.scratch("windows", (groups, read, cg, kw, ow, n), x.dtype)
            for j, tap in enumerate(taps):
                _read(gathered[:, :, :, j].swapaxes(1, 2), tap, start * sy - py, 1)
            cuts, line = _cuts(filters * inner, row), item * row
            shape = (groups, m, cuts, inner, row // cuts)
            strides = (line * kw * cg * read, line * kw * cg * sy, line // cuts, line, item)
            yield start, m, np.ndarray(shape, x.dtype, gathered, 0, strides)
            continue
        if geo.pointwise:
            gathered = x.reshape(groups, cg, oh * row)[:, :, start * row : (start + m) * row]
        else:
            gathered = threads.scratch("windows", (groups, cg, kh, kw, m, ow, n), x.dtype)
            for i in range(kh):
                for j, tap in enumerate(taps):
                    _read(gathered[:, :, i, j], tap, start * sy + i * dy - py, sy)
            gathered = gathered.reshape(groups, inner, m * row)
        yield start, m, _cut(gathered, 1, _cuts(filters * inner, m * row))


def _cuts(filters, columns):
    """Into how many products of equal size one of `columns` columns is cut, for a matrix of filters with so many numbers."""
    if filters > THIN or filters * columns <= SMALL:
        return 1
    least = math.ceil(filters * columns / SMALL)
    return next((k for k in range(least, min(columns // 64, 8 * least) + 1) if columns % k == 0), 1)


def _cut(matrix, a, b):
    """(groups, rows, columns) as (groups, a, b, rows, columns / (a * b)), a view."""
    groups, rows, columns = matrix.shape
    return matrix.reshape(groups, rows, a, b, columns // (a * b)).transpose(0, 2, 3, 1, 4)


def _grouped(t, groups):
    """(C, H, W, N) as (groups, C / groups, H, W, N)."""
    return t.reshape(groups, len(t) // groups, *t.shape[1:])


def _matrix(weight, groups, by_rows):
    """Filters as matrices (groups, 1, 1, O / groups, inner), in the order of `_windows`."""
    o, cg, kh, kw = weight.shape
    weight = weight.reshape(groups, o // groups, cg, kh, kw)
    return (_exchanged(weight) if by_rows else weight).reshape(groups, 1, 1, o // groups, cg * kh * kw)


def _exchanged(t):
    """Dimensions 2 and 3 of 5 exchanged, copied one place of the last dimension at a time: NumPy's own copy, in runs as short as that
    dimension, takes three times as long."""
    exchanged = np.empty((*t.shape[:2], t.shape[3], t.shape[2], t.shape[4]), t.dtype)
    for i in range(t.shape[3]):
        for j in range(t.shape[4]):
            exchanged[:, :, i, :, j] = t[:, :, :, i, j]
    return exchanged


# -- the three maps --------------------------------------------------------------------------------------------------------
def forward(x, weight, bias, geo):
    """y[o] = sum over channels and kernel positions of weight * window, plus bias[o]."""
    if whole.off_host(x):
        return whole.forward(x, weight, bias, geo)
    groups, o, n = geo.groups, weight.shape[0], x.shape[0]
    y = memory.empty((o, *geo.out, n), x.dtype)
    if y.size == 0:
        return batch_first(y)
    if winograd.pays(o, x.shape[1], n, x.dtype, geo):
        made = winograd.forward(x, weight, bias, geo)
        if made is not None:
            return made
    x = _grouped(batch_last(x), groups)
    taps, row, inner = _taps(x, geo), geo.out[1] * n, weight[0].size
    by_rows = _by_rows(geo, o // groups, inner, row)
    filters, flat = _matrix(weight, groups, by_rows), y.reshape(groups, o // groups, -1)
    bias = None if bias is None else bias.reshape(groups, -1, 1)

    def work(part, parts):
        for start, m, windows in _windows(x, taps, geo, o // groups, by_rows, part, parts):
            block = flat[:, :, start * row : (start + m) * row]
            np.matmul(filters, windows, out=_cut(block, *windows.shape[1:3]))
            if bias is not None:
                block += bias

    threads.split(work, 2.0 * inner * y.size, geo.out[0])
    return batch_first(y)


def grad_input(g, weight, geo):
    """The adjoint of `forward` in x: what each input position contributed to, weighted by g (N, O, *geo.out)."""
    if whole.off_host(g):
        return whole.grad_input(g, weight, geo)
    groups, (o, cg), (kh, kw), (h, w) = geo.groups, weight.shape[:2], geo.kernel, geo.size
    if geo.stride == (1, 1):
        padding = tuple(d * (k - 1) - p for d, k, p in zip(geo.dilation, geo.kernel, geo.padding))
        back = Geometry(geo.out, geo.size, geo.kernel, (1, 1), padding, geo.dilation, groups)
        if winograd.pays(cg * groups, o, g.shape[0], g.dtype, back, backward=True):
            made = winograd.forward(g, weight, None, back, turned=True)
            if made is not None:
                return made
        if geo.pointwise or o <= 1.5 * cg * groups and w <= 1.25 * geo.out[1]:
            return forward(g, _turned(weight, groups), None, back)
    dx = memory.zeros((cg * groups, h, w, g.shape[0]), g.dtype)
    if dx.size and g.size:
        g, by_group = _grouped(batch_last(g), groups), _grouped(dx, groups)
        weight = weight.reshape(groups, o // groups, cg, kh, kw)
        for first, taken, back in _row_phases(geo):
            turned = weight[:, :, :, taken][:, :, :, ::-1].transpose(0, 2, 4, 1, 3)  # a filter per column of the kernel
            turned = turned.reshape(groups * cg * kw, o // groups, -1, 1)
            _add_rows(g, turned, back, by_group[:, :, first :: geo.stride[0]], geo)
    return batch_first(dx)


def _turned(weight, groups):
    """The kernel rotated by half a turn, with inputs and outputs exchanged."""
    o, cg, kh, kw = weight.shape
    turned = weight[:, :, ::-1, ::-1].reshape(groups, o // groups, cg, kh, kw).swapaxes(1, 2)
    return np.ascontiguousarray(turned).reshape(groups * cg, o // groups, kh, kw)


def _row_phases(geo):
    """Yields (first, rows of the kernel, geometry): these rows of the kernel read the input rows first, first + stride … and no others do, and
    what comes back to such an input row is a convolution of stride 1 along the rows of the output."""
    (kh, _), (sy, _), (py, _), (dy, _), h = geo.kernel, geo.stride, geo.padding, geo.dilation, geo.size[0]
    common = math.gcd(sy, dy)
    for i in range(min(sy // common, kh)):
        first = (i * dy - py) % sy
        if first < h:
            taken = range(i, kh, sy // common)
            padding = (len(taken) - 1) * dy // common - (first + py - i * dy) // sy
            out = (-(-(h - first) // sy), geo.out[1])
            back = Geometry(geo.out, out, (len(taken), 1), (1, 1), (padding, 0), (dy // common, 1), geo.groups)
            yield first, slice(i, kh, sy // common), back


def _add_rows(g, weight, back, dx, geo):
    """Adds to the input rows `dx` what comes back from the output: a product for each column of the kernel, added where that column read.

    So kw numbers are added to each, and not kh * kw as if windows were scattered one by one."""
    groups, cg, _, w, n = dx.shape
    (_, kw), (_, sx), (_, px), (_, dilation), (oh, ow) = geo.kernel, geo.stride, geo.padding, geo.dilation, back.out
    row, inner = ow * n, weight[0].size
    by_rows = _by_rows(back, cg * kw, inner, row)
    filters, taps = _matrix(weight, groups, by_rows), _taps(g, back)
    reached = []
    for place in (j * dilation - px for j in range(kw)):
        c = min(ow, max(0, -(place // sx)))
        d = max(c, min(ow, (w - 1 - place) // sx + 1))
        reached.append((slice(place + c * sx, place + d * sx, sx), slice(c, d)) if c < d else None)

    def work(part, parts):
        for start, m, windows in _windows(g, taps, back, cg * kw, by_rows, part, parts):
            found = threads.scratch("product", (groups, cg * kw, m * row), g.dtype)
            np.matmul(filters, windows, out=_cut(found, *windows.shape[1:3]))
            found = found.reshape(groups, cg, kw, m, ow, n)
            for j, columns in enumerate(reached):
                if columns is not None:
                    target = dx[:, :, start : start + m, columns[0]]
                    np.add(target, found[:, :, j, :, columns[1]], out=target)

    threads.split(work, 2.0 * filters.size * oh * row, oh)


def grad_weight(g, x, geo):
    """The adjoint of `forward` in the weight: sums over positions of g times window; shape (O, C / groups, kh, kw)."""
    if whole.off_host(g):
        return whole.grad_weight(g, x, geo)
    groups, (n, c), o, (kh, kw) = geo.groups, x.shape[:2], g.shape[1], geo.kernel
    cg, og, row = c // groups, o // groups, geo.out[1] * n
    if g.size == 0 or x.size == 0:
        return np.zeros((o, cg, kh, kw), g.dtype)
    if winograd.pays(o, c, n, g.dtype, geo, backward=True):
        made = winograd.grad_weight(g, x, geo)
        if made is not None:
            return made
    g, x = batch_last(g).reshape(groups, og, -1), _grouped(batch_last(x), groups)
    taps, inner = _taps(x, geo), cg * kh * kw
    thin = og * inner <= THIN
    by_rows = thin and _by_rows(geo, og, inner, row)  # one sum per row: too many numbers when there are many filters
    sums = [None] * threads.available()

    def work(part, parts):
        total = None
        for start, m, windows in _windows(x, taps, geo, og, by_rows, part, parts):
            block = _cut(g[:, :, start * row : (start + m) * row], *windows.shape[1:3])
            # the gradient transposed: with the windows on the left OpenBLAS is twice as fast for thin filters, by up to a tenth for others
            found = np.matmul(windows, block.swapaxes(3, 4))
            found = np.add.reduce(found, axis=(1, 2)) if thin else found[:, 0, 0]
            total = found if total is None else np.add(total, found, out=total)
        sums[part] = total

    threads.split(work, 2.0 * inner * g.size, min(geo.out[0], len(sums)))
    total, *others = (s for s in sums if s is not None)
    for other in others:
        total += other
    total = total.swapaxes(1, 2)
    if by_rows:
        total = _exchanged(total.reshape(groups, og, kh, cg, kw))
    return np.ascontiguousarray(total).reshape(o, cg, kh, kw)


def grad_bias(g):
    """The sum of g over everything but channels, (O,)."""
    if whole.off_host(g):
        return whole.grad_bias(g)
    if g.size == 0:
        return np.zeros(g.shape[1], g.dtype)
    flat = batch_last(g).reshape(g.shape[1], -1)
    return threads.product(flat, ones(flat.shape[1], g.dtype))


_ones: dict = {}


def ones(n, dtype):
    """A vector of ones; sums as products with it are several times faster than `add.reduce`, and as exact."""
    found = _ones.get((n, dtype))
    if found is None:
        if len(_ones) > 32:
            _ones.clear()
        found = _ones[n, dtype] = np.ones(n, dtype)
        found.flags.writeable = False
    return found
