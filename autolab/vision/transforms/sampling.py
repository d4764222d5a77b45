"""Read an image between its pixels: resize and rotate tensors, with gradients."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.ops.interpolation import interpolate


class InterpolationMode(Enum):
    """How a value between pixels is computed."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def mode_of(interpolation: InterpolationMode | int) -> InterpolationMode:
    """Return the InterpolationMode for itself or for Pillow's number. Raises TypeError for anything else."""
    numbers = ("NEAREST", "LANCZOS", "BILINEAR", "BICUBIC", "BOX", "HAMMING")
    if isinstance(interpolation, int) and 0 <= interpolation < len(numbers):
        return InterpolationMode[numbers[interpolation]]
    if not isinstance(interpolation, InterpolationMode):
        raise fail(
            TypeError,
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant",
            "For example transforms.InterpolationMode.BILINEAR.",
        )
    return interpolation


def _check_mode(mode, *supported):
    if mode.value not in supported:
        raise fail(
            ValueError,
            f"Interpolation mode '{mode.value}' is unsupported with Tensor input",
            f"Tensors take {', '.join(supported)} here; Pillow images take more.",
        )


def resize(img, size, mode, antialias):
    """Return the tensor `img` (..., H, W) with (height, width) `size`; integers are rounded."""
    _check_mode(mode, "nearest", "bilinear")
    mode = mode.value
    new = interpolate(
        _as_floats(img).reshape(1, -1, *img.shape[-2:]),
        list(size),
        mode=mode,
        antialias=mode == "bilinear" and bool(antialias),
    ).reshape(*img.shape[:-2], *size)
    return _cast_back(new, img.dtype)


def _as_floats(img):
    keeps_dtype = img.is_floating_point() and img.dtype is not autolab.float16
    return img if keeps_dtype else img.to(autolab.float32)


def _cast_back(floats, dtype):
    if floats.dtype is dtype:
        return floats
    return (floats if dtype.is_floating_point else floats.round()).to(dtype)


def rotate(img, angle, mode, fill):
    """Return the tensor `img` (..., H, W) turned counter-clockwise by `angle` degrees about its middle.

    fill: numbers, one or one per channel. Raises ValueError for other modes than nearest and bilinear.
    """
    _check_mode(mode, "nearest", "bilinear")
    columns, rows = _sources(img, math.radians(-angle))
    floats = img if img.is_floating_point() else img.to(autolab.float32)
    background = _background(img, fill, floats.dtype)
    if mode is InterpolationMode.NEAREST:
        pixels, inside = _pixels(floats, np.rint(rows), np.rint(columns))
        return _cast_back(autolab.where(_beside(img, inside), pixels, background), img.dtype)
    mixed: Any = 0
    covered: Any = 0
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        near_rows, near_columns = np.floor(rows) + row, np.floor(columns) + column
        pixels, inside = _pixels(floats, near_rows, near_columns)
        weight = _triangle(rows - near_rows) * _triangle(columns - near_columns) * inside
        weight = _beside(img, weight.astype(floats.dtype.np))
        mixed, covered = mixed + pixels * weight, covered + weight
    # This is torchvision's blend, although pixels outside already count as 0 in `mixed`: its edges are a little darker
    # than they need be.
    return _cast_back(mixed * covered + (1 - covered) * background, img.dtype)


def _sources(img, radians):
    """Return the columns and rows that the pixels of the turned image come from."""
    # torchvision computes places in this dtype. With another rounding, points half-way between two pixels would go to
    # another one.
    real = img.dtype.np.type if img.is_floating_point() else np.float32
    height, width = img.shape[-2:]
    cos, sin = real(math.cos(radians)), real(math.sin(radians))
    x = (np.arange(width) + 0.5 - width / 2).astype(real)
    y = (np.arange(height)[:, None] + 0.5 - height / 2).astype(real)
    half_width, half_height = real(width / 2), real(height / 2)
    across = cos / half_width * x + sin / half_width * y
    down = -sin / half_height * x + cos / half_height * y
    return ((across + 1) * width - 1) / 2, ((down + 1) * height - 1) / 2


def _background(img, fill, dtype):
    if img.ndim == 2:
        return float(fill[0])
    return autolab.tensor(fill, dtype=dtype, device=img.device).view(-1, 1, 1)


def _triangle(x):
    return np.maximum(0, 1 - np.abs(x))


def _pixels(img, rows, columns):
    """Return the pixels at `rows` and `columns` (arbitrary ones outside), and where these lie inside."""
    height, width = img.shape[-2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    row, column = (
        _beside(img, np.clip(places, 0, n - 1).astype(np.int64))
        for places, n in ((rows, height), (columns, width))
    )
    return img[..., row, column], inside


def _beside(img, array):
    """Return the array as a tensor on the device of the image."""
    return autolab.from_numpy(array).to(img.device)
