"""Images read at given places, as spatial transformer networks do: F.affine_grid, F.grid_sample (4-d).

Places are (x, y), from -1 at the left and upper edge to 1 at the right and lower one: at the middle of the outermost
pixels with align_corners, at their outer edge without. Source:
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html"""

from __future__ import annotations

import warnings


from ...exact.arguments import check_tensors, numbers_of
from ...core import namespaces
from ...core.dtype import int64
from ...exact.refusals import unsupported
from ...exact.dtype_errors import not_implemented
from ..checks import refuse_if
from ..functions import composite, internal
from ...exact.kinds import check_settings
from ..reduction import dtype_of
from ..with_backward import rule

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_NO_VOLUMES = "Volumes (5-d) are not sampled here; images (4-d) are."


# -- where a place lies ------------------------------------------------------------------------------------------------
def _position(m, place, n, border, align_corners):
    """Return (position counted in pixels, how much it changes with the place); border: what lies outside is moved to
    the nearest pixel."""
    scale = (n - 1) / 2 if align_corners else n / 2
    x = (place + 1) * scale if align_corners else ((place + 1) * n - 1) / 2
    slope = m.zeros_like(x) + scale
    if not border:
        return x, slope
    inside = m.logical_and(x > 0, x < n - 1)  # at the edge itself the slope is 0, as in torch
    return m.clamp(x, 0, n - 1), m.where(inside, slope, 0.0)


def _flat(m, w):
    """Return (n, rows, columns) as (n, 1, places), to multiply the channels by."""
    return m.reshape_raw(w, (tuple(w.shape)[0], 1, -1))


class _Corner:
    """One of the pixels around each place: its weight, what the weight changes with x and y, which pixel it is, and
    whether there is one."""

    def __init__(self, m, input, cx, cy, wx, wy, dx, dy):
        n, c, height, width = input.shape
        inside = m.logical_and(
            m.logical_and(cx >= 0, cx <= width - 1), m.logical_and(cy >= 0, cy <= height - 1)
        )
        self.weight, self.by_x, self.by_y = wx * wy, dx * wy, wx * dy
        row = m.clamp(m.where(inside, cy, 0.0), 0, height - 1)
        place = row * width + m.clamp(m.where(inside, cx, 0.0), 0, width - 1)
        pixels = m.reshape_raw(m.to_copy(place, int64), (n, 1, -1))
        self.index = m.expand(pixels, (n, c, pixels.shape[-1]))
        self.inside = _flat(m, inside)

    def read(self, m, input):
        """Return the values at the pixels, 0 outside: (n, channels, places)."""
        n, c, height, width = input.shape
        pixels = m.reshape_raw(input, (n, c, height * width))
        return m.where(self.inside, m.gather(pixels, 2, self.index), 0.0)


def _corners(m, input, grid, nearest, border, align_corners):
    """Return (the pixels that are read for each place, slope of x, slope of y)."""
    height, width = tuple(input.shape)[2:]
    x, slope_x = _position(m, m.select(grid, 3, 0), width, border, align_corners)
    y, slope_y = _position(m, m.select(grid, 3, 1), height, border, align_corners)
    none, one = m.zeros_like(x), m.zeros_like(x) + 1
    if nearest:
        return [_Corner(m, input, m.round(x), m.round(y), one, one, none, none)], slope_x, slope_y
    left, top = m.floor(x), m.floor(y)
    right, below = x - left, y - top
    sides = [(left, 1 - right, -one), (left + 1, right, one)]
    ends = [(top, 1 - below, -one), (top + 1, below, one)]
    corners = [
        _Corner(m, input, cx, cy, wx, wy, dx, dy) for cy, wy, dy in ends for cx, wx, dx in sides
    ]
    return corners, slope_x, slope_y


def _sample(xp, input, grid, *settings):
    m = namespaces.raw(xp)
    total = 0
    for corner in _corners(m, input, grid, *settings)[0]:
        total = total + corner.read(m, input) * _flat(m, corner.weight)
    return total.reshape((*input.shape[:2], *grid.shape[1:3])).astype(input.dtype, copy=False)


def _towards_input(m, g, input, grid, interpolation_mode, padding_mode, align_corners):
    n, c, height, width = tuple(input.shape)
    corners, _, _ = _corners(m, input, grid, interpolation_mode, padding_mode, align_corners)
    flat = m.reshape_raw(g, (n, c, -1))
    total = m.zeros_like(m.reshape_raw(input, (n, c, height * width)))
    for corner in corners:
        values = m.where(corner.inside, flat * _flat(m, corner.weight), 0.0)
        total = m.scatter_add(total, 2, corner.index, values)
    return m.reshape_raw(total, (n, c, height, width))


