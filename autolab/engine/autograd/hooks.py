"""Hooks: functions of the user's that see, and may replace, gradients on their way."""

from __future__ import annotations

import weakref
from itertools import count

from ..errors import fail

_ids = count()


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook away again. Usable as a context manager."""

    def __init__(self, hooks_dict, *, extra_dict=()):
        self._dicts = (hooks_dict, *extra_dict)
        self.id = next(_ids)

    @classmethod
    def add(cls, hooks, fn):
        handle = cls(hooks)
        hooks[handle.id] = fn
        return handle

    def remove(self):
        for hooks in self._dicts:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def __reduce__(self):
        return _revive, (self._dicts, self.id)  # pickle looks a class up by its module, and this one says it is torch's


def _revive(dicts, number):
    """The handle of a hook that was pickled with it. Hooks that are registered from now on get other numbers."""
    global _ids
    handle = RemovableHandle(dicts[0], extra_dict=dicts[1:])
    handle.id, _ids = number, count(max(handle.id, number + 1))
    return handle


RemovableHandle.__module__ = "torch.utils.hooks"


class NodeHooks:
    """The hooks of one node, in the order in which they run: tensor hooks by output, retained gradients, pre, post."""

    __slots__ = ("tensor", "retain", "pre", "post")

    def __init__(self):
        self.tensor: dict[int, dict] = {}
        self.retain: dict[int, weakref.ref] = {}
        self.pre: dict = {}
        self.post: dict = {}

    def add(self, kind, fn):
        return RemovableHandle.add(getattr(self, kind), fn)

    def add_tensor_hook(self, nr, fn):
        return RemovableHandle.add(self.tensor.setdefault(nr, {}), fn)


def run_tensor_hooks(hooks, grad):
    """Passes the Tensor `grad` through `hooks` in order. Raises RuntimeError when one changes its size, TypeError when no Tensor returns."""
    from ..tensor import Tensor

    for fn in list(hooks.values()):
        result = fn(grad)
        if result is None:
            continue
        if not isinstance(result, Tensor):
            raise fail(
                TypeError,
                f"expected Variable, but hook returned '{type(result).__name__}'",
                "Return None to leave the gradient as it is, or the tensor that should replace it.",
            )
        if result._d.shape != grad._d.shape:
            raise fail(
                RuntimeError,
                f"hook '{_name(fn)}' has changed the size of value",
                f"The gradient has shape {tuple(grad._d.shape)}, the hook returned {tuple(result._d.shape)}; a gradient keeps its shape.",
            )
        if result.dtype is not grad.dtype:
            raise fail(
                RuntimeError,
                f"hook '{_name(fn)}' has changed the type of value (was torch.{grad.dtype.short}Tensor got "
                f"torch.{result.dtype.short}Tensor)",
                "Return a tensor of the gradient's dtype.",
            )
        grad = result
    return grad


def run_node_hooks(hooks, *tuples):
    """Runs pre or post hooks: each sees the tuples, and may return a replacement of the first."""
    from ..tensor import Tensor

    first, rest = tuples[0], tuples[1:]
    for fn in list(hooks.values()):
        result = fn(first, *rest)
        if result is None:
            continue
        if not isinstance(result, (tuple, Tensor)):
            raise fail(
                TypeError,
                f"expected tuple, but hook returned '{type(result).__name__}'",
                "Return a tuple of gradients, or None.",
            )
        result = (result,) if isinstance(result, Tensor) else result
        if len(result) != len(first):
            raise fail(
                RuntimeError,
                f"hook '{_name(fn)}' has returned an incorrect number of values (got {len(result)}, but expected {len(first)})",
                "Return one gradient per entry of the first argument.",
            )
        first = result
    return first


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)
