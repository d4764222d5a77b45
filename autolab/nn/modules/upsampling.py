"""Layers that resize images or cut them into patches.

Source: https://docs.pytorch.org/docs/stable/nn.html#vision-layers
"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.nn import functional as F
from autolab.nn._arguments import Sizes
from autolab.nn.modules.layer import Layer


class Upsample(Layer, function=F.interpolate):
    """Resize images (N, C, H, W) to `size`, or by `scale_factor`, with `F.interpolate`."""

    size: int | Sequence[int] | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None

    def _set_up(self, settings):
        super()._set_up(settings)
        self.name, factor = type(self).__name__, self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor = tuple(map(float, factor))
        else:
            self.scale_factor = float(factor) if factor else None

    def extra_repr(self) -> str:
        """Return size or factor, and mode."""
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class PixelShuffle(Layer, function=F.pixel_shuffle):
    """Move channels into pixels: (…, C r², H, W) gives (…, C, H r, W r)."""

    upscale_factor: int


class Unfold(Layer, function=F.unfold):
    """The patches of images (N, C, H, W) as columns (N, C * kh * kw, number of patches)."""

    kernel_size: Sizes
    dilation: Sizes = 1
    padding: Sizes = 0
    stride: Sizes = 1
