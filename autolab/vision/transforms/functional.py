"""The transforms as functions (`torchvision.transforms.functional`)."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported
from autolab.nn import functional as nnf
from autolab.vision.transforms import sampling
from autolab.vision.transforms.colours import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    gaussian_blur,
    rgb_to_grayscale,
)
from autolab.vision.transforms.images import (
    Image,
    convert_image_dtype,
    get_dimensions,
    is_number,
    is_pil,
    pil_of,
    pil_to_tensor,
    pillow,
    to_pil_image,
    to_tensor,
)
from autolab.vision.transforms.sampling import InterpolationMode, mode_of

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "center_crop",
    "convert_image_dtype", "crop", "gaussian_blur", "get_dimensions", "hflip", "normalize", "pad", "pil_to_tensor",
    "resize", "resized_crop", "rgb_to_grayscale", "rotate", "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip

to_grayscale = rgb_to_grayscale


def _pair(
    size: int | Sequence[int], message: str = "Please provide only two dimensions (h, w) for size."
) -> Sequence[int]:
    """Return (height, width) of one number or of a sequence of one or two. Raises ValueError with `message`."""
    if is_number(size):
        return int(size), int(size)
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise fail(ValueError, message, "One number makes a square.")
    return size


def _check_padding(padding, fill, padding_mode):
    """Raise TypeError, ValueError in torchvision's words for arguments that `pad` does not take."""
    if not isinstance(padding, (numbers.Number, tuple, list)):
        note = "A number, or (left, top, right, bottom)."
        raise fail(TypeError, "Got inappropriate padding arg", note)
    if not isinstance(fill, (numbers.Number, tuple, list)):
        raise fail(TypeError, "Got inappropriate fill arg", "A number, or one per channel.")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        message = "Padding mode should be either constant, edge, reflect or symmetric"
        raise fail(ValueError, message, "It says what stands beyond the edge.")
    if isinstance(padding, (tuple, list)) and len(padding) not in (1, 2, 4):
        message = f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
        note = "(left and right, top and bottom) or (left, top, right, bottom)."
        raise fail(ValueError, message, note)


