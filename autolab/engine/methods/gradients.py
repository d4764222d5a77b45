"""Gradient methods of a tensor: `backward`, `requires_grad_`, `retain_grad`, hooks.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#tensor-autograd-functions"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING

from ..autograd.hooks import NodeHooks
from ..core.differentiate import backward
from ..core.errors import fail, type_name
from ..core.grad_mode import guard
from ..core.tensor import attach

_run = backward

if TYPE_CHECKING:
    from ..core.tensor import Tensor as Base
else:
    Base = object


@attach
class Gradients(Base):
    """The methods of Tensor about gradients, except `grad` and `requires_grad`."""

    def _warn_of_no_gradient(self):
        """Warn that `.grad` of a non-leaf stays None without `retain_grad()`."""
        message = (
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
            "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
            "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
            "github.com/pytorch/pytorch/pull/30531 for more information."
        )
        warnings.warn(message, UserWarning, stacklevel=3)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradient of this tensor with respect to each leaf of its graph to the leaf's `.grad`.

        gradient: the vector of the vector-Jacobian product, shaped like this tensor; optional for one element. Raise
        RuntimeError if there is no graph or its saved tensors were freed. Source: torch.Tensor.backward."""
        _run(self, gradient, retain_graph, create_graph, inputs=inputs)

    def _check_requiring(self, value):
        """Raise torch's error unless `requires_grad` may be set to `value`."""
        if value.__class__ is not bool:
            note = f"`requires_grad` is True or False; {value!r:.60} came."
            raise fail(RuntimeError, "requires_grad must be a bool", note)
        if self._node is not None:
            cure = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise fail(
                RuntimeError,
                f"you can only change requires_grad flags of leaf variables.{'' if value else cure}",
                "This tensor was computed from others, and requires a gradient already."
                if value
                else "This tensor was computed from others; detach() gives the same values outside the graph.",
            )
        if value and not self.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "only Tensors of floating point and complex dtype can require gradients",
                "Gradients need floating-point numbers. Convert with .float() first.",
            )

    def _check_gradient(self, value):
        """Raise torch's error unless `value` may be assigned to `grad`."""
        if not hasattr(value, "_storage"):
            message = f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}"
            note = "Write x.grad = None to forget a gradient, or assign a tensor of x's shape."
            raise fail(TypeError, message, note)
        note = "A gradient is a tensor of its own, with the shape, dtype and device of its tensor."
        there, here = value._storage.device, self._storage.device
        message = None
        if value is self:
            message = "can't assign Variable as its own grad"
        elif there is not here:
            what = f"located on {there} to a tensor located on {here}"
            message = f"attempting to assign a gradient {what}. Please ensure that the gradient and the tensor are on the same device"
        elif value._array.shape != self._array.shape:
            message = (
                f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size "
                f"'{list(self._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        elif value.dtype is not self.dtype:
            message = (
                f"attempting to assign a gradient with dtype '{value.dtype.cpp_name}' to a tensor with grad_dtype "
                f"'{self.dtype.short}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can "
                "set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
                "caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match."
            )
        if message is not None:
            raise fail(RuntimeError, message, note)

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` in place and return the tensor."""
        if requires_grad and not self.dtype.is_floating_point:
            message = "only Tensors of floating point dtype can require gradients"
            note = "Gradients need floating-point numbers. Convert with .float() first."
            raise fail(RuntimeError, message, note)
        # On a non-leaf, True changes nothing; the attribute would refuse it.
        if not (requires_grad and self._node is not None):
            self.requires_grad = requires_grad
        return self

    def retain_grad(self):
        """Keep the gradient of a non-leaf in `.grad` too. Raise RuntimeError if the tensor requires no grad."""
        if not self.requires_grad:
            raise fail(
                RuntimeError,
                "can't retain_grad on Tensor that has requires_grad=False",
                "autolab computes no gradient for this argument.",
            )
        if self.grad_fn is not None:
            self._node.node_hooks().retain[self._nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad()` was called on this non-leaf. Source: torch.Tensor.retains_grad."""
        node = self._node
        if node is None or node.hooks is None:
            return False
        keeper = node.hooks.retain.get(self._nr)
        return keeper is not None and keeper() is self

    def register_hook(self, hook):
        """Call `hook(grad)` when the gradient of this tensor is complete; a tensor that it returns replaces the
        gradient."""
        self._check_hookable()
        if self.grad_fn is not None:
            return self._node.node_hooks().add_tensor_hook(self._nr, hook)
        return self._leaf_hooks().add_tensor_hook(0, hook)

    def _check_hookable(self):
        if not self.requires_grad:
            raise fail(
                RuntimeError,
                "cannot register a hook on a tensor that doesn't require gradient",
                "No gradient will pass here.",
            )

    def _leaf_hooks(self):
        if self._hooks is None:
            with guard:
                self._hooks = self._hooks or NodeHooks()
        return self._hooks

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(tensor)` after `.grad` of this leaf was updated."""
        self._check_hookable()
        if self.grad_fn is not None:
            raise fail(
                RuntimeError,
                "post accumulate grad hooks cannot be registered on non-leaf tensors",
                "Only leaf tensors accumulate gradients. Use register_hook for other tensors.",
            )
        return self._leaf_hooks().add("post", hook)
