"""Changes of an image's colours, and blurring. Images as in `functional`; tensors are (..., C, H, W) with one or three
channels.

Sources: https://docs.pytorch.org/vision/0.29/transforms.html; for hue A. R. Smith, "Color Gamut Transform Pairs"
(1978).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as nnf
from autolab.vision.transforms.images import (
    Image,
    _largest,
    convert_image_dtype,
    get_dimensions,
    is_pil,
    pil_to_tensor,
    pillow,
    planes,
    to_pil_image,
)


def _of_any_kind(img, on_pillow, on_tensor):
    """`img` changed by the function for its kind; an array is treated as the tensor with the same pixels."""
    if is_pil(img):
        return on_pillow(img)
    pixels, restore = planes(img)
    if isinstance(pixels, Tensor):
        return on_tensor(pixels)
    grey = pixels.ndim == 2
    tensor = autolab.from_numpy(np.ascontiguousarray(pixels[None] if grey else pixels))
    changed = on_tensor(tensor).numpy()
    return restore(changed[0] if grey else changed)


def _check_colours(img, dims=None):
    if dims is not None and img.ndim < dims:
        message = f"Input image tensor should have at least {dims} dimensions, but found {img.ndim}"
        raise fail(TypeError, message, "(..., C, H, W).")
    channels = get_dimensions(img)[0]
    if channels not in (1, 3):
        message = f"Input image tensor permitted channel values are [1, 3], but found {channels}"
        raise fail(TypeError, message, "Grey, or red, green and blue.")


def _check_factor(name, factor):
    if factor < 0:
        raise fail(
            ValueError, f"{name} ({factor}) is not non-negative.", "1 leaves the image as it is."
        )


def _floating(img):
    return img.dtype if img.is_floating_point() else autolab.float32


def _blend(img, other, share):
    """share * img + (1 - share) * other, kept within the image's range."""
    mixed = float(share) * img + (1.0 - float(share)) * other
    return mixed.clamp(0, _largest(img.dtype)).to(img.dtype)


def _grey(img):
    from autolab.vision.transforms.functional import rgb_to_grayscale

    return rgb_to_grayscale(img)


def _enhanced(kind, factor):
    def enhance(img):
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(img).enhance(factor)

    return enhance


def _operation(name, *args):
    def change(img):
        from PIL import ImageOps

        return getattr(ImageOps, name)(img, *args)

    return change


def adjust_brightness(img: Image, brightness_factor: float) -> Image:
    """Every pixel times `brightness_factor`: 0 is black, 1 the image itself. Raises ValueError for a negative
    factor."""

    def on_tensor(t):
        _check_factor("brightness_factor", brightness_factor)
        _check_colours(t)
        return _blend(t, autolab.zeros_like(t), brightness_factor)

    return _of_any_kind(img, _enhanced("Brightness", brightness_factor), on_tensor)


def adjust_contrast(img: Image, contrast_factor: float) -> Image:
    """Every pixel moved away from the image's mean brightness: 0 is plain grey, 1 the image itself. Raises ValueError
    for a negative factor."""

    def on_tensor(t):
        _check_factor("contrast_factor", contrast_factor)
        _check_colours(t)
        grey = _grey(t) if get_dimensions(t)[0] == 3 else t
        return _blend(
            t, autolab.mean(grey.to(_floating(t)), dim=(-3, -2, -1), keepdim=True), contrast_factor
        )

    return _of_any_kind(img, _enhanced("Contrast", contrast_factor), on_tensor)


def adjust_saturation(img: Image, saturation_factor: float) -> Image:
    """Every pixel moved away from its grey: 0 is black and white, 1 the image itself. Raises ValueError for a negative
    factor."""

    def on_tensor(t):
        _check_factor("saturation_factor", saturation_factor)
        _check_colours(t)
        return t if get_dimensions(t)[0] == 1 else _blend(t, _grey(t), saturation_factor)

    return _of_any_kind(img, _enhanced("Color", saturation_factor), on_tensor)


def adjust_hue(img: Image, hue_factor: float) -> Image:
    """The colour circle turned by `hue_factor`, a share of it from -0.5 to 0.5. Raises ValueError for other factors."""
    if not -0.5 <= hue_factor <= 0.5:
        message = f"hue_factor ({hue_factor}) is not in [-0.5, 0.5]."
        raise fail(ValueError, message, "Half a turn either way reaches every colour.")

    def on_pillow(image):
        if image.mode in ("L", "1", "I", "F"):
            return image
        hue, saturation, value = image.convert("HSV").split()
        turned = np.asarray(hue, np.uint8) + np.int32(hue_factor * 255).astype(np.uint8)
        parts = (pillow().fromarray(turned), saturation, value)
        return pillow().merge("HSV", parts).convert(image.mode)

    def on_tensor(t):
        _check_colours(t)
        if get_dimensions(t)[0] == 1:
            return t
        hue, saturation, value = _to_hsv(convert_image_dtype(t, autolab.float32))
        return convert_image_dtype(_to_rgb((hue + hue_factor) % 1.0, saturation, value), t.dtype)

    return _of_any_kind(img, on_pillow, on_tensor)


