"""The backward pass: run the nodes in torch's order, and sum gradients where paths meet.

`steps` is a generator. `backward()` runs it to the end, and the explorer looks at the graph between its steps. Nothing
here is recursive, so a graph may be of any depth. Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from . import namespaces, observe
from .errors import fail
from .device import ARRAY_CLASSES, copied, device, filled, of, plus
from .grad_mode import guard, per_thread, set_grad_enabled
from .node import AccumulateGrad, Node, apply_fix
from .tensor import Tensor, wrap

Root = tuple[Node, int]
"""A node and the number of its output."""


def steps(roots: Sequence[Root], grads: Sequence[Any], **settings: Any) -> Iterator[Node]:
    """Run a backward pass, and yield each node after it ran. grads: the raw array that arrives at each root (a Tensor
    with create_graph). settings: the settings of `BackwardPass`.

    >>> x = wrap(np.float64(3))
    >>> x.requires_grad = True
    >>> y = x * x
    >>> [node.name() for node in steps([(y.grad_fn, 0)], [np.float64(1)])]
    ['torch::autograd::AccumulateGrad', 'MulBackward0']
    >>> float(x.grad)
    6.0
    """
    return BackwardPass(roots, **settings).steps(grads)


def execute(roots: Sequence[Root], grads: Sequence[Any], **settings: Any) -> dict[Root, Any]:
    """Run a whole backward pass without NumPy's warnings (torch gives none for 1/0). Return the gradients of `targets`.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> y = x * x
    >>> leaf = y.grad_fn.inputs[0]
    >>> execute([(y.grad_fn, 0)], [np.float32(1)], targets={(leaf, 0)})[leaf, 0]
    np.float32(6.0)
    """
    backward_pass = BackwardPass(roots, **settings)
    with np.errstate(all="ignore"):
        for _ in backward_pass.steps(grads):
            pass
    return backward_pass.captured


# -- the order of the nodes ------------------------------------------------------------------------------------------
def plan(roots: Sequence[Node]) -> tuple[list[Node], dict[Node, int]]:
    """Return all nodes reachable from `roots`, newest first, and the number of contributions that each leaf's
    AccumulateGrad waits for.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> order, waiting = plan([(x * x).exp().grad_fn])
    >>> [node.name() for node in order], list(waiting.values())
    (['ExpBackward0', 'MulBackward0'], [2])
    """
    waiting: dict[Node, int] = {node: 0 for node in roots if node.__class__ is AccumulateGrad}
    found = [node for node in dict.fromkeys(roots) if node not in waiting]
    seen = set(found)
    for node in found:
        for n in node.inputs:
            if n.__class__ is AccumulateGrad:
                waiting[n] = waiting.get(n, 0) + 1
            elif n is not None and n not in seen:
                seen.add(n)
                found.append(n)
    found.sort(key=attrgetter("sequence_nr"), reverse=True)
    return found, waiting


def nodes_on_the_way(order: Sequence[Node], leaves: Iterable[Node], wanted: set[Node]) -> set[Node]:
    """Return the nodes on a path to a node in `wanted`.

    >>> x, y = (torch.tensor(3., requires_grad=True) for _ in range(2))
    >>> order, waiting = plan([(x.exp() * y.sin()).grad_fn])
    >>> sorted(n.name() for n in nodes_on_the_way(order, waiting, {x.exp().grad_fn.inputs[0]}))
    ['ExpBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    needed = {n for n in leaves if n in wanted}
    for node in reversed(order):  # oldest first: a node's inputs are decided before the node
        if node in wanted or any(n in needed for n in node.inputs):
            needed.add(node)
    return needed


_STOP = object()
"""The value that stands for a gradient if the node need not run."""


@dataclass(eq=False)
class BackwardPass:
    """One backward pass: its settings, and the gradients that wait at its nodes.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> [node.name() for node in BackwardPass([((x * x).grad_fn, 0)]).order]
    ['MulBackward0']
    """

    roots: Sequence[Root]
    retain_graph: bool = False  # nodes keep their saved tensors
    create_graph: bool = False  # gradients are Tensors, with a graph of their own
    targets: set[Root] | None = None  # `grad()`: capture gradients here; accumulate nothing
    only: set[Node] | None = None  # `backward(inputs=)`: run only paths to these nodes
    accumulate: bool = True  # False: compute and report, but leave `.grad` alone

    def __post_init__(self) -> None:
        self.captured: dict[Root, Any] = {}
        self.pending: dict[Node, Any] = {}  # gradients that arrived; a list for several outputs
        self.wanted = self.only if self.targets is None else {node for node, _ in self.targets}
        self.order, self.waiting = plan([node for node, _ in self.roots])
        self.needed: set[Node] | None = None  # the nodes that need a gradient; None: all
        if self.wanted is not None:
            self.needed = needed = nodes_on_the_way(self.order, self.waiting, self.wanted)
            self.order = [node for node in self.order if node in needed]
            self.waiting = dict.fromkeys((n for n in self.waiting if n in needed), 0)
            for n in [n for node in self.order for n in node.inputs if n in self.waiting]:
                self.waiting[n] += 1

    # -- the run -----------------------------------------------------------------------------------------------------
    def steps(self, grads: Sequence[Any]) -> Iterator[Node]:
        """Run the pass, and report its beginning and end to the observer; see the function `steps`."""
        state = per_thread.state
        before, state.backward_pass = state.backward_pass, self
        try:
            if (watching := observe.observer) is not None:
                watching.backward_begin(
                    self.roots, {*self.order, *self.waiting}, self.wanted, self.targets is not None
                )
            yield from self.run(grads)
        except (Exception, KeyboardInterrupt) as error:
            if observe.observer is not None:
                observe.observer.backward_end(error)
            raise
        finally:
            state.backward_pass = before
        if observe.observer is not None:
            observe.observer.backward_end(None)

    def run(self, grads: Sequence[Any]) -> Iterator[Node]:
        """Run the nodes in order. If gradients arrive along several edges, add them up before the node runs."""
        self.begin(grads)
        for leaf in [n for n, left in self.waiting.items() if not left]:
            self.finish_leaf(leaf)
            yield leaf
        for node in self.order:
            g = self.pending.pop(node, None)
            if g is None and not node.runs_without_grad:
                out: Any = (None,) * len(node.inputs)
            else:
                g = self.arrived(node, g)
                if g is _STOP:
                    continue
                out = self.run_node(node, g)
            for leaf in self.send(node, g, out):
                self.finish_leaf(leaf)
                yield leaf
            if not self.retain_graph and node.release() and observe.observer is not None:
                observe.observer.free(node)
            yield node

    def begin(self, grads: Sequence[Any]) -> None:
        """Deliver the starting gradients of the pass to its roots."""
        for (node, nr), g in zip(self.roots, grads):
            if observe.observer is not None and (self.needed is None or node in self.needed):
                observe.observer.seed(node, nr, g._array if self.create_graph else g)
            if g is not None:
                self.deliver(node, nr, g)

    def run_node(self, node: Node, g: Any) -> Any:
        """Return the gradients that `node` sends to its inputs, from its rules and its hooks."""
        watching, several = observe.observer, node.num_outputs != 1
        if watching is not None:
            watching.before_node(node, _raws((g or [None] * node.num_outputs) if several else [g]))
        if several:
            g = self.filled(node, g)
        some = self.needed is not None and not self.needed.issuperset(node.inputs)
        out = self.some_gradients(node, g) if some else self.gradients(node, g)
        if node.hooks is not None:
            out = node.hooks.after(self, node, out, g)
        if watching is not None:
            self.report(watching, node, out)
        return out

    def gradients(self, node: Node, g: Any) -> Any:
        """Return the gradients that the rules of a node compute: as arrays on the device of the gradient, or as Tensors
        if the gradient needs a graph of its own."""
        if self.create_graph:
            m = namespaces.TRACED
            with set_grad_enabled(True):
                return apply_fix(m, node.fix, node.backward_traced(m, g))
        where = _device_of(g)
        m = namespaces.raw(where.xp)
        with where.backend:
            return apply_fix(m, node.fix, node.backward_raw(m, g))

    def some_gradients(self, node: Node, g: Any) -> Any:
        """Return the gradients of a node's inputs, with None for inputs that need no gradient. As in PyTorch, these are
        not computed, and hooks receive None."""
        assert self.needed is not None
        if not node.plain:
            return self.gradients(node, g)
        wanted = tuple([n if n in self.needed else None for n in node.inputs])
        alike = node
        if not self.create_graph:  # with create_graph, new nodes may refer to this one
            alike = object.__new__(node.__class__)
            alike.inputs, alike.saved, alike.fix = wanted, node.saved, node.fix
            if node.op.variadic:
                alike.num_outputs = node.num_outputs
        return tuple([None if n is None else x for n, x in zip(wanted, self.gradients(alike, g))])

    def send(self, node: Node, g: Any, out: Sequence[Any]) -> list[Node]:
        """Send the gradients `out` of a node along its edges; `g` had arrived at the node. Return the leaves that now
        have all of their contributions."""
        nrs, complete = node.input_nrs, []
        for slot, target in enumerate(node.inputs):
            if target is None:
                continue
            contribution = out[slot]
            if contribution is not None:
                if target.__class__ is AccumulateGrad and target not in self.pending:
                    contribution = own(contribution, g)
                self.deliver(target, 0 if nrs is None else nrs[slot], contribution)
            if target in self.waiting:
                self.waiting[target] -= 1
                if not self.waiting[target]:
                    complete.append(target)
        return complete

    def deliver(self, node: Node, nr: int, g: Any) -> None:
        """Add a gradient to the sum that waits at output `nr` of `node`."""
        pending = self.pending
        if node.num_outputs == 1:
            before = pending.get(node)
            pending[node] = g if before is None else self.add(before, g)
        else:
            slots = pending.setdefault(node, [None] * node.num_outputs)
            slots[nr] = g if slots[nr] is None else self.add(slots[nr], g)

    def add(self, a: Any, b: Any) -> Any:
        """Return the sum of two gradients."""
        if not self.create_graph:
            return plus(a, b)
        with set_grad_enabled(True):
            return a + b

    def filled(self, node: Node, gs: Any) -> Any:
        """Return the gradients of a node's outputs with zeros for missing ones, because a rule with several outputs
        expects a gradient for each. Custom functions fill in their own zeros."""
        if not node.plain or gs is None or node.op.partial:
            return gs
        gs, where = list(gs), _device_of(gs)
        for nr, (shape, d) in enumerate(node.extra()["shapes"]):
            if gs[nr] is None and d.is_floating_point:
                zeros = filled(where, 0, shape, d)
                gs[nr] = wrap(zeros) if self.create_graph else zeros
        return gs

    # -- hooks, captures, leaves ---------------------------------------------------------------------------------------
    def arrived(self, node: Node, g: Any) -> Any:
        """Run tensor hooks, retain gradients, capture, and run pre-hooks, in torch's order. Return the gradient, or
        _STOP if the node need not run."""
        hooks, single = node.hooks, node.num_outputs == 1
        if hooks is None and self.targets is None:
            return g
        gs = [g] if single else list(g or [None] * node.num_outputs)
        if hooks is not None:
            gs = hooks.arrived(self, gs)
        if self.targets is not None and self.needed is not None:
            runs = any(n in self.needed for n in node.inputs)
            # As in torch, if the node also runs, capture the gradient before its hooks.
            seen = [g] if runs and single else g if runs else gs
            for nr in range(node.num_outputs):
                if (node, nr) in self.targets:
                    self.captured[node, nr] = None if seen is None else seen[nr]
            if not runs:
                return _STOP
        if hooks is not None:
            gs = hooks.before(self, node, gs)
        return gs[0] if single else gs

    def finish_leaf(self, node: Any) -> None:
        """Run the hooks of a leaf that has all of its contributions; then capture or accumulate its gradient. node: the
        leaf's AccumulateGrad."""
        g = self.pending.pop(node, None)
        if g is None:
            return
        leaf, own_hooks = node.variable, node.hooks
        hooks = leaf._hooks
        if hooks is not None:
            (g,) = hooks.arrived(self, [g])
        if self.targets is not None:
            if (node, 0) in self.targets:
                self.captured[node, 0] = g
            return
        if own_hooks is not None:
            (g,) = own_hooks.before(self, node, [g])
        trained = leaf._req  # it may be frozen since the graph was made
        if self.accumulate and trained:
            accumulate(leaf, g, self.create_graph)
            if hooks is not None:
                hooks.accumulated(self, leaf)
        if own_hooks is not None:
            own_hooks.after(self, node, (), g)
        if observe.observer is not None and trained:
            (arrived,) = _raws([g])
            total = leaf._grad
            if not self.accumulate:
                total = arrived if total is None else plus(leaf.grad._array, arrived)
            observe.observer.accumulate(leaf, arrived, *_raws([total]))

    def report(self, watching: Any, node: Node, out: Sequence[Any]) -> None:
        """Report to an observer what a node computed, and where its gradients go."""
        raws = _raws(out)
        watching.after_node(node, raws)
        numbers = node.input_nrs or (0,) * len(raws)
        for slot, (target, nr, g) in enumerate(zip(node.inputs, numbers, raws)):
            if target is not None and g is not None:
                watching.contribution(node, slot, target, nr, g)


def _device_of(g: Any) -> device:
    """Return the device of a raw gradient, or of the first one in a list."""
    several = g.__class__ in (list, tuple) or g is None
    return of(next((x for x in _raws(g or ()) if x is not None), np.float32(0)) if several else g)


def _raws(gs: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([getattr(g, "_array", g) for g in gs])


# -- `.grad` ---------------------------------------------------------------------------------------------------------
def own(contribution: Any, g: Any = None) -> Any:
    """Return an array that may become `.grad`. It must not share memory with a gradient used elsewhere, such as `g`,
    which arrived at the node.

    >>> g = np.ones(2)
    >>> own(g, g) is g, own(g * 2, g) is g
    (False, False)
    """
    is_array = contribution.__class__ in ARRAY_CLASSES
    shared = is_array and (contribution is g or contribution.base is not None)
    return copied(contribution) if shared else contribution


def accumulate(leaf: Tensor, g: Any, create_graph: bool = False) -> None:
    """Run `tensor.grad += g`: in place, so that `.grad` stays the same object, unless it has a graph. If several
    threads accumulate into one leaf, each waits for its turn.

    >>> x = wrap(np.float64(3))
    >>> accumulate(x, np.float64(2)), accumulate(x, np.float64(5)), float(x.grad)
    (None, None, 7.0)
    """
    with guard:
        if not create_graph:
            return add_to_grad(leaf, g)
        with set_grad_enabled(True):
            leaf._grad = g.clone_by_copy() if leaf._grad is None else leaf.grad + g


def add_to_grad(leaf: Tensor, g: Any) -> None:
    """Add an array to `.grad`. The caller holds `guard`.

    >>> x = torch.tensor(3.)
    >>> add_to_grad(x, np.float32(2)), x.grad
    (None, tensor(2.))
    """
    before = leaf._grad
    if before is None:
        leaf._grad = g if g.__class__ is not Tensor else g._array
        return
    total = before._array if isinstance(before, Tensor) else before
    try:
        if total is before:
            leaf._grad = plus(before, g)
        elif total.__class__ in ARRAY_CLASSES:
            where = before._storage.device
            with where.backend:
                where.xp.add(total, g, out=total)
        else:
            before._array = total + g
    except ValueError:  # the user assigned `leaf.data` another shape
        message = f"output with shape {list(total.shape)} doesn't match the broadcast shape {list(g.shape)}"
        note = "The shape of the leaf was changed, so the old gradient no longer fits. Set `.grad = None` first."
        raise fail(RuntimeError, message, note) from None
    if total is not before:
        before._storage.version += 1
