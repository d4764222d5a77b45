"""Pooling layers. Source: https://docs.pytorch.org/docs/stable/nn.html#pooling-layers"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.nn import functional as F
from autolab.nn._arguments import Sizes
from autolab.nn.modules.conv import as_tuple
from autolab.nn.modules.layer import Layer


class _Pool(Layer):
    def _set_up(self, settings):
        super()._set_up(settings)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPoolNd(
    _Pool,
    function=F.max_pool1d,
    settings="kernel_size stride padding dilation ceil_mode return_indices",
    hidden="return_indices",
):
    kernel_size: Sizes
    stride: Sizes | None = None
    padding: Sizes = 0
    dilation: Sizes = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shares_init = True


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The maximum of each window of x (N, C, L) or (C, L); the stride is by default the window's size.

    Raise RuntimeError if the windows do not fit.
    """


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The maximum of each window of x (N, C, H, W) or (C, H, W); the stride is by default the window's size.

    Raise RuntimeError if the windows do not fit.

    Example:

        >>> nn.MaxPool2d(2)(torch.arange(16.).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """


class AvgPool1d(_Pool, function=F.avg_pool1d, hidden="ceil_mode count_include_pad"):
    """The mean of each window of x (N, C, L) or (C, L). Raise RuntimeError if the windows do not fit."""

    kernel_size: Sizes
    stride: Sizes | None = None
    padding: Sizes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def _set_up(self, settings):
        super()._set_up(settings)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, as_tuple(getattr(self, name), 1))


class AvgPool2d(
    _Pool, function=F.avg_pool2d, hidden="ceil_mode count_include_pad divisor_override"
):
    """The mean of each window of x (N, C, H, W) or (C, H, W).

    Padding zeros count unless `count_include_pad` is False; `divisor_override` replaces the number of elements. Raise
    RuntimeError if the windows do not fit.
    """

    kernel_size: Sizes
    stride: Sizes | None = None
    padding: Sizes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class AdaptiveAvgPool1d(Layer, function=F.adaptive_avg_pool1d):
    """The means of x (N, C, L) or (C, L) over `output_size` windows that divide it evenly."""

    output_size: int | Sequence[int | None] | None


class AdaptiveAvgPool2d(Layer, function=F.adaptive_avg_pool2d):
    """The means of x (N, C, H, W) or (C, H, W) over `output_size` = (rows, columns) windows; None keeps a size."""

    output_size: int | Sequence[int | None] | None


class AdaptiveMaxPool2d(Layer, function=F.adaptive_max_pool2d, hidden="return_indices"):
    """The maximum of each of `output_size` = (rows, columns) windows of x (N, C, H, W) or (C, H, W)."""

    output_size: int | Sequence[int | None] | None
    return_indices: bool = False
