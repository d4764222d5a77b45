"""Convolution as gathering windows and multiplying matrices: the forward map and its two adjoints.

The output rows are cut into blocks whose windows fill about 2 MB, so that they are still in the cache when the matrix product reads them.
Nothing but the input is kept for the backward pass: windows are gathered again. Padding is never materialised; a window that reaches
over the edge is zero there. Source of the method: Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks" (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import memory, threads, whole

BLOCK = 1 << 21  # bytes of windows in one block
COLUMNS = 512  # a matrix product of fewer columns is slow


@dataclass(frozen=True)
class Geometry:
    """Sizes of a two-dimensional convolution: (height, width) pairs. `padding` may be negative (rows that are skipped)."""

    size: tuple[int, int]  # of the input
    out: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int = 1

    @property
    def pointwise(self):
        """Whether every output is made of one input position."""
        return self.kernel == (1, 1) and self.padding == (0, 0)


def batch_last(x):
    """(N, C, H, W) -> contiguous (C, H, W, N); no copy when it already lies so."""
    t = x.transpose(1, 2, 3, 0)
    if t.flags.c_contiguous:
        return t
    copied = memory.empty(t.shape, t.dtype)
    copied[...] = t
    return copied


def batch_first(t):
    """The view (N, C, H, W) of a (C, H, W, N) array."""
    return t.transpose(3, 0, 1, 2)


# -- windows ---------------------------------------------------------------------------------------------------------------
def _phases(xt, geo):
    """The input of a strided convolution, padded, as stride x stride arrays of every stride-th row and column: what one tap of the
    kernel reads is then contiguous."""
    (c, h, w, n), (sy, sx), (py, px) = xt.shape, geo.stride, geo.padding
    height = geo.out[0] + (geo.kernel[0] - 1) * geo.dilation[0] // sy
    width = geo.out[1] + (geo.kernel[1] - 1) * geo.dilation[1] // sx
    used_y = {i * geo.dilation[0] % sy for i in range(geo.kernel[0])}
    used_x = {j * geo.dilation[1] % sx for j in range(geo.kernel[1])}
    phases = {}
    for number, (a, b) in enumerate((a, b) for a in sorted(used_y) for b in sorted(used_x)):
        phase = threads.scratch(("phase", number), (c, height, width, n), xt.dtype)
        rows, at_y = _lattice(a, sy, py, h, height)
        columns, at_x = _lattice(b, sx, px, w, width)
        if (at_y, at_x) != (slice(0, height), slice(0, width)):
            phase.fill(0)
        phase[:, at_y, at_x] = xt[:, rows, columns]
        phases[a, b] = phase
    return phases


def _lattice(first, step, padding, size, count):
    """Where the padded positions first, first + step … (`count` of them) lie in the input, and which of them do: two slices."""
    low = max(0, -(-(padding - first) // step))
    high = min(count, (size - 1 + padding - first) // step + 1)
    high = max(high, low)
    start = low * step + first - padding
    return slice(start, start + (high - low) * step if high > low else start, step), slice(low, high)


class _Taps(dict):
    """Per kernel position (i, j): the array that it reads and the offset of output (0, 0) in it.

    `whole` is the input when no window reaches over its edge and the stride is 1: then one copy gathers all windows."""

    whole = None
    dilation = (1, 1)


def _taps(xt, geo):
    (kh, kw), (sy, sx), (py, px), (dy, dx) = geo.kernel, geo.stride, geo.padding, geo.dilation
    if (sy, sx) == (1, 1):
        taps = _Taps({(i, j): (xt, i * dy - py, j * dx - px) for i in range(kh) for j in range(kw)})
        if (py, px) == (0, 0):
            taps.whole, taps.dilation = xt, geo.dilation
        return taps
    phases = _phases(xt, geo)
    return _Taps(
        {(i, j): (phases[i * dy % sy, j * dx % sx], i * dy // sy, j * dx // sx) for i in range(kh) for j in range(kw)}
    )


def _overlap(offset, start, count, size):
    """(first output, one past the last output, first input) of the positions start + offset … that exist in the input."""
    low = max(0, -(start + offset))
    high = max(low, min(count, size - start - offset))
    return low, high, start + offset + low


def _gather(windows, taps, start, rows, ow):
    """Fills `windows` (C, kh, kw, rows, ow, n) with what output rows start … start + rows read."""
    if taps.whole is not None:
        c, h, w, n = taps.whole.strides
        dy, dx = taps.dilation
        view = as_strided(taps.whole[:, start:], windows.shape, (c, dy * h, dx * w, h, w, n), writeable=False)
        windows[...] = view
        return
    for (i, j), (source, oy, ox) in taps.items():
        target = windows[:, i, j]
        a, b, y = _overlap(oy, start, rows, source.shape[1])
        c, d, x = _overlap(ox, 0, ow, source.shape[2])
        if a:
            target[:, :a] = 0
        if b < rows:
            target[:, b:] = 0
        if c:
            target[:, a:b, :c] = 0
        if d < ow:
            target[:, a:b, d:] = 0
        target[:, a:b, c:d] = source[:, y : y + b - a, x : x + d - c]


def _scatter(windows, taps, start, rows, ow):
    """Adds `windows` to where they were gathered from."""
    for (i, j), (target, oy, ox) in taps.items():
        a, b, y = _overlap(oy, start, rows, target.shape[1])
        c, d, x = _overlap(ox, 0, ow, target.shape[2])
        part = target[:, y : y + b - a, x : x + d - c]
        np.add(part, windows[:, i, j, a:b, c:d], out=part)


def _rows(inner, row, itemsize, oh):
    """How many output rows make a block: windows have `inner` entries, a row has `row` windows."""
    return max(1, min(oh, max(BLOCK // (itemsize * max(inner, 1)), COLUMNS) // max(row, 1)))


def _blocks(part, parts, oh, rows):
    """The blocks (start, rows) of thread `part`."""
    rows = min(rows, -(-oh // parts))
    return [(r, min(rows, oh - r)) for r in range(part * rows, oh, parts * rows)]


# -- the three maps --------------------------------------------------------------------------------------------------------
def forward(x, weight, bias, geo):
    """y[o] = sum over channels and kernel positions of weight * window, plus bias[o]."""
    if whole.off_host(x):
        return whole.forward(x, weight, bias, geo)
    xt, groups = batch_last(x), geo.groups
    c, _, _, n = xt.shape
    o, cg = weight.shape[:2]
    oh, ow = geo.out
    y = memory.empty((o, oh, ow, n), x.dtype)
    if y.size == 0:
        return batch_first(y)
    w2 = np.ascontiguousarray(weight).reshape(groups, o // groups, -1)
    row, inner = ow * n, cg * geo.kernel[0] * geo.kernel[1]
    flat = y.reshape(groups, o // groups, oh * row)
    bias = None if bias is None else bias.reshape(groups, -1, 1)
    taps = {} if geo.pointwise else _taps(xt, geo)
    direct = _strided(xt, geo).reshape(groups, cg, oh * row) if geo.pointwise else None
    rows = oh if geo.pointwise else _rows(c * inner // cg, row, x.itemsize, oh)

    def work(part, parts):
        for start, m in _blocks(part, parts, oh, rows):
            block = flat[:, :, start * row : (start + m) * row]
            if direct is not None:
                columns = direct[:, :, start * row : (start + m) * row]
            else:
                windows = threads.scratch("windows", (c, *geo.kernel, m, ow, n), x.dtype)
                _gather(windows, taps, start, m, ow)
                columns = windows.reshape(groups, inner, m * row)
            _product(w2, columns, block)
            if bias is not None:
                block += bias

    threads.split(work, 2.0 * o * inner * oh * row, oh)
    return batch_first(y)


def _product(a, b, out):
    if len(a) == 1:
        np.matmul(a[0], b[0], out=out[0])
    else:
        np.matmul(a, b, out=out)


def _strided(xt, geo):
    """The positions that a kernel of one position reads."""
    (sy, sx), (oh, ow) = geo.stride, geo.out
    return xt if (sy, sx) == (1, 1) else np.ascontiguousarray(xt[:, : (oh - 1) * sy + 1 : sy, : (ow - 1) * sx + 1 : sx])


def grad_input(g, weight, geo):
    """The adjoint of `forward` in x: what each input position contributed to, weighted by g (N, O, *geo.out)."""
    if whole.off_host(g):
        return whole.grad_input(g, weight, geo)
    (sy, sx), (kh, kw) = geo.stride, geo.kernel
    o, cg = weight.shape[:2]
    if (sy, sx) == (1, 1) and not geo.pointwise and o <= 1.5 * cg * geo.groups:
        turned = _turned(weight, geo.groups)
        (dy, dx), (py, px) = geo.dilation, geo.padding
        return forward(
            g,
            turned,
            None,
            Geometry(
                geo.out,
                geo.size,
                geo.kernel,
                (1, 1),
                (dy * (kh - 1) - py, dx * (kw - 1) - px),
                geo.dilation,
                geo.groups,
            ),
        )
    gt, groups, (h, w), (oh, ow) = batch_last(g), geo.groups, geo.size, geo.out
    n, c = gt.shape[3], cg * groups
    w2 = np.ascontiguousarray(np.ascontiguousarray(weight).reshape(groups, o // groups, -1).swapaxes(1, 2))
    g2 = gt.reshape(groups, o // groups, -1)
    if geo.pointwise:
        return batch_first(_spread_points(_pointwise_product(w2, g2).reshape(c, oh, ow, n), geo))
    dx = memory.zeros((c, h, w, n), g.dtype)
    if dx.size == 0 or g.size == 0:
        return batch_first(dx)
    strided = (sy, sx) != (1, 1)
    taps = _taps_of_zeros(dx, geo) if strided else _taps(dx, geo)
    row = ow * n

    def work(part, parts):
        per = groups // parts if groups % parts == 0 else None
        if groups == 1:
            cut = slice(part * c // parts, (part + 1) * c // parts)
            left, right, channels = w2[:, cut.start * kh * kw : cut.stop * kh * kw], g2, cut
        else:
            cut = slice(part * per, (part + 1) * per)
            left, right, channels = w2[cut], g2[cut], slice(cut.start * cg, cut.stop * cg)
        mine = {k: (t[channels], oy, ox) for k, (t, oy, ox) in taps.items()}
        count = channels.stop - channels.start
        for start, m in _blocks(0, 1, oh, _rows(count * kh * kw, row, g.itemsize, oh)):
            windows = threads.scratch("windows", (count, kh, kw, m, ow, n), g.dtype)
            _product(left, right[:, :, start * row : (start + m) * row], windows.reshape(len(left), -1, m * row))
            _scatter(windows, mine, start, m, ow)

    most = c if groups == 1 else max(d for d in range(1, groups + 1) if groups % d == 0 and d <= threads.available())
    threads.split(work, 2.0 * o * cg * kh * kw * oh * row, most)
    if strided:
        _join_phases(dx, taps, geo)
    return batch_first(dx)


def _turned(weight, groups):
    """The kernel rotated by half a turn, with inputs and outputs exchanged."""
    o, cg, kh, kw = weight.shape
    turned = weight[:, :, ::-1, ::-1].reshape(groups, o // groups, cg, kh, kw).swapaxes(1, 2)
    return np.ascontiguousarray(turned).reshape(groups * cg, o // groups, kh, kw)


def _pointwise_product(w2, g2):
    result = memory.empty((*w2.shape[:2], g2.shape[2]), g2.dtype)
    columns = g2.shape[2]

    def work(part, parts):
        cut = slice(part * columns // parts, (part + 1) * columns // parts)
        _product(w2, g2[:, :, cut], result[:, :, cut])

    threads.split(work, 2.0 * w2.size * columns, columns)
    return result


def _spread_points(points, geo):
    if geo.stride == (1, 1) and geo.size == geo.out:
        return points
    (sy, sx), (oh, ow) = geo.stride, geo.out
    dx = memory.zeros((points.shape[0], *geo.size, points.shape[3]), points.dtype)
    dx[:, : (oh - 1) * sy + 1 : sy, : (ow - 1) * sx + 1 : sx] = points
    return dx


def _taps_of_zeros(dx, geo):
    taps = _taps(dx, geo)
    for phase in {id(t): t for t, _, _ in taps.values()}.values():
        phase.fill(0)
    return taps


def _join_phases(dx, taps, geo):
    """Writes the phases back to the rows and columns that they stand for."""
    (sy, sx), (py, px), (dy, dx_) = geo.stride, geo.padding, geo.dilation
    for (i, j), (phase, _, _) in taps.items():
        rows, at_y = _lattice(i * dy % sy, sy, py, dx.shape[1], phase.shape[1])
        columns, at_x = _lattice(j * dx_ % sx, sx, px, dx.shape[2], phase.shape[2])
        dx[:, rows, columns] = phase[:, at_y, at_x]


def grad_weight(g, x, geo):
    """The adjoint of `forward` in the weight: sums over positions of g times window; shape (O, C / groups, kh, kw)."""
    if whole.off_host(g):
        return whole.grad_weight(g, x, geo)
    gt, xt, groups, (kh, kw), (oh, ow) = batch_last(g), batch_last(x), geo.groups, geo.kernel, geo.out
    o, c, n = gt.shape[0], xt.shape[0], xt.shape[3]
    cg, og, row = c // groups, o // groups, ow * n
    inner = cg * kh * kw
    if g.size == 0 or x.size == 0:
        return np.zeros((o, cg, kh, kw), g.dtype)
    g2 = gt.reshape(groups, og, oh * row)
    taps = {} if geo.pointwise else _taps(xt, geo)
    direct = _strided(xt, geo).reshape(groups, cg, oh * row) if geo.pointwise else None
    rows = oh if geo.pointwise else _rows(c * kh * kw, row, g.itemsize, oh)
    sums = [None] * threads.available()

    def work(part, parts):
        total = None
        for start, m in _blocks(part, parts, oh, rows):
            block = g2[:, :, start * row : (start + m) * row]
            if direct is not None:
                columns = direct[:, :, start * row : (start + m) * row]
            else:
                windows = threads.scratch("windows", (c, kh, kw, m, ow, n), g.dtype)
                _gather(windows, taps, start, m, ow)
                columns = windows.reshape(groups, inner, m * row)
            columns = columns.swapaxes(1, 2)
            found = np.matmul(block[0], columns[0])[None] if groups == 1 else np.matmul(block, columns)
            total = found if total is None else np.add(total, found, out=total)
        sums[part] = total

    threads.split(work, 2.0 * o * inner * oh * row, min(oh, len(sums)))
    found = [s for s in sums if s is not None]
    total = found[0]
    for s in found[1:]:
        total += s
    return total.reshape(o, cg, kh, kw)


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
