"""`torch.autograd.graph`: tools to inspect the graph and control how it saves tensors.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#autograd-graph"""

from __future__ import annotations

from ..core.grad_mode import per_thread
from ..core.node import Node
from . import packing  # noqa: F401  (gives Node its method `pack`)

__all__ = [
    "Node",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """Store `pack(tensor)` for each tensor that backward needs, and call `unpack` on it during backward: `with
    saved_tensors_hooks(pack, unpack):`."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        state = per_thread.state
        self._before = state.saved_hooks
        state.saved_hooks = self.pack_hook, self.unpack_hook
        return self

    def __exit__(self, *exc):
        per_thread.state.saved_hooks = self._before
