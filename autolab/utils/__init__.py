"""`torch.utils`: data loading and hooks. Source: https://docs.pytorch.org/docs/2.13/data.html"""

import importlib


def __getattr__(name):
    if name in ("data", "hooks"):
        return importlib.import_module(f"autolab.utils.{name}")
    raise AttributeError(f"module 'autolab.utils' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), "data", "hooks"])
