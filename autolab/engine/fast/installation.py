"""Where the fast engine meets the core: all that is put over it, and taken away again."""

from __future__ import annotations

import functools

from ..core import differentiate, namespaces, op as registry, tensor
from ..core.apply import apply, reporting
from ..core.node import Node, backward
from ..exact.sums import plan_with
from ..core.tensor import Tensor
from ..inplace import changes
from ..ops.functions import METHODS, OPERATORS
from .. import generated
from . import inplace_lane, lanes, saved, saving, steps, straight, sums, threads


def lane(op):
    """What runs `op`: for plain operands where there is a kernel for them, else for those of all kinds that can be
    compiled."""
    if op.fast is not None and len(op.operands) == 2:
        return lanes.make_binary(op)
    if op.fast is not None and len(op.params) == len(op.defaults) + 1:
        return lanes.make_unary(op)
    return _general(op)


def _general(op):
    return lanes.make_general(op) if lanes.can_compile(op) else None


def lane_in_place(op):
    """What runs `op` in place."""
    return inplace_lane.make(op, changes.lane(op))


def _equip(op):
    """Gives `op` what is compiled for it."""
    op.save = functools.partial(_save, op)

    def first_call(*args):  # compiling all would add 60 ms to `import autolab`
        if op.general is first_call:
            op.general = _general(op) or reporting(apply, op)
        return op.general(*args)

    op.general = first_call


def _save(op, args, outs, edges):
    """`op.save` until its first call."""
    return saving.saver(op)(args, outs, edges)


def _shortcut(roots, seeds, retain_graph):
    """A backward pass with one root that asks for nothing unusual; see `core.differentiate.SHORTCUTS`."""
    node = roots[0][0]
    return len(roots) == 1 and node.direct and straight.backward(node, seeds[0], retain_graph)


def _backward(run):
    """The method `Tensor.backward`, which asks first whether it is that of one number, as mostly."""

    @functools.wraps(run)
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        if (
            gradient is inputs is None
            and create_graph is False
            and (retain_graph is None or retain_graph.__class__ is bool)
            and straight.of_number(self, retain_graph)
        ):
            return
        differentiate.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    return backward


def _binding(self, op):
    """A function with the signature of `op` that calls it: of a namespace of rules, compiled once per record."""
    shown = [p if p not in op.defaults else f"{p}=_d_{p}" for p in op.params]
    environment = {f"_d_{p}": v for p, v in op.defaults.items()} | {
        "_op": op,
        "_forward": op.forward,
        "_xp": self.xp,
    }
    target = "_op.call(" if self.traced else "_forward(_xp, "
    source = f"def {op.name}({', '.join(shown)}):\n return {target}{', '.join(op.params)})"
    return generated.function(op.name, source, environment, f"fast/<rules' {op.name}>")


_plain_binding = namespaces.Namespace.binding
_plain_backward, _plain_look = None, tensor.first_look


def install():
    """Puts everything in its place."""
    global _plain_backward
    if lane in registry.LANES:
        return
    registry.LANES.insert(-1, lane)
    registry.INPLACE_LANES.insert(0, lane_in_place)
    differentiate.SHORTCUTS.append(_shortcut)
    namespaces.Namespace.binding = _binding
    _plain_backward = Tensor.backward
    Tensor.backward = _backward(Tensor.backward)
    tensor.first_look = threads.first_look
    plan_with(sums.plan)
    for name in steps.SIGNATURES:
        setattr(Node, name, steps.first(name))
    # these stay: what a node has saved can be read and freed whichever engine made it
    Node.entries, Node.release = saved.entries, saved.release
    registry.EQUIPMENT.append(_equip)
    for op in registry.RECORDS:
        _equip(op)
    for name, (op, of_tensors) in OPERATORS.items():
        setattr(Tensor, name, lanes.make_operator(op, of_tensors))
    registry.choose_lanes_again()


def remove():
    """Leaves the core alone: nodes that were made before run by `core.node.backward`, too."""
    if lane not in registry.LANES:
        return
    registry.LANES.remove(lane)
    registry.INPLACE_LANES.remove(lane_in_place)
    differentiate.SHORTCUTS.remove(_shortcut)
    namespaces.Namespace.binding = _plain_binding
    _plain_backward.__doc__ = Tensor.backward.__doc__  # examples, perhaps
    Tensor.backward, tensor.first_look = _plain_backward, _plain_look
    plan_with(None)
    for name in OPERATORS:
        setattr(Tensor, name, METHODS[name])
    registry.EQUIPMENT.remove(_equip)
    for op in registry.RECORDS:
        op.save = op.general = None
        for name in set(steps.SIGNATURES) & set(vars(op.node_class)):
            delattr(op.node_class, name)
    Node.backward_raw = Node.backward_traced = backward
    del Node.step
    registry.choose_lanes_again()
