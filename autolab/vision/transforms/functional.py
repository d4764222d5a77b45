"""The transforms as functions (`torchvision.transforms.functional`)."""

from __future__ import annotations

import numbers
import warnings
from fractions import Fraction
from collections.abc import Sequence
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import sampling
from autolab.vision.transforms.colours import (  # noqa: F401
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    gaussian_blur,
    invert,
    posterize,
    solarize,
)
from autolab.vision.transforms.images import (  # noqa: F401
    Image,
    convert_image_dtype,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    is_number,
    is_pil,
    pil_of,
    pil_to_tensor,
    pillow,
    planes,
    to_pil_image,
    to_tensor,
)
from autolab.vision.transforms.sampling import InterpolationMode, mode_of  # noqa: F401

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "affine", "autocontrast", "center_crop", "convert_image_dtype", "crop", "equalize", "erase",
    "five_crop", "gaussian_blur", "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert",
    "normalize", "pad", "perspective", "pil_to_tensor", "posterize", "resize", "resized_crop", "rgb_to_grayscale",
    "rotate", "solarize", "ten_crop", "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip

_PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def _pair(
    size: int | Sequence[int], message: str = "Please provide only two dimensions (h, w) for size."
) -> Sequence[int]:
    """(height, width) of one number or of a sequence of one or two. Raises ValueError with `message`."""
    if is_number(size):
        return int(size), int(size)
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise fail(ValueError, message, "One number makes a square.")
    return size


def _read(pixels, rows, columns):
    """The pixels at the crossings of `rows` and `columns`."""
    if isinstance(pixels, Tensor):
        rows, columns = autolab.from_numpy(rows), autolab.from_numpy(columns)
    return pixels[..., rows, :][..., columns]


def _framed(pixels, left, top, right, bottom, fill):
    """The pixels inside a frame of `fill`; negative widths cut off."""
    height, width = pixels.shape[-2:]
    shape = (*pixels.shape[:-2], height + top + bottom, width + left + right)
    if isinstance(pixels, Tensor):
        framed = autolab.full(shape, fill, dtype=pixels.dtype, device=pixels.device)
    else:
        framed = np.empty(shape, pixels.dtype)
        framed[...] = np.reshape(fill, (-1, 1, 1)) if np.ndim(fill) else fill
    inner = pixels[
        ..., max(-top, 0) : height + min(bottom, 0), max(-left, 0) : width + min(right, 0)
    ]
    framed[
        ...,
        max(top, 0) : max(top, 0) + inner.shape[-2],
        max(left, 0) : max(left, 0) + inner.shape[-1],
    ] = inner
    return framed


def _check_padding(padding, fill, padding_mode):
    """Raises TypeError, ValueError in torchvision's words for what `pad` does not take."""
    if not isinstance(padding, (numbers.Number, tuple, list)):
        raise fail(
            TypeError, "Got inappropriate padding arg", "A number, or (left, top, right, bottom)."
        )
    if not isinstance(fill, (numbers.Number, tuple, list)):
        raise fail(TypeError, "Got inappropriate fill arg", "A number, or one per channel.")
    if padding_mode not in _PADDING_MODES:
        message = "Padding mode should be either constant, edge, reflect or symmetric"
        raise fail(ValueError, message, "It says what stands beyond the edge.")
    if isinstance(padding, (tuple, list)) and len(padding) not in (1, 2, 4):
        message = f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
        raise fail(
            ValueError, message, "(left and right, top and bottom) or (left, top, right, bottom)."
        )


