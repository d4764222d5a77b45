"""`torch.autograd.functional`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api"""

from ..engine import absent as _absent
from ..engine.autograd.functional import hessian, jacobian  # noqa: F401

__all__ = ["hessian", "jacobian"]

__getattr__ = _absent.getattr_of("torch.autograd.functional")
