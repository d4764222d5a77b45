"""Copy and pickle tensors."""

from __future__ import annotations

import copy

import numpy as np

from ..core.errors import fail
from ..core.tensor import Tensor, attach, wrap
from ..devices import device as devices
from ..inplace.views import OVERLAPPING, repeats
from ..kernels.reuse import flat


@attach
class Copies:
    """The methods of Tensor for `copy.deepcopy` and `pickle`."""

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if self.grad_fn is not None:
            raise fail(
                RuntimeError,
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001",
                "Copy the values instead: tensor.detach().clone().",
            )
        array, owner = self._copied_memory(memo)
        t = memo[id(self)] = wrap(array, self.dtype)
        t._storage.array = owner
        t.__class__ = type(self)
        if repeats(t._array):
            t._view = OVERLAPPING
        t._req = self.requires_grad
        if self._grad is not None:
            t._grad = self.grad.__deepcopy__(memo)
        t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return t

    def _copied_memory(self, memo):
        """Return a copy of the array, with a copy of the memory that it is a view of. Tensors that shared memory share
        the copy."""
        array, owner = self._array, self._storage.array
        if owner is None or flat(owner) is None or owner.dtype != array.dtype:
            return devices.copied(array), None
        key = "memory", id(owner)
        memory = memo[key] = memo[key] if key in memo else devices.copied(owner)
        if array is owner:
            return memory, memory
        start = (devices.address(array) - devices.address(owner)) // array.itemsize
        with self._storage.device.backend:
            as_strided = self._storage.device.xp.lib.stride_tricks.as_strided
            return as_strided(flat(memory)[start:], array.shape, array.strides), memory

    def __reduce_ex__(self, protocol):
        # None: pickle finds a class by its module, but Tensor's module is "torch".
        kind, device = None if type(self) is Tensor else type(self), self._storage.device
        array = np.array(device.backend.to_host(self._array))
        return _rebuild, (kind, array, self.requires_grad, dict(self.__dict__), device)


def _rebuild(cls, array, requires_grad, attributes, device):
    t = wrap(array).to(device)
    t.__class__ = cls or Tensor
    t._req = requires_grad
    t.__dict__.update(attributes)
    return t
