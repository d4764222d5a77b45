"""Transforms without chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from autolab import nn
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.images import Image
from autolab.vision.transforms.sampling import InterpolationMode, mode_of


class _Named:
    """Shown as its name and settings."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings()})"

    def _settings(self) -> str:
        return ""


def listed(name: str, transforms: Iterable[object], *head: str) -> str:
    """How transforms that hold others are shown: one a line."""
    return "\n".join([f"{name}(", *(f"    {line}" for line in (*head, *map(str, transforms))), ")"])


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listed(type(self).__name__, self.transforms)


class ToTensor(_Named):
    """A Pillow image or array (H, W, C) as a tensor (C, H, W); bytes become numbers from 0 to 1."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


class PILToTensor(_Named):
    """A Pillow image as a tensor (C, H, W) with the same numbers."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage(_Named):
    """A tensor (C, H, W) or array (H, W, C) as a Pillow image; see `functional.to_pil_image`."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Tensor | np.ndarray) -> Any:
        return F.to_pil_image(pic, self.mode)

    def _settings(self):
        return "" if self.mode is None else f"mode={self.mode}"


class Lambda(_Named):
    """A function of your own as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            message = f"Argument lambd should be callable, got {type(lambd).__name__!r}"
            raise fail(TypeError, message, "Pass the function itself, without calling it.")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class ConvertImageDtype(nn.Module):
    """A tensor image in another dtype, scaled; see `functional.convert_image_dtype`."""

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """The converted image."""
        return F.convert_image_dtype(image, self.dtype)


class _Transform(_Named, nn.Module):
    """A transform that is a module."""


class Normalize(_Transform):
    """(image - mean) / std for each channel of a float tensor (..., C, H, W)."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        """The normalised image."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def _settings(self):
        return f"mean={self.mean}, std={self.std}"


class Resize(_Transform):
    """The image with (height, width) `size`, or with `size` for its shorter side; see `functional.resize`."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise fail(
                TypeError, f"Size should be int or sequence. Got {type(size)}", "(height, width)."
            )
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise fail(
                ValueError,
                "If size is a sequence, it should have 1 or 2 values",
                "(height, width).",
            )
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = mode_of(interpolation)

    def forward(self, img: Image) -> Image:
        """The resized image."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def _settings(self):
        return (
            f"size={self.size}, interpolation={self.interpolation.value}, max_size={self.max_size}, "
            f"antialias={self.antialias}"
        )


class CenterCrop(_Transform):
    """The middle of the image, with a black frame where it is smaller than (height, width) `size`."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = F._pair(size)

    def forward(self, img: Image) -> Image:
        """The cropped image."""
        return F.center_crop(img, self.size)

    def _settings(self):
        return f"size={self.size}"


class FiveCrop(_Transform):
    """A tuple of the four corners and the middle of the image."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = F._pair(size)

    def forward(self, img: Image) -> tuple[Image, Image, Image, Image, Image]:
        """Five images of (height, width) `size`."""
        return F.five_crop(img, self.size)

    def _settings(self):
        return f"size={self.size}"


class TenCrop(_Transform):
    """FiveCrop of the image and of the image flipped, left and right or (`vertical_flip`) top and bottom exchanged."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = F._pair(size), vertical_flip

    def forward(self, img: Image) -> tuple[Image, ...]:
        """Ten images of (height, width) `size`."""
        return F.ten_crop(img, self.size, self.vertical_flip)

    def _settings(self):
        return f"size={self.size}, vertical_flip={self.vertical_flip}"


class Pad(_Transform):
    """The image with more pixels around it; see `functional.pad`."""

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        F._check_padding(padding, fill, padding_mode)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Image) -> Image:
        """The padded image."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def _settings(self):
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class Grayscale(_Transform):
    """The image's brightness, as one channel or as three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Image) -> Image:
        """The grey image."""
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def _settings(self):
        return f"num_output_channels={self.num_output_channels}"
