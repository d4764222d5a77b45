"""Transforms that do not draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.modules.layer import Layer
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.sampling import InterpolationMode, mode_of


class _Named:
    """A transform that is shown as its name and the attributes in `_shown`."""

    _shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(self._setting, self._shown))})"

    def _setting(self, name: str) -> str:
        value = getattr(self, name)
        return f"{name}={value.value if isinstance(value, InterpolationMode) else value}"


def listed(name: str, transforms: Iterable[object], *head: str) -> str:
    """Return how transforms that hold others are shown: one a line."""
    return "\n".join([f"{name}(", *(f"    {line}" for line in (*head, *map(str, transforms))), ")"])


class Compose:
    """Apply several transforms, one after the other."""

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
        self._shown = () if mode is None else ("mode",)

    def __call__(self, pic: Tensor | np.ndarray) -> Any:
        return F.to_pil_image(pic, self.mode)


class Lambda(_Named):
    """A function of your own as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            message = f"Argument lambd should be callable, got {type(lambd).__name__!r}"
            raise fail(TypeError, message, "Pass the function itself, without calling it.")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class Transform(_Named, Layer):
    """A transform that is a module; `class Pad(Transform, function=F.pad)` takes its settings from its annotations."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "function" in options:
            cls._shown = tuple(name for name in cls._settings if name not in cls._hidden)


class Normalize(Transform, function=F.normalize, hidden="inplace"):
    """(image - mean) / std for each channel of a float tensor (..., C, H, W)."""

    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the normalised image."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class Resize(Transform, function=F.resize, settings="size interpolation max_size antialias"):
    """The image with (height, width) `size`, or with `size` for its shorter side; see `functional.resize`."""

    size: int | Sequence[int]
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR
    max_size: int | None = None
    antialias: bool | None = True

    def _set_up(self, settings):
        super()._set_up({**settings, "interpolation": mode_of(settings["interpolation"])})
        if not isinstance(self.size, (int, Sequence)):
            message = f"Size should be int or sequence. Got {type(self.size)}"
            raise fail(TypeError, message, "Pass one number, or (height, width).")
        if isinstance(self.size, Sequence) and len(self.size) not in (1, 2):
            message = "If size is a sequence, it should have 1 or 2 values"
            raise fail(ValueError, message, "Pass one number, or (height, width).")


class CenterCrop(Transform, function=F.center_crop):
    """The middle of the image, with a black frame where it is smaller than (height, width) `size`."""

    size: int | Sequence[int]

    def _set_up(self, settings):
        super()._set_up({"size": F._pair(settings["size"])})


class Pad(Transform, function=F.pad):
    """The image with more pixels around it; see `functional.pad`."""

    padding: int | Sequence[int]
    fill: float | Sequence[float] = 0
    padding_mode: str = "constant"

    def _set_up(self, settings):
        super()._set_up(settings)
        F._check_padding(self.padding, self.fill, self.padding_mode)


class Grayscale(Transform, function=F.rgb_to_grayscale):
    """The image's brightness, as one channel or as three equal ones."""

    num_output_channels: int = 1
