"""Reading an image between its pixels: resizing, rotating and distorting tensors, with gradients."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.ops.interpolation import interpolate


class InterpolationMode(Enum):
    """How a value between pixels is found."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def mode_of(interpolation: InterpolationMode | int) -> InterpolationMode:
    """The InterpolationMode that is meant by itself or by Pillow's number. Raises TypeError for anything else."""
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


def _triangle(x):
    return np.maximum(0, 1 - np.abs(x))


def resize(img, size, mode, antialias):
    """The tensor `img` (..., H, W) with (height, width) `size`; integers are rounded. Raises ValueError for other modes
    than nearest, nearest-exact, bilinear and bicubic."""
    mode = mode.value
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise fail(
            ValueError,
            f"Interpolation mode '{mode}' is unsupported with Tensor input",
            "Tensors take nearest, nearest-exact, bilinear and bicubic; Pillow images take all.",
        )
    floats = (
        img
        if img.is_floating_point() and img.dtype is not autolab.float16
        else img.to(autolab.float32)
    )
    smooth = mode.startswith("bi")
    new = interpolate(
        floats.reshape(1, -1, *img.shape[-2:]),
        list(size),
        mode=mode,
        antialias=smooth and bool(antialias),
    ).reshape(*img.shape[:-2], *size)
    return _cast_back(
        new.clamp(0, 255) if mode == "bicubic" and img.dtype is autolab.uint8 else new, img.dtype
    )


def _cast_back(floats, dtype):
    if floats.dtype is dtype:
        return floats
    return (floats if dtype.is_floating_point else floats.round()).to(dtype)


def _rotated_size(cos, sin, shift, width, height):
    """(width, height) of the smallest upright frame around the rotated image."""
    x, y = np.array([[-0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, 0.5, -0.5]]) * np.array(
        [[width], [height]]
    )
    corners = np.stack(
        [cos * x + sin * y + shift[0] + width / 2, -sin * x + cos * y + shift[1] + height / 2]
    )
    tolerance = 1e-4  # a corner that close to a pixel's edge lies on it
    high = np.ceil(np.trunc(corners.max(1) / tolerance) * tolerance)
    low = np.floor(np.trunc(corners.min(1) / tolerance) * tolerance)
    return (high - low).astype(int).tolist()


def _check_mode(mode):
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise fail(
            ValueError,
            f"Interpolation mode '{mode.value}' is unsupported with Tensor input",
            "Rotated and distorted tensors take nearest and bilinear; Pillow images take bicubic too.",
        )


def _centers(width, height):
    """Columns (width,) and rows (height, 1) of the pixels' centers, from the middle of the image."""
    return np.arange(width) + 0.5 - width / 2, np.arange(height)[:, None] + 0.5 - height / 2


def rotate(img, angle, mode, expand, center, fill):
    """The tensor `img` (..., H, W) turned counter-clockwise by `angle` degrees about `center`.

    center: (x, y) in pixels from the upper left corner, None for the middle. expand: make room for the corners. fill:
    numbers, one or one per channel. Raises ValueError for other modes than nearest and bilinear.
    """
    _check_mode(mode)
    height, width = img.shape[-2:]
    cos, sin = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
    cx, cy = (0.0, 0.0) if center is None else (center[0] - width / 2, center[1] - height / 2)
    shift = (cx - cos * cx - sin * cy, cy + sin * cx - cos * cy)
    x, y = _centers(*(_rotated_size(cos, sin, shift, width, height) if expand else (width, height)))
    x, y = _moved(img, (cos, sin, shift[0], -sin, cos, shift[1]), x, y)
    return _read_at(img, x, y, mode, fill)


def inverse_affine(center, angle, translate, scale, shear):
    """Where pixels come from: (a, b, c, d, e, f), so that (x, y) comes from (a x + b y + c, d x + e y + f).

    The image is sheared by the angles `shear` = (x, y), enlarged by `scale` and turned by `angle` degrees about
    `center`, then moved by `translate` = (x, y).
    """
    turn, lean_x, lean_y = (math.radians(v) for v in (angle, *shear))
    forward = np.array(
        [
            [math.cos(turn - lean_y) / math.cos(lean_y), 0.0],
            [math.sin(turn - lean_y) / math.cos(lean_y), 0.0],
        ]
    )
    forward[:, 1] = -forward[:, 0] * math.tan(lean_x) + [-math.sin(turn), math.cos(turn)]
    (a, b), (c, d) = forward  # its determinant is 1
    back = np.array([[d, -b], [-c, a]]) / scale
    (c0, f0) = np.asarray(center, float) - back @ (
        np.asarray(center, float) + np.asarray(translate, float)
    )
    return [float(v) for v in (*back[0], c0, *back[1], f0)]


