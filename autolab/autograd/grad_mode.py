"""`torch.autograd.grad_mode`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#locally-disable-grad"""

from ..engine.autograd.modes import enable_grad, inference_mode, no_grad  # noqa: F401
from ..engine.core.grad_mode import set_grad_enabled  # noqa: F401

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
