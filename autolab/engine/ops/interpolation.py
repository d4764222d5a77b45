"""Resizing sequences and images. Source: torch.nn.functional.interpolate

Every mode but 'area' is a weighted sum of a few neighbours along each axis (`kernels/taps.py`), and its gradient the
adjoint. Positions and weights are computed in the dtype that PyTorch computes them in, so that they round alike.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..core.errors import fail
from ..exact.refusals import unsupported
from ..kernels.taps import Reading, Tap
from .functions import composite, internal

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_CUBIC = (
    -0.75
)  # the constant A of Keys, "Cubic convolution interpolation for digital image processing" (1981)


def _inside(schema, **record):
    return internal(schema, **record)


# -- what each output reads --------------------------------------------------------------------------------------------
def _step(n, out, scale, real):
    """Input positions per output position."""
    return real(1 / scale) if scale is not None and scale > 0 else real(n) / real(out)


def _nearest(xp, n, out, scale, real, exact):
    i = xp.arange(out).astype(np.float32) + np.float32(0.5 if exact else 0)
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


def _lanczos(xp, x):
    return xp.where(x < 3, xp.sinc(x) * xp.sinc(x / 3), 0).astype(x.dtype)


_FILTERS = {
    "linear-aa": (_triangle, 1),
    "cubic-aa": (_keys, 2),
    "lanczos-aa": (_lanczos, 3),
}  # and how far they reach


def _smooth(kind):
    """The weights of a filter that, in a smaller image, is stretched over all positions that one covers, and cut at the
    edges."""
    weight, reach = _FILTERS[kind]

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


def _reading(xp, kind, n, out, scale, align_corners, real):
    make, corners = {
        "nearest": (_nearest, False),
        "exact": (_nearest, True),
        "linear": (_linear, align_corners),
        "cubic": (_cubic, align_corners),
        **{name: (_smooth(name), align_corners) for name in _FILTERS},
    }[kind]
    return Reading(xp, n, make(xp, n, out, scale, real, corners))


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


def _work_dtype(d):
    return np.float64 if d == np.float64 else np.float32


# -- records -----------------------------------------------------------------------------------------------------------
def _rules(name, dims, corners):
    """The rules of an op and of its adjoint; what they save depends on the op's arguments."""
    there, back = (
        (lambda m, *args: getattr(m, name)(*args)),
        (lambda m, *args: getattr(m, name + "_backward")(*args)),
    )
    if corners and dims == 1:
        return (
            lambda m, g, self_sym_sizes, output_size, align_corners, scales: back(
                m, g, output_size, self_sym_sizes, align_corners, scales
            ),
            lambda m, g, output_size, align_corners, scales: there(
                m, g, output_size, align_corners, scales
            ),
        )
    if corners:
        return (
            lambda m, g, self_sym_sizes, output_size, align_corners, scales_h, scales_w: back(
                m, g, output_size, self_sym_sizes, align_corners, scales_h, scales_w
            ),
            lambda m, g, output_size, align_corners, scales_h, scales_w: there(
                m, g, output_size, align_corners, scales_h, scales_w
            ),
        )
    if dims == 1:
        return (
            lambda m, g, self_sym_sizes, output_size, scales: back(
                m, g, output_size, self_sym_sizes, scales
            ),
            lambda m, g, output_size, scales: there(m, g, output_size, scales),
        )
    return (
        lambda m, g, self_sym_sizes, output_size, scales_h, scales_w: back(
            m, g, output_size, self_sym_sizes, scales_h, scales_w
        ),
        lambda m, g, output_size, scales_h, scales_w: there(m, g, output_size, scales_h, scales_w),
    )