def affine(img, matrix, mode, fill):
    """The tensor `img` (..., H, W) whose pixel (x, y), counted from the middle, comes from where `inverse_affine` says.

    fill: numbers, one or one per channel, or None for 0. Raises ValueError for other modes than nearest and bilinear.
    """
    _check_mode(mode)
    x, y = _moved(img, matrix, *_centers(img.shape[-1], img.shape[-2]))
    return _read_at(img, x, y, mode, fill)


def _real(img):
    """The dtype in which torchvision computes places: rounded so, points half-way between two pixels go to the same
    one."""
    return img.dtype.np.type if img.is_floating_point() else np.float32


def _moved(img, matrix, x, y):
    """Where the points (x, y) from the middle come from, as parts of half the image's sides."""
    real = _real(img)
    half_height, half_width = (real(n / 2) for n in img.shape[-2:])
    a, b, c, d, e, f = (real(v) for v in matrix)
    x, y = x.astype(real), y.astype(real)
    return (
        a / half_width * x + b / half_width * y + c / half_width,
        d / half_height * x + e / half_height * y + f / half_height,
    )


def perspective(img, coefficients, mode, fill):
    """The tensor `img` (..., H, W) whose pixel (x, y) comes from ((a x + b y + c) / (g x + h y + 1), (d x + e y + f) /
    (g x + h y + 1)).

    coefficients: a … h; x and y are counted from the upper left corner. fill: as in `affine`. Raises ValueError for
    other modes than nearest and bilinear.
    """
    _check_mode(mode)
    height, width = img.shape[-2:]
    real = _real(img)
    x, y = (np.arange(width) + 0.5).astype(real), (np.arange(height)[:, None] + 0.5).astype(real)
    a, b, c, d, e, f, g, h = (real(v) for v in coefficients)
    below = g * x + h * y + real(1)
    half_width, half_height = real(width / 2), real(height / 2)
    columns = (a / half_width * x + b / half_width * y + c / half_width) / below - real(1)
    rows = (d / half_height * x + e / half_height * y + f / half_height) / below - real(1)
    return _read_at(img, columns, rows, mode, fill)


def _read_at(img, x, y, mode, fill):
    """The tensor `img` read at the points (x, y), from -1 to 1 across the image; `fill` where these lie outside, None
    for 0."""
    height, width = img.shape[-2:]
    floats = img if img.is_floating_point() else img.to(autolab.float32)
    columns, rows = (((place + 1) * n - 1) / 2 for place, n in ((x, width), (y, height)))
    around = fill or [0.0]
    around = (
        autolab.tensor(around, dtype=floats.dtype, device=img.device).view(-1, 1, 1)
        if img.ndim > 2
        else float(around[0])
    )
    if mode is InterpolationMode.NEAREST:
        pixels, inside = _pixels(floats, np.rint(rows), np.rint(columns))
        return _cast_back(autolab.where(_beside(img, inside), pixels, around), img.dtype)
    mixed: Any = 0
    covered: Any = 0
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        near_rows, near_columns = np.floor(rows) + row, np.floor(columns) + column
        pixels, inside = _pixels(floats, near_rows, near_columns)
        weight = _triangle(rows - near_rows) * _triangle(columns - near_columns) * inside
        weight = _beside(img, weight.astype(floats.dtype.np))
        mixed, covered = mixed + pixels * weight, covered + weight
    if fill is not None:
        # torchvision's blend, though what lies outside already counts as 0 in `mixed`: its edges are a little darker
        # than they need be
        mixed = mixed * covered + (1 - covered) * around
    return _cast_back(mixed, img.dtype)


def _pixels(img, rows, columns):
    """The pixels at `rows` and `columns` (any there are, where these lie outside), and where they lie inside."""
    height, width = img.shape[-2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    at = [
        _beside(img, np.clip(i, 0, n - 1).astype(np.int64))
        for i, n in ((rows, height), (columns, width))
    ]
    return img[..., at[0], at[1]], inside


def _beside(img, array):
    """The array as a tensor on the device of the image."""
    return autolab.from_numpy(array).to(img.device)
