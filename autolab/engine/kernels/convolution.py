"""Convolution by gathering windows and multiplying matrices: the forward function and its two adjoints.

The output rows are cut into blocks whose windows fill about 4 MB, so that they are still in the cache when the matrix
product reads them. For the backward pass only the input is kept, and its windows are gathered again. Source of the
method: Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks" (2006).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import reuse as memory, threads, gpu
from .layout import Geometry, batch_first, batch_last, by_pixel
from .products import matmul

BLOCK = 1 << 22  # bytes of windows in one block
COLUMNS = 512  # a matrix product with fewer columns is slow
THIN = 1 << 14  # maximum size of a filter matrix for which small products are fast
ROW = {True: 32, False: 256}  # thin or not: minimum columns for one product per output row
SPARED = 2e5  # minimum multiplications by zero that justify another product
SMALL = 1e6  # multiplications up to which OpenBLAS reads operands without a copy


class Windows:
    """The windows of a convolution, gathered as matrices (groups, a, inner, columns).

    There are two methods. `by_rows` copies less: each input row is copied once for each column of the kernel. The
    windows of an output row are kh consecutive rows of that copy, so windows share memory; `inner` is (kh, channels,
    kw), and there are `a` matrices, one per output row. The other method has `inner` (channels, kh, kw), and one matrix
    holds the windows of the whole block."""

    def __init__(self, x, filters, geo, rows_pay=True):
        self.x = batch_last(x)
        self.x = self.x.reshape(geo.groups, -1, *self.x.shape[1:])
        self.geo, self.channels, self.row = geo, self.x.shape[1], geo.out[1] * x.shape[0]
        self.inner = self.channels * math.prod(geo.kernel)
        self.size = filters * self.inner  # the size of the filter matrix
        self.thin = self.size <= THIN
        self.by_rows = (
            (self.thin or rows_pay)
            and geo.kernel[0] > geo.stride[0]
            and geo.dilation[0] == 1
            and self.row >= ROW[self.thin]
        )

    def blocks(self, part, parts):
        """Return (first output row, number of rows) for each block of thread `part`."""
        share = threads.share(part, parts, self.geo.out[0])
        area = self.x.itemsize * self.geo.groups * self.channels * self.geo.kernel[1] * self.row
        if self.by_rows:
            rows = (BLOCK // area - self.geo.kernel[0]) // self.geo.stride[0] + 1
        else:
            rows = max(BLOCK // (area * self.geo.kernel[0]), COLUMNS // self.row)
        count = share.stop - share.start
        if self.geo.pointwise or not count:
            return [(share.start, count)] * bool(count)
        cuts = threads.shares(share.start, share.stop, -(-count // max(1, rows)))
        return [(first, last - first) for first, last in cuts]

    def gather(self, start, m):
        """Return the windows of `m` output rows; they are valid until this thread calls `gather` again."""
        geo, n = self.geo, self.x.shape[-1]
        (kh, kw), (sy, sx), (dy, dx) = geo.kernel, geo.stride, geo.dilation
        if geo.pointwise:
            return self.x[:, :, start : start + m].reshape(geo.groups, 1, self.channels, -1)
        top, count = start * sy - geo.padding[0], (m - 1) * sy + dy * (kh - 1) + 1
        if self.by_rows:
            a, b = (min(max(0, edge - top), count) for edge in (0, geo.size[0]))
            read = self._read(top + a, top + b)
            group, channel, line, pixel, item = read.strides
            shape = (geo.groups, count, self.channels, kw, geo.out[1], n)
            gathered = threads.scratch("windows", shape, read.dtype)
            gathered[:, :a] = gathered[:, b:] = 0
            strides = (group, line, channel, dx * pixel, sx * pixel, item)
            self._copy(read, strides, gathered[:, a:b])
            group, line, *_ = gathered.strides
            shape, strides = (
                (geo.groups, m, self.inner, self.row),
                (group, sy * line, self.row * item, item),
            )
            return np.ndarray(shape, read.dtype, gathered, 0, strides)
        read = self._read(top, top + count)
        group, channel, line, pixel, item = read.strides
        shape = (geo.groups, self.channels, kh, kw, m, geo.out[1], n)
        gathered = threads.scratch("windows", shape, read.dtype)
        strides = (group, channel, dy * line, dx * pixel, sy * line, sx * pixel, item)
        self._copy(read, strides, gathered)
        return gathered.reshape(geo.groups, 1, self.inner, -1)

    def _copy(self, read, strides, gathered):
        """Copy the elements that windows read. If they are not adjacent, copy pixel by pixel, which is faster than
        short runs."""
        source = as_strided(read, gathered.shape, strides)
        if self.geo.stride[1] == 1:
            gathered[...] = source
        else:
            by_pixel(gathered)[...] = by_pixel(source)

    def _read(self, first, end):
        """Return input rows first … end - 1 as (groups, channels, rows, width, N), with zeros around the image."""
        geo, (h, w), px = self.geo, self.geo.size, self.geo.padding[1]
        width = (geo.out[1] - 1) * geo.stride[1] + geo.dilation[1] * (geo.kernel[1] - 1) + 1
        if not px and width <= w and 0 <= first and end <= h:
            return self.x[:, :, first:end]
        shape = (*self.x.shape[:2], end - first, width, self.x.shape[-1])
        padded = threads.scratch("padded", shape, self.x.dtype)
        (a, b), (c, d) = (
            [min(max(0, edge - start), size) for edge in (0, whole)]
            for start, size, whole in ((first, end - first, h), (-px, width, w))
        )
        padded[:, :, :a] = padded[:, :, b:] = padded[:, :, a:b, :c] = padded[:, :, a:b, d:] = 0
        padded[:, :, a:b, c:d] = self.x[:, :, first + a : first + b, c - px : d - px]
        return padded

    def matrix(self, weight):
        """Return filters (O, channels, kh, kw) as matrices that match the matrices of `gather`."""
        weight = weight.reshape(self.geo.groups, -1, *weight.shape[1:])
        weight = _swap_kernel_dims(weight) if self.by_rows else weight
        return weight.reshape(self.geo.groups, 1, 1, -1, self.inner)

    def results(self, y, start, m):
        """Return `m` output rows of an array (O, *out, N) as matrices that match the matrices of `gather`."""
        if self.by_rows:
            y = y.reshape(self.geo.groups, len(y) // self.geo.groups, -1, self.row)
            return y[:, :, start : start + m].swapaxes(1, 2)
        y = y.reshape(self.geo.groups, 1, len(y) // self.geo.groups, -1)
        return y[..., start * self.row : (start + m) * self.row]

    def multiply(self, filters, start, m, out):
        """Fill `out`, matrices of `m` output rows, with the products of `filters` and their windows."""
        windows, out = self.cut(self.gather(start, m)), self.cut(out)
        each = self.channels * self.geo.kernel[1]
        for first, end, low, high in self._pieces(start, m):
            rows, inner = slice(first, end), slice(low * each, high * each)
            matmul(filters[..., inner], windows[:, rows, :, inner], out=out[:, rows])

    def _pieces(self, start, m):
        """Return runs of output rows whose windows have the same rows inside the image, as (first row, end, first
        kernel row, end), so that the zero padding need not be multiplied."""
        kh, sy, py, h = (
            t[0] for t in (self.geo.kernel, self.geo.stride, self.geo.padding, self.geo.size)
        )
        if not self.by_rows or not py:
            return [(0, m, 0, kh)]
        runs, spared = [], 0
        for r in range(m):
            top = (start + r) * sy - py
            low, high = max(0, -top), max(0, min(kh, h - top))
            spared += kh - max(0, high - low)
            if runs and runs[-1][2:] == (low, high):
                runs[-1] = runs[-1][0], r + 1, low, high
            else:
                runs.append((r, r + 1, low, high))
        pays = spared * self.size / kh * self.row >= (len(runs) - 1) * SPARED
        return runs if pays else [(0, m, 0, kh)]

    def cut(self, matrices):
        """Return the columns of matrices in pieces of equal size, small enough for OpenBLAS to read without a copy, if
        the filters are thin."""
        columns, pieces = matrices.shape[-1], 1
        if self.thin and self.size * columns > SMALL:
            least = math.ceil(self.size * columns / SMALL)
            possible = range(least, min(columns // 64, 8 * least) + 1)
            pieces = next((k for k in possible if columns % k == 0), 1)
        return matrices.reshape(*matrices.shape[:-1], pieces, -1).swapaxes(-3, -2)


# -- the three functions -----------------------------------------------------------------------------------------------
def forward(x, weight, bias, geo):
    """Return y[o] = sum over channels and kernel positions of weight * window, plus bias[o]."""
    if gpu.off_host(x):
        return gpu.forward(x, weight, bias, geo)
    o, n = weight.shape[0], x.shape[0]
    y = memory.empty((o, *geo.out, n), x.dtype)
    if not y.size:
        return batch_first(y)
    windows = Windows(x, o // geo.groups, geo)
    filters = windows.matrix(weight)
    bias = None if bias is None else bias[:, None]

    def by_filters(part, parts):
        """Compute a part of the filters. If threads shared the output rows, each would read all filters, the biggest
        array here."""
        share = threads.share(part, parts, o)
        out = flat[share]
        matmul(filters[0, 0, 0, share], all_windows, out=out)
        if bias is not None:
            out += bias[share]

    def by_output_rows(part, parts):
        for start, m in windows.blocks(part, parts):
            windows.multiply(filters, start, m, windows.results(y, start, m))
            if bias is not None:
                made = flat[:, start * windows.row : (start + m) * windows.row]
                np.add(made, bias, out=made)

    flat = y.reshape(o, -1)
    if geo.groups == 1 and not windows.by_rows and _is_small(flat.shape[1], o):
        all_windows = windows.gather(0, geo.out[0])[0, 0]
        threads.split(by_filters, 2.0 * windows.inner * y.size, o)
    else:
        threads.split(by_output_rows, 2.0 * windows.inner * y.size, geo.out[0])
    return batch_first(y)


def _is_small(columns, filters):
    """Return whether a matrix of windows is so small that threads should share the filters instead."""
    return columns < filters and columns <= COLUMNS


def _swap_kernel_dims(t):
    """Return a copy with dimensions 2 and 3 of 5 exchanged. Big arrays are copied one index of the last dimension at a
    time, because NumPy's own copy, with such short runs, takes three times as long."""
    if t.size <= THIN:
        return t.swapaxes(2, 3).copy()
    exchanged = np.empty((*t.shape[:2], t.shape[3], t.shape[2], t.shape[4]), t.dtype)
    for i in range(t.shape[3]):
        for j in range(t.shape[4]):
            exchanged[:, :, i, :, j] = t[:, :, :, i, j]
    return exchanged


