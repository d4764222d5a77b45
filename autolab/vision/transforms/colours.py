"""Change an image's colours, and blur it.

Images are as in `functional`; tensors are (..., C, H, W) with one or three channels.

Sources: https://docs.pytorch.org/vision/0.29/transforms.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.nn import functional as nnf
from autolab.vision.transforms.images import (
    Image,
    get_dimensions,
    is_pil,
    largest_level,
    pil_of,
    pil_to_tensor,
    pillow,
    to_pil_image,
)


def _check_colours(img):
    channels = get_dimensions(img)[0]
    if channels not in (1, 3):
        message = f"Input image tensor permitted channel values are [1, 3], but found {channels}"
        raise fail(TypeError, message, "Grey, or red, green and blue.")


def _floating(img):
    return img.dtype if img.is_floating_point() else autolab.float32


def enhance(img, kind, factor):
    """Return the Pillow image `img` changed by Pillow's enhancer `kind`, such as "Contrast"."""
    from PIL import ImageEnhance

    return getattr(ImageEnhance, kind)(img).enhance(factor)


def _blended(img, kind, name, factor, other):
    """Return factor * img + (1 - factor) * other(img), clamped to the image's range. For Pillow images, use Pillow's
    enhancer `kind` instead. name: the factor's name in errors."""
    if is_pil(img):
        return enhance(img, kind, factor)
    if factor < 0:
        message = f"{name} ({factor}) is not non-negative."
        raise fail(ValueError, message, "1 leaves the image as it is.")
    _check_colours(img)
    mixed = float(factor) * img + (1.0 - float(factor)) * other(img)
    return mixed.clamp(0, largest_level(img.dtype)).to(img.dtype)


def adjust_brightness(img: Image, brightness_factor: float) -> Image:
    """Multiply every pixel by `brightness_factor`: 0 is black, 1 the image itself."""
    black = autolab.zeros_like
    return _blended(img, "Brightness", "brightness_factor", brightness_factor, black)


def adjust_contrast(img: Image, contrast_factor: float) -> Image:
    """Move every pixel away from the image's mean brightness: 0 is plain grey, 1 the image itself."""

    def mean_grey(t):
        return _grey(t).to(_floating(t)).mean(dim=(-3, -2, -1), keepdim=True)

    return _blended(img, "Contrast", "contrast_factor", contrast_factor, mean_grey)


def adjust_saturation(img: Image, saturation_factor: float) -> Image:
    """Move every pixel away from its grey: 0 is black and white, 1 the image itself."""
    if not is_pil(img) and get_dimensions(img)[0] == 1 and saturation_factor >= 0:
        return img
    return _blended(img, "Color", "saturation_factor", saturation_factor, _grey)


def rgb_to_grayscale(img: Image, num_output_channels: int = 1) -> Image:
    """Return the brightness, 0.299 red + 0.587 green + 0.114 blue, as one channel or as three equal ones.

    Raises ValueError for other numbers of channels, TypeError for images that are neither grey nor RGB.
    """
    if num_output_channels not in (1, 3):
        message = "num_output_channels should be either 1 or 3"
        raise fail(ValueError, message, "3 suits networks for colour images.")
    if is_pil(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else pil_of(np.dstack([np.array(grey)] * 3))
    if img.ndim < 3:
        message = f"Input image tensor should have at least 3 dimensions, but found {img.ndim}"
        raise fail(TypeError, message, "Pass an image of shape (..., 3, H, W).")
    _check_colours(img)
    grey = _grey(img)
    # A grey image keeps its one channel, as in torchvision.
    return grey.expand(img.shape) if num_output_channels == 3 else grey


def _grey(img):
    if img.shape[-3] == 1:
        return img.clone()
    red, green, blue = img.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def adjust_hue(img: Image, hue_factor: float) -> Image:
    """Turn the colour circle of a Pillow image by `hue_factor`, from -0.5 to 0.5 of it.

    Raises ValueError for other factors, TypeError for tensors.
    """
    if not -0.5 <= hue_factor <= 0.5:
        message = f"hue_factor ({hue_factor}) is not in [-0.5, 0.5]."
        raise fail(ValueError, message, "Half a turn either way reaches every colour.")
    if not is_pil(img):
        raise fail(
            TypeError,
            f"adjust_hue of a {type(img).__name__} is not supported by autolab",
            "Turn the hue of Pillow images: put ColorJitter(hue=...) before ToTensor().",
        )
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.asarray(hue, np.uint8) + np.int32(hue_factor * 255).astype(np.uint8)
    parts = (pillow().fromarray(turned), saturation, value)
    return pillow().merge("HSV", parts).convert(img.mode)


def _two(name: str, value: Any, kinds: tuple[type, ...], each: str) -> list[Any]:
    if not isinstance(value, (*kinds, list, tuple)):
        message = f"{name} should be {each}. Got {type(value)}"
        raise fail(TypeError, message, "One for both directions, or (x, y).")
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def gaussian_blur(
    img: Image, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Image:
    """Average `kernel_size` = (columns, rows) neighbours, weighted by a normal distribution.

    sigma: its standard deviation, a number or (x, y); by default 0.15 times the size + 0.35. Beyond the edges the image
    is mirrored. Raises TypeError, ValueError for sizes that are not odd and deviations that are not positive.
    """
    sizes = _two("kernel_size", kernel_size, (int,), "int or a sequence of integers")
    if len(sizes) != 2:
        message = f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}"
        raise fail(ValueError, message, "Pass one number, or (columns, rows).")
    if any(n % 2 == 0 or n < 0 for n in sizes):
        message = f"kernel_size should have odd and positive integers. Got {sizes}"
        raise fail(ValueError, message, "The pixel itself stands in the middle.")
    if sigma is None:
        sigma = [n * 0.15 + 0.35 for n in sizes]
    deviations = _two("sigma", sigma, (int, float), "either float or sequence of floats")
    deviations = deviations * 2 if len(deviations) == 1 else deviations
    if len(deviations) != 2:
        message = f"If sigma is a sequence, its length should be 2. Got {len(deviations)}"
        raise fail(ValueError, message, "Pass one number, or (x, y).")
    if min(deviations) <= 0:
        message = f"sigma should have positive values. Got {[float(s) for s in deviations]}"
        raise fail(ValueError, message, "sigma is a standard deviation in pixels.")
    if is_pil(img):
        return to_pil_image(_blurred(pil_to_tensor(img), sizes, deviations), mode=img.mode)
    return _blurred(img, sizes, deviations)


def _blurred(img, sizes, deviations):
    """Return the tensor `img` convolved with a bell curve."""
    x, y = (_bell(n, s, img) for n, s in zip(sizes, deviations))
    kernel = y[:, None] @ x[None, :]
    columns, rows = (n // 2 for n in sizes)
    floats = img.to(kernel.dtype).reshape(-1, 1, *img.shape[-2:])
    padded = nnf.pad(floats, (columns, columns, rows, rows), mode="reflect")
    new = nnf.conv2d(padded, kernel[None, None]).reshape(img.shape)
    return new if img.is_floating_point() else new.round().to(img.dtype)


def _bell(n, sigma, img):
    end = (n - 1) * 0.5
    x = autolab.linspace(-end, end, steps=n, dtype=_floating(img), device=img.device)
    weights = autolab.exp(-0.5 * (x / sigma).pow(2))
    return weights / weights.sum()
