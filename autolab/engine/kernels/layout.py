"""Sizes of a convolution, and the order of images in memory between its kernels: (C, H, W, N), the batch innermost."""

from __future__ import annotations

from dataclasses import dataclass

from . import reuse as memory


@dataclass(frozen=True)
class Geometry:
    """Sizes of a two-dimensional convolution: (height, width) pairs. `padding` may be negative (rows that are
    skipped)."""

    size: tuple[int, int]  # of the input
    out: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int = 1

    @property
    def pointwise(self):
        """Whether every output is made of the input at its own position."""
        return (
            self.kernel == self.stride == (1, 1)
            and self.padding == (0, 0)
            and self.size == self.out
        )


def batch_last(x):
    """(N, C, H, W) -> contiguous (C, H, W, N); no copy when it already lies so."""
    t = x.transpose(1, 2, 3, 0)
    if t.flags.c_contiguous:
        return t
    copied = memory.empty(t.shape, t.dtype)
    copied[...] = t
    return copied


def batch_first(t):
    """The view (N, C, H, W) of a (C, H, W, N) array."""
    return t.transpose(3, 0, 1, 2)


def by_pixel(t):
    """(…, N) as one item per pixel: NumPy copies items of any size faster than short rows of numbers."""
    return t.view(f"V{t.shape[-1] * t.itemsize}")[..., 0]
