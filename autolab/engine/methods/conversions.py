"""Conversions of a tensor to a NumPy array, a number or a list."""

from __future__ import annotations

import numpy as np

from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.tensor import attach, materialise, wrap


@attach
class Conversions:
    """The methods of Tensor that return its values."""

    def numpy(self, *, force=False):
        """Return the values as a NumPy array that shares this tensor's memory.

        Raise RuntimeError if the tensor requires grad and gradients are recorded, TypeError off the CPU. Source:
        torch.Tensor.numpy."""
        if force:
            return self.detach().cpu().numpy()
        if self.requires_grad and per_thread.state.grad:
            raise fail(
                RuntimeError,
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                "NumPy does not record operations, so a gradient could not flow through what follows; detach() says that this is meant.",
            )
        if self.device.type != "cpu":
            raise fail(
                TypeError,
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first.",
                "NumPy reads host memory only.",
            )
        return materialise(self)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return wrap(np.asarray(array))

    def item(self):
        """Return the value of a one-element tensor as a Python number. Raise RuntimeError for more elements."""
        if self._array.size != 1:
            raise fail(
                RuntimeError,
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar",
                "Reduce it to one element first, for example with .sum(), or use .tolist().",
            )
        return self._array.item()

    def tolist(self):
        """Return the values as nested Python lists; a number for a 0-d tensor."""
        return self._array.tolist()
