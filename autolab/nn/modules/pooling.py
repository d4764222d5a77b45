"""Pooling layers. Source: https://docs.pytorch.org/docs/stable/nn.html#pooling-layers"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autolab.nn import functional as F
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import Sizes


class _Pool(Module):
    """A layer that pools; `_function` names a function, and `_settings` the attributes that follow
    `input` in its arguments."""

    _function = ""
    _settings: tuple[str, ...] = ()
    _hidden: tuple[str, ...] = ("return_indices",)

    def forward(self, input: Tensor) -> Any:
        """Return `input` pooled."""
        return getattr(F, self._function)(input, *(getattr(self, name) for name in self._settings))

    def extra_repr(self) -> str:
        """Return sizes and settings."""
        shown = [name for name in self._settings if name not in self._hidden]
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)


class _MaxPoolNd(_Pool):
    _settings = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")

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


class MaxPool1d(_MaxPoolNd):
    """The largest number of each window of x (N, C, L) or (C, L); the stride is the window's size unless given.

    With `return_indices` also where it lies. Raises RuntimeError when the windows do not fit.
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest number of each window of x (N, C, H, W) or (C, H, W); the stride is the window's size unless given.

    With `return_indices` also where it lies, as h * W + w. Raises RuntimeError when the windows do not fit.

    Example:

        >>> nn.MaxPool2d(2)(torch.arange(16.).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    _function = "max_pool2d"


class AvgPool1d(_Pool):
    """The mean of each window of x (N, C, L) or (C, L). Raises RuntimeError when the windows do not fit."""

    _function = "avg_pool1d"
    _settings = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
    _hidden = ("ceil_mode", "count_include_pad")

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
        self.kernel_size, self.padding = single(kernel_size), single(padding)
        self.stride = single(kernel_size if stride is None else stride)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad


class AvgPool2d(_Pool):
    """The mean of each window of x (N, C, H, W) or (C, H, W).

    Zeros of the padding count unless `count_include_pad` is False; `divisor_override` replaces the number of elements.
    Raises RuntimeError when the windows do not fit.
    """

    _function = "avg_pool2d"
    _settings = tuple(
        "kernel_size stride padding ceil_mode count_include_pad divisor_override".split()
    )
    _hidden = ("ceil_mode", "count_include_pad", "divisor_override")

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


class _Adaptive(_Pool):
    _settings: tuple[str, ...] = ("output_size",)

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    """Means of x (N, C, L) or (C, L) over `output_size` windows that divide it evenly."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """Means of x (N, C, H, W) or (C, H, W) over `output_size` = (rows, columns) windows; None keeps a size."""

    _function = "adaptive_avg_pool2d"


class AdaptiveMaxPool2d(_Adaptive):
    """The largest number of each of `output_size` = (rows, columns) windows of x (N, C, H, W) or (C, H, W)."""

    _function = "adaptive_max_pool2d"
    _settings = ("output_size", "return_indices")

    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices
