"""Transforms that draw: from torch's random stream, in torchvision's order (RandomOrder and RandomChoice from
Python's)."""

from __future__ import annotations

import math
import numbers
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import autolab
from autolab import nn
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.fixed import _Transform, listed
from autolab.vision.transforms.images import Image, is_number
from autolab.vision.transforms.sampling import InterpolationMode, mode_of


def _uniform(low: float, high: float) -> float:
    return autolab.empty(1).uniform_(float(low), float(high)).item()


def check_fill(fill):
    """`fill`, 0 for None. Raises TypeError for what is no colour."""
    if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
        raise fail(TypeError, "Fill should be either a sequence or a number.", "A colour.")
    return 0 if fill is None else fill


def check_two(name, value, lengths=(2,)):
    """Raises TypeError, ValueError unless `value` is a sequence of one of the `lengths`."""
    message = f"{name} should be a sequence of length {' or '.join(map(str, lengths))}."
    if not isinstance(value, Sequence):
        raise fail(TypeError, message, "Numbers, in a list or tuple.")
    if len(value) not in lengths:
        raise fail(ValueError, message, "Numbers, in a list or tuple.")


def _place(free_rows, free_columns):
    """A random row and column, each from 0 to the free space."""
    row = autolab.randint(0, free_rows + 1, size=(1,)).item()
    return row, autolab.randint(0, free_columns + 1, size=(1,)).item()


class RandomApply(nn.Module):
    """All of `transforms` with probability `p`, else none."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]] | nn.ModuleList, p: float = 0.5
    ) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        """The image, transformed or not."""
        if self.p < autolab.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listed(type(self).__name__, self.transforms, f"p={self.p}")


class _OneOrder:
    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        if not isinstance(transforms, Sequence):
            raise fail(
                TypeError, "Argument transforms should be a sequence", "A list of transforms."
            )
        self.transforms = transforms

    def __repr__(self) -> str:
        return listed(type(self).__name__, self.transforms)


class RandomOrder(_OneOrder):
    """All of `transforms` in an order that Python's `random` draws."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


class RandomChoice(_OneOrder):
    """One of `transforms`, drawn by Python's `random` with weights `p`."""

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise fail(
                TypeError, "Argument p should be a sequence", "One weight for each transform."
            )
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class RandomCrop(_Transform):
    """A part of (height, width) `size` at a random place, after padding as in `functional.pad`.

    pad_if_needed: pad images that are smaller. Raises ValueError for smaller images otherwise.
    """

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
        """A random (top, left, height, width) for `crop`."""
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
        """The cropped image."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, h, w = F.get_dimensions(img)
            missing = max(self.size[1] - w, 0), max(self.size[0] - h, 0)
            for padding in ([missing[0], 0], [0, missing[1]]):
                if any(padding):
                    img = F.pad(img, padding, self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def _settings(self):
        return f"size={self.size}, padding={self.padding}"


class _Chance(_Transform):
    """A transform that happens with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        """The image, transformed or not."""
        return self._transformed(img) if autolab.rand(1) < self.p else img

    def _settings(self):
        return f"p={self.p}"


class RandomHorizontalFlip(_Chance):
    """Left and right exchanged with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.hflip(img)


class RandomVerticalFlip(_Chance):
    """Top and bottom exchanged with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.vflip(img)


