"""The cost of the CPU's own work in simulated time: the CPU is simulated too, so that a program can be timed on both.

An op costs the time of the calls around it, and the time to move or compute its data; a node of the backward pass costs
a call and twice the data time of its op. Source of the numbers: a desktop computer with four cores at 3 GHz and
PyTorch (`HOST`).
"""

from __future__ import annotations

import weakref
from math import prod

from ...core.device import CPU
from ...core.observe import Observer

HOST_CALL, HOST_BANDWIDTH, HOST_FLOPS, CONV_FLOPS = 2e-6, 20e9, 375e9, 150e9
"""The cost of a call before any work (s), memory bandwidth (bytes/s), and float32 operations/s of matrix products and
of convolutions. One core was measured at 94e9 in a large product; the rate of convolutions is an estimate."""
_PRODUCTS = {"mm", "addmm", "matmul", "bmm", "mv", "addmv", "dot", "einsum"}


class HostWork(Observer):
    """An observer that advances `clock` by the time of ops on CPU tensors. Ops on a device cost the host their
    launches, which the device counts."""

    def __init__(self, clock):
        self.clock = clock
        self._nodes = weakref.WeakKeyDictionary()  # node -> seconds of its backward

    def forward(self, op, args, attrs, outputs, node, inplace=False):
        made = [o for o in outputs if hasattr(o, "_storage")]
        custom = not hasattr(op, "view")  # a user's function, whose ops were counted one by one
        if custom or not made or made[0]._storage.device is not CPU or op.name == "to_device":
            return
        seconds = HOST_CALL
        if not op.view:
            tensors = [a for a in args if hasattr(a, "_storage")]
            nbytes = sum(t.nbytes for t in (*tensors, *made))
            seconds = HOST_CALL + max(
                nbytes / HOST_BANDWIDTH, _arithmetic_seconds(op.name, tensors, made)
            )
        self.clock.spend(round(seconds, 10))
        if node is not None:
            self._nodes[node] = round(2 * seconds - HOST_CALL, 10)

    def after_node(self, node, grad_inputs):
        seconds = self._nodes.pop(node, None)
        if seconds is not None:
            self.clock.spend(seconds)


def _arithmetic_seconds(name, tensors, outputs):
    if name in _PRODUCTS and len(tensors) >= 2:
        a, b = tensors[-2:]
        flops = 2 * round(
            (prod(a._array.shape) * prod(b._array.shape) * prod(outputs[0]._array.shape)) ** 0.5
        )
        return flops / HOST_FLOPS
    if name.startswith("conv") and len(tensors) >= 2:
        weight = tensors[1]._array.shape
        return 2 * prod(outputs[0]._array.shape) * prod(weight[1:]) / CONV_FLOPS
    return 0