def pad(
    img: Image,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = 0,
    padding_mode: str = "constant",
) -> Image:
    """`img` with `padding` more pixels: a number, (left and right, top and bottom) or (left, top, right, bottom).

    fill: for padding_mode "constant", one number or (not for tensors) one per channel. Other modes: "edge" repeats the
    last pixel, "reflect" mirrors without it, "symmetric" with it.
    """
    fill = 0 if fill is None else fill
    _check_padding(padding, fill, padding_mode)
    widths = [padding] if is_number(padding) else list(padding)
    left, top, right, bottom = widths * (4 // len(widths))
    pixels, restore = planes(img)
    if padding_mode == "constant":
        if isinstance(img, Tensor) and not is_number(fill):
            raise fail(TypeError, "Got inappropriate fill arg", "Tensors take one number.")
        return restore(_framed(pixels, left, top, right, bottom, fill))
    rows, columns = (np.arange(n) for n in pixels.shape[-2:])
    places = []
    for indices, before, after in ((rows, top, bottom), (columns, left, right)):
        indices = indices[max(-before, 0) : len(indices) + min(after, 0)]
        if padding_mode == "reflect" and max(before, after) >= len(indices):
            raise fail(
                RuntimeError,
                f"Padding size should be less than the corresponding input dimension, but got: padding ({before}, "
                f"{after}) at a dimension of size {len(indices)}",
                "A mirror image has one pixel less than the image.",
            )
        margins = max(before, 0), max(after, 0)
        places.append(np.pad(indices, margins, mode=padding_mode))  # type: ignore[call-overload]
    return restore(_read(pixels, *places))


def crop(img: Image, top: int, left: int, height: int, width: int) -> Image:
    """The part of `img` with the given upper left corner and size; black where it reaches beyond."""
    pixels, restore = planes(img)
    h, w = pixels.shape[-2:]
    if top >= 0 and left >= 0 and top + height <= h and left + width <= w:
        return restore(pixels[..., top : top + height, left : left + width])
    return restore(_framed(pixels, -left, -top, left + width - w, top + height - h, 0))


def center_crop(img: Image, output_size: int | Sequence[int]) -> Image:
    """The middle of `img`, (height, width) `output_size`, with a black frame where the image is smaller."""
    height, width = _pair(output_size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        across, down = max(width - w, 0), max(height - h, 0)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        h, w = max(h, height), max(w, width)
    return crop(img, round((h - height) / 2), round((w - width) / 2), height, width)


def five_crop(img: Image, size: int | Sequence[int]) -> tuple[Image, Image, Image, Image, Image]:
    """The four corners (upper left, upper right, lower left, lower right) and the middle, each of (height, width)
    `size`.

    Raises ValueError when the image is smaller.
    """
    height, width = _pair(size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        message = f"Requested crop size {(height, width)} is bigger than input size {(h, w)}"
        raise fail(ValueError, message, "Pad the image, or enlarge it with Resize.")
    corners = ((0, 0), (0, w - width), (h - height, 0), (h - height, w - width))
    one, two, three, four = (crop(img, top, left, height, width) for top, left in corners)
    return one, two, three, four, center_crop(img, [height, width])


def ten_crop(
    img: Image, size: int | Sequence[int], vertical_flip: bool = False
) -> tuple[Image, ...]:
    """`five_crop` of the image, and of the image flipped, left and right or (`vertical_flip`) top and bottom
    exchanged."""
    flipped = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(flipped, size)


def hflip(img: Image) -> Image:
    """Left and right exchanged."""
    return _flipped(img, -1)


def vflip(img: Image) -> Image:
    """Top and bottom exchanged."""
    return _flipped(img, -2)


def _flipped(img, dim):
    pixels, restore = planes(img)
    return restore(pixels.flip(dim) if isinstance(pixels, Tensor) else np.flip(pixels, dim))


def _resized_size(h, w, size, max_size):
    """(height, width) asked for by `size`: both, or one number for the shorter side; the longer gets `max_size` at
    most."""
    if len(size) == 2:
        return size[0], size[1]
    short, long = min(h, w), max(h, w)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= new_short:
            message = f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}"
            raise fail(ValueError, message, "max_size limits the longer side.")
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if w <= h else (new_short, new_long)


def resize(
    img: Image,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Image:
    """`img` with (height, width) `size`, or with `size` for its shorter side.

    antialias: a smaller image's pixels are means of all that they cover (tensors, bilinear and bicubic; Pillow images
    always). Raises ValueError for sizes of other lengths.
    """
    mode = mode_of(interpolation)
    size = [size] if isinstance(size, int) else list(size)
    if len(size) not in (1, 2):
        message = f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
        raise fail(ValueError, message, "(height, width).")
    if max_size is not None and len(size) != 1:
        message = (
            "max_size should only be passed if size specifies the length of the smaller edge, i.e. size should be an int or "
            "a sequence of length 1 in torchscript mode."
        )
        raise fail(ValueError, message, "With both sides given there is nothing to limit.")
    _, h, w = get_dimensions(img)
    new = _resized_size(h, w, size, max_size)
    if new == (h, w):
        return img
    if is_pil(img):
        if antialias is False:
            warnings.warn(
                "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.",
                stacklevel=2,
            )
        name = "NEAREST" if mode is InterpolationMode.NEAREST_EXACT else mode.name
        return img.resize(new[::-1], getattr(pillow().Resampling, name))
    return _as_tensor(img, lambda tensor: sampling.resize(tensor, new, mode, antialias))


def _as_tensor(img, function):
    """`function` of a tensor, for a tensor or an array."""
    pixels, restore = planes(img)
    if isinstance(pixels, Tensor):
        return function(pixels)
    return restore(function(autolab.from_numpy(np.ascontiguousarray(pixels))).numpy())


def resized_crop(
    img: Image,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Image:
    """`crop`, then `resize`."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def rotate(
    img: Image,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Image:
    """`img` turned counter-clockwise by `angle` degrees.

    expand: enlarge the frame so that nothing is cut off. center: (x, y) from the upper left corner, by default the
    middle. fill: colour of what was outside, by default black.
    """
    mode = mode_of(interpolation)
    if not isinstance(angle, (int, float)):
        raise fail(TypeError, "Argument angle should be int or float", "In degrees.")
    fill = _colour(img, fill)
    if is_pil(img):
        resampling = getattr(pillow().Resampling, mode.name)
        return img.rotate(angle, resampling, expand, center, fillcolor=_pil_colour(img, fill))
    return _as_tensor(
        img, lambda tensor: sampling.rotate(tensor, angle, mode, expand, center, fill)
    )


def _colour(img, fill):
    """`fill` as a list of floats, one or one per channel. Raises ValueError for another number."""
    channels = get_dimensions(img)[0]
    fill = [0] if fill is None else [fill] if is_number(fill) else list(fill)
    if len(fill) not in (1, channels):
        fails = "does not match" if is_pil(img) else "cannot broadcast to match"
        message = f"The number of elements in 'fill' {fails} the number of channels of the image ({len(fill)} != {channels})"
        raise fail(ValueError, message, "One number for all channels, or one for each.")
    return [float(value) for value in fill]


def _pil_colour(img, fill):
    channels = get_dimensions(img)[0]
    colour = [value if img.mode == "F" else int(value) for value in fill]
    return tuple(colour * (channels if len(colour) == 1 else 1)) if channels > 1 else colour[0]


def _moved(img, how, data, mode, fill, on_tensor):
    """`img` with its pixels read elsewhere: by Pillow's transform of the name `how`, or by `on_tensor`."""
    colour = _colour(img, fill)
    if is_pil(img):
        method = getattr(pillow().Transform, how)
        resampling = getattr(pillow().Resampling, mode.name)
        return img.transform(img.size, method, data, resampling, fillcolor=_pil_colour(img, colour))
    return _as_tensor(img, lambda tensor: on_tensor(tensor, None if fill is None else colour))


def affine(
    img: Image,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Image:
    """`img` sheared by the angles `shear` (a number for x, or (x, y)), enlarged by `scale` and turned clockwise by
    `angle` degrees about `center`, then moved by `translate` = (x, y) pixels.

    center: (x, y) from the upper left corner, by default the middle. fill: colour of what was outside. Raises
    TypeError, ValueError for arguments of other kinds and lengths.
    """
    mode = mode_of(interpolation)
    if not isinstance(angle, (int, float)):
        raise fail(TypeError, "Argument angle should be int or float", "In degrees.")
    if not isinstance(translate, (list, tuple)):
        raise fail(TypeError, "Argument translate should be a sequence", "(x, y) in pixels.")
    if len(translate) != 2:
        raise fail(
            ValueError, "Argument translate should be a sequence of length 2", "(x, y) in pixels."
        )
    if scale <= 0.0:
        raise fail(ValueError, "Argument scale should be positive", "1 leaves the size as it is.")
    if not isinstance(shear, (numbers.Number, list, tuple)):
        message = "Shear should be either a single value or a sequence of two values"
        raise fail(TypeError, message, "Angles in degrees.")
    angles = [shear, 0.0] if is_number(shear) else list(shear) * (2 if len(shear) == 1 else 1)
    if len(angles) != 2:
        message = f"Shear should be a sequence containing two values. Got {angles}"
        raise fail(ValueError, message, "Angles in degrees.")
    if center is not None and not isinstance(center, (list, tuple)):
        raise fail(TypeError, "Argument center should be a sequence", "(x, y) in pixels.")
    _, height, width = get_dimensions(img)
    middle = np.array([width * 0.5, height * 0.5])
    fixed = middle if center is None else np.asarray(center, float)
    matrix = sampling.inverse_affine(
        fixed if is_pil(img) else fixed - middle, angle, translate, scale, angles
    )
    return _moved(
        img,
        "AFFINE",
        matrix,
        mode,
        fill,
        lambda t, colour: sampling.affine(t, matrix, mode, colour),
    )


def _solved(matrix, right):
    """The float32 solution of linear equations, by elimination in exact fractions: with LAPACK a point half-way between
    two pixels would go to the one or the other, depending on the processor. Raises ValueError when there is not one
    solution."""
    rows = [[Fraction(v) for v in (*row, value)] for row, value in zip(matrix, right)]
    for k in range(len(rows)):
        pivot = next((row for row in rows[k:] if row[k]), None)
        if pivot is None:
            raise fail(
                ValueError,
                "Please provide corners of which no three lie on a line.",
                "They span no area to distort.",
            )
        rows.remove(pivot)
        rows = [
            [a - row[k] / pivot[k] * b for a, b in zip(row, pivot)] if row[k] else row
            for row in rows
        ]
        rows.insert(k, pivot)
    return [float(np.float32(float(row[-1] / row[k]))) for k, row in enumerate(rows)]


def perspective(
    img: Image,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Image:
    """`img` distorted so that the four corners `startpoints` come to lie at `endpoints`, each [x, y] in pixels.

    fill: colour of what was outside. Raises ValueError unless there are four of each.
    """
    if len(startpoints) != 4 or len(endpoints) != 4:
        message = f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        raise fail(ValueError, message, "Upper left, upper right, lower right, lower left.")
    equations = []
    for (x, y), (u, v) in zip(endpoints, startpoints):  # where a pixel of the result comes from
        equations += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    places, mode = (
        _solved(equations, [v for point in startpoints for v in point]),
        mode_of(interpolation),
    )
    return _moved(
        img,
        "PERSPECTIVE",
        places,
        mode,
        fill,
        lambda t, colour: sampling.perspective(t, places, mode, colour),
    )


def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """(tensor - mean) / std for each channel of a float tensor (..., C, H, W).

    Raises TypeError for what is no float tensor, ValueError for too few dimensions or a standard deviation of zero.
    """
    if not isinstance(tensor, Tensor):
        message = f"img should be Tensor Image. Got {type(tensor)}"
        raise fail(TypeError, message, "Put ToTensor() before Normalize.")
    if not tensor.is_floating_point():
        message = f"Input tensor should be a float tensor. Got {tensor.dtype}."
        raise fail(
            TypeError,
            message,
            "ToTensor() or ConvertImageDtype(torch.float) makes numbers from 0 to 1 of bytes.",
        )
    if tensor.ndim < 3:
        message = f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        raise fail(ValueError, message, "A grey image is (1, H, W).")
    means, stds = (np.asarray(value, tensor.dtype.np) for value in (mean, std))
    if not stds.all():
        message = f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        raise fail(ValueError, message, "A channel that never changes needs no scaling: use 1.")
    shift, scale = (
        autolab.from_numpy(value.reshape(-1, 1, 1) if value.ndim == 1 else value).to(tensor.device)
        for value in (means, stds)
    )
    return tensor.sub_(shift).div_(scale) if inplace else (tensor - shift) / scale


def rgb_to_grayscale(img: Image, num_output_channels: int = 1) -> Image:
    """Brightness, 0.299 red + 0.587 green + 0.114 blue, as one channel or as three equal ones.

    Raises ValueError for other numbers of channels, TypeError for images that are neither grey nor RGB.
    """
    if num_output_channels not in (1, 3):
        raise fail(
            ValueError,
            "num_output_channels should be either 1 or 3",
            "3 suits networks for colour images.",
        )
    if is_pil(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else pil_of(np.dstack([np.array(grey)] * 3))
    image = img[:, :, None] if isinstance(img, np.ndarray) and img.ndim == 2 else img
    return _as_tensor(image, lambda tensor: _grey(tensor, num_output_channels))


to_grayscale = rgb_to_grayscale


def _grey(img, channels):
    if img.ndim < 3:
        message = f"Input image tensor should have at least 3 dimensions, but found {img.ndim}"
        raise fail(TypeError, message, "(..., 3, H, W).")
    if img.shape[-3] not in (1, 3):
        message = (
            f"Input image tensor permitted channel values are [1, 3], but found {img.shape[-3]}"
        )
        raise fail(TypeError, message, "Red, green and blue.")
    grey = img.clone()
    if img.shape[-3] == 3:
        red, green, blue = img.unbind(-3)
        grey = (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)
    return (
        grey.expand(img.shape) if channels == 3 else grey
    )  # a grey image keeps its one channel, as in torchvision


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """The tensor `img` with its pixels in rows i … i + h, columns j … j + w set to `v`."""
    if not isinstance(img, Tensor):
        raise fail(
            TypeError, f"img should be Tensor Image. Got {type(img)}", "Put ToTensor() before it."
        )
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
