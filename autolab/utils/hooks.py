"""`torch.utils.hooks`: the handle that registering a hook returns."""

from autolab.engine.autograd.hooks import RemovableHandle  # noqa: F401

__all__ = ["RemovableHandle"]