def _to_hsv(img):
    """Hue, saturation and value, each (..., H, W) from 0 to 1."""
    red, green, blue = img.unbind(-3)
    largest, smallest = img.amax(-3), img.amin(-3)
    spread, grey = largest - smallest, largest == smallest
    one = autolab.ones_like(largest)
    saturation = spread / autolab.where(grey, one, largest)
    r, g, b = (
        (largest - colour) / autolab.where(grey, one, spread) for colour in (red, green, blue)
    )
    sixths = autolab.where(
        largest == red, b - g, autolab.where(largest == green, 2.0 + r - b, 4.0 + g - r)
    )
    return autolab.fmod(sixths / 6.0 + 1.0, 1.0), saturation, largest


def _to_rgb(hue, saturation, value):
    sector = autolab.floor(hue * 6.0)
    rest = hue * 6.0 - sector
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    index = (sector.to(autolab.int64) % 6).unsqueeze(-3)
    by_sector = (
        (value, falling, low, low, rising, value),
        (rising, value, value, falling, low, low),
        (low, low, rising, value, value, falling),
    )
    return autolab.cat([autolab.stack(choices, -3).gather(-3, index) for choices in by_sector], -3)


def adjust_gamma(img: Image, gamma: float, gain: float = 1) -> Image:
    """gain * pixel^gamma, pixels counted from 0 to 1: gamma above 1 darkens. Raises ValueError for a negative gamma."""
    if gamma < 0:
        raise fail(
            ValueError, "Gamma should be a non-negative real number", "1 leaves the image as it is."
        )

    def on_pillow(image):
        table = [int((255 + 1 - 1e-3) * gain * (level / 255.0) ** gamma) for level in range(256)]
        return image.convert("RGB").point(table * 3).convert(image.mode)

    def on_tensor(t):
        _check_colours(t)
        floats = t if t.is_floating_point() else convert_image_dtype(t, autolab.float32)
        return convert_image_dtype((gain * floats.pow(gamma)).clamp(0, 1), t.dtype)

    return _of_any_kind(img, on_pillow, on_tensor)


def _filtered(img, kernel, padding):
    """Each channel of the tensor `img` convolved with `kernel`, after mirroring `padding` pixels at the edges."""
    floats = img.to(kernel.dtype).reshape(-1, 1, *img.shape[-2:])
    if any(padding):
        floats = nnf.pad(floats, padding, mode="reflect")
    new = nnf.conv2d(floats, kernel[None, None])
    new = new.reshape(*img.shape[:-2], *new.shape[-2:])
    return new if img.is_floating_point() else new.round().to(img.dtype)


def adjust_sharpness(img: Image, sharpness_factor: float) -> Image:
    """The image moved away from a smoothed one: 0 is smooth, 1 the image itself. Raises ValueError for a negative
    factor."""

    def on_tensor(t):
        _check_factor("sharpness_factor", sharpness_factor)
        _check_colours(t)
        if min(t.shape[-2:]) <= 2:
            return t
        kernel = autolab.ones((3, 3), dtype=_floating(t), device=t.device)
        kernel[1, 1] = 5.0
        smooth = t.clone()
        smooth[..., 1:-1, 1:-1] = _filtered(t, kernel / kernel.sum(), ())
        return _blend(t, smooth, sharpness_factor)

    return _of_any_kind(img, _enhanced("Sharpness", sharpness_factor), on_tensor)


