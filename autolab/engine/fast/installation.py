"""Install the fast engine over the core, and remove it again."""

from __future__ import annotations

import functools
from typing import Any

from .. import generated
from ..core import differentiate, namespaces, tensor
from ..core import op as operations
from ..core.node import Node, backward
from ..core.record import OPS
from ..core.tensor import Tensor
from ..exact.sums import plan_with
from ..ops.functions import METHODS, OPERATORS
from . import compiled, saved, steps, straight, sums, threads, updates


class FastEngine(operations.Engine):
    """The engine that compiles a function for every operation that it runs, and a step for every class of nodes."""

    def runner(self, op):
        """Return the fast path if the operation takes plain operands, else its general path."""
        if op.fast is not None and len(op.operands) == 2:
            return compiled.make_binary(op)
        if op.fast is not None and len(op.params) == len(op.defaults) + 1:
            return compiled.make_unary(op)
        return compiled.general(op)

    def inplace_runner(self, op):
        """Return the fast path of an update such as `+=`; for other operations, the runner of the plain engine."""
        return updates.make(op, super().inplace_runner(op))

    def run_graph(self, roots, seeds, retain_graph):
        """Run a backward pass with one root on the straight path, and return whether that was possible."""
        node = roots[0][0]
        return len(roots) == 1 and node.direct and straight.backward(node, seeds[0], retain_graph)


FAST = FastEngine()


def _backward(run):
    """Return the method `Tensor.backward` with a fast path for a loss of one number."""

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
    """Return what `Namespace.binding` returns, compiled once per record."""
    shown = [p if p not in op.defaults else f"{p}=_d_{p}" for p in op.params]
    environment = {f"_d_{p}": v for p, v in op.defaults.items()} | {
        "_op": op,
        "_forward": op.forward,
        "_xp": self.xp,
    }
    target = "_op.call(" if self.traced else "_forward(_xp, "
    source = f"def {op.name}({', '.join(shown)}):\n return {target}{', '.join(op.params)})"
    return generated.function(op.name, source, environment, f"fast/<rules' {op.name}>")


_plain_binding: Any = namespaces.Namespace.binding
_plain_backward: Any = vars(Tensor)["backward"]
_plain_grad: Any = tensor.grad_as_tensor


def install():
    """Install the fast engine: replace the core's functions and methods."""
    namespaces.Namespace.binding = _binding
    Tensor.backward = _backward(_plain_backward)
    tensor.grad_as_tensor = threads.grad_as_tensor
    plan_with(sums.plan)
    for name in steps.SIGNATURES:
        setattr(Node, name, steps.first(name))
    # These two are never removed, because they read and free the saved values of nodes from either engine.
    Node.entries, Node.release = saved.entries, saved.release
    for name, (op, of_tensors) in OPERATORS.items():
        setattr(Tensor, name, compiled.make_operator(op, of_tensors))
    operations.use(FAST)


def remove():
    """Restore the core. Nodes made before also run by `core.node.backward` then."""
    namespaces.Namespace.binding = _plain_binding
    _plain_backward.__doc__ = Tensor.backward.__doc__  # it may have gained examples
    Tensor.backward, tensor.grad_as_tensor = _plain_backward, _plain_grad
    plan_with(None)
    for name in OPERATORS:
        setattr(Tensor, name, METHODS[name])
    for record in OPS.values():
        for node_class in {record.node_class, record.changing.node_class}:
            for name in set(steps.SIGNATURES) & set(vars(node_class)):
                delattr(node_class, name)
    Node.backward_raw = backward
    del Node.step
    operations.use(operations.PLAIN)
