"""Random numbers for GPUs. They come from the CPU's stream, so a seed gives the same numbers on every device.

Source: https://docs.pytorch.org/docs/2.13/cuda.html#random-number-generator
"""

from ..engine.devices import device as _devices
from ..engine.exact import random as _random


def manual_seed(seed: int) -> None:
    """Seed the stream from which GPUs draw. Without a GPU, do nothing, as in PyTorch. Source: torch.cuda.manual_seed"""
    if _devices.backends("cuda"):
        _random.manual_seed(seed)


manual_seed_all = manual_seed