def _towards_grid(m, g, input, grid, interpolation_mode, padding_mode, align_corners):
    if interpolation_mode:
        return m.zeros_like(grid)
    settings = interpolation_mode, padding_mode, align_corners
    corners, slope_x, slope_y = _corners(m, input, grid, *settings)
    flat = m.reshape_raw(g, (*tuple(input.shape)[:2], -1))
    by_x = by_y = 0  # how much what was read changes with the place
    for corner in corners:
        value = corner.read(m, input)
        by_x, by_y = by_x + value * _flat(m, corner.by_x), by_y + value * _flat(m, corner.by_y)
    towards = (
        m.reshape_raw(m.sum(change * flat, (1,), False, dtype_of(g)), tuple(slope_x.shape))
        for change in (by_x, by_y)
    )
    return m.stack([change * slope for change, slope in zip(towards, (slope_x, slope_y))], 3)


grid_sampler = internal(
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)",
    forward=_sample,
    node="GridSampler2DBackward0",
    vjp={"input": _towards_input, "grid": _towards_grid},
    latex=r"{input}({grid})",
    vjp_latex={
        "input": r"{g} \text{ at } {grid}",
        "grid": r"\sum_{\text{channels}} {g} \cdot {input}'({grid})",
    },
    samples=lambda s: [
        (s.randn(2, 2, 3, 4), s.uniform(-1.4, 1.4, 2, 2, 3, 2), mode, padding, align)
        for mode in (0, 1)
        for padding in (0, 1)
        for align in (False, True)
    ],
)


def _default(align_corners):
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the "
            "old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
            stacklevel=3,
        )
    return bool(align_corners)