def _upsample(name, dims, kind, node):
    """The op and its adjoint. Its arguments are PyTorch's: output_size, align_corners where there are corners, one
    scale per axis."""
    corners = kind not in ("nearest", "exact")
    rule, again = _rules(name, dims, corners)
    scales = ("scales",) if dims == 1 else ("scales_h", "scales_w")
    listed = ", ".join(
        (*(("bool align_corners",) if corners else ()), *(f"float? {scale}" for scale in scales))
    )

    def forward(xp, x, output_size, *rest):
        _refuse(x, kind, dims)
        align, given = (rest[0], rest[1:]) if corners else (False, rest)
        return _resized(
            x, _axes(xp, kind, x.shape[2:], output_size, given, align, _work_dtype(x.dtype))
        )

    def backward(xp, g, output_size, input_size, *rest):
        align, given = (rest[0], rest[1:]) if corners else (False, rest)
        if kind == "cubic" and tuple(input_size[2:]) == tuple(output_size):
            return xp.array(g, order="C")  # as in torch, which does not take this way forward
        return _sent_back(
            g, _axes(xp, kind, input_size[2:], output_size, given, align, _work_dtype(g.dtype))
        )

    shape, size = ((1, 2, 4), (6,)) if dims == 1 else ((1, 2, 3, 4), (5, 6))
    options = (
        [(True, *(None,) * dims), (False, *(None,) * dims), (False, *(1.5,) * dims)]
        if corners
        else [(None,) * dims, (1.5,) * dims]
    )
    sizes = [tuple(int(1.5 * n) for n in shape[2:]) if rest[-1] else size for rest in options]
    op = _inside(
        f"{name}(Tensor self, int[] output_size, {listed})",
        forward=forward,
        vjp={"self": rule},
        node=node + "Backward0",
        latex=r"\mathrm{resize}({self})",
        vjp_latex={"self": r"\mathrm{resize}^{T}({g})"},
        samples=lambda s: [(s.randn(*shape), out, *rest) for out, rest in zip(sizes, options)],
    )
    _inside(
        f"{name}_backward(Tensor grad_output, int[] output_size, int[] input_size, {listed})",
        forward=backward,
        vjp={"grad_output": again},
        node=node + "BackwardBackward0",
        samples=lambda s: [
            (s.randn(1, 2, *out), out, shape, *rest) for out, rest in zip(sizes, options)
        ],
    )
    return op


_WORDS = {"nearest": "nearest", "exact": "nearest", "linear": "linear", "cubic": "cubic"}


def _refuse(x, kind, dims):
    if x.dtype.kind != "f":
        from ..core.dtype import FROM_NUMPY

        flat = (
            f"compute_indices_weights_{_WORDS[kind]}"
            if kind in _WORDS
            else "compute_index_ranges_weights"
        )
        name = (
            flat
            if dims == 1 or kind not in ("nearest", "exact", "linear")
            else f"upsample_{'bilinear' if kind == 'linear' else 'nearest'}2d_channels_last"
        )
        raise fail(
            NotImplementedError,
            f"\"{name}\" not implemented for '{FROM_NUMPY[x.dtype].short}'",
            "Call .float() first.",
        )


_OPS = {
    ("nearest", 1): _upsample("upsample_nearest1d", 1, "nearest", "UpsampleNearest1D"),
    ("nearest", 2): _upsample("upsample_nearest2d", 2, "nearest", "UpsampleNearest2D"),
    ("nearest-exact", 1): _upsample(
        "_upsample_nearest_exact1d", 1, "exact", "UpsampleNearestExact1D"
    ),
    ("nearest-exact", 2): _upsample(
        "_upsample_nearest_exact2d", 2, "exact", "UpsampleNearestExact2D"
    ),
    ("linear", 1): _upsample("upsample_linear1d", 1, "linear", "UpsampleLinear1D"),
    ("bilinear", 2): _upsample("upsample_bilinear2d", 2, "linear", "UpsampleBilinear2D"),
    ("bicubic", 2): _upsample("upsample_bicubic2d", 2, "cubic", "UpsampleBicubic2D"),
}
_SMOOTH = {
    "bilinear": _upsample("_upsample_bilinear2d_aa", 2, "linear-aa", "UpsampleBilinear2DAa"),
    "bicubic": _upsample("_upsample_bicubic2d_aa", 2, "cubic-aa", "UpsampleBicubic2DAa"),
    "lanczos": _upsample("_upsample_lanczos2d_aa", 2, "lanczos-aa", "UpsampleLanczos2DAa"),
}


# -- arguments ---------------------------------------------------------------------------------------------------------
def _check_mode(input, mode):
    if (mode, input.ndim - 2) in _OPS or (mode == "area" and input.ndim in (3, 4)):
        return
    needs = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
    if needs and input.ndim in (3, 4, 5) and input.ndim != needs:
        raise fail(
            NotImplementedError,
            f"Got {input.ndim}D input, but {mode} mode needs {needs}D input",
            "linear is for sequences (N, C, L), bilinear for images (N, C, H, W).",
        )
    if input.ndim == 5 and mode in ("nearest", "nearest-exact", "area", "trilinear"):
        raise unsupported(
            "interpolate", "input", "autolab resizes sequences and images, not volumes."
        )
    raise fail(
        NotImplementedError,
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: {_MODES} (got {mode})",
        "The input is (N, C, L) or (N, C, H, W).",
    )


