"""`torch.linalg`: the linear algebra ops of the engine. Source: https://docs.pytorch.org/docs/2.13/linalg.html"""

from .engine import absent as _absent
from .engine.exact.refusals import LinAlgError  # noqa: F401
from .engine.ops.functions import NAMESPACES as _NAMESPACES

__all__ = ["LinAlgError"]
__all__ += list(_NAMESPACES["linalg"])

globals().update(_NAMESPACES["linalg"])

__getattr__ = _absent.getattr_of("torch.linalg")
