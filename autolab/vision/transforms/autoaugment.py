"""Augmentation without tuning: operations drawn from a fixed list, in torch's random stream as torchvision draws them.

Sources: E. Cubuk et al., "RandAugment", https://arxiv.org/abs/1909.13719; S. Müller and F. Hutter, "TrivialAugment",
https://arxiv.org/abs/2103.10158
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import autolab
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.fixed import _Transform
from autolab.vision.transforms.images import Image
from autolab.vision.transforms.sampling import InterpolationMode


def _sheared(x, y):
    return lambda img, m, how: F.affine(
        img,
        0.0,
        [0, 0],
        1.0,
        [math.degrees(math.atan(m * x)), math.degrees(math.atan(m * y))],
        center=[0, 0],
        **how,
    )


def _moved(x, y):
    return lambda img, m, how: F.affine(img, 0.0, [int(m) * x, int(m) * y], 1.0, [0.0, 0.0], **how)


def _by_factor(change):
    return lambda img, m, how: change(img, 1.0 + m)


_OPERATIONS = {  # of (image, magnitude, {interpolation and fill}), in torchvision's order
    "Identity": lambda img, m, how: img,
    "ShearX": _sheared(1, 0),
    "ShearY": _sheared(0, 1),
    "TranslateX": _moved(1, 0),
    "TranslateY": _moved(0, 1),
    "Rotate": lambda img, m, how: F.rotate(img, m, **how),
    "Brightness": _by_factor(F.adjust_brightness),
    "Color": _by_factor(F.adjust_saturation),
    "Contrast": _by_factor(F.adjust_contrast),
    "Sharpness": _by_factor(F.adjust_sharpness),
    "Posterize": lambda img, m, how: F.posterize(img, int(m)),
    "Solarize": lambda img, m, how: F.solarize(img, m),
    "AutoContrast": lambda img, m, how: F.autocontrast(img),
    "Equalize": lambda img, m, how: F.equalize(img),
}
_SIGNED = (
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
)


def _draw(high):
    return autolab.randint(high, (1,)).item()


class _Augment(_Transform):
    _digits = 0  # how many binary digits Posterize takes away at most

    def __init__(
        self,
        num_magnitude_bins: int,
        interpolation: InterpolationMode,
        fill: float | Sequence[float] | None,
    ) -> None:
        super().__init__()
        self.num_magnitude_bins, self.interpolation, self.fill = (
            num_magnitude_bins,
            interpolation,
            fill,
        )

    def _largest(self, height, width):
        """The largest magnitude of each operation that has one, as (low, high)."""
        raise NotImplementedError

    def _magnitudes(self, name, size):
        """The magnitudes to choose from; None for an operation without."""
        bins = self.num_magnitude_bins
        if name == "Posterize":
            return 8 - (autolab.arange(bins) / ((bins - 1) / self._digits)).round().int()
        limits = {
            "Solarize": (255.0, 0.0),
            **{key: (0.0, high) for key, high in self._largest(*size).items()},
        }
        return autolab.linspace(*limits[name], bins) if name in limits else None

    def _changed(self, img, pick):
        """The image after one operation; `pick(magnitudes)` says which magnitude."""
        channels, *size = F.get_dimensions(img)
        fill = self.fill
        if isinstance(img, Tensor) and fill is not None:
            fill = (
                [float(fill)] * channels
                if isinstance(fill, (int, float))
                else [float(v) for v in fill]
            )
        name = list(_OPERATIONS)[_draw(len(_OPERATIONS))]
        magnitudes = self._magnitudes(name, size)
        magnitude = 0.0 if magnitudes is None else float(magnitudes[pick(magnitudes)].item())
        if name in _SIGNED and _draw(2):
            magnitude = -magnitude
        return _OPERATIONS[name](
            img, magnitude, {"interpolation": self.interpolation, "fill": fill}
        )

    def _settings(self):
        return f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, fill={self.fill}"


class RandAugment(_Augment):
    """`num_ops` operations drawn from the list, each as strong as number `magnitude` of `num_magnitude_bins` strengths.

    Images are Pillow images or bytes. fill: colour of what comes in from outside."""

    _digits = 4

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
        factors = dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), 0.9)
        moves = {"TranslateX": 150.0 / 331.0 * width, "TranslateY": 150.0 / 331.0 * height}
        return {"ShearX": 0.3, "ShearY": 0.3, "Rotate": 30.0, **moves, **factors}

    def forward(self, img: Image) -> Image:
        """The augmented image."""
        for _ in range(self.num_ops):
            img = self._changed(img, lambda magnitudes: self.magnitude)
        return img

    def _settings(self):
        return f"num_ops={self.num_ops}, magnitude={self.magnitude}, {super()._settings()}"


class TrivialAugmentWide(_Augment):
    """One operation drawn from the list, with a strength drawn from `num_magnitude_bins`.

    Images are Pillow images or bytes. fill: colour of what comes in from outside."""

    _digits = 6

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(num_magnitude_bins, interpolation, fill)

    def _largest(self, height, width):
        names = ("ShearX", "ShearY", "Brightness", "Color", "Contrast", "Sharpness")
        return {
            **dict.fromkeys(names, 0.99),
            "TranslateX": 32.0,
            "TranslateY": 32.0,
            "Rotate": 135.0,
        }

    def forward(self, img: Image) -> Image:
        """The augmented image."""
        return self._changed(img, lambda magnitudes: _draw(len(magnitudes)))
