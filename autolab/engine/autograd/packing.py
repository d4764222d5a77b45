"""Saved tensors packed by hooks: `saved_tensors_hooks`, and `register_hooks` of one saved tensor."""

from __future__ import annotations

import functools
import weakref

from ..core.node import AccumulateGrad, Node, accumulator
from ..core.saving import PackedTensor
from ..core.tensor import attach


class Packed(PackedTensor):
    """A saved tensor that a hook has packed. value: the result of `pack`. origin: the (node, output number) that made
    the tensor.

    In origin, node is None for an output of the node that saved it, because a node must not hold itself. origin is None
    for a tensor without history.

    >>> packed = Packed.of(torch.tensor([1., 2.]), lambda t: t.tolist(), torch.tensor)
    >>> packed.value, packed.tensor()
    ([1.0, 2.0], tensor([1., 2.]))
    """

    __slots__ = ("value", "unpack", "origin")

    def __init__(self, value, unpack, origin=None):
        self.value, self.unpack, self.origin = value, unpack, origin

    @classmethod
    def of(cls, t, pack, unpack, node=None):
        """Return the tensor `t` in packed form, as `node` stores it."""
        origin = None
        if t.requires_grad:
            made_by = t.grad_fn
            origin = (
                (accumulator(t), 0)
                if made_by is None
                else (None if made_by is node else made_by, t._nr)
            )
        return cls(pack(t), unpack, origin)

    def tensor(self, node=None, traced=True):
        """Return the tensor that `unpack` gives. traced: with the history that the tensor had, because a second
        derivative needs it."""
        t = self.unpack(self.value)
        if not traced or self.origin is None or t.requires_grad:
            return t
        made_by, nr = self.origin
        t = t.detach()
        if isinstance(made_by, AccumulateGrad):
            t._acc = weakref.ref(made_by)
        else:
            t._node, t._nr = made_by or node, nr
        t._req = True
        return t


@functools.partial(attach, to=Node)
class _Packing:
    """The part of Node that handles hooks on saved tensors."""

    def pack(self, pack, unpack):
        """Pass every tensor that the node saved to the hooks of `saved_tensors_hooks`, and store what the hooks
        return."""
        packed = list(self.entries())
        for k, entry in enumerate(packed):
            if entry.__class__ is not tuple or self.op.save_kinds[k] not in ("input", "output"):
                continue
            # the hooks may ask for the running pass, so no fast path may run this graph
            self.node_hooks()
            if self._is_list(k):
                packed[k] = tuple(
                    [
                        Packed.of(t[0], pack, unpack, self) if t.__class__ is tuple else t
                        for t in entry
                    ]
                )
            else:
                packed[k] = Packed.of(self.unpack(k), pack, unpack, self)
        self.saved = packed