def grad_input(g, weight, geo):
    """Return the gradient of the input for the gradient `g` (N, O, *geo.out) of the result: the adjoint of `forward` in
    x."""
    # The other methods multiply weights by the zero padding, which gives NaN for an infinite weight.
    if gpu.off_host(g) or not np.isfinite(weight.sum()):
        return gpu.grad_input(g, weight, geo)
    groups, (o, cg), n, (sy, _) = geo.groups, weight.shape[:2], g.shape[0], geo.stride
    by_group = weight.reshape(groups, o // groups, *weight.shape[1:])
    if geo.stride == (1, 1):
        padding = tuple(d * (k - 1) - p for d, k, p in zip(geo.dilation, geo.kernel, geo.padding))
        back = Geometry(geo.out, geo.size, geo.kernel, (1, 1), padding, geo.dilation, groups)
        if geo.pointwise or o <= 1.5 * cg * groups:
            turned = by_group[..., ::-1, ::-1].swapaxes(1, 2)
            return forward(g, turned.reshape(groups * cg, -1, *geo.kernel), None, back)
    dx = memory.zeros((groups, cg, *geo.size, n), g.dtype)
    if dx.size and g.size:
        # The kernel's rows i, i + step … read the same input rows, and no other kernel rows do. So the gradient of
        # these input rows is a convolution of stride 1 along the rows of the output, with a filter for each column of
        # the kernel.
        common = math.gcd(sy, geo.dilation[0])
        step, dilation = sy // common, geo.dilation[0] // common
        for i in range(min(step, geo.kernel[0])):
            first = (i * geo.dilation[0] - geo.padding[0]) % sy
            rows = dx[:, :, first::sy]
            filters = by_group[:, :, :, i::step][:, :, :, ::-1].transpose(0, 2, 4, 1, 3)
            reach = (filters.shape[4] - 1) * dilation
            padding = reach - (first + geo.padding[0] - i * geo.dilation[0]) // sy
            out, kernel = (rows.shape[2], geo.out[1]), (filters.shape[4], 1)
            back = Geometry(geo.out, out, kernel, (1, 1), (padding, 0), (dilation, 1), groups)
            if out[0]:
                filters = filters.reshape(-1, o // groups, *kernel)
                _add_rows(g, filters, back, rows, geo)
    return batch_first(dx.reshape(-1, *geo.size, n))


def _add_rows(g, filters, back, dx, geo):
    """Add the gradients from the output to the input rows `dx`: one product per kernel column, added where that column
    read. So each input element gets kw additions instead of kh * kw."""
    groups, cg, _, w, n = dx.shape
    kw, windows = geo.kernel[1], Windows(g, len(filters) // back.groups, back)
    places = [
        _slices_inside(j * geo.dilation[1] - geo.padding[1], geo.stride[1], back.out[1], w)
        for j in range(kw)
    ]
    filters = windows.matrix(filters)

    def work(part, parts):
        for start, m in windows.blocks(part, parts):
            found = threads.scratch("product", (groups * cg * kw, m, back.out[1], n), g.dtype)
            windows.multiply(filters, start, m, windows.results(found, 0, m))
            found = found.reshape(groups, cg, kw, m, back.out[1], n)
            for j, (made, columns) in enumerate(places):
                target = dx[:, :, start : start + m, columns]
                target += found[:, :, j, :, made]

    threads.split(work, 2.0 * filters.size * back.out[0] * windows.row, back.out[0])


def _slices_inside(first, step, count, size):
    """Return two slices: which of the places first, first + step … (count of them) are in 0 … size - 1, and where."""
    a = min(count, max(0, -(first // step)))
    b = max(a, min(count, (size - 1 - first) // step + 1))
    start = first + a * step
    return slice(a, b), slice(start, start + (b - a - 1) * step + 1, step) if a < b else slice(0, 0)


def grad_weight(g, x, geo):
    """Return the adjoint of `forward` in the weight: sums over positions of g times window; (O, C / groups, kh, kw)."""
    if gpu.off_host(g):
        return gpu.grad_weight(g, x, geo)
    groups, c, o = geo.groups, x.shape[1], g.shape[1]
    if not g.size or not x.size:
        return np.zeros((o, c // groups, *geo.kernel), g.dtype)
    # With many filters, one sum per output row would take too much memory.
    windows, flops = Windows(x, o // groups, geo, rows_pay=False), 2.0 * g.size
    g = batch_last(g)
    sums = []

    def work(part, parts):
        total = None
        for start, m in windows.blocks(part, parts):
            # Compute the transposed gradient: for thin filters, OpenBLAS is twice as fast with the windows on the left.
            right = windows.cut(windows.results(g, start, m)).swapaxes(3, 4)
            found = matmul(windows.cut(windows.gather(start, m)), right)
            found = np.add.reduce(found, axis=(1, 2)) if windows.thin else found[:, 0, 0]
            total = found if total is None else np.add(total, found, out=total)
        sums.append(total)

    threads.split(work, flops * windows.inner, min(geo.out[0], threads.available()))
    total = sums[0]
    for other in sums[1:]:
        total += other
    total = total.swapaxes(1, 2)
    if windows.by_rows:
        kh, kw = geo.kernel
        total = total.reshape(groups, o // groups, kh, c // groups, kw).swapaxes(2, 3)
    return np.ascontiguousarray(total).reshape(o, c // groups, *geo.kernel)


def grad_bias(g):
    """Return the sum of g over all dimensions but channels, (O,)."""
    if gpu.off_host(g):
        return gpu.grad_bias(g)
    if not g.size:
        return np.zeros(g.shape[1], g.dtype)
    flat = batch_last(g).reshape(g.shape[1], -1)
    return threads.product(flat, ones(flat.shape[1], g.dtype))


_ones: dict = {}


def ones(n, dtype):
    """Return a vector of ones. Sums computed as products with it are several times faster than `add.reduce`, and as
    exact."""
    found = _ones.get((n, dtype))
    if found is None:
        if len(_ones) > 32:
            _ones.clear()
        found = _ones[n, dtype] = np.ones(n, dtype)
        found.flags.writeable = False
    return found
