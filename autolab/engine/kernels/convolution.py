"""Convolution as gathering windows (`windows.py`) and multiplying matrices: the forward map and its two adjoints.

Nothing but the input is kept for the backward pass: windows are gathered again. Source of the method: Chellapilla,
Puri, Simard, "High Performance Convolutional Neural Networks" (2006).
"""

from __future__ import annotations

import math

import numpy as np

from . import reuse as memory, threads, gpu as whole, winograd
from .layout import Geometry, batch_first, batch_last
from .windows import THIN, Sizes, gather, plan, sources


def _grouped(t, groups):
    """(C, H, W, N) as (groups, C / groups, H, W, N)."""
    return t.reshape(groups, len(t) // groups, *t.shape[1:])


def _matrix(weight, groups, by_rows):
    """Filters as matrices (groups, 1, 1, O / groups, inner), in the order of the windows."""
    o, cg, kh, kw = weight.shape
    weight = weight.reshape(groups, o // groups, cg, kh, kw)
    return (_exchanged(weight) if by_rows else weight).reshape(
        groups, 1, 1, o // groups, cg * kh * kw
    )


def _exchanged(t):
    """Dimensions 2 and 3 of 5 exchanged. Big arrays are copied one place of the last dimension at a time: NumPy's own
    copy, in runs as short as that dimension, takes three times as long."""
    if t.size <= THIN:
        return t.swapaxes(2, 3).copy()
    exchanged = np.empty((*t.shape[:2], t.shape[3], t.shape[2], t.shape[4]), t.dtype)
    for i in range(t.shape[3]):
        for j in range(t.shape[4]):
            exchanged[:, :, i, :, j] = t[:, :, :, i, j]
    return exchanged


def _multiply(filters, x, read, block, out):
    """The products of filters (groups, 1, 1, O / groups, inner) and the windows of a block, into the array `out`."""
    gathered = gather(x, read, block)
    for inner, windows, outputs in block.products:
        np.matmul(
            filters if inner is None else filters[..., inner],
            windows.of(gathered),
            out=outputs.of(out),
        )


# -- the three maps ----------------------------------------------------------------------------------------------------
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
    x, sizes = (
        _grouped(batch_last(x), groups),
        Sizes(geo, x.shape[1] // groups, n, x.itemsize, o // groups),
    )
    row, by_rows = sizes.row, sizes.by_rows
    filters, flat = _matrix(weight, groups, by_rows), y.reshape(o, -1)
    bias = None if bias is None else bias[:, None]
    if sizes.few:
        _by_filters(x, filters[0, 0, 0], bias, geo, sizes, flat)
        return batch_first(y)

    def work(part, parts):
        read = sources(x, geo, part, parts)
        for block in plan(sizes, by_rows, part, parts, trimmed=True):
            _multiply(filters, x, read, block, y)
            if bias is not None:
                made = flat[:, block.start * row : (block.start + block.rows) * row]
                np.add(made, bias, out=made)

    threads.split(work, 2.0 * sizes.inner * y.size, geo.out[0])
    return batch_first(y)


def _by_filters(x, filters, bias, geo, sizes, y):
    """Fills `y` (O, columns), for less columns than filters: threads share the channels to gather, and then the
    filters.

    Shares of output rows would each read all filters, the biggest of the arrays; and seven rows are no even share for
    two."""
    (block,), read = plan(sizes, False), sources(x, geo)
    gathered = memory.empty(block.gathered, x.dtype) if block.gathered else x

    def collect(part, parts):
        gather(x, read, block, gathered, threads.share(part, parts, x.shape[1]))

    def multiply(part, parts):
        share = threads.share(part, parts, len(y))
        np.matmul(filters[share], windows, out=y[share])
        if bias is not None:
            y[share] += bias[share]

    if block.gathered:
        threads.split(collect, 100.0 * gathered.size, x.shape[1])
    windows = gathered.reshape(filters.shape[1], -1)
    threads.split(multiply, 2.0 * filters.size * y.shape[1], len(y))


def grad_input(g, weight, geo):
    """The adjoint of `forward` in x: what each input position contributed to, weighted by g (N, O, *geo.out)."""
    if whole.off_host(g) or not np.isfinite(
        weight.sum()
    ):  # the others multiply weights by the zeros of a border
        return whole.grad_input(g, weight, geo)
    groups, (o, cg), (kh, kw), (h, w) = geo.groups, weight.shape[:2], geo.kernel, geo.size
    if geo.stride == (1, 1):
        padding = tuple(d * (k - 1) - p for d, k, p in zip(geo.dilation, geo.kernel, geo.padding))
        back = Geometry(geo.out, geo.size, geo.kernel, (1, 1), padding, geo.dilation, groups)
        if winograd.pays(cg * groups, o, g.shape[0], g.dtype, back, "input"):
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
            turned = weight[:, :, :, taken][:, :, :, ::-1].transpose(
                0, 2, 4, 1, 3
            )  # a filter per column of the kernel
            turned = turned.reshape(groups * cg * kw, o // groups, -1, 1)
            _add_rows(g, turned, back, by_group[:, :, first :: geo.stride[0]], geo)
    return batch_first(dx)


def _turned(weight, groups):
    """The kernel rotated by half a turn, with inputs and outputs exchanged."""
    o, cg, kh, kw = weight.shape
    turned = weight[:, :, ::-1, ::-1].reshape(groups, o // groups, cg, kh, kw).swapaxes(1, 2)
    return np.ascontiguousarray(turned).reshape(groups * cg, o // groups, kh, kw)


def _row_phases(geo):
    """Yields (first, rows of the kernel, geometry): these rows of the kernel read the input rows first, first + stride
    … and no others do, and what comes back to such an input row is a convolution of stride 1 along the rows of the
    output."""
    (kh, _), (sy, _), (py, _), (dy, _), h = (
        geo.kernel,
        geo.stride,
        geo.padding,
        geo.dilation,
        geo.size[0],
    )
    common = math.gcd(sy, dy)
    for i in range(min(sy // common, kh)):
        first = (i * dy - py) % sy
        if first < h:
            taken = range(i, kh, sy // common)
            padding = (len(taken) - 1) * dy // common - (first + py - i * dy) // sy
            out = (-(-(h - first) // sy), geo.out[1])
            back = Geometry(
                geo.out, out, (len(taken), 1), (1, 1), (padding, 0), (dy // common, 1), geo.groups
            )
            yield first, slice(i, kh, sy // common), back


def _add_rows(g, weight, back, dx, geo):
    """Adds to the input rows `dx` what comes back from the output: a product for each column of the kernel, added where
    that column read.

    So kw numbers are added to each, and not kh * kw as if windows were scattered one by one."""
    groups, cg, _, w, n = dx.shape
    (_, kw), (_, sx), (_, px), (_, dilation), ow = (
        geo.kernel,
        geo.stride,
        geo.padding,
        geo.dilation,
        back.out[1],
    )
    sizes = Sizes(back, g.shape[1], n, g.itemsize, cg * kw)
    by_rows = sizes.by_rows
    filters = _matrix(weight, groups, by_rows)
    reached = []
    for place in (j * dilation - px for j in range(kw)):
        c = min(ow, max(0, -(place // sx)))
        d = max(c, min(ow, (w - 1 - place) // sx + 1))
        reached.append((slice(place + c * sx, place + d * sx, sx), slice(c, d)) if c < d else None)

    def work(part, parts):
        read = sources(g, back, part, parts)
        for block in plan(sizes, by_rows, part, parts, trimmed=True, alone=True):
            start, m = block.start, block.rows
            found = threads.scratch("product", (groups, cg, kw, m, ow, n), g.dtype)
            _multiply(filters, g, read, block, found)
            for j, columns in enumerate(reached):
                if columns is not None:
                    target = dx[:, :, start : start + m, columns[0]]
                    np.add(target, found[:, :, j, :, columns[1]], out=target)

    threads.split(work, 2.0 * filters.size * back.out[0] * sizes.row, back.out[0])


def grad_weight(g, x, geo):
    """The adjoint of `forward` in the weight: sums over positions of g times window; shape (O, C / groups, kh, kw)."""
    if whole.off_host(g):
        return whole.grad_weight(g, x, geo)
    groups, (n, c), o, (kh, kw) = geo.groups, x.shape[:2], g.shape[1], geo.kernel
    if g.size == 0 or x.size == 0:
        return np.zeros((o, c // groups, kh, kw), g.dtype)
    if winograd.pays(o, c, n, g.dtype, geo, "weight"):
        made = winograd.grad_weight(g, x, geo)
        if made is not None:
            return made
    sizes = Sizes(geo, c // groups, n, x.itemsize, o // groups)
    g, x = batch_last(g), _grouped(batch_last(x), groups)
    thin = sizes.thin
    by_rows = (
        thin and sizes.by_rows
    )  # one sum per row: too many numbers when there are many filters
    sums = [None] * threads.available()

    def work(part, parts):
        total, read = None, sources(x, geo, part, parts)
        for block in plan(sizes, by_rows, part, parts):
            ((_, windows, outputs),) = block.products
            # the gradient transposed: with the windows on the left OpenBLAS is twice as fast for thin filters, by up to
            # a tenth for others
            found = np.matmul(windows.of(gather(x, read, block)), outputs.of(g).swapaxes(3, 4))
            found = np.add.reduce(found, axis=(1, 2)) if thin else found[:, 0, 0]
            total = found if total is None else np.add(total, found, out=total)
        sums[part] = total

    threads.split(work, 2.0 * sizes.inner * g.size, min(geo.out[0], len(sums)))
    total, *others = (s for s in sums if s is not None)
    for other in others:
        total += other
    total, made = total.swapaxes(1, 2), np.empty((o, c // groups, kh, kw), total.dtype)
    if by_rows:
        made.reshape(groups, o // groups, c // groups, kh, kw)[...] = total.reshape(
            groups, o // groups, kh, c // groups, kw
        ).swapaxes(2, 3)
    else:
        made.reshape(total.shape)[...] = total
    return made


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
