"""Layers that change an image's size, or cut it into patches.

Source: https://docs.pytorch.org/docs/stable/nn.html#vision-layers
"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import Sizes


class Upsample(Module):
    """`F.interpolate`: sequences (N, C, L) or images (N, C, H, W) resized to `size`, or by `scale_factor`."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: tuple[float, ...] | float | None = tuple(
                float(factor) for factor in scale_factor
            )
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners, self.recompute_scale_factor = (
            mode,
            align_corners,
            recompute_scale_factor,
        )

    def forward(self, input: Tensor) -> Tensor:
        """`input` resized."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """Size or factor, and mode."""
        size = (
            f"size={self.size!r}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor!r}"
        )
        return f"{size}, mode={self.mode!r}"


class PixelShuffle(Module):
    """Channels as pixels: (…, C r², H, W) gives (…, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its channels spread over pixels."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class Unfold(Module):
    """The patches of images (N, C, H, W) as columns (N, C * kh * kw, number of patches)."""

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = (
            kernel_size,
            dilation,
            padding,
            stride,
        )

    def forward(self, input: Tensor) -> Tensor:
        """The patches of `input`."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
