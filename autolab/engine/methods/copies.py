"""Copying and pickling tensors."""

from __future__ import annotations

import copy

import numpy as np

from ..core.errors import fail
from ..core.tensor import Tensor, attach, wrap
from ..devices import device as devices
from ..inplace.views import OVERLAPPING, repeats


@attach
class Copies:
    """The part of the Tensor class behind `copy.deepcopy` and `pickle`."""

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
        t = memo[id(self)] = wrap(devices.copied(self._array), self.dtype)
        t.__class__ = type(self)
        if repeats(t._array):
            t._view = OVERLAPPING
        t._req = self.requires_grad
        if self._grad is not None:
            t._grad = self.grad.__deepcopy__(memo)
        t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return t

    def __reduce_ex__(self, protocol):
        # None: pickle looks a class up by its module, and Tensor's says "torch"
        kind, device = None if type(self) is Tensor else type(self), self._storage.device
        array = np.array(device.backend.to_host(self._array))
        return _rebuild, (kind, array, self.requires_grad, dict(self.__dict__), device)


def _rebuild(cls, array, requires_grad, attributes, device):
    t = wrap(array).to(device)
    t.__class__ = cls or Tensor
    t._req = requires_grad
    t.__dict__.update(attributes)
    return t
