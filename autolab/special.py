"""`torch.special`: special functions of the engine. Source: https://docs.pytorch.org/docs/2.13/special.html"""

from collections.abc import Callable as _Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .engine.ops.functions import NAMESPACES as _NAMESPACES
from .engine.core.tensor import Tensor as _Tensor

__all__ = list(_NAMESPACES["special"])

globals().update(_NAMESPACES["special"])

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Callable[..., _Tensor]:
        """The functions that records put here."""
        raise AttributeError(name)
