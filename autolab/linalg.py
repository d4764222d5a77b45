"""`torch.linalg`: the linear algebra ops of the engine. Source: https://docs.pytorch.org/docs/2.13/linalg.html"""
from .engine.core.errors import LinAlgError  # noqa: F401
from .engine.core.op import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
