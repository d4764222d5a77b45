"""Read images at given positions, as in spatial transformer networks: F.affine_grid, F.grid_sample (bilinear, zeros
outside the image).

Positions are (x, y), from -1 at the left and upper edge to 1 at the right and lower edge. With align_corners, the edge
is the centre of the outermost pixels; without it, their outer border. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html"""

from __future__ import annotations

import numpy as np

from ...core import namespaces
from ...core.dtype import int64
from ...core.tensor import wrap
from ...exact.dtype_errors import not_implemented
from ...exact.refusals import unsupported
from ..checks import refuse_if
from ..functions import composite, internal


def _rows(m, x):
    """Return (n, rows, columns) as (n, 1, positions), to multiply the channels by."""
    return m.reshape_raw(x, (x.shape[0], 1, -1))


def _corners(m, input, grid, align_corners):
    """Yield for each of the four pixels around the positions: its values (n, channels, positions), its index in the
    flattened image, whether it is inside, its weight, and the derivatives of the weight with respect to x and y."""
    n, c, height, width = input.shape
    scales = [(size - 1) / 2 if align_corners else size / 2 for size in (width, height)]
    shift = 1 if align_corners else 0
    x, y = (
        ((m.select(grid, 3, k) + 1) * (size - shift) - (1 - shift)) / 2
        for k, size in enumerate((width, height))
    )
    left, top = m.floor(x), m.floor(y)
    right, below = x - left, y - top
    pixels = m.reshape_raw(input, (n, c, height * width))
    for row, weight_y, sign_y in ((top, 1 - below, -1), (top + 1, below, 1)):
        for column, weight_x, sign_x in ((left, 1 - right, -1), (left + 1, right, 1)):
            inside = m.logical_and(
                m.logical_and(column >= 0, column < width), m.logical_and(row >= 0, row < height)
            )
            place = m.to_copy(m.where(inside, row * width + column, 0.0), int64)
            inside, place = _rows(m, inside), _rows(m, place)
            index = m.expand(place, (n, c, place.shape[-1]))
            values = m.where(inside, m.gather(pixels, 2, index), 0.0)
            slopes = weight_y * (sign_x * scales[0]), weight_x * (sign_y * scales[1])
            yield values, index, inside, _rows(m, weight_x * weight_y), slopes


def _sample(xp, input, grid, align_corners):
    m = namespaces.raw(xp)
    total = sum(
        values * weight for values, _, _, weight, _ in _corners(m, input, grid, align_corners)
    )
    return total.reshape((*input.shape[:2], *grid.shape[1:3])).astype(input.dtype, copy=False)


def _towards_input(m, g, input, grid, align_corners):
    sizes = tuple(input.shape)
    flat = m.reshape_raw(g, (*sizes[:2], -1))
    total = m.zeros_like(m.reshape_raw(input, (*sizes[:2], -1)))
    for _, index, inside, weight, _ in _corners(m, input, grid, align_corners):
        total = m.scatter_add(total, 2, index, m.where(inside, flat * weight, 0.0))
    return m.reshape_raw(total, sizes)


def _towards_grid(m, g, input, grid, align_corners):
    flat = m.reshape_raw(g, (*tuple(input.shape)[:2], -1))
    of_x = of_y = 0
    for values, _, _, _, (slope_x, slope_y) in _corners(m, input, grid, align_corners):
        change = m.reshape_raw(m.sum(values * flat, (1,)), tuple(slope_x.shape))
        of_x, of_y = of_x + change * slope_x, of_y + change * slope_y
    return m.stack([of_x, of_y], 3)


grid_sampler = internal(
    "grid_sampler_2d(Tensor input, Tensor grid, bool align_corners)",
    forward=_sample,
    node="GridSampler2DBackward0",
    vjp={"input": _towards_input, "grid": _towards_grid},
    constants={"interpolation_mode": 0, "padding_mode": 0},
    latex=r"{input}({grid})",
    vjp_latex={
        "input": r"{g} \text{ at } {grid}",
        "grid": r"\sum_{\text{channels}} {g} \cdot {input}'({grid})",
    },
    samples=lambda s: [
        (s.randn(2, 2, 3, 4), s.uniform(-1.4, 1.4, 2, 2, 3, 2), align) for align in (False, True)
    ],
)


@composite(namespace="nn.functional")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Return `input` (n, channels, h, w) read at the positions `grid` (n, rows, columns, 2): (n, channels, rows,
    columns). Differentiable with respect to both.

    grid: (x, y) from -1 to 1; outside the image, values are zero. align_corners: whether -1 and 1 are the centres of
    the outermost pixels, or their outer borders (False, the default). Raise RuntimeError for other shapes,
    NotImplementedError for another mode. Source: torch.nn.functional.grid_sample."""
    for name, value, known in (
        ("mode", mode, "bilinear"),
        ("padding_mode", padding_mode, "zeros"),
    ):
        if value != known:
            raise unsupported("grid_sample", name, f"Only {known!r} is supported.")
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    refuse_if(
        input.ndim != 4 or grid.ndim != 4 or input.shape[0] != grid.shape[0] or grid.shape[3] != 2,
        f"grid_sampler(): expected a 4D input and grid of same batch size, but got {sizes}",
        "(n, channels, h, w) and (n, rows, columns, 2).",
    )
    if not input.dtype.is_floating_point:
        raise not_implemented("grid_sampler_2d_cpu_kernel_impl", input._array.dtype)
    refuse_if(
        grid.dtype is not input.dtype,
        f"expected scalar type {input.dtype.short} but found {grid.dtype.short}",
        "Convert the grid: grid.to(input.dtype).",
    )
    return grid_sampler.call(input, grid, bool(align_corners))


# -- the grid of an affine map -----------------------------------------------------------------------------------------
def _ends(n, dtype, align_corners):
    """Return n positions from -1 to 1 along one side; a single one is in the middle."""
    k = np.arange(n).astype(dtype)
    if align_corners:
        return k * dtype.type(2 / (n - 1)) - 1 if n > 1 else np.zeros(n, dtype)
    return (k * 2 + 1) / n - 1


@composite(namespace="nn.functional")
def affine_grid(theta, size, align_corners=None):
    """Return the grid of an affine map for `grid_sample`: theta (n, 2, 3) times (x, y, 1) of each pixel. size: (n, c,
    h, w); the result is (n, h, w, 2).

    Raise ValueError for other shapes. Source: torch.nn.functional.affine_grid."""
    size = tuple(map(int, size))
    refuse_if(
        len(size) != 4 or theta.ndim != 3 or tuple(theta.shape) != (size[0], 2, 3),
        f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {list(size)}. Got {theta.shape}.",
        "size is that of the images, (n, c, h, w); each has a matrix of two rows: the new x and the new y.",
        ValueError,
    )
    refuse_if(
        min(size) <= 0,
        f"Expected non-zero, positive output size. Got {list(size)}",
        "There would be no pixel.",
        ValueError,
    )
    refuse_if(
        not theta.is_floating_point(),
        f"Expected theta to have floating point type, but got {theta.dtype}",
        "Call .float() first.",
        ValueError,
    )
    height, width = size[2:]
    x, y = (_ends(n, theta.dtype.np, bool(align_corners)) for n in (width, height))
    places = np.ones((height, width, 3), theta.dtype.np)
    places[..., 0], places[..., 1] = x, y[:, None]
    places = wrap(places.reshape(-1, 3)).to(theta.device)
    return (places @ theta.mT).reshape(size[0], height, width, 2)
