"""Hooks: user functions that can read and replace gradients during the backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from ..core.backward import accumulate
from ..core.device import ARRAY_CLASSES, copied, plus
from ..core.errors import fail, type_name
from ..core.grad_mode import guard, set_grad_enabled
from ..core.tensor import Tensor, wrap

_ids = count()


class RemovableHandle:
    """The handle that registering a hook returns; `remove()` unregisters the hook. Usable as a context manager."""

    def __init__(self, hooks_dict: dict, *, extra_dict: Iterable[dict] = ()) -> None:
        self._dicts = (hooks_dict, *extra_dict)
        self.id = next(_ids)

    @classmethod
    def add(cls, hooks: dict, fn: Callable[..., Any]) -> RemovableHandle:
        """Add `fn` to the dict `hooks`, and return the handle that removes it."""
        handle = cls(hooks)
        hooks[handle.id] = fn
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for hooks in self._dicts:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


RemovableHandle.__module__ = "torch.utils.hooks"


class NodeHooks:
    """The hooks of one node, in the order in which they run: tensor hooks by output, retained gradients, pre-hooks,
    post-hooks."""

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

    # `core/backward.py` calls these methods. `run` is the backward pass. Gradients are arrays, or Tensors if they need
    # a graph.
    def arrived(self, run, gs):
        """Return the gradients `gs`, one per output, after the tensor hooks ran. Store the gradients of outputs that
        called `retain_grad`."""
        for nr in sorted({*self.tensor, *self.retain}):
            if gs[nr] is None:
                continue
            if nr in self.tensor:
                (gs[nr],) = _call_hook(
                    run,
                    lambda grads, nr=nr: (run_tensor_hooks(self.tensor[nr], *grads),),
                    gs[nr : nr + 1],
                )
            keeper = self.retain[nr]() if nr in self.retain else None
            if keeper is not None and run.accumulate:
                _retain(keeper, gs[nr], run.create_graph)
        return gs

    def before(self, run, node, gs):
        """Return the gradients `gs` after the pre-hooks of the node ran."""
        if not self.pre:
            return gs
        shown = node.differentiable_outputs
        return [
            *_call_hook(run, lambda grads: run_node_hooks(self.pre, grads), gs[:shown]),
            *gs[shown:],
        ]

    def after(self, run, node, out, g):
        """Return the gradients `out` of the node's inputs after the post-hooks ran; `g` is the gradient of its
        output."""
        if not self.post:
            return out
        gs = g[: node.differentiable_outputs] if node.num_outputs > 1 else (g,)
        return tuple(_call_hook(run, lambda *grads: run_node_hooks(self.post, *grads), out, gs))

    def accumulated(self, run, leaf):
        """Call the hooks that run after `leaf.grad` was updated."""
        _call_hook(run, lambda: run_accumulated_hooks(self.post, leaf) or ())


def _call_hook(run, function, *grads):
    """Call a user function, which takes and returns tuples of Tensors, on the gradients; return the new gradients."""
    with set_grad_enabled(run.create_graph):
        result = function(
            *[
                tuple([g if g is None or isinstance(g, Tensor) else wrap(g) for g in gs])
                for gs in grads
            ]
        )
    return [t if t is None or run.create_graph else t._array for t in result]


def _retain(keeper, g, create_graph):
    """Add `g` to the gradient of a non-leaf. This makes a new tensor, while a leaf's gradient is changed in place."""
    if create_graph:
        return accumulate(keeper, g, True)
    with guard:
        keeper._grad = (
            plus(keeper.grad._array, g)
            if keeper._grad is not None
            else copied(g)
            if g.__class__ in ARRAY_CLASSES
            else g
        )


def run_tensor_hooks(hooks, grad):
    """Return the Tensor `grad` after calling `hooks` in order. Raise RuntimeError if a hook changes its size, TypeError
    if a hook returns something that is not a Tensor."""
    for fn in list(hooks.values()):
        result = fn(grad)
        if result is not None:
            _check_replacement(fn, result, grad)
            grad = result
    return grad


def run_accumulated_hooks(hooks, leaf):
    """Call the hooks that run after `leaf.grad` was updated. Raise RuntimeError if a hook returns anything but None."""
    results = [fn(leaf) for fn in list(hooks.values())]
    if any(result is not None for result in results):
        raise fail(
            RuntimeError,
            "Tensor post accumulate grad hooks should return None.",
            "Change .grad itself, or return nothing.",
        )


def run_node_hooks(hooks, *tuples):
    """Run pre- or post-hooks, and return the first tuple after them. Each hook receives the tuples and may return a
    replacement of the first, with gradients of the same sizes and dtypes."""
    first, rest = tuples[0], tuples[1:]
    for fn in list(hooks.values()):
        result = fn(first, *rest)
        if result is None:
            continue
        if not isinstance(result, tuple):
            message = f"expected tuple, but hook returned '{type_name(result)}'"
            raise fail(TypeError, message, "Return a tuple of gradients, or None.")
        if len(result) != len(first):
            raise fail(
                RuntimeError,
                f"hook '{_name(fn)}' has returned an incorrect number of values (got {len(result)}, but expected {len(first)})",
                "Return one gradient per entry of the first argument.",
            )
        for new, old in zip(result, first):
            if new is not None and new is not old:
                _check_replacement(fn, new, old)
        first = result
    return first


def _check_replacement(fn, new, old):
    """Raise PyTorch's error unless the hook `fn` may replace the gradient `old` with `new`."""
    note = "Return None to leave the gradient as it is, or a tensor of its shape and dtype."
    if old is None:
        message = "can't replace a None gradient with a non-None value"
        raise fail(
            RuntimeError,
            message,
            "The gradient is None here, so the hook must return None in its place.",
        )
    if not isinstance(new, Tensor):
        message = f"expected Variable, but hook returned '{type_name(new)}'"
        raise fail(TypeError, message, note)
    what = f"hook '{_name(fn)}' has changed the"
    if new.dtype is not old.dtype:
        message = f"{what} type of value (was torch.{old.dtype.short}Tensor got torch.{new.dtype.short}Tensor)"
        raise fail(RuntimeError, message, note)
    if new._array.shape != old._array.shape:
        message = f"{what} size of value"
        sizes = f" The gradient has shape {tuple(old._array.shape)}, the hook returned {tuple(new._array.shape)}."
        raise fail(RuntimeError, message, note + sizes)


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)
