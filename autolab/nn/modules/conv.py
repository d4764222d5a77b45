"""Convolution layers. Source: https://docs.pytorch.org/docs/stable/nn.html#convolution-layers"""

from __future__ import annotations

import math
from collections.abc import Sequence

import autolab
from typing import Any

from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.tensor import Tensor
from autolab.nn._arguments import DeviceLike, Sizes, name_methods_after

_MODES = ("zeros", "reflect", "replicate", "circular")


def as_tuple(value: Any, n: int) -> tuple[Any, ...]:
    """A number as a tuple of `n`; an iterable as the tuple that it is."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * n


class _ConvNd(Module):
    """What all convolutions share: sizes, parameters and their initial values."""

    _dims = 0
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        geometry: dict[str, Any],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise fail(
                ValueError,
                "groups must be a positive integer",
                "1 connects every input to every output channel.",
            )
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise fail(
                    ValueError,
                    f"{name} must be divisible by groups",
                    "Channels are shared out evenly over groups.",
                )
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.transposed = self._transposed
        n = self._dims
        for name, value in geometry.items():
            setattr(self, name, value if isinstance(value, str) else as_tuple(value, n))
        self._check_padding()
        self._padding_around = self._around()
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(autolab.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(autolab.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_padding(self):
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise fail(
                    ValueError,
                    f"Invalid padding string '{self.padding}', should be one of { {'same', 'valid'} }",
                    "'same' keeps the size, 'valid' means no padding.",
                )
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise fail(
                    ValueError,
                    "padding='same' is not supported for strided convolutions",
                    "A stride makes the output smaller than the input.",
                )
        if self.padding_mode not in _MODES:
            raise fail(
                ValueError,
                f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{self.padding_mode}'",
                "It says what stands beyond the edge.",
            )

    def _around(self):
        """The padding as `F.pad` takes it: last dimension first, before and after."""
        if not isinstance(self.padding, str):
            return tuple(p for p in reversed(self.padding) for _ in range(2))
        if self.padding == "valid":
            return (0, 0) * self._dims
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return tuple(n for t in reversed(totals) for n in (t // 2, t - t // 2))

    def reset_parameters(self) -> None:
        """Draw new random parameters, uniform in ±1/sqrt(fan_in): first the weight, then the bias."""
        init.kaiming_uniform_(
            self.weight, a=math.sqrt(5)
        )  # a = sqrt(5) makes the bound 1/sqrt(fan_in)
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        n = self._dims
        settings = {
            "padding": (0,) * n,
            "dilation": (1,) * n,
            "output_padding": (0,) * n,
            "groups": 1,
        }
        for name, default in settings.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        return (
            text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode}"
        )


class _Convolution(_ConvNd):
    """A convolution that is not transposed."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        name_methods_after(cls, "__init__", "forward")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        geometry = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "output_padding": 0,
        }
        super().__init__(
            in_channels, out_channels, geometry, groups, bias, padding_mode, device, dtype
        )

    def _convolve(self, input, weight, bias, padding):
        function = F.conv1d if self._dims == 1 else F.conv2d
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode == "zeros":
            return self._convolve(input, weight, bias, self.padding)
        return self._convolve(
            F.pad(input, self._padding_around, mode=self.padding_mode), weight, bias, 0
        )

    def forward(self, input: Tensor) -> Tensor:
        """The cross-correlation of `input` with the weight, plus the bias."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """Cross-correlation of sequences x (N, C, L) or (C, L) with `out_channels` filters; gives (N, O, L').

    `weight` is (out_channels, in_channels / groups, K), `bias` (out_channels); both start uniform in ±1/sqrt(fan_in).
    L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1. `padding` may be 'same' or 'valid'; `padding_mode`
    is zeros, reflect or replicate. Raises RuntimeError when sizes, channels or dtypes do not fit.
    """

    _dims = 1


class Conv2d(_Convolution):
    """Cross-correlation of images x (N, C, H, W) or (C, H, W) with `out_channels` filters; gives (N, O, H', W').

    `weight` is (out_channels, in_channels / groups, KH, KW), `bias` (out_channels); both start uniform in
    ±1/sqrt(fan_in). H' = floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1. `padding` may be 'same' or
    'valid'; `padding_mode` is zeros, reflect or replicate. Raises RuntimeError when sizes, channels or dtypes
    do not fit.

    Example:

        >>> layer = nn.Conv2d(1, 8, kernel_size=3, padding=1)
        >>> layer(torch.zeros(4, 1, 28, 28)).shape
        torch.Size([4, 8, 28, 28])
    """

    _dims = 2


class _Transposed(_ConvNd):
    _transposed = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        name_methods_after(cls, "__init__", "forward")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise fail(
                ValueError,
                f'Only "zeros" padding mode is supported for {type(self).__name__}',
                "Its padding is cut off from the result.",
            )
        geometry = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "output_padding": output_padding,
        }
        super().__init__(
            in_channels, out_channels, geometry, groups, bias, padding_mode, device, dtype
        )

    def _extra(self, input, output_size):
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        before = 2 if input.dim() == n + 2 else 1
        size = list(output_size)[before:] if len(output_size) == n + before else list(output_size)
        if len(size) != n:
            raise fail(
                ValueError,
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + before} elements (got "
                f"{len(size)})",
                "Give the spatial sizes only, or all of them.",
            )
        least = [
            (length - 1) * s - 2 * p + d * (k - 1) + 1
            for length, s, p, d, k in zip(
                input.shape[before:], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        most = [low + s - 1 for low, s in zip(least, self.stride)]
        if any(not low <= wanted <= high for wanted, low, high in zip(size, least, most)):
            shown = (
                tuple(output_size)
                if len(output_size) == n and isinstance(output_size, tuple)
                else size
            )
            raise fail(
                ValueError,
                f"requested an output size of {shown}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})",
                "A strided convolution maps just these sizes to the input's size.",
            )
        return tuple(wanted - low for wanted, low in zip(size, least))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The transposed convolution of `input`; `output_size` chooses among the sizes that are possible."""
        function = F.conv_transpose1d if self._dims == 1 else F.conv_transpose2d
        extra = self._extra(input, output_size)
        return function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """The adjoint of `Conv1d`: x (N, C, L) gives (N, O, L').

    `weight` is (in_channels, out_channels / groups, K). L' = (L - 1) stride - 2 padding + dilation (K - 1) +
    output_padding + 1. Raises RuntimeError when sizes, channels or dtypes do not fit.
    """

    _dims = 1


class ConvTranspose2d(_Transposed):
    """The adjoint of `Conv2d`: x (N, C, H, W) gives (N, O, H', W').

    `weight` is (in_channels, out_channels / groups, KH, KW). H' = (H - 1) stride - 2 padding + dilation (KH - 1) +
    output_padding + 1. Raises RuntimeError when sizes, channels or dtypes do not fit.
    """

    _dims = 2
