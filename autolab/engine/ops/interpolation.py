"""Resizing sequences and images. Source: torch.nn.functional.interpolate

Every mode but 'area' is a weighted sum of a few neighbours along each axis (`kernels/taps.py`), and its gradient the
adjoint. Positions and weights are computed in the dtype that PyTorch computes them in, so that they round alike.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import unsupported
from ..kernels.taps import Reading, Tap
from .checks import refuse_if
from .functions import composite, internal
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d
from .with_backward import rule

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_CUBIC = (
    -0.75
)  # the constant A of Keys, "Cubic convolution interpolation for digital image processing" (1981)


# -- what each output reads --------------------------------------------------------------------------------------------
def _step(n, out, scale, real):
    """Input positions per output position."""
    return real(1 / scale) if scale is not None and scale > 0 else real(n) / real(out)


def _nearest(xp, n, out, scale, real, align_corners):
    i = xp.arange(out).astype(np.float32)
    index = xp.floor(i * _step(n, out, scale, np.float32)).astype(np.int64)
    return [Tap(index.clip(0, n - 1))]


def _source(xp, n, out, scale, align_corners, real):
    """Where output positions lie in the input, as real numbers."""
    i = xp.arange(out).astype(real)
    if align_corners:
        return i * (real(n - 1) / real(out - 1) if out > 1 else real(0))
    return _step(n, out, scale, real) * (i + real(0.5)) - real(0.5)


def _linear(xp, n, out, scale, real, align_corners):
    if (
        n == out
    ):  # nothing lies between; as in torch, what is read twice counts once and 0 times (of inf that is NaN)
        i = xp.arange(n)
        return [Tap(i, xp.ones(n, real)), Tap(i, xp.zeros(n, real))]
    source = _source(xp, n, out, scale, align_corners, real).clip(0)
    low = source.astype(np.int64).clip(0, n - 1)
    share = (source - low).clip(0, 1).astype(real)
    return [Tap(low, 1 - share), Tap(xp.minimum(low + 1, n - 1), share)]


def _cubic(xp, n, out, scale, real, align_corners):
    source = _source(xp, n, out, scale, align_corners, real)
    low = xp.floor(source)
    t = source - low
    near = lambda d: ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1
    far = lambda d: ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC
    around = ((-1, far(t + 1)), (0, near(t)), (1, near(1 - t)), (2, far(2 - t)))
    return [
        Tap((low.astype(np.int64) + offset).clip(0, n - 1), weight.astype(real))
        for offset, weight in around
    ]


def _triangle(xp, x):
    return xp.maximum(0, 1 - abs(x))


def _keys(xp, x):
    a = x.dtype.type(-0.5)  # the constant that Keys recommends, and that antialiasing takes
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * a * x - 4 * a
    return xp.where(x < 1, near, xp.where(x < 2, far, x.dtype.type(0)))


def _smooth(weight, reach):
    """The weights of a filter that, in a smaller image, is stretched over all positions that one covers, and cut at the
    edges."""

    def make(xp, n, out, scale, real, align_corners):
        if align_corners:
            step = real(n - 1) / real(out - 1) if out > 1 else real(0)
        else:
            step = _step(n, out, scale, real)
        stretch = max(step, real(1))
        centers, support = step * (xp.arange(out).astype(real) + real(0.5)), reach * stretch
        first = xp.maximum((centers - support + real(0.5)).astype(np.int64), 0)
        end = xp.minimum((centers + support + real(0.5)).astype(np.int64), n)
        position = first[:, None] + xp.arange(min(n, math.ceil(2 * support) + 1))
        there = position < end[:, None]
        distance = abs(position.astype(real) - centers[:, None] + real(0.5)) * (1 / stretch)
        weights = xp.where(there, weight(xp, distance), real(0))
        total = weights.sum(1, keepdims=True)
        weights = weights / xp.where(total == 0, real(1), total)
        position = xp.minimum(position, n - 1)
        return [Tap(position[:, j], weights[:, j], there[:, j]) for j in range(position.shape[1])]

    return make


_TAPS = {
    "nearest": _nearest,
    "linear": _linear,
    "cubic": _cubic,
    "linear-aa": _smooth(_triangle, 1),
    "cubic-aa": _smooth(_keys, 2),
}


def _reading(xp, kind, n, out, scale, align_corners, real):
    return Reading(xp, n, _TAPS[kind](xp, n, out, scale, real, align_corners))


_reading_on_the_host = lru_cache(64)(lambda *sizes: _reading(np, *sizes))


def _axes(xp, kind, sizes, outs, scales, align_corners, dtype):
    """What the outputs read, for each axis."""
    real = np.dtype(dtype).type
    make = _reading_on_the_host if xp is np else lambda *given: _reading(xp, *given)
    return [
        make(kind, n, out, scale, align_corners, real) for n, out, scale in zip(sizes, outs, scales)
    ]


def _resized(x, axes):
    """`x` read along its last axes."""
    d = x.dtype
    x = x.astype(np.float32) if d.itemsize == 2 else x
    x = axes[-1].of(x, -1)
    if len(axes) == 2:
        x = axes[0].of(x, -2)
    return x.astype(d, copy=False)


def _sent_back(g, axes):
    """The adjoint of `_resized`."""
    d = g.dtype
    g = g.astype(np.float32) if d.itemsize == 2 else g
    if len(axes) == 2:
        g = axes[0].back(g, -2)
    return axes[-1].back(g, -1).astype(d, copy=False)


# -- records -----------------------------------------------------------------------------------------------------------
def _upsample(name, dims, kind, title):
    """Register the op and its adjoint. Its arguments are PyTorch's: output_size, align_corners where there are corners,
    one scale per axis."""
    corners = ("align_corners",) if kind != "nearest" else ()
    scales = ("scales",) if dims == 1 else ("scales_h", "scales_w")
    listed = ", ".join([*(f"bool {c}" for c in corners), *(f"float? {scale}" for scale in scales)])
    settings = corners + scales

    def axes(xp, x, sizes, outs, rest):
        align, given = (rest[0], rest[1:]) if corners else (False, rest)
        dtype = np.float64 if x.dtype == np.float64 else np.float32
        return _axes(xp, kind, sizes, outs, given, align, dtype)

    def forward(xp, x, output_size, *rest):
        if x.dtype.kind != "f":
            raise not_implemented(_kernel_name(kind, dims), x.dtype)
        return _resized(x, axes(xp, x, x.shape[2:], output_size, rest))

    def backward(xp, g, output_size, input_size, *rest):
        if kind == "cubic" and tuple(input_size[2:]) == tuple(output_size):
            return xp.array(g, order="C")  # as in torch, which does not take this way forward
        return _sent_back(g, axes(xp, g, input_size[2:], output_size, rest))

    shape, size = ((1, 2, 4), (6,)) if dims == 1 else ((1, 2, 3, 4), (5, 6))
    none, scaled = (None,) * dims, (1.5,) * dims
    options = [(True, *none), (False, *none), (False, *scaled)] if corners else [none, scaled]
    sizes = [tuple(int(1.5 * n) for n in shape[2:]) if rest[-1] else size for rest in options]
    op = internal(
        f"{name}(Tensor self, int[] output_size, {listed})",
        forward=forward,
        vjp={"self": rule(f"{name}_backward", "output_size", "self_sym_sizes", *settings)},
        node=title + "Backward0",
        latex=r"\mathrm{resize}({self})",
        vjp_latex={"self": r"\mathrm{resize}^{T}({g})"},
        samples=lambda s: [(s.randn(*shape), out, *rest) for out, rest in zip(sizes, options)],
    )
    internal(
        f"{name}_backward(Tensor grad_output, int[] output_size, int[] input_size, {listed})",
        forward=backward,
        vjp={"grad_output": rule(name, "output_size", *settings)},
        node=title + "BackwardBackward0",
        samples=lambda s: [
            (s.randn(1, 2, *out), out, shape, *rest) for out, rest in zip(sizes, options)
        ],
    )
    return op


def _kernel_name(kind, dims):
    """Return what PyTorch calls the kernel that refuses a dtype."""
    if kind.endswith("-aa"):
        return "compute_index_ranges_weights"
    if dims == 2 and kind != "cubic":
        return f"upsample_{'bilinear' if kind == 'linear' else 'nearest'}2d_channels_last"
    return f"compute_indices_weights_{kind}"


_OPS = {
    ("nearest", 1): _upsample("upsample_nearest1d", 1, "nearest", "UpsampleNearest1D"),
    ("nearest", 2): _upsample("upsample_nearest2d", 2, "nearest", "UpsampleNearest2D"),
    ("linear", 1): _upsample("upsample_linear1d", 1, "linear", "UpsampleLinear1D"),
    ("bilinear", 2): _upsample("upsample_bilinear2d", 2, "linear", "UpsampleBilinear2D"),
    ("bicubic", 2): _upsample("upsample_bicubic2d", 2, "cubic", "UpsampleBicubic2D"),
}
_SMOOTH = {
    "bilinear": _upsample("_upsample_bilinear2d_aa", 2, "linear-aa", "UpsampleBilinear2DAa"),
    "bicubic": _upsample("_upsample_bicubic2d_aa", 2, "cubic-aa", "UpsampleBicubic2DAa"),
}


# -- arguments ---------------------------------------------------------------------------------------------------------
def _check_mode(input, mode):
    if mode in ("nearest-exact", "lanczos"):
        note = "Use 'nearest', 'linear', 'bilinear', 'bicubic' or 'area'."
        raise unsupported("interpolate", f"mode='{mode}'", note)
    ndim = input.ndim
    if (mode, ndim - 2) in _OPS or mode == "area" and ndim in (3, 4):
        return
    if ndim == 5 and mode in ("nearest", "area", "trilinear"):
        note = "autolab resizes sequences and images, not volumes."
        raise unsupported("interpolate", "input", note)
    needs = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
    message = f"Got {ndim}D input, but {mode} mode needs {needs}D input"
    note = "linear is for sequences (N, C, L), bilinear for images (N, C, H, W)."
    refuse_if(needs and ndim in (3, 4, 5), message, note, NotImplementedError)
    message = f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {_MODES} (got {mode})"
    raise fail(NotImplementedError, message, "The input is (N, C, L) or (N, C, H, W).")


def _sizes(input, size, scale_factor, recompute):
    """Return (output sizes, scale factors) as PyTorch hands them on: scale factors are None where it does not use
    them."""
    dims, spatial = input.ndim - 2, list(input.shape[2:])
    both = size is not None and scale_factor is not None
    message = "only one of size or scale_factor should be defined"
    refuse_if(both, message, "One follows from the other.", ValueError)
    message = "either size or scale_factor should be defined"
    refuse_if(size is scale_factor is None, message, "How big is the result to be?", ValueError)
    given = scale_factor if size is None else size
    several = isinstance(given, (list, tuple))
    words = ("scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
    words = (
        words if size is None else ("output", "output size of", "output size in (o1, o2, ...,oK)")
    )
    refuse_if(
        several and len(given) != dims,
        f"Input and {words[0]} must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} "
        f"and {words[1]} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {words[2]} format.",
        "One number for each dimension after samples and channels.",
        ValueError,
    )
    values = tuple(given) if several else (given,) * dims
    if size is None:
        out = tuple(math.trunc(n * factor) for n, factor in zip(spatial, values))
        return out, (None,) * dims if recompute else tuple(map(float, values))
    refuse_if(
        several and not all(isinstance(n, (int, np.integer)) for n in size),
        "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
        f"{[type(n) for n in given] if several else ''}",
        "Sizes are whole numbers; a factor goes to scale_factor.",
        TypeError,
    )
    message = "recompute_scale_factor is not meaningful with an explicit size."
    refuse_if(recompute, message, "Leave it out.", ValueError)
    return values, (None,) * dims


@composite(namespace="nn.functional")
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Return sequences (N, C, L) or images (N, C, H, W) resized to `size`, or by `scale_factor`.

    mode: nearest, linear (sequences), bilinear, bicubic (images), area. antialias (bilinear, bicubic): numbers of a
    smaller image are means of all that they cover. Raises ValueError for contradicting arguments, RuntimeError for
    empty sizes. Source: torch.nn.functional.interpolate."""
    flat = mode in ("nearest", "area", "nearest-exact")
    refuse_if(
        flat and align_corners is not None,
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
        "It says where the corners lie that are interpolated between.",
        ValueError,
    )
    recompute = recompute_scale_factor or (mode == "area" and size is None)
    out, scales = _sizes(input, size, scale_factor, recompute)
    refuse_if(
        antialias and (mode not in ("bilinear", "bicubic", "lanczos") or input.ndim != 4),
        "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
        "Leave it out.",
        ValueError,
    )
    _check_mode(input, mode)
    if mode == "area":
        return (adaptive_avg_pool1d if input.ndim == 3 else adaptive_avg_pool2d)(input, out)
    names, between = (("W",), "and output") if input.ndim == 3 else (("H", "W"), "output")
    shown = lambda sizes: ", ".join(f"{name}: {n}" for name, n in zip(names, sizes))
    refuse_if(
        min((*input.shape[2:], *out)) <= 0,
        f"Input and output sizes should be greater than 0, but got input ({shown(input.shape[2:])}) {between} ({shown(out)})",
        "There is nothing to interpolate.",
    )
    op = _SMOOTH[mode] if antialias else _OPS[mode, input.ndim - 2]
    return op.call(input, out, *(() if flat else (bool(align_corners),)), *scales)


@composite(namespace="nn.functional")
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Call `interpolate` by its former name."""
    message = "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead."
    warnings.warn(message, stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)
