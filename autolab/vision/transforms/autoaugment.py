"""Augmentation without tuning: operations drawn from a fixed list, in torch's random stream as torchvision draws them.

Sources: E. Cubuk et al., "RandAugment", https://arxiv.org/abs/1909.13719; S. Müller and F. Hutter, "TrivialAugment",
https://arxiv.org/abs/2103.10158
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.colours import enhance
from autolab.vision.transforms.fixed import Transform
from autolab.vision.transforms.images import is_pil
from autolab.vision.transforms.sampling import InterpolationMode


def _tangent(magnitude):
    # The detour over degrees gives torchvision's last digit.
    return math.tan(math.radians(math.degrees(math.atan(magnitude))))


def _by_image_ops(name, *arguments):
    """Return an operation that calls Pillow's `ImageOps.name` with the magnitude as each of `arguments` makes it."""

    def change(img, magnitude, how):
        from PIL import ImageOps

        return getattr(ImageOps, name)(img, *(make(magnitude) for make in arguments))

    return change


def _enhanced(kind):
    return lambda img, magnitude, how: enhance(img, kind, 1.0 + magnitude)


def _moved(matrix):
    return lambda img, magnitude, how: F._transform_pil(img, matrix(magnitude), *how)


_SIGNED = {
    "ShearX": _moved(lambda m: (1.0, _tangent(m), 0.0, 0.0, 1.0, 0.0)),
    "ShearY": _moved(lambda m: (1.0, 0.0, 0.0, _tangent(m), 1.0, 0.0)),
    "TranslateX": _moved(lambda m: (1.0, 0.0, -int(m), 0.0, 1.0, 0.0)),
    "TranslateY": _moved(lambda m: (1.0, 0.0, 0.0, 0.0, 1.0, -int(m))),
    "Rotate": lambda img, magnitude, how: F.rotate(img, magnitude, how[0], fill=how[1]),
    "Brightness": _enhanced("Brightness"),
    "Color": _enhanced("Color"),
    "Contrast": _enhanced("Contrast"),
    "Sharpness": _enhanced("Sharpness"),
}
"""Operations whose magnitude is drawn with a sign; functions of (image, magnitude, (interpolation, fill))."""

_OPERATIONS = {
    "Identity": lambda img, magnitude, how: img,
    **_SIGNED,
    "Posterize": _by_image_ops("posterize", int),
    "Solarize": _by_image_ops("solarize", float),
    "AutoContrast": _by_image_ops("autocontrast"),
    "Equalize": _by_image_ops("equalize"),
}
"""All operations in torchvision's order."""


def _draw(high):
    return autolab.randint(high, (1,)).item()


class _Augment(Transform):
    """Operations on Pillow images; subclasses say how strong each may be."""

    _bits = 0  # how many binary digits Posterize takes away at most
    _shown: tuple[str, ...] = ("num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self,
        num_magnitude_bins: int,
        interpolation: InterpolationMode,
        fill: float | Sequence[float] | None,
    ) -> None:
        super().__init__()
        self.num_magnitude_bins, self.interpolation = num_magnitude_bins, interpolation
        self.fill = fill

    def _largest(self, height, width):
        """Return the largest magnitude of each signed operation."""
        raise NotImplementedError

    def _magnitudes(self, name, img):
        """Return the magnitudes to choose from; None for an operation without."""
        bins = self.num_magnitude_bins
        if name == "Posterize":
            return 8 - (autolab.arange(bins) / ((bins - 1) / self._bits)).round().int()
        if name == "Solarize":
            return autolab.linspace(255.0, 0.0, bins)
        if name not in _SIGNED:
            return None
        return autolab.linspace(0.0, self._largest(img.height, img.width)[name], bins)

    def _changed(self, img, pick):
        """Return the image after one operation; `pick(magnitudes)` says which magnitude."""
        if not is_pil(img):
            name = type(self).__name__
            message = f"{name} of a {type(img).__name__} is not supported by autolab"
            raise fail(
                TypeError, message, f"Put {name}() before ToTensor(): it takes Pillow images."
            )
        name = list(_OPERATIONS)[_draw(len(_OPERATIONS))]
        magnitudes = self._magnitudes(name, img)
        magnitude = 0.0 if magnitudes is None else float(magnitudes[pick(magnitudes)].item())
        if name in _SIGNED and _draw(2):
            magnitude = -magnitude
        return _OPERATIONS[name](img, magnitude, (self.interpolation, self.fill))

    def _setting(self, name):
        return f"{name}={getattr(self, name)}"


class RandAugment(_Augment):
    """`num_ops` operations drawn from the list, each as strong as number `magnitude` of `num_magnitude_bins` strengths.

    Images are Pillow images. fill: colour of what comes in from outside."""

    _bits = 4
    _shown = "num_ops", "magnitude", *_Augment._shown

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(num_magnitude_bins, interpolation, fill)
        self.num_ops, self.magnitude = num_ops, magnitude

    def _largest(self, height, width):
        shifts = {"TranslateX": 150.0 / 331.0 * width, "TranslateY": 150.0 / 331.0 * height}
        return dict.fromkeys(_SIGNED, 0.9) | {"ShearX": 0.3, "ShearY": 0.3, "Rotate": 30.0} | shifts

    def forward(self, img: Any) -> Any:
        """Return the augmented image."""
        for _ in range(self.num_ops):
            img = self._changed(img, lambda magnitudes: self.magnitude)
        return img


class TrivialAugmentWide(_Augment):
    """One operation drawn from the list, with a strength drawn from `num_magnitude_bins`.

    Images are Pillow images. fill: colour of what comes in from outside."""

    _bits = 6

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(num_magnitude_bins, interpolation, fill)

    def _largest(self, height, width):
        shifts = {"TranslateX": 32.0, "TranslateY": 32.0, "Rotate": 135.0}
        return dict.fromkeys(_SIGNED, 0.99) | shifts

    def forward(self, img: Any) -> Any:
        """Return the augmented image."""
        return self._changed(img, lambda magnitudes: _draw(len(magnitudes)))
