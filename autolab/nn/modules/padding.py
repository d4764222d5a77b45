"""Padding layers. Source: https://docs.pytorch.org/docs/stable/nn.html#padding-layers"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.nn._arguments import name_methods_after
from autolab.nn import functional as F
from autolab.nn.modules.conv import as_tuple
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class _Pad(Module):
    """Padding of the last `_dims` dimensions: (left, right, top, bottom, front, back), or one number for all."""

    _dims = 0
    _mode = "constant"
    value = 0.0

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            name_methods_after(cls, "__init__")

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` padded."""
        constant = [self.value] if self._mode == "constant" else []
        return F.pad(input, self.padding, self._mode, *constant)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """Return the padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Add positions of `value` before and after the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Add positions of `value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Add positions of `value` around the last three dimensions."""

    _dims = 3


class ZeroPad1d(_Pad):
    """Add zeros before and after the last dimension."""

    _dims = 1


class ZeroPad2d(_Pad):
    """Add zeros around the last two dimensions."""

    _dims = 2


class ZeroPad3d(_Pad):
    """Add zeros around the last three dimensions."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """Mirror the last dimension at its ends; the end itself is not repeated."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirror the last two dimensions at their ends; the ends themselves are not repeated."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirror the last three dimensions at their ends; the ends themselves are not repeated."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Repeat the ends of the last dimension."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Repeat the ends of the last two dimensions."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Repeat the ends of the last three dimensions."""

    _dims, _mode = 3, "replicate"
