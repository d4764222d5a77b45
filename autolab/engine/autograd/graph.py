"""Looking at the graph and at what it saves: `torch.autograd.graph`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#autograd-graph"""

from __future__ import annotations

import weakref

from ..core.errors import fail
from ..core.tensor import Tensor
from ..core.grad_mode import per_thread
from .hooks import RemovableHandle
from ..core.node import GradientEdge, Node, accumulator

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor) -> GradientEdge:
    """The edge along which `tensor`'s gradient flows. Raises RuntimeError when it requires no grad."""
    if not tensor.requires_grad:
        raise fail(
            RuntimeError,
            "It is not possible to get the gradient edge for a Tensor that does not require gradients",
            "No gradient flows to it.",
        )
    node = tensor.grad_fn or accumulator(tensor)
    if node is None:
        raise fail(
            AssertionError,
            "Expected gradient function to be set",
            "This view requires grad because its base does; it was made without history, so no gradient flows to it.",
        )
    return GradientEdge(node, tensor.output_nr)


def increment_version(tensor):
    """Tells autograd that the memory of a tensor (or of several) was changed from outside."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._storage.version += 1


class saved_tensors_hooks:
    """`with saved_tensors_hooks(pack, unpack):` stores `pack(tensor)` for each tensor that backward will need, and
    calls `unpack` then."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        state = per_thread.state
        if state.hooks_disabled is not None:
            raise fail(
                RuntimeError,
                state.hooks_disabled,
                "Saved-tensor hooks were disabled around this code.",
            )
        self._before = state.saved_hooks
        state.saved_hooks, state.special = (self.pack_hook, self.unpack_hook), True
        return self

    def __exit__(self, *exc):
        state = per_thread.state
        state.saved_hooks, state.special = self._before, state.inference or self._before is not None


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in host memory and brings them back when backward needs them."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(t):
            return t.device, t.detach().cpu() if t.device.type == "cpu" else t.cpu()

        def unpack(packed):
            device, t = packed
            return t.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """`with disable_saved_tensors_hooks(message):` makes entering saved-tensor hooks raise `message`."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        state = per_thread.state
        if state.saved_hooks is not None:
            raise fail(RuntimeError, self.error_message, "Saved-tensor hooks are active already.")
        self._before, state.hooks_disabled = state.hooks_disabled, self.error_message

    def __exit__(self, *exc):
        per_thread.state.hooks_disabled = self._before


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` when all gradients of `tensors` that a pass brings are there (mode 'all': with a list, None where none
    comes), or with the first of them (mode 'any'). Passes that run at the same time, in several threads, are told
    apart."""
    if mode not in ("all", "any"):
        raise fail(
            ValueError,
            f"Expects mode to be one of ('all', 'any') but got {mode}",
            "Choose when the hook is called.",
        )
    tensors = tuple(tensors)
    if mode == "any":
        seen: weakref.WeakSet = weakref.WeakSet()  # the passes that brought one

        def first(grad):
            current = per_thread.state.backward_pass
            if current not in seen:
                seen.add(current)
                fn(grad)

        return _Handles([t.register_hook(first) for t in tensors if t.requires_grad])
    if not all(t.requires_grad for t in tensors):
        raise fail(
            AssertionError,
            "Expected gradient function to be set",
            "Leave out the tensors that require no gradient.",
        )
    nodes = [get_gradient_edge(t).node for t in tensors]
    # a running pass -> its gradients, and how many are to come
    arrived: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def hook_of(i):
        def hook(grad):
            current = per_thread.state.backward_pass
            waiting = arrived.get(current)
            if waiting is None:
                waiting = arrived[current] = [[None] * len(nodes), _coming(current, nodes)]
            waiting[0][i] = grad
            waiting[1] -= 1
            if not waiting[1]:
                del arrived[current]
                fn(waiting[0])

        return hook

    return _Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])


def _coming(run, nodes):
    """How many of `nodes` the backward pass `run` runs, or has run."""
    if run.targets is not None and any(node in run.waiting for node in nodes):
        raise fail(
            RuntimeError,
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not supported.",
            "autograd.grad() accumulates nothing, so no leaf's node runs. Call backward(), or register hooks on the tensors themselves.",
        )
    scheduled = {*run.order, *run.waiting}
    return sum(node in scheduled for node in nodes)


class _Handles(RemovableHandle):
    """One handle for several hooks."""

    def __init__(self, handles):
        super().__init__({})
        self._handles = handles

    def remove(self):
        for h in self._handles:
            h.remove()
