"""Neural networks: modules, parameters, functions, initialisation (`torch.nn`).

Source: https://docs.pytorch.org/docs/2.13/nn.html
"""

from autolab.engine import absent as _absent
from autolab.nn.parameter import Parameter, UninitializedParameter  # noqa: F401  (first: modules are made of them)
from autolab.nn import functional, init  # noqa: F401
from autolab.nn.modules import *  # noqa: F403
from autolab.nn import modules, parameter, utils  # noqa: F401

__all__ = [
    "Parameter", "UninitializedParameter", "functional", "init", "modules",
    "parameter", "utils",
]  # fmt: skip
__all__ += modules.__all__

__getattr__ = _absent.getattr_of("torch.nn")