def _sizes(input, size, scale_factor, recompute):
    """(output sizes, scale factors) of which PyTorch passes on one: scale factors are None where it does not use
    them."""
    dims, spatial = input.ndim - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise fail(
            ValueError,
            "only one of size or scale_factor should be defined",
            "One follows from the other.",
        )
    if size is None and scale_factor is None:
        raise fail(
            ValueError,
            "either size or scale_factor should be defined",
            "How big is the result to be?",
        )
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dims:
                raise fail(
                    ValueError,
                    f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} "
                    f"and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
                    "(o1, o2, ...,oK) format.",
                    "One size for each dimension after samples and channels.",
                )
            if not all(isinstance(n, (int, np.integer)) for n in size):
                raise fail(
                    TypeError,
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
                    f"{[type(n) for n in size]}",
                    "Sizes are whole numbers; a factor goes to scale_factor.",
                )
        if recompute:
            raise fail(
                ValueError,
                "recompute_scale_factor is not meaningful with an explicit size.",
                "Leave it out.",
            )
        return tuple(size) if isinstance(size, (list, tuple)) else (size,) * dims, (None,) * dims
    if isinstance(scale_factor, (list, tuple)) and len(scale_factor) != dims:
        raise fail(
            ValueError,
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} and "
            f"scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in "
            "(s1, s2, ...,sK) format.",
            "One factor for each dimension after samples and channels.",
        )
    factors = (
        tuple(scale_factor) if isinstance(scale_factor, (list, tuple)) else (scale_factor,) * dims
    )
    out = tuple(math.trunc(n * factor) for n, factor in zip(spatial, factors))
    return out, (None,) * dims if recompute else tuple(map(float, factors))


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
    """Sequences (N, C, L) or images (N, C, H, W) resized to `size`, or by `scale_factor`.

    mode: nearest, nearest-exact, linear (sequences), bilinear, bicubic (images), area. antialias (bilinear, bicubic
    and, only with it, lanczos): numbers of a smaller image are means of all that they cover. Raises ValueError for
    contradicting arguments, RuntimeError for empty sizes. Source: torch.nn.functional.interpolate."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise fail(
                ValueError,
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
                "It says where the corners lie that are interpolated between.",
            )
    else:
        align_corners = bool(align_corners)
    out, scales = _sizes(
        input, size, scale_factor, recompute_scale_factor or (mode == "area" and size is None)
    )
    if antialias:
        if mode not in ("bilinear", "bicubic", "lanczos") or input.ndim != 4:
            raise fail(
                ValueError,
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
                "Leave it out.",
            )
    if mode == "lanczos" and input.ndim == 4:
        if align_corners:
            raise fail(
                ValueError, "Lanczos mode does not support align_corners=True", "Leave it out."
            )
        if not antialias:
            raise fail(
                ValueError,
                "Lanczos mode requires antialias=True",
                "There is no other Lanczos mode.",
            )
    else:
        _check_mode(input, mode)
    if mode == "area":
        from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d

        return (adaptive_avg_pool1d if input.ndim == 3 else adaptive_avg_pool2d)(input, out)
    if min((*input.shape[2:], *out)) <= 0:
        names = ("W",) if input.ndim == 3 else ("H", "W")
        shown = lambda sizes: ", ".join(f"{name}: {n}" for name, n in zip(names, sizes))
        between = "and output" if input.ndim == 3 else "output"
        raise fail(
            RuntimeError,
            f"Input and output sizes should be greater than 0, but got input ({shown(input.shape[2:])}) {between} ({shown(out)})",
            "There is nothing to interpolate.",
        )
    op = _SMOOTH[mode] if antialias else _OPS[mode, input.ndim - 2]
    return (
        op.call(input, out, align_corners, *scales)
        if "align_corners" in op.params
        else op.call(input, out, *scales)
    )


@composite(namespace="nn.functional")
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate` by its former name."""
    import warnings

    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)
