"""`torch.autograd.graph`. Source: https://docs.pytorch.org/docs/2.13/autograd.html#autograd-graph"""

from ..engine.autograd.graph import *  # noqa: F401,F403
from ..engine.autograd.graph import __all__  # noqa: F401
