"""Reading an image between its pixels: resizing, rotating and distorting tensors, with gradients."""

import math
from enum import Enum

import numpy as np

import autolab
from autolab.engine.errors import fail
from autolab.nn.functional import interpolate


class InterpolationMode(Enum):
    """How a value between pixels is found."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def mode_of(interpolation):
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
    """The tensor `img` (..., H, W) with (height, width) `size`; integers are rounded. Raises ValueError for other modes than
    nearest, nearest-exact, bilinear and bicubic."""
    mode = mode.value
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise fail(
            ValueError,
            f"Interpolation mode '{mode}' is unsupported with Tensor input",
            "Tensors take nearest, nearest-exact, bilinear and bicubic; Pillow images take all.",
        )
    floats = img if img.is_floating_point() and img.dtype is not autolab.float16 else img.to(autolab.float32)
    smooth = mode.startswith("bi")
    new = interpolate(
        floats.reshape(1, -1, *img.shape[-2:]), list(size), mode=mode, antialias=smooth and bool(antialias)
    ).reshape(*img.shape[:-2], *size)
    return _cast_back(new.clamp(0, 255) if mode == "bicubic" and img.dtype is autolab.uint8 else new, img.dtype)


def _cast_back(floats, dtype):
    if floats.dtype is dtype:
        return floats
    return (floats if dtype.is_floating_point else floats.round()).to(dtype)


def _rotated_size(cos, sin, shift, width, height):
    """(width, height) of the smallest upright frame around the rotated image."""
    x, y = np.array([[-0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, 0.5, -0.5]]) * np.array([[width], [height]])
    corners = np.stack([cos * x + sin * y + shift[0] + width / 2, -sin * x + cos * y + shift[1] + height / 2])
    tolerance = 1e-4  # a corner that close to a pixel's edge lies on it
    high = np.ceil(np.trunc(corners.max(1) / tolerance) * tolerance)
    low = np.floor(np.trunc(corners.min(1) / tolerance) * tolerance)
    return (high - low).astype(int).tolist()


def rotate(img, angle, mode, expand, center, fill):
    """The tensor `img` (..., H, W) turned counter-clockwise by `angle` degrees about `center`.

    center: (x, y) in pixels from the upper left corner, None for the middle. expand: make room for the corners. fill: numbers,
    one or one per channel. Raises ValueError for other modes than nearest and bilinear.
    """
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise fail(
            ValueError,
            f"Interpolation mode '{mode.value}' is unsupported with Tensor input",
            "Rotated tensors take nearest and bilinear; Pillow images take bicubic too.",
        )
    height, width = img.shape[-2:]
    cos, sin = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
    cx, cy = (0.0, 0.0) if center is None else (center[0] - width / 2, center[1] - height / 2)
    shift = (cx - cos * cx - sin * cy, cy + sin * cx - cos * cy)
    new_width, new_height = _rotated_size(cos, sin, shift, width, height) if expand else (width, height)
    x, y = np.arange(new_width) + 0.5 - new_width / 2, np.arange(new_height)[:, None] + 0.5 - new_height / 2
    floats = img if img.is_floating_point() else img.to(autolab.float32)
    columns = (cos * x + sin * y + shift[0] + width / 2 - 0.5).astype(floats.dtype.np)
    rows = (-sin * x + cos * y + shift[1] + height / 2 - 0.5).astype(floats.dtype.np)
    around = autolab.tensor(fill, dtype=floats.dtype).view(-1, 1, 1) if img.ndim > 2 else float(fill[0])
    if mode is InterpolationMode.NEAREST:
        pixels, inside = _pixels(floats, np.rint(rows), np.rint(columns))
        return _cast_back(autolab.where(autolab.from_numpy(inside), pixels, around), img.dtype)
    mixed = covered = 0
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        near_rows, near_columns = np.floor(rows) + row, np.floor(columns) + column
        pixels, inside = _pixels(floats, near_rows, near_columns)
        weight = _triangle(rows - near_rows) * _triangle(columns - near_columns) * inside
        weight = autolab.from_numpy(weight.astype(floats.dtype.np))
        mixed, covered = mixed + pixels * weight, covered + weight
    # torchvision's blend, though what lies outside already counts as 0 in `mixed`: its edges are a little darker than they need be
    return _cast_back(mixed * covered + (1 - covered) * around, img.dtype)


def _pixels(img, rows, columns):
    """The pixels at `rows` and `columns` (any there are, where these lie outside), and where they lie inside."""
    height, width = img.shape[-2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    at = [autolab.from_numpy(np.clip(i, 0, n - 1).astype(np.int64)) for i, n in ((rows, height), (columns, width))]
    return img[..., at[0], at[1]], inside
