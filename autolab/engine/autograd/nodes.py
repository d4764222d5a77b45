"""The public side of graph nodes: what `torch.autograd.graph.Node` offers in addition to its name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import of
from ..core.dtype import NUMBERS
from ..core.errors import fail
from ..core.grad_mode import guard
from ..core.namespaces import raw
from ..core.node import AccumulateGrad, Node, apply_fix
from ..core.saving import GONE, Freed
from ..core.tensor import Tensor, attach, wrap
from .hooks import NodeHooks

_ELSEWHERE = "_input_metadata _register_hook_dict _set_sequence_nr".split()
_SHOWN = (
    "__call__ _sequence_nr metadata name next_functions register_hook register_prehook requires_grad"
).split()
"""The attributes that `dir(node)` shows for every node, as in PyTorch."""

if TYPE_CHECKING:
    Base = Node
else:
    Base = object


@functools.partial(attach, to=Node)
class _NodeMethods(Base):
    """The part of Node that users and the explorer call."""

    def node_hooks(self):
        """Return the hooks of this node; the object is made on first use."""
        if self.hooks is None:
            with guard:
                self.hooks = self.hooks or NodeHooks()
        return self.hooks

    def register_hook(self, fn):
        """Register `fn(grad_inputs, grad_outputs)` to run after the node; a tuple that it returns replaces
        grad_inputs."""
        return self.node_hooks().add("post", fn)

    def register_prehook(self, fn):
        """Register `fn(grad_outputs)` to run before the node; a tuple that it returns replaces grad_outputs."""
        return self.node_hooks().add("pre", fn)

    @property
    def differentiable_outputs(self):
        """Return the number of output gradients that hooks receive. As in PyTorch, the index that `max` returns with
        the maximum does not count."""
        return self.num_outputs - (len(self.op.nondiff) if self.op is not None else 0)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Return a pair (node, output number) for each differentiable argument; (None, 0) if it receives no
        gradient."""
        nrs = self.input_nrs
        return tuple([(n, 0) for n in self.inputs]) if nrs is None else tuple(zip(self.inputs, nrs))

    @property
    def metadata(self) -> dict[str, Any]:
        """Return a dict for the user's own data about this node."""
        found: dict[str, Any] = self.extra().setdefault("metadata", {})
        return found

    @property
    def requires_grad(self) -> bool:
        """Return True: only results that require a gradient have a node."""
        return True

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def __call__(self, *grads: Tensor | None) -> Any:
        """Run the node alone: take the gradients of its outputs, and return the gradients of its inputs (a Tensor if
        there is one input)."""
        arrays = [None if g is None else g._array for g in grads]
        where = of(next((a for a in arrays if a is not None), np.float32(0)))
        m = raw(where.xp)
        with np.errstate(all="ignore"), where.backend:
            out = apply_fix(
                m, self.fix, self.backward_raw(m, arrays[0] if self.num_outputs == 1 else arrays)
            )
        tensors = tuple(None if g is None else wrap(g) for g in out)
        return tensors[0] if len(tensors) == 1 else tensors

    def __dir__(self) -> list[str]:
        names = [n for n in self._saved_names if n is not None]
        saved = [f"_saved_{n}" for n in (*names, *(self.op.constants if self.op else ()))]
        tensors = [
            f"_raw_saved_{n}"
            for n in names
            if self.op.save_kinds[self._saved_names.index(n)] in ("input", "output")
        ]
        leaf = ["variable"] if isinstance(self, AccumulateGrad) else []
        return sorted([*dir(object), *tensors, *saved, *_SHOWN, *_ELSEWHERE, *leaf])

    def __init_subclass__(cls) -> None:
        """Give the nodes of an operation PyTorch's attributes for saved tensors, `_saved_<name>`. (One `__getattr__`
        for all nodes would make every attribute slow to read in CPython.)"""
        op = vars(cls).get("op")
        if op is None:
            return
        for name in filter(None, cls._saved_names):
            setattr(cls, f"_saved_{name}", property(functools.partial(_saved, name)))
            setattr(cls, f"_raw_saved_{name}", _refusing(f"_raw_saved_{name}"))
        for name, value in op.constants.items():
            setattr(cls, f"_saved_{name}", value)

    def _saved_attribute(self, name: str) -> Any:
        """Return `_saved_<name>`. As in torch, an operand that is a Python number becomes a tensor of dtype double,
        long or bool, whatever the dtype of the other operands."""
        k, op = self._saved_names.index(name), self.op
        if self.saved is None:
            readers = op.needed_by[k]
            several = len(op.rules) > 1 and not op.spread
            if several and readers and all(self.inputs[rule] is None for rule in readers):
                return None  # the node is freed, but this entry was empty before
        else:
            entry = self.entries()[k]
            if entry is None or self.saved.__class__ is Freed and entry is not GONE:
                return entry
        value = self.unpack(k)
        if isinstance(value, list):
            return tuple(value)
        operand = op.save_kinds[k] == "input" and op.params[op.save_index[k]] in op.operands
        if operand and isinstance(value, NUMBERS) and not op.keeps_number(name):
            return wrap(np.asarray(value))
        return value


def _refusing(name):
    """Return a property that `dir` lists, as in PyTorch, but that raises an error because autolab lacks it."""

    def refuse(node):
        message = f"'{node.name()}' object has no attribute '{name}' in autolab"
        raise fail(AttributeError, message, "Use the `_saved_` attributes, or register_hook.")

    return property(refuse)


for _name in _ELSEWHERE:
    setattr(Node, _name, _refusing(_name))


def _saved(name, node):
    return node._saved_attribute(name)
