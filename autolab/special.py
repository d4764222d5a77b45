"""`torch.special`: special functions of the engine. Source: https://docs.pytorch.org/docs/2.13/special.html"""

from .engine import absent as _absent
from .engine.ops.functions import NAMESPACES as _NAMESPACES

__all__ = list(_NAMESPACES["special"])

globals().update(_NAMESPACES["special"])

__getattr__ = _absent.getattr_of("torch.special")
