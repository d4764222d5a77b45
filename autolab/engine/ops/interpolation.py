"""Resize images. Source: torch.nn.functional.interpolate

Every mode is a weighted sum of a few neighbours along each axis (`kernels/taps.py`), and its gradient is the adjoint.
Positions and weights use the same dtype as in PyTorch, so that they are rounded alike.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import numpy as np

from ..exact.arguments import ints_argument
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import unsupported
from ..kernels.taps import Reading, Tap
from .checks import refuse_if
from .functions import composite, internal
from .with_backward import rule


# -- positions and weights of each output ------------------------------------------------------------------------------
def _step(n, out, scale, align_corners, real):
    """Return the number of input positions per output position."""
    if align_corners:
        return real(n - 1) / real(out - 1) if out > 1 else real(0)
    return real(n) / real(out) if scale is None else real(1 / scale)


def _nearest(xp, n, out, scale, align_corners, real):
    i = xp.arange(out).astype(np.float32)
    index = xp.floor(i * _step(n, out, scale, False, np.float32)).astype(np.int64)
    return [Tap(index.clip(0, n - 1))]


def _linear(xp, n, out, scale, align_corners, real):
    if n == out:
        # As in PyTorch, each position is read twice, once with weight 0, which turns inf into NaN.
        i = xp.arange(n)
        return [Tap(i, xp.ones(n, real)), Tap(i, xp.zeros(n, real))]
    i, step = xp.arange(out).astype(real), _step(n, out, scale, align_corners, real)
    source = i * step if align_corners else step * (i + real(0.5)) - real(0.5)
    source = source.clip(0)
    low = source.astype(np.int64).clip(0, n - 1)
    share = (source - low).clip(0, 1).astype(real)
    return [Tap(low, 1 - share), Tap(xp.minimum(low + 1, n - 1), share)]


def _smooth(xp, n, out, scale, align_corners, real):
    """Return linear weights. If the image becomes smaller, they are spread over all positions that an output covers."""
    step = _step(n, out, scale, align_corners, real)
    reach = max(step, real(1))
    centers = step * (xp.arange(out).astype(real) + real(0.5))
    first = xp.maximum((centers - reach + real(0.5)).astype(np.int64), 0)
    end = xp.minimum((centers + reach + real(0.5)).astype(np.int64), n)
    position = first[:, None] + xp.arange(min(n, math.ceil(2 * reach) + 1))
    there = position < end[:, None]
    distance = abs(position.astype(real) - centers[:, None] + real(0.5)) * (1 / reach)
    weights = xp.where(there, xp.maximum(0, 1 - distance), real(0))
    total = weights.sum(1, keepdims=True)
    weights = weights / xp.where(total == 0, real(1), total)
    position = xp.minimum(position, n - 1)
    return [Tap(position[:, j], weights[:, j], there[:, j]) for j in range(position.shape[1])]


def _reading(xp, taps, n, *settings):
    return Reading(xp, n, taps(xp, n, *settings))


_reading_on_the_host = lru_cache(64)(lambda *sizes: _reading(np, *sizes))


# -- records -----------------------------------------------------------------------------------------------------------
def _register_upsample(name, taps, title, kernel):
    """Register the op and its adjoint. The arguments are PyTorch's: output_size, align_corners if the mode has it, and
    a scale for rows and for columns. kernel: the kernel's name in PyTorch's dtype error."""
    corners = () if taps is _nearest else ("align_corners",)
    listed = "".join(f"bool {c}, " for c in corners) + "float? scales_h, float? scales_w"
    settings = *corners, "scales_h", "scales_w"

    def along_axes(xp, x, method, sizes, outs, rest):
        """Return `x` after `of` or `back` (`method`) of the reading along each axis."""
        d = x.dtype
        x = x.astype(np.float32) if d.itemsize == 2 else x
        make = _reading_on_the_host if xp is np else lambda *sizes: _reading(xp, *sizes)
        for axis in (-1, -2):
            reading = make(taps, sizes[axis], outs[axis], rest[axis], rest[0], x.dtype.type)
            x = getattr(reading, method)(x, axis)
        return x.astype(d, copy=False)

    def forward(xp, x, output_size, *rest):
        if x.dtype.kind != "f":
            raise not_implemented(kernel, x.dtype)
        return along_axes(xp, x, "of", x.shape, output_size, rest)

    def backward(xp, g, output_size, input_size, *rest):
        return along_axes(xp, g, "back", input_size, output_size, rest)

    shape, given = (1, 2, 3, 4), [(5, 6), *(True for _ in corners), None, None]
    op = internal(
        f"{name}(Tensor self, int[] output_size, {listed})",
        forward=forward,
        vjp={"self": rule(f"{name}_backward", "output_size", "self_sym_sizes", *settings)},
        node=title + "Backward0",
        latex=r"\mathrm{resize}({self})",
        vjp_latex={"self": r"\mathrm{resize}^{T}({g})"},
        samples=lambda s: [(s.randn(*shape), *given)],
    )
    internal(
        f"{name}_backward(Tensor grad_output, int[] output_size, int[] input_size, {listed})",
        forward=backward,
        vjp={"grad_output": rule(name, "output_size", *settings)},
        node=title + "BackwardBackward0",
    )
    return op


_OPS = {
    ("nearest", False): _register_upsample(
        "upsample_nearest2d", _nearest, "UpsampleNearest2D", "upsample_nearest2d_channels_last"
    ),
    ("bilinear", False): _register_upsample(
        "upsample_bilinear2d", _linear, "UpsampleBilinear2D", "upsample_bilinear2d_channels_last"
    ),
    ("bilinear", True): _register_upsample(
        "_upsample_bilinear2d_aa", _smooth, "UpsampleBilinear2DAa", "compute_index_ranges_weights"
    ),
}


# -- arguments ---------------------------------------------------------------------------------------------------------
def _sizes(spatial, size, scale_factor):
    """Return (output sizes, scale factors); the factors are None if sizes are given."""
    both = size is not None and scale_factor is not None
    message = "only one of size or scale_factor should be defined"
    refuse_if(both, message, "Pass only one of them: each determines the other.", ValueError)
    message = "either size or scale_factor should be defined"
    refuse_if(
        size is scale_factor is None, message, "Pass either size= or scale_factor=.", ValueError
    )
    given = scale_factor if size is None else ints_argument("interpolate", "size", 2, size)
    values = tuple(given) if isinstance(given, (list, tuple)) else (given, given)
    words = ("output", "output size of", "output size in (o1, o2, ...,oK)")
    if size is None:
        words = ("scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
    refuse_if(
        len(values) != 2,
        f"Input and {words[0]} must have the same number of spatial dimensions, but got input with spatial dimensions of "
        f"{list(spatial)} and {words[1]} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {words[2]} format.",
        "One number for each dimension after samples and channels.",
        ValueError,
    )
    if size is not None:
        return values, (None, None)
    return tuple(math.trunc(n * factor) for n, factor in zip(spatial, values)), tuple(
        map(float, values)
    )


@composite(namespace="nn.functional")
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    antialias=False,
):
    """Return images (N, C, H, W) resized to `size`, or by `scale_factor`.

    mode: nearest or bilinear. antialias (bilinear): each value of a smaller image is the mean of all values that it
    covers. Raise ValueError for contradicting arguments, RuntimeError for empty sizes, NotImplementedError for other
    modes, sequences and volumes. Source: torch.nn.functional.interpolate."""
    op = _OPS.get((mode, bool(antialias)))
    if op is None:
        note = "It resizes by 'nearest' or 'bilinear'; antialias goes with 'bilinear'."
        raise unsupported("interpolate", f"mode='{mode}'", note)
    refuse_if(
        mode == "nearest" and align_corners is not None,
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
        "align_corners only applies to 'linear', 'bilinear', 'bicubic' and 'trilinear'.",
        ValueError,
    )
    message = f"Got {input.ndim}D input, but {mode} mode needs 4D input"
    refuse_if(input.ndim != 4, message, "It resizes images (N, C, H, W).", NotImplementedError)
    spatial = input.shape[2:]
    out, scales = _sizes(spatial, size, scale_factor)
    refuse_if(
        min((*spatial, *out)) <= 0,
        f"Input and output sizes should be greater than 0, but got input {tuple(spatial)} and output {out}",
        "There is nothing to interpolate.",
    )
    return op.call(input, out, *([bool(align_corners)] if mode != "nearest" else ()), *scales)


@composite(namespace="nn.functional")
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Call `interpolate` by its former name."""
    message = "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead."
    warnings.warn(message, stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)