def _two(name: str, value: Any, kinds: tuple[type, ...], each: str) -> list[Any]:
    if not isinstance(value, (*kinds, list, tuple)):
        raise fail(
            TypeError,
            f"{name} should be {each}. Got {type(value)}",
            "One for both directions, or (x, y).",
        )
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def gaussian_blur(
    img: Image, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Image:
    """Means of `kernel_size` = (columns, rows) neighbours, weighted by a normal distribution of standard deviation
    `sigma` (a number or (x, y); by default 0.15 times the size + 0.35); beyond the edges the image is mirrored.

    Raises TypeError, ValueError for sizes that are not odd and deviations that are not positive."""
    sizes = _two("kernel_size", kernel_size, (int,), "int or a sequence of integers")
    if len(sizes) != 2:
        message = f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}"
        raise fail(ValueError, message, "(columns, rows).")
    if any(n % 2 == 0 or n < 0 for n in sizes):
        message = f"kernel_size should have odd and positive integers. Got {sizes}"
        raise fail(ValueError, message, "The pixel itself stands in the middle.")
    if sigma is None:
        sigma = [n * 0.15 + 0.35 for n in sizes]
    deviations = _two("sigma", sigma, (int, float), "either float or sequence of floats")
    deviations = deviations * 2 if len(deviations) == 1 else deviations
    if len(deviations) != 2:
        message = f"If sigma is a sequence, its length should be 2. Got {len(deviations)}"
        raise fail(ValueError, message, "(x, y).")
    if min(deviations) <= 0:
        message = f"sigma should have positive values. Got {[float(s) for s in deviations]}"
        raise fail(ValueError, message, "A standard deviation in pixels.")

    def on_tensor(t):
        x, y = (_bell(n, s, t) for n, s in zip(sizes, deviations))
        columns, rows = (n // 2 for n in sizes)
        return _filtered(t, y[:, None] @ x[None, :], (columns, columns, rows, rows))

    return _of_any_kind(
        img, lambda image: to_pil_image(on_tensor(pil_to_tensor(image)), mode=image.mode), on_tensor
    )


def _bell(n, sigma, img):
    x = autolab.linspace(
        -(n - 1) * 0.5, (n - 1) * 0.5, steps=n, dtype=_floating(img), device=img.device
    )
    weights = autolab.exp(-0.5 * (x / sigma).pow(2))
    return weights / weights.sum()


def invert(img: Image) -> Image:
    """The negative."""

    def on_tensor(t):
        _check_colours(t, 3)
        return _largest(t.dtype) - t

    return _of_any_kind(img, _operation("invert"), on_tensor)


def _bytes_only(t):
    if t.dtype is not autolab.uint8:
        message = f"Only torch.uint8 image tensors are supported, but found {t.dtype}"
        raise fail(
            TypeError, message, "ConvertImageDtype(torch.uint8) makes bytes of numbers from 0 to 1."
        )


def posterize(img: Image, bits: int) -> Image:
    """Bytes of which only the first `bits` binary digits are left. Raises ValueError unless 0 <= bits <= 8."""
    if not 0 <= bits <= 8:
        message = f"The number if bits should be between 0 and 8. Got {bits}"
        raise fail(ValueError, message, "A byte has 8 bits.")

    def on_tensor(t):
        _bytes_only(t)
        _check_colours(t, 3)
        return t & (256 - 2 ** (8 - bits))

    return _of_any_kind(img, _operation("posterize", bits), on_tensor)


def solarize(img: Image, threshold: float) -> Image:
    """Pixels that reach `threshold` inverted. Raises TypeError for a threshold that none can reach."""

    def on_tensor(t):
        _check_colours(t, 3)
        if threshold > _largest(t.dtype):
            message = "Threshold should be less than bound of img."
            raise fail(TypeError, message, "Pixels of floats count from 0 to 1, bytes to 255.")
        return autolab.where(t >= threshold, invert(t), t)

    return _of_any_kind(img, _operation("solarize", threshold), on_tensor)


def autocontrast(img: Image) -> Image:
    """Each channel stretched, so that it has black and white."""

    def on_tensor(t):
        _check_colours(t, 3)
        low, high = (
            extreme(dim=(-2, -1), keepdim=True).to(_floating(t)) for extreme in (t.amin, t.amax)
        )
        plain = high == low
        scale = _largest(t.dtype) / autolab.where(plain, autolab.ones_like(high), high - low)
        low = autolab.where(plain, autolab.zeros_like(low), low)
        scale = autolab.where(plain, autolab.ones_like(scale), scale)
        return ((t - low) * scale).clamp(0, _largest(t.dtype)).to(t.dtype)

    return _of_any_kind(img, _operation("autocontrast"), on_tensor)


def equalize(img: Image) -> Image:
    """Each channel of bytes with all levels of brightness equally frequent, as far as that can be. Raises TypeError for
    others."""

    def on_tensor(t):
        if not 3 <= t.ndim <= 4:
            message = f"Input image tensor should have 3 or 4 dimensions, but found {t.ndim}"
            raise fail(TypeError, message, "(C, H, W) or (N, C, H, W).")
        _bytes_only(t)
        _check_colours(t)
        flat = t.cpu().numpy().reshape(-1, *t.shape[-2:])
        equal = [_equalized(channel) for channel in flat]
        return autolab.from_numpy(np.stack(equal).reshape(t.shape)).to(t.device) if equal else t

    return _of_any_kind(img, _operation("equalize"), on_tensor)


def _equalized(channel):
    counts = np.bincount(channel.ravel(), minlength=256)
    step = counts[counts != 0][:-1].sum() // 255
    if step == 0:
        return channel
    table = (np.cumsum(counts) + step // 2) // step
    return np.append(0, table[:-1]).clip(0, 255).astype(np.uint8)[channel]
