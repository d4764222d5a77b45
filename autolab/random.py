"""`torch.random`: the random stream. Source: https://docs.pytorch.org/docs/2.13/random.html"""

from .engine.exact.random import *  # noqa: F403
from .engine.exact.random import __all__ as __all__
