"""Sizes of a convolution, and the memory layout of images between its kernels: (C, H, W, N), with the batch
innermost."""

from __future__ import annotations

from dataclasses import dataclass

from . import reuse as memory


@dataclass(frozen=True)
class Geometry:
    """The sizes of a two-dimensional convolution as (height, width) pairs. `padding` may be negative: then rows are
    skipped."""

    size: tuple[int, int]  # of the input
    out: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int = 1

    @property
    def pointwise(self):
        """Return whether every output depends only on the input at its own position."""
        return (
            self.kernel == self.stride == (1, 1)
            and self.padding == (0, 0)
            and self.size == self.out
        )


def batch_last(x):
    """Return (N, C, H, W) as contiguous (C, H, W, N), without a copy if the memory already has this order."""
    t = x.transpose(1, 2, 3, 0)
    if t.flags.c_contiguous:
        return t
    copied = memory.empty(t.shape, t.dtype)
    copied[...] = t
    return copied


def batch_first(t):
    """Return the view (N, C, H, W) of a (C, H, W, N) array."""
    return t.transpose(3, 0, 1, 2)


def by_pixel(t):
    """Return (…, N) with one item per pixel: NumPy copies items of any size faster than short rows of numbers."""
    return t.view(f"V{t.shape[-1] * t.itemsize}")[..., 0]