def pad(
    img: Image,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = 0,
    padding_mode: str = "constant",
) -> Image:
    """Return `img` with `padding` more pixels around it.

    padding: a number, (left and right, top and bottom) or (left, top, right, bottom).

    fill: for padding_mode "constant", one number or (not for tensors) one per channel. Other modes: "edge" repeats the
    last pixel, "reflect" mirrors without it, "symmetric" with it.
    """
    fill = 0 if fill is None else fill
    _check_padding(padding, fill, padding_mode)
    widths = [padding] if is_number(padding) else list(padding)
    left, top, right, bottom = widths * (4 // len(widths))
    if min(left, top, right, bottom) < 0:
        raise unsupported("pad", "padding", "For negative widths use crop.")
    _, height, width = get_dimensions(img)
    if padding_mode == "constant":
        if is_pil(img):
            from PIL import ImageOps

            return ImageOps.expand(img, (left, top, right, bottom), _pil_colour(img, fill))
        if not is_number(fill):
            raise fail(TypeError, "Got inappropriate fill arg", "Tensors take one number.")
        return nnf.pad(img, (left, right, top, bottom), value=fill)
    rows = _mirrored(height, top, bottom, padding_mode)
    columns = _mirrored(width, left, right, padding_mode)
    if is_pil(img):
        return pil_of(np.asarray(img)[rows][:, columns], None if img.mode == "1" else img.mode)
    rows, columns = (autolab.from_numpy(places).to(img.device) for places in (rows, columns))
    return img[..., rows, :][..., columns]


def _mirrored(size, before, after, padding_mode):
    """Return the places along a side of `size` pixels that a padded side shows."""
    if padding_mode == "reflect" and max(before, after) >= size:
        raise fail(
            RuntimeError,
            f"Padding size should be less than the corresponding input dimension, but got: padding ({before}, "
            f"{after}) at a dimension of size {size}",
            "A mirror image has one pixel less than the image.",
        )
    return np.pad(np.arange(size), (before, after), mode=padding_mode)


def crop(img: Image, top: int, left: int, height: int, width: int) -> Image:
    """Return the part of `img` with the given upper left corner and size; black where it reaches beyond."""
    _, h, w = get_dimensions(img)
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    bottom, right = top + height, left + width
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top >= 0 and left >= 0 and bottom <= h and right <= w:
        return inside
    margins = max(-left, 0), max(right - w, 0), max(-top, 0), max(bottom - h, 0)
    return nnf.pad(inside, margins)


def center_crop(img: Image, output_size: int | Sequence[int]) -> Image:
    """Return the middle of `img`, (height, width) `output_size`, with a black frame where the image is smaller."""
    height, width = _pair(output_size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        across, down = max(width - w, 0), max(height - h, 0)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        h, w = max(h, height), max(w, width)
    return crop(img, round((h - height) / 2), round((w - width) / 2), height, width)


def hflip(img: Image) -> Image:
    """Return the image with left and right exchanged."""
    return _flipped(img, -1, "FLIP_LEFT_RIGHT")


def vflip(img: Image) -> Image:
    """Return the image with top and bottom exchanged."""
    return _flipped(img, -2, "FLIP_TOP_BOTTOM")


def _flipped(img, dim, method):
    get_dimensions(img)
    return img.transpose(getattr(pillow().Transpose, method)) if is_pil(img) else img.flip(dim)


def _resized_size(h, w, size):
    """Return the (height, width) that `size` asks for: both, or the shorter side."""
    if len(size) == 2:
        return size[0], size[1]
    short, long = size[0], int(size[0] * max(h, w) / min(h, w))
    return (long, short) if w <= h else (short, long)


def resize(
    img: Image,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Image:
    """Return `img` with (height, width) `size`, or with `size` for its shorter side.

    antialias: a smaller image's pixels are means of all that they cover (tensors, bilinear and bicubic; Pillow images
    always). Raises ValueError for sizes of other lengths.
    """
    mode = mode_of(interpolation)
    size = [size] if isinstance(size, int) else list(size)
    if len(size) not in (1, 2):
        message = f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
        raise fail(ValueError, message, "Pass one number, or (height, width).")
    if max_size is not None:
        raise unsupported("resize", "max_size", "Name both sides: size=(height, width).")
    _, h, w = get_dimensions(img)
    new = _resized_size(h, w, size)
    if new == (h, w):
        return img
    if not is_pil(img):
        return sampling.resize(img, new, mode, antialias)
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.",
            stacklevel=2,
        )
    name = "NEAREST" if mode is InterpolationMode.NEAREST_EXACT else mode.name
    return img.resize(new[::-1], getattr(pillow().Resampling, name))


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
    """Return `resize` of `crop`."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def rotate(
    img: Image,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Image:
    """Return `img` turned counter-clockwise about its middle by `angle` degrees.

    fill: colour of what was outside, by default black. Raises NotImplementedError for expand and center.
    """
    mode = mode_of(interpolation)
    if not isinstance(angle, (int, float)):
        raise fail(
            TypeError, "Argument angle should be int or float", "The angle is a number of degrees."
        )
    _check_rotation(expand, center)
    if is_pil(img):
        resampling = getattr(pillow().Resampling, mode.name)
        return img.rotate(angle, resampling, fillcolor=_pil_colour(img, fill))
    return sampling.rotate(img, angle, mode, _colour(img, fill))


def _check_rotation(expand, center):
    """Raise NotImplementedError for the two options of a rotation that are not here."""
    if expand:
        raise unsupported("rotate", "expand", "Make room with Pad first.")
    if center is not None:
        raise unsupported("rotate", "center", "Images turn about their middle here.")


def _colour(img, fill):
    """Return `fill` as a list of floats, one or one per channel. Raises ValueError for another number."""
    channels = get_dimensions(img)[0]
    fill = [0] if fill is None else [fill] if is_number(fill) else list(fill)
    if len(fill) not in (1, channels):
        fails = "does not match" if is_pil(img) else "cannot broadcast to match"
        message = f"The number of elements in 'fill' {fails} the number of channels of the image ({len(fill)} != {channels})"
        raise fail(ValueError, message, "One number for all channels, or one for each.")
    return [float(value) for value in fill]


def _pil_colour(img, fill):
    """Return `fill` as Pillow takes it: a number, or a tuple with one for each channel."""
    channels = get_dimensions(img)[0]
    colour = [value if img.mode == "F" else int(value) for value in _colour(img, fill)]
    return tuple(colour * (channels if len(colour) == 1 else 1)) if channels > 1 else colour[0]


def _transform_pil(img, matrix, mode, fill):
    """Return the Pillow image whose pixel (x, y) comes from (a x + b y + c, d x + e y + f), `matrix` = (a, … f)."""
    image = pillow()
    resampling = getattr(image.Resampling, mode.name)
    colour = _pil_colour(img, fill)
    return img.transform(img.size, image.Transform.AFFINE, matrix, resampling, fillcolor=colour)


def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """Return (tensor - mean) / std for each channel of a float tensor (..., C, H, W).

    Raises TypeError for what is no float tensor, ValueError for too few dimensions or a standard deviation of zero.
    """
    if not isinstance(tensor, Tensor):
        message = f"img should be Tensor Image. Got {type(tensor)}"
        raise fail(TypeError, message, "Put ToTensor() before Normalize.")
    if not tensor.is_floating_point():
        message = f"Input tensor should be a float tensor. Got {tensor.dtype}."
        note = "ToTensor() makes numbers from 0 to 1 of an image's bytes; functional.convert_image_dtype of a tensor's."
        raise fail(TypeError, message, note)
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
