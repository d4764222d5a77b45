"""`torch.linalg`: the linear algebra ops of the engine. Source: https://docs.pytorch.org/docs/2.13/linalg.html"""
from .engine.errors import LinAlgError  # noqa: F401
from .engine.registry import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
