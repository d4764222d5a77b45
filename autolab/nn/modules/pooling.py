"""Pooling layers. Source: https://docs.pytorch.org/docs/stable/nn.html#pooling-layers"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autolab.nn import functional as F
from autolab.nn.modules.conv import as_tuple
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import Sizes


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _arguments(self):
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "ceil_mode": self.ceil_mode,
            "return_indices": self.return_indices,
        }

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest number of each window of x (N, C, L) or (C, L); the stride is the window's size unless given.

    With `return_indices` also where it lies. Raises RuntimeError when the windows do not fit.
    """

    def forward(self, input: Tensor) -> Any:
        """`input` pooled."""
        return F.max_pool1d(input, self.kernel_size, **self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The largest number of each window of x (N, C, H, W) or (C, H, W); the stride is the window's size unless given.

    With `return_indices` also where it lies, as h * W + w. Raises RuntimeError when the windows do not fit.

    Example:

        >>> nn.MaxPool2d(2)(torch.arange(16.).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    def forward(self, input: Tensor) -> Any:
        """`input` pooled."""
        return F.max_pool2d(input, self.kernel_size, **self._arguments())


class AvgPool1d(Module):
    """The mean of each window of x (N, C, L) or (C, L). Raises RuntimeError when the windows do not fit."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = lambda value: tuple(value) if isinstance(value, (tuple, list)) else (value,)
        self.kernel_size = single(kernel_size)
        self.stride = single(kernel_size if stride is None else stride)
        self.padding, self.ceil_mode, self.count_include_pad = (
            single(padding),
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of x (N, C, H, W) or (C, H, W); zeros of the padding count unless `count_include_pad` is
    False.

    `divisor_override` replaces the number of elements. Raises RuntimeError when the windows do not fit.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _Adaptive(Module):
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The size of the result."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means of x (N, C, L) or (C, L) over `output_size` windows that share it out."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of x (N, C, H, W) or (C, H, W) over `output_size` = (rows, columns) windows that share it out; None keeps a
    size."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """The largest number of each of `output_size` windows that share x (N, C, L) or (C, L) out."""

    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """`input` pooled."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The largest number of each of `output_size` = (rows, columns) windows that share x (N, C, H, W) or (C, H, W)
    out."""

    def forward(self, input: Tensor) -> Any:
        """`input` pooled."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class _MaxUnpool(Module):
    _dims = 0

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.stride = as_tuple(kernel_size if stride is None else stride, self._dims)
        self.padding = as_tuple(padding, self._dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """`input` put back to where pooling found it: at `indices`, among zeros."""
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The partial inverse of MaxPool1d: what was the largest stands where it stood, all else is 0."""

    _dims = 1


class MaxUnpool2d(_MaxUnpool):
    """The partial inverse of MaxPool2d: what was the largest stands where it stood, all else is 0."""

    _dims = 2


class MaxUnpool3d(_MaxUnpool):
    """Numbers at given positions of volumes of zeros; see MaxUnpool2d."""

    _dims = 3


class _LPPool(Module):
    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = (
            norm_type,
            kernel_size,
            stride,
            ceil_mode,
        )

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPool):
    """(sum of x^p)^(1/p) over each window of x (N, C, L) or (C, L), p = `norm_type`."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool2d(_LPPool):
    """(sum of x^p)^(1/p) over each window of x (N, C, H, W) or (C, H, W), p = `norm_type`."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled."""
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
