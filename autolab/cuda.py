"""`torch.cuda` where there is no GPU: asking is safe, using raises. Source: https://docs.pytorch.org/docs/2.13/cuda.html"""
from .engine.device import usable as _usable


def is_available() -> bool:
    """Whether a GPU can be used."""
    return False


def device_count() -> int:
    """How many GPUs can be used."""
    return 0


def current_device():
    """The index of the current GPU. Raises AssertionError where there is none."""
    return _usable("cuda").index


def get_device_name(device=None):
    """The GPU's name. Raises AssertionError where there is none."""
    return _usable("cuda" if device is None else device).type


def synchronize(device=None):
    """Waits for the GPU. Raises AssertionError where there is none."""
    _usable("cuda" if device is None else device)


def manual_seed(seed):
    """Seeds the GPU's generator; without a GPU there is none, and nothing happens (as in torch)."""


manual_seed_all = manual_seed
