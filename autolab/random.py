"""`torch.random`: the random stream. Source: https://docs.pytorch.org/docs/2.13/random.html"""
from .engine.exact.random import *  # noqa: F401,F403
