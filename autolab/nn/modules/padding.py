"""Padding layers. Source: https://docs.pytorch.org/docs/stable/nn.html#padding-layers"""

from __future__ import annotations

from collections.abc import Sequence

from autolab.nn._arguments import name_methods_after
from autolab.engine.core.errors import fail
from autolab.nn import functional as F
from autolab.nn.modules.conv import as_tuple
from autolab.nn.modules.module import Module
from autolab.engine.core.tensor import Tensor


class _Pad(Module):
    _dims = 0
    _mode = "constant"

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            name_methods_after(cls, "__init__")

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """`input` padded."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """(before, after) of the last dimension, then of the one before it."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """`input` padded."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Padding and value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Adds positions of `value` before and after the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Adds positions of `value` around the last two dimensions: left, right, top, bottom."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Adds positions of `value` around the last three dimensions: left, right, top, bottom, front, back."""

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Adds zeros before and after the last dimension."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Adds zeros around the last two dimensions: left, right, top, bottom."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Adds zeros around the last three dimensions: left, right, top, bottom, front, back."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """Mirrors the last dimension at its ends; the end itself is not repeated."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirrors the last two dimensions at their ends; the ends themselves are not repeated."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirrors the last three dimensions at their ends; the ends themselves are not repeated."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Repeats the ends of the last dimension."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Repeats the ends of the last two dimensions."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Repeats the ends of the last three dimensions."""

    _dims, _mode = 3, "replicate"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """`input` padded."""
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise fail(
                ValueError,
                f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)",
                "The dimensions before the padded ones are samples and channels.",
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Goes on with the other end beyond the ends of the last dimension."""

    _dims = 1


class CircularPad2d(_CircularPad):
    """Goes on with the other end beyond the ends of the last two dimensions."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """Goes on with the other end beyond the ends of the last three dimensions."""

    _dims = 3
