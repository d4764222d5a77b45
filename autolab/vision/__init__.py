"""Images: models, transforms and data sets under torchvision's names. `import autolab.vision as torchvision` runs
tutorials.

Source: https://docs.pytorch.org/vision/0.28/
"""

import importlib

__all__ = ["datasets", "models", "transforms", "utils"]

_ROOMS = ("models", "transforms", "datasets", "utils")


def __getattr__(name):
    if name in _ROOMS:
        return importlib.import_module(f"autolab.vision.{name}")
    raise AttributeError(f"module 'autolab.vision' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_ROOMS])
