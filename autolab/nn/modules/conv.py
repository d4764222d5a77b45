"""Convolution layers. Source: https://docs.pytorch.org/docs/stable/nn.html#convolution-layers"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported
from autolab.nn import functional as F, init
from autolab.nn._arguments import DeviceLike, Sizes, name_methods_after
from autolab.nn.modules.layer import Layer, shown_unless_default

_MODES = ("zeros", "reflect", "replicate", "circular")


def as_tuple(value: Any, n: int) -> tuple[Any, ...]:
    """Return a number as a tuple of `n` equal values, and an iterable as a tuple."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * n


class _ConvNd(Layer):
    """The base of all convolutions: sizes, parameters and their initial values."""

    transposed = False

    def __init_subclass__(cls, dims=0, **options):
        super().__init_subclass__(**options)
        if dims:
            cls._dims = dims
            name_methods_after(cls, "forward")

    def _set_up(self, settings):
        options = {name: settings.pop(name) for name in ("device", "dtype")}
        self._has_bias = settings.pop("bias")
        for name in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
            value = settings.get(name, 0)
            settings[name] = value if isinstance(value, str) else as_tuple(value, self._dims)
        super()._set_up(settings)
        self._check()
        self._padding_around = self._around()
        self._make_parameters(self._shapes(), **options)
        self.reset_parameters()

    def _check(self):
        padding, groups = self.padding, self.groups
        even = "Channels are divided evenly among groups."
        checks = [
            (groups > 0, "groups must be a positive integer", "1 connects all channels."),
            (
                self.in_channels % (groups or 1) == 0,
                "in_channels must be divisible by groups",
                even,
            ),
            (
                self.out_channels % (groups or 1) == 0,
                "out_channels must be divisible by groups",
                even,
            ),
            (
                not isinstance(padding, str) or padding in ("same", "valid"),
                f"Invalid padding string {padding!r}, should be one of { {'same', 'valid'} }",
                "'same' keeps the size, 'valid' means no padding.",
            ),
            (
                padding != "same" or all(s == 1 for s in self.stride),
                "padding='same' is not supported for strided convolutions",
                "A stride makes the output smaller than the input.",
            ),
            (
                self.padding_mode in _MODES,
                f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{self.padding_mode}'",
                "It says what stands beyond the edge.",
            ),
        ]
        for holds, message, note in checks:
            if not holds:
                raise fail(ValueError, message, note)

    def _shapes(self):
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        bias = (self.out_channels,) if self._has_bias else None
        return {"weight": (first, second // self.groups, *self.kernel_size), "bias": bias}

    def _around(self):
        """Return the padding in the form of `F.pad`: last dimension first, before and after."""
        if not isinstance(self.padding, str):
            return tuple(p for p in reversed(self.padding) for _ in range(2))
        if self.padding == "valid":
            return (0, 0) * self._dims
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return tuple(n for t in reversed(totals) for n in (t // 2, t - t // 2))

    def reset_parameters(self) -> None:
        """Draw new random parameters, uniform in ±1/sqrt(fan_in): first the weight, then the bias."""
        init._reset_linear(self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from their defaults."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        defaults = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        text += shown_unless_default(self, defaults)
        text += ", bias=False" if self.bias is None else ""
        return text + shown_unless_default(self, {"padding_mode": "zeros"})


class _Convolution(_ConvNd, function=F.conv1d):
    """The base of convolutions that are not transposed."""

    in_channels: int
    out_channels: int
    kernel_size: Sizes
    stride: Sizes = 1
    padding: Sizes | str = 0
    dilation: Sizes = 1
    groups: int = 1
    bias: bool = True
    padding_mode: str = "zeros"
    device: DeviceLike = None
    dtype: DType | None = None

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._padding_around, mode=self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """Return the cross-correlation of `input` with the weight, plus the bias."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution, dims=1, function=F.conv1d):
    """Cross-correlation of sequences x (N, C, L) or (C, L) with `out_channels` filters; the result is (N, O, L').

    `weight` is (out_channels, in_channels / groups, K), `bias` (out_channels); both start uniform in ±1/sqrt(fan_in).
    L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1. `padding` may be 'same' or 'valid'; `padding_mode`
    is zeros, reflect or replicate. Raise RuntimeError if sizes, channels or dtypes do not match.
    """


class Conv2d(_Convolution, dims=2, function=F.conv2d):
    """Cross-correlation of images x (N, C, H, W) or (C, H, W) with `out_channels` filters; the result is (N, O, H',
    W').

    `weight` is (out_channels, in_channels / groups, KH, KW), `bias` (out_channels); both start uniform in
    ±1/sqrt(fan_in). H' = floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1. `padding` may be 'same' or
    'valid'; `padding_mode` is zeros, reflect or replicate. Raise RuntimeError if sizes, channels or dtypes do not
    match.

    Example:

        >>> layer = nn.Conv2d(1, 8, kernel_size=3, padding=1)
        >>> layer(torch.zeros(4, 1, 28, 28)).shape
        torch.Size([4, 8, 28, 28])
    """


class Conv3d(_Convolution, dims=3, function=F.conv3d):
    """Cross-correlation of volumes x (N, C, D, H, W) or (C, D, H, W) with `out_channels` filters.

    `weight` is (out_channels, in_channels / groups, KD, KH, KW). Sizes and settings are the same as in `Conv2d`.
    """


class _Transposed(_ConvNd, function=F.conv_transpose1d):
    transposed = True

    in_channels: int
    out_channels: int
    kernel_size: Sizes
    stride: Sizes = 1
    padding: Sizes = 0
    output_padding: Sizes = 0
    groups: int = 1
    bias: bool = True
    dilation: Sizes = 1
    padding_mode: str = "zeros"
    device: DeviceLike = None
    dtype: DType | None = None

    def _set_up(self, settings):
        if settings["padding_mode"] != "zeros":
            raise fail(
                ValueError,
                f'Only "zeros" padding mode is supported for {type(self).__name__}',
                "For a transposed convolution, padding makes the output smaller.",
            )
        super()._set_up(settings)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Return the transposed convolution. Raise NotImplementedError for `output_size`."""
        if output_size is not None:
            note = "Set the size with the layer's output_padding instead."
            raise unsupported(type(self).__name__, "output_size", note)
        settings = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return self._function(input, self.weight, self.bias, *settings)


class ConvTranspose1d(_Transposed, dims=1, function=F.conv_transpose1d):
    """The adjoint of `Conv1d`: x (N, C, L) gives (N, O, L').

    `weight` is (in_channels, out_channels / groups, K). L' = (L - 1) stride - 2 padding + dilation (K - 1) +
    output_padding + 1. Raise RuntimeError if sizes, channels or dtypes do not match.
    """


class ConvTranspose2d(_Transposed, dims=2, function=F.conv_transpose2d):
    """The adjoint of `Conv2d`: x (N, C, H, W) gives (N, O, H', W').

    `weight` is (in_channels, out_channels / groups, KH, KW). H' = (H - 1) stride - 2 padding + dilation (KH - 1) +
    output_padding + 1. Raise RuntimeError if sizes, channels or dtypes do not match.
    """
