"""`torch.autograd.function`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#function"""

from ..engine.autograd.function import Function, FunctionCtx, once_differentiable  # noqa: F401

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