@composite(namespace="nn.functional")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Return `input` (n, channels, h, w) read at the places `grid` (n, rows, columns, 2): (n, channels, rows, columns).
    Differentiable with respect to both.

    grid: (x, y) from -1 to 1. mode: 'bilinear', 'nearest'. padding_mode: what lies outside: 'zeros' or the nearest
    pixel ('border'). align_corners: whether -1 and 1 are the middles of the outermost pixels, or their outer edges
    (False, the default). Raises RuntimeError for other shapes, NotImplementedError for volumes, 'bicubic' and
    'reflection'. Source: torch.nn.functional.grid_sample."""
    check_settings("grid_sampler", ("align_corners", 5, "bool?", align_corners))
    message = f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
    note = "It says how values between pixels are found."
    refuse_if(mode not in _MODES, message, note, ValueError)
    message = f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
    note = "It says what lies outside of the image."
    refuse_if(padding_mode not in _PADDINGS, message, note, ValueError)
    align_corners = _default(align_corners)
    check_tensors("grid_sampler", input=input, grid=grid)
    _check_shapes(input, grid)
    if mode == "bicubic":
        raise unsupported("grid_sample", "mode='bicubic'", "Use 'bilinear' or 'nearest'.")
    if padding_mode == "reflection":
        note = "Use 'zeros' or 'border'."
        raise unsupported("grid_sample", "padding_mode='reflection'", note)
    if not input.dtype.is_floating_point:
        raise not_implemented("grid_sampler_2d_cpu_kernel_impl", input._array.dtype)
    message = f"expected scalar type {input.dtype.short} but found {grid.dtype.short}"
    refuse_if(grid.dtype is not input.dtype, message, "Convert the grid: grid.to(input.dtype).")
    modes = _MODES.index(mode), _PADDINGS.index(padding_mode)
    return grid_sampler.call(input, grid, *modes, align_corners)


def _check_shapes(input, grid):
    name, sizes = "grid_sampler(): expected", list(grid.shape)
    both = f"input with sizes {list(input.shape)} and grid with sizes {sizes}"
    message = f"{name} grid and input to have same batch size, but got {both}"
    refuse_if(input.shape[:1] != grid.shape[:1], message, "Each image has its own grid.")
    if input.ndim == grid.ndim == 5:
        raise unsupported("grid_sample", "input", _NO_VOLUMES)
    dims = input.ndim - 2
    message = f"{name} grid to have size {dims} in last dimension, but got grid with sizes {sizes}"
    refuse_if(grid.shape[-1] != max(dims, 0), message, "A place in an image is (x, y).")
    message = f"{name} 4D or 5D input and grid with same number of dimensions, but got {both}"
    note = "(n, channels, h, w) and (n, rows, columns, 2)."
    refuse_if(input.ndim != 4 or grid.ndim != 4, message, note)
    for d in (2, 3):
        message = f"{name} input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} with "
        message += f"dimension {d} being empty"
        refuse_if(not input.shape[d], message, "There is nothing to read.")


# -- the places of an affine map ---------------------------------------------------------------------------------------
def _ends(xp, n, dtype, align_corners):
    """n places from -1 to 1 along one side; a single one is in the middle."""
    if n < 2:
        return xp.zeros(n, dtype)
    k = xp.arange(n).astype(dtype)
    return k * dtype.type(2 / (n - 1)) - 1 if align_corners else (k * 2 + 1) / n - 1


def _base(xp, size, dtype, align_corners):
    """(h * w, 3): x, y and 1 of each pixel."""
    height, width = size[2:]
    x, y = (_ends(xp, n, dtype, align_corners) for n in (width, height))
    grid = [
        xp.broadcast_to(v, (height, width)).reshape(-1)
        for v in (x[None, :], y[:, None], xp.ones((1, 1), dtype))
    ]
    return xp.stack(grid, -1)


def _affine_grid(xp, theta, size, align_corners):
    places = xp.matmul(_base(xp, size, theta.dtype, align_corners), xp.swapaxes(theta, 1, 2))
    return places.reshape((theta.shape[0], size[2], size[3], 2))


affine_grid_generator = internal(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners)",
    forward=_affine_grid,
    vjp={"theta": rule("affine_grid_spread", "size", "align_corners")},
    latex=r"{theta} \cdot (x, y, 1)",
    vjp_latex={"theta": r"\sum {g} \, (x, y, 1)^{T}"},
    samples=lambda s: [
        (s.randn(2, 2, 3), (2, 1, 3, 2), False),
        (s.randn(1, 2, 3), (1, 1, 2, 3), True),
    ],
)
internal(
    "affine_grid_spread(Tensor grad, int[] size, bool align_corners)",
    forward=lambda xp, grad, size, align_corners: xp.matmul(
        xp.swapaxes(grad.reshape(grad.shape[0], -1, 2), 1, 2),
        _base(xp, size, grad.dtype, align_corners),
    ),
    vjp={"grad": rule("affine_grid_generator", "size", "align_corners")},
    latex=r"\sum {grad} \, (x, y, 1)^{T}",
    vjp_latex={"grad": r"{g} \cdot (x, y, 1)"},
    samples=lambda s: [(s.randn(2, 3, 2, 2), (2, 1, 3, 2), False)],
)


@composite(namespace="nn.functional")
def affine_grid(theta, size, align_corners=None):
    """The grid for `grid_sample` that an affine map gives: theta (n, 2, 3) times (x, y, 1) of each pixel; size: (n, c,
    h, w), result (n, h, w, 2).

    Raises ValueError for other shapes, NotImplementedError for volumes. Source: torch.nn.functional.affine_grid."""
    check_settings(
        "affine_grid_generator",
        ("size", 2, "int[]", size),
        ("align_corners", 3, "bool?", align_corners),
    )
    size = numbers_of("affine_grid_generator", "size", size)
    align_corners = _default(align_corners)
    message = f"Expected theta to have floating point type, but got {theta.dtype}"
    refuse_if(not theta.is_floating_point(), message, "Call .float() first.", ValueError)
    message = f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
    note = "size is that of the images: (n, c, h, w)."
    refuse_if(len(size) not in (4, 5), message, note, NotImplementedError)
    if len(size) == 5:
        raise unsupported("affine_grid", "size", _NO_VOLUMES)
    message = (
        f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {size}. Got {theta.shape}."
    )
    note = "Each image has a matrix of two rows: the new x and the new y."
    refuse_if(theta.ndim != 3 or theta.shape[1:] != (2, 3), message, note, ValueError)
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended use case of "
            "affine_grid. See the documentation of affine_grid for details.",
            UserWarning,
            stacklevel=2,
        )
    else:
        message = f"Expected non-zero, positive output size. Got {size}"
        refuse_if(min(size) <= 0, message, "There would be no pixel.", ValueError)
    message = f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, 3] but got: [{theta.shape[0]}, 3]."
    refuse_if(theta.shape[0] != size[0], message, "Each image has its own matrix.")
    return affine_grid_generator.call(theta, tuple(size), align_corners)
