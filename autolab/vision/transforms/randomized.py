"""Transforms that draw: from torch's random stream, in torchvision's order."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import autolab
from autolab import nn
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.fixed import Transform, listed
from autolab.vision.transforms.images import Image, is_number
from autolab.vision.transforms.sampling import InterpolationMode, mode_of


def _uniform(low: float, high: float) -> float:
    return autolab.empty(1).uniform_(float(low), float(high)).item()


def _place(free_rows, free_columns):
    """Draw a row and a column, each from 0 to the free space."""
    row = autolab.randint(0, free_rows + 1, size=(1,)).item()
    return row, autolab.randint(0, free_columns + 1, size=(1,)).item()


class RandomApply(nn.Module):
    """Apply all of `transforms` with probability `p`, else none of them."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]] | nn.ModuleList, p: float = 0.5
    ) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        """Return the image, transformed or not."""
        if self.p < autolab.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listed(type(self).__name__, self.transforms, f"p={self.p}")


class RandomCrop(Transform):
    """Cut out a part of (height, width) `size` at a random place, after padding as in `functional.pad`.

    pad_if_needed: pad images that are smaller. Raises ValueError for smaller images otherwise.
    """

    _shown = "size", "padding"

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        height, width = F._pair(size)
        self.size, self.padding, self.pad_if_needed = (height, width), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw (top, left, height, width) for `crop`."""
        (_, h, w), (height, width) = F.get_dimensions(img), output_size
        if h < height or w < width:
            message = (
                f"Required crop size {(height, width)} is larger than input image size {(h, w)}"
            )
            raise fail(ValueError, message, "Pass padding=…, or pad_if_needed=True.")
        if (w, h) == (width, height):
            return 0, 0, h, w
        return *_place(h - height, w - width), height, width

    def forward(self, img: Image) -> Image:
        """Return the cropped image."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, h, w = F.get_dimensions(img)
            missing = max(self.size[1] - w, 0), max(self.size[0] - h, 0)
            for padding in ([missing[0], 0], [0, missing[1]]):
                if any(padding):
                    img = F.pad(img, padding, self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


class _Chance(Transform):
    """A transform that is applied with probability `p`."""

    _shown = ("p",)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        """Return the image, transformed or not."""
        return self._transformed(img) if autolab.rand(1) < self.p else img


class RandomHorizontalFlip(_Chance):
    """Exchange left and right, with probability `p`."""

    _transformed = staticmethod(F.hflip)


class RandomVerticalFlip(_Chance):
    """Exchange top and bottom, with probability `p`."""

    _transformed = staticmethod(F.vflip)


class RandomGrayscale(_Chance):
    """Turn the image grey and keep its number of channels, with probability `p`."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0])


class RandomResizedCrop(Transform):
    """Cut out a random part of the image, with an area within `scale` and a width-to-height ratio within `ratio`, and
    resize it."""

    _shown = "size", "scale", "ratio", "interpolation", "antialias"

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        for name, value, note in (
            ("Scale", scale, "(smallest, largest) part of the area."),
            ("Ratio", ratio, "(smallest, largest) ratio of the sides."),
        ):
            if not isinstance(value, Sequence):
                raise fail(TypeError, f"{name} should be a sequence", note)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        self.size, self.scale, self.ratio = F._pair(size), scale, ratio
        self.interpolation, self.antialias = mode_of(interpolation), antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Draw (top, left, height, width); the middle of the image if ten draws do not fit into it."""
        _, height, width = F.get_dimensions(img)
        log_ratio = autolab.log(autolab.tensor(ratio)).tolist()
        for _ in range(10):
            area = height * width * _uniform(*scale)
            proportion = autolab.exp(autolab.empty(1).uniform_(*log_ratio)).item()
            w, h = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
            if 0 < w <= width and 0 < h <= height:
                return *_place(height - h, width - w), h, w
        w, h = width, height
        if width / height < min(ratio):
            h = round(w / min(ratio))
        elif width / height > max(ratio):
            w = round(h * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Image) -> Image:
        """Return the image of (height, width) `size`."""
        box = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *box, self.size, self.interpolation, antialias=self.antialias)

    def _setting(self, name):
        if name in ("scale", "ratio"):
            return f"{name}={tuple(round(v, 4) for v in getattr(self, name))}"
        return super()._setting(name)