class RandomGrayscale(_Chance):
    """Grey, in as many channels, with probability `p`."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0])


def _check_ranges(scale, ratio):
    if not isinstance(scale, Sequence):
        raise fail(TypeError, "Scale should be a sequence", "(smallest, largest) part of the area.")
    if not isinstance(ratio, Sequence):
        raise fail(
            TypeError, "Ratio should be a sequence", "(smallest, largest) ratio of the sides."
        )
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=3)


def _box(area, scale, ratio):
    """The sides of a random rectangle: a part `scale` of `area`, sides in a proportion `ratio` drawn on a log scale."""
    log_ratio = autolab.log(autolab.tensor(ratio)).tolist()
    part = area * _uniform(*scale)
    proportion = autolab.exp(autolab.empty(1).uniform_(*log_ratio)).item()
    return round(math.sqrt(part * proportion)), round(math.sqrt(part / proportion))


class RandomResizedCrop(_Transform):
    """A random part of the image, of any size and shape within `scale` (of the area) and `ratio` (width to height),
    resized."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        _check_ranges(scale, ratio)
        self.size, self.scale, self.ratio = F._pair(size), scale, ratio
        self.interpolation, self.antialias = mode_of(interpolation), antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """A random (top, left, height, width); the middle of the image if ten draws do not fit into it."""
        _, height, width = F.get_dimensions(img)
        for _ in range(10):
            w, h = _box(height * width, scale, ratio)
            if 0 < w <= width and 0 < h <= height:
                return *_place(height - h, width - w), h, w
        w, h = width, height
        if width / height < min(ratio):
            h = round(w / min(ratio))
        elif width / height > max(ratio):
            w = round(h * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Image) -> Image:
        """The image of (height, width) `size`."""
        box = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *box, self.size, self.interpolation, antialias=self.antialias)

    def _settings(self):
        scale, ratio = (tuple(round(v, 4) for v in values) for values in (self.scale, self.ratio))
        return (
            f"size={self.size}, scale={scale}, ratio={ratio}, interpolation={self.interpolation.value}, "
            f"antialias={self.antialias}"
        )


class RandomRotation(_Transform):
    """The image turned by an angle drawn from -degrees … degrees, or from (low, high); see `functional.rotate`."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        if is_number(degrees):
            if degrees < 0:
                message = "If degrees is a single number, it must be positive."
                raise fail(ValueError, message, "The angle is drawn from -degrees to degrees.")
            degrees = [-degrees, degrees]
        fill = check_fill(fill)
        for name, value in (("degrees", degrees), ("center", center)):
            if value is not None:
                check_two(name, value)
        self.degrees, self.interpolation = [float(d) for d in degrees], mode_of(interpolation)
        self.expand, self.center, self.fill = expand, center, fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """A random angle."""
        return _uniform(*degrees)

    def forward(self, img: Image) -> Image:
        """The turned image."""
        return F.rotate(
            img,
            self.get_params(self.degrees),
            self.interpolation,
            self.expand,
            self.center,
            self.fill,
        )

    def _settings(self):
        center = "" if self.center is None else f", center={self.center}"
        return f"degrees={self.degrees}, interpolation={self.interpolation.value}, expand={self.expand}{center}, fill={self.fill}"


class RandomErasing(_Chance):
    """A random rectangle of a tensor image set to `value`, or to normal noise for "random", with probability `p`."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        if not isinstance(value, (numbers.Number, str, tuple, list)):
            raise fail(
                TypeError,
                "Argument value should be either a number or str or a sequence",
                "A colour.",
            )
        if isinstance(value, str) and value != "random":
            raise fail(ValueError, "If value is str, it should be 'random'", "Random pixels.")
        _check_ranges(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise fail(ValueError, "Scale should be between 0 and 1", "It is a part of the area.")
        if not 0 <= p <= 1:
            raise fail(
                ValueError,
                "Random erasing probability should be between 0 and 1",
                "p is a probability.",
            )
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    @staticmethod
    def get_params(
        img: Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: Sequence[float] | None = None,
    ) -> tuple[int, int, int, int, Tensor]:
        """A random (top, left, height, width, new pixels); the image itself if ten draws do not fit into it."""
        channels, height, width = img.shape[-3:]
        for _ in range(10):
            h, w = _box(height * width, scale, ratio)
            if h < height and w < width:
                new = (
                    autolab.empty([channels, h, w]).normal_()
                    if value is None
                    else autolab.tensor(value)[:, None, None]
                )
                return *_place(height - h, width - w), h, w, new
        return 0, 0, height, width, img

    def _transformed(self, img):
        colour = [self.value] if is_number(self.value) else self.value
        value = None if colour == "random" else [float(v) for v in colour]
        if value is not None and len(value) not in (1, img.shape[-3]):
            message = (
                f"If value is a sequence, it should have either a single value or {img.shape[-3]} (number of input "
                "channels)"
            )
            raise fail(ValueError, message, "A colour has one number for each channel.")
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def _settings(self):
        return f"p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, inplace={self.inplace}"
