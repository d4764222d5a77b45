"""Tensors outside the graph: `detach()`, `detach_()`, `data`."""

from __future__ import annotations

import functools

from ..core import observe
from ..core.device import CPU
from ..core.errors import fail, type_name
from ..core.tensor import OFF_CPU_VIEW
from ..core.tensor import Tensor, attach, materialise, wrap
from .changes import keep_value
from .views import OVERLAPPING, repeats


@functools.partial(attach, to=observe.Observer)
class DetachEvents:
    """Observer events for tensors that leave the graph."""

    def detached(self, origin, tensor, how):
        """`detach()` or `.data` of `origin` returned `tensor`; `how` says which."""

    def data_set(self, tensor, value):
        """`tensor.data = value` ran: the tensor has other memory now."""


@attach
class Detaching:
    """The methods of Tensor that leave the graph."""

    def detach(self):
        """Return a tensor with the same memory outside the graph. It shares the version counter, so backward still
        detects in-place changes."""
        keep_value(self)
        t = wrap(materialise(self), self.dtype)
        t._storage = self._storage
        if self._view is not None and self._view.base is None:
            t._view = self._view
        elif t._storage.device is CPU:
            t._view = OVERLAPPING if repeats(t._array) else None
        if observe.observer is not None:
            observe.observer.detached(self, t, "detach")
        return t

    def detach_(self):
        """Remove this tensor from its graph in place; it becomes a leaf that needs no gradient."""
        if self._is_view():
            raise fail(
                RuntimeError,
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot "
                "be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
                "torch/optim/optimizer.py as a reference.",
                "A view cannot leave the graph without its base.",
            )
        self._node, self._nr, self._req = None, 0, False
        return self

    @property
    def data(self):
        """The same memory outside the graph, with its own version counter: backward does not detect changes through
        it."""
        keep_value(self)
        t = wrap(materialise(self), self.dtype)
        t._storage.array = self._storage.array
        if t._view is None and repeats(t._array):
            t._view = OVERLAPPING
        if observe.observer is not None:
            observe.observer.detached(self, t, "data")
        return t

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise fail(
                TypeError,
                f"Variable data has to be a tensor, but got {type_name(value)}",
                "Wrap it with torch.tensor(...).",
            )
        if self._req and not value.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "data set to a tensor that requires gradients must be floating point or complex dtype",
                f"`value` has dtype {value.dtype}: use value.float(), or set requires_grad to False first.",
            )
        if value._array.shape != self._array.shape or value.dtype is not self.dtype:
            self._refuse_earlier_gradients()
        self._array = materialise(value)
        self._dtype = value.dtype
        before, owner = (
            self._storage,
            value._storage,
        )  # older views keep their memory
        s = self._storage = before.__class__(owner.device, before.version, owner.array)
        # as in torch, `p.data = p.data.cuda()` moves the tensor
        if before.device is not owner.device:
            s.version = 0
            self._view = None if owner.device is CPU else OFF_CPU_VIEW
        if observe.observer is not None:
            observe.observer.data_set(self, value)

    def _refuse_earlier_gradients(self):
        """Make earlier graphs that used the tensor fail in backward, before it gets data of another shape or dtype."""
        if self._grad is not None:
            materialise(self.grad)
        if self._view is not None:
            self._view.refresh(self)
        node = self._node or (self._acc and self._acc())
        if node is not None:
            node.node_hooks().add("pre", _refuse_gradient)
            self._acc = None


def _refuse_gradient(grads):
    shapes = ", ".join(str(tuple(g.shape)) for g in grads if g is not None)
    message = f"a gradient of shape {shapes} reached a tensor that has other data now"
    note = (
        "`.data = ` gave it another shape or dtype after it was used: run the forward pass again."
    )
    raise fail(RuntimeError, message, note)