class RandomRotation(Transform):
    """Turn the image by an angle drawn from -degrees … degrees, or from (low, high); see `functional.rotate`."""

    _shown = "degrees", "interpolation", "expand", "fill"
    expand = False

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        F._check_rotation(expand, center)
        if is_number(degrees):
            if degrees < 0:
                message = "If degrees is a single number, it must be positive."
                raise fail(ValueError, message, "The angle is drawn from -degrees to degrees.")
            degrees = [-degrees, degrees]
        if not isinstance(degrees, Sequence) or len(degrees) != 2:
            kind = ValueError if isinstance(degrees, Sequence) else TypeError
            message = "degrees should be a sequence of length 2."
            raise fail(kind, message, "Numbers, in a list or tuple.")
        if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
            raise fail(
                TypeError,
                "Fill should be either a sequence or a number.",
                "fill is the colour of the new pixels.",
            )
        self.degrees, self.interpolation = [float(d) for d in degrees], mode_of(interpolation)
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw an angle."""
        return _uniform(*degrees)

    def forward(self, img: Image) -> Image:
        """Return the turned image."""
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, fill=self.fill)


def _range(value, name, center=1, bound=(0, float("inf"))):
    """Return (low, high) of a number, around `center`, or of two; None where nothing can change."""
    if is_number(value):
        if value < 0:
            message = f"If {name} is a single number, it must be non negative."
            note = f"The factor is drawn from {center} - {name} to {center} + {name}."
            raise fail(ValueError, message, note)
        low = center - float(value)
        value = [max(low, 0.0) if center else low, center + float(value)]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        value = [float(v) for v in value]
    else:
        message = f"{name} should be a single number or a list/tuple with length 2."
        raise fail(TypeError, message, "Pass (smallest factor, largest factor).")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        message = f"{name} values should be between {bound}, but got {value}."
        raise fail(ValueError, message, "Pass (smallest factor, largest factor).")
    return None if value[0] == value[1] == center else tuple(value)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in random order.

    Each is a number d, for factors from 1 - d to 1 + d (hue: from -d to d of the colour circle), or (smallest,
    largest). Raises ValueError, TypeError for others."""

    _shown = "brightness", "contrast", "saturation", "hue"

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = _range(brightness, "brightness")
        self.contrast = _range(contrast, "contrast")
        self.saturation = _range(saturation, "saturation")
        self.hue = _range(hue, "hue", center=0, bound=(-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """Draw an order (a tensor of four numbers) and the four factors; the factor of a None argument is None."""
        order = autolab.randperm(4)
        return order, *(
            None if r is None else _uniform(*r) for r in (brightness, contrast, saturation, hue)
        )

    def forward(self, img: Image) -> Image:
        """Return the image in other colours."""
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = changes[i](img, factors[i])
        return img


class GaussianBlur(Transform):
    """Blur the image with a standard deviation drawn from `sigma` = (smallest, largest) or fixed; see
    `functional.gaussian_blur`."""

    _shown = "kernel_size", "sigma"

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        self.kernel_size = F._pair(
            kernel_size, "Kernel size should be a tuple/list of two integers"
        )
        if any(n <= 0 or n % 2 == 0 for n in self.kernel_size):
            message = "Kernel size value should be an odd and positive number."
            raise fail(ValueError, message, "The pixel itself stands in the middle.")
        if is_number(sigma):
            if sigma <= 0:
                message = "If sigma is a single number, it must be positive."
                raise fail(ValueError, message, "sigma is a standard deviation in pixels.")
            sigma = (sigma, sigma)
        elif not isinstance(sigma, Sequence) or len(sigma) != 2:
            message = "sigma should be a single number or a list/tuple with length 2."
            raise fail(ValueError, message, "Pass (smallest, largest) standard deviation.")
        elif not 0.0 < sigma[0] <= sigma[1]:
            message = "sigma values should be positive and of the form (min, max)."
            raise fail(ValueError, message, "Pass (smallest, largest) standard deviation.")
        self.sigma: Sequence[float] = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Draw a standard deviation."""
        return _uniform(sigma_min, sigma_max)

    def forward(self, img: Image) -> Image:
        """Return the blurred image."""
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, list(self.kernel_size), [sigma, sigma])
