"""Python's special methods of a tensor: conversion to bool or a number, length, iteration, text.

Source: https://docs.pytorch.org/docs/2.13/tensors.html, and `torch/_tensor.py`."""

from __future__ import annotations

import warnings

from ..core.errors import fail
from ..absent import names
from ..core.tensor import Tensor, attach
from ..core.dtype import NUMBERS
from ..exact.printing import tensor_repr


@attach
class Protocols:
    """The methods of Tensor behind `bool(t)`, `float(t)`, `len(t)`, `for row in t`, `repr(t)` and similar."""

    def __bool__(self):
        if self._array.size != 1:
            if self._array.size == 0:
                raise fail(
                    RuntimeError,
                    "Boolean value of Tensor with no values is ambiguous",
                    "Test x.numel() > 0 or x.any() instead.",
                )
            raise fail(
                RuntimeError,
                "Boolean value of Tensor with more than one value is ambiguous",
                "Use .any() or .all() to get one bool.",
            )
        return bool(self._array)

    def _scalar(self, kind):
        if self.requires_grad:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
                "tensor.detach() first.",
                UserWarning,
                stacklevel=3,
            )
        if self._array.size != 1:
            message = "only one element tensors can be converted to Python scalars"
            raise fail(ValueError, message, "Index one entry, or call .tolist().")
        return kind(self.item())

    def __float__(self):
        return self._scalar(float)

    def __int__(self):
        return self._scalar(int)

    def __index__(self):
        if self._array.size != 1 or self.dtype.is_floating_point:
            raise fail(
                TypeError,
                "only integer tensors of a single element can be converted to an index",
                "Use .item() or .long().",
            )
        return int(self._array.item())

    def __len__(self):
        if not self._array.ndim:
            raise fail(
                TypeError,
                "len() of a 0-d tensor",
                "A 0-d tensor is a single number; its value is .item().",
            )
        return self._array.shape[0]

    def __iter__(self):
        if not self._array.ndim:
            raise fail(
                TypeError,
                "iteration over a 0-d tensor",
                "A 0-d tensor is a single number; its value is .item().",
            )
        return iter(self.unbind(0))

    def __contains__(self, element):
        if not isinstance(element, (Tensor, *NUMBERS)):
            message = f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            raise fail(RuntimeError, message, "A tensor holds numbers.")
        return bool((self == element).any())

    def __repr__(self, *, tensor_contents=None):
        return tensor_repr(self)

    def __format__(self, spec):
        if self._array.ndim == 0 and not self.is_meta:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __dir__(self):
        hidden = {"_array", "_nr", "_req", "_acc", "_memory"} | names()["torch.Tensor"]
        return sorted(set(object.__dir__(self)) - hidden)
