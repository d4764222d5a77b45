"""`torch.autograd.functional`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api"""

from ..engine.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp  # noqa: F401

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
