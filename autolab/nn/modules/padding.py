"""Padding layers. Source: https://docs.pytorch.org/docs/stable/nn.html#padding-layers"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.engine.core.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.modules.conv import as_tuple
from autolab.nn.modules.layer import Layer


class _Pad(Layer, function=F.pad):
    """Padding of the last `_dims` dimensions: (left, right, top, bottom, front, back), or one number for all sides."""

    padding: int | Sequence[int]

    def __init_subclass__(cls, dims=0, mode="constant", **options):
        super().__init_subclass__(function=F.pad if dims else None, **options)
        if dims:
            cls._dims, cls._mode = dims, mode

    def _set_up(self, settings):
        super()._set_up(settings)
        self.padding = as_tuple(self.padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` padded."""
        constant = [getattr(self, "value", 0.0)] if self._mode == "constant" else []
        return F.pad(input, self.padding, self._mode, *constant)

    def extra_repr(self) -> str:
        """Return the padding; for constant padding, also the value."""
        return super().extra_repr() if hasattr(self, "value") else str(self.padding)


class _ConstantPad(_Pad, dims=1):
    padding: int | Sequence[int]
    value: float


class ConstantPad1d(_ConstantPad, dims=1):
    """Add positions with `value` before and after the last dimension."""


class ConstantPad2d(_ConstantPad, dims=2):
    """Add positions with `value` around the last two dimensions."""


class ConstantPad3d(_ConstantPad, dims=3):
    """Add positions with `value` around the last three dimensions."""


class ZeroPad1d(_Pad, dims=1):
    """Add zeros before and after the last dimension."""


class ZeroPad2d(_Pad, dims=2):
    """Add zeros around the last two dimensions."""


class ZeroPad3d(_Pad, dims=3):
    """Add zeros around the last three dimensions."""


class ReflectionPad1d(_Pad, dims=1, mode="reflect"):
    """Mirror the last dimension at its ends, without repeating the end elements."""


class ReflectionPad2d(_Pad, dims=2, mode="reflect"):
    """Mirror the last two dimensions at their ends, without repeating the end elements."""


class ReflectionPad3d(_Pad, dims=3, mode="reflect"):
    """Mirror the last three dimensions at their ends, without repeating the end elements."""


class ReplicationPad1d(_Pad, dims=1, mode="replicate"):
    """Repeat the end elements of the last dimension."""


class ReplicationPad2d(_Pad, dims=2, mode="replicate"):
    """Repeat the end elements of the last two dimensions."""


class ReplicationPad3d(_Pad, dims=3, mode="replicate"):
    """Repeat the end elements of the last three dimensions."""
