"""`torch.utils`: data loading, activation checkpointing, hooks. Source: https://docs.pytorch.org/docs/2.13/data.html"""

import importlib

__all__ = ["checkpoint", "data", "hooks"]

_ROOMS = ("checkpoint", "data", "hooks")


def __getattr__(name):
    if name in _ROOMS:
        return importlib.import_module(f"autolab.utils.{name}")
    raise AttributeError(f"module 'autolab.utils' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_ROOMS})
