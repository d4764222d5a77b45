"""Looking at the graph and at what it saves: `torch.autograd.graph`.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#autograd-graph"""

from __future__ import annotations

from ..core.errors import fail
from ..core.grad_mode import per_thread
from ..core.node import GradientEdge, Node, accumulator

__all__ = [
    "GradientEdge",
    "Node",
    "get_gradient_edge",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor) -> GradientEdge:
    """Return the edge along which `tensor`'s gradient flows. Raises RuntimeError when it requires no grad."""
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


class saved_tensors_hooks:
    """`with saved_tensors_hooks(pack, unpack):` stores `pack(tensor)` for each tensor that backward will need, and
    calls `unpack` then."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        state = per_thread.state
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
