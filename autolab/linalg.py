"""`torch.linalg`: the linear algebra ops of the engine. Source: https://docs.pytorch.org/docs/2.13/linalg.html"""

from collections.abc import Callable as _Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from .engine.exact.refusals import LinAlgError  # noqa: F401
from .engine.ops.functions import NAMESPACES as _NAMESPACES

__all__ = ["LinAlgError"]
__all__ += list(_NAMESPACES["linalg"])

globals().update(_NAMESPACES["linalg"])

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Callable[..., _Any]:
        """The functions that records put here."""
        raise AttributeError(name)
