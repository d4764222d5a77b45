"""Copying and pickling tensors, and making them instances of subclasses."""

from __future__ import annotations

import copy

import numpy as np

from ..core.errors import fail
from ..core.tensor import Tensor, attach, wrap
from ..devices import device as devices
from ..inplace.views import OVERLAPPING, repeats
from ..kernels import reuse as memory


@attach
class Copies:
    """The part of the Tensor class behind `copy.deepcopy`, `pickle` and `as_subclass`."""

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
        t = memo[id(self)] = self._like(array)
        t._storage.version, t._storage.array = (
            1,
            owner,
        )  # PyTorch counts that the copy was given its memory
        if t._view is None and repeats(array):
            t._view = OVERLAPPING
        t._req = self.requires_grad
        if self._grad is not None:
            t._grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return t

    def _copied_memory(self, memo):
        """Return a copy of the array, and of the memory it looks into if there is more to see, which tensors that are
        copied together share."""
        d, owner = self._array, None if self._memory is None else self._memory.array
        if owner is None:
            return devices.copied(d), None
        key = "memory of tensors", id(owner)
        if key not in memo:
            memo[key] = devices.copied(owner)
        copied = memo[key]
        if d is owner:
            return copied, copied
        alike = (
            copied.strides == owner.strides
            or copied.flags.c_contiguous
            and owner.flags.c_contiguous
        )
        flat = memory.flat(copied) if alike and copied.dtype == d.dtype else None
        if flat is None:  # memory with gaps, which a copy has not
            return devices.copied(d), None
        place = (devices.address(d) - devices.address(owner)) // d.itemsize
        with self._storage.device.backend:
            return self._storage.device.xp.lib.stride_tricks.as_strided(
                flat[place:], d.shape, d.strides
            ), copied

    def __reduce_ex__(self, protocol):
        # None: pickle looks a class up by its module, and Tensor's says "torch"
        kind, device = None if type(self) is Tensor else type(self), self._storage.device
        there = [] if device is devices.CPU else [device]
        return _rebuild, (
            kind,
            np.array(device.backend.to_host(self._array)),
            self.requires_grad,
            dict(self.__dict__),
            *there,
        )

    def _like(self, array):
        """Return a tensor of this class over `array`, outside any graph."""
        t = wrap(array, self.dtype)
        t.__class__ = type(self)
        return t

    def as_subclass(self, cls):
        """Return this tensor as an instance of `cls`, a subclass of Tensor; memory and history are shared."""
        t = self.alias()
        t.__class__ = cls
        return t


def _rebuild(cls, array, requires_grad, attributes, device=None):
    t = wrap(array if device is None else devices.usable(device).backend.from_host(array))
    t.__class__ = cls or Tensor
    t._req = requires_grad
    t.__dict__.update(attributes)
    return t
