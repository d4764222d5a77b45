"""`torch.special`: special functions of the engine. Source: https://docs.pytorch.org/docs/2.13/special.html"""
from .engine.core.op import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"])
