"""The backward pass: nodes in torch's order, gradients summed where paths meet.

`steps` is a generator; `backward()` merely exhausts it, the explorer looks between its steps. Nothing here recurses: graphs of any depth run.
Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter

import numpy as np

from ..devices import device as devices
from . import observe
from ..devices.device import ARRAYS, copied, plus
from .errors import fail
from .guard import guard
from .tensor import Tensor, wrap
from . import namespaces
from .grad_mode import per_thread, set_grad_enabled
from ..autograd.hooks import run_accumulated_hooks, run_node_hooks, run_tensor_hooks
from ..inplace.detached import detached, refuse_detached
from .node import AccumulateGrad, apply_fix

_by_age = attrgetter("sequence_nr")


def steps(roots, grads, *, retain_graph=False, create_graph=False, targets=None, only=None, accumulate=True):
    """Runs a backward pass, yielding each node after it ran.

    roots: (node, output number) pairs. grads: the raw array arriving at each (a Tensor when create_graph).
    targets: (node, output number) pairs whose gradients are wanted instead of accumulation; `captured` then maps them to gradients.
    only: nodes, for `backward(inputs=)`: these run, hooks and all, and what lies on a path to them; everything else stays as it is.
    accumulate: False computes and reports everything but leaves `.grad` alone (a rehearsal: what backward would do).
    The generator's return value is the dict of captured gradients."""
    return _Pass(roots, retain_graph, create_graph, targets, accumulate, only).steps(roots, grads)


def execute(*args, **kwargs) -> dict:
    """Exhausts `steps`, without NumPy's warnings (torch gives none for 1/0), and returns the captured gradients."""
    captured = {}

    def keeping():
        captured.update((yield from steps(*args, **kwargs)))

    with np.errstate(all="ignore"):
        deque(keeping(), maxlen=0)
    return captured


class _Pass:
    """One backward pass: what it works on, and what waits where."""

    def __init__(self, roots, retain_graph, create_graph, targets, accumulate, only=None):
        self.retain_graph, self.create_graph, self.accumulate = retain_graph, create_graph, accumulate
        self.targets = None if targets is None else set(targets)
        self.captured = {}
        self.needed = None  # the nodes to which gradients go when not all are wanted
        self.pending = {}  # node -> gradient so far (a list, one per output, for nodes with several outputs)
        self.wanted = only if targets is None else {node for node, _ in targets}
        self.order, self.waiting = self.plan([node for node, _ in roots], self.wanted)
        self._scheduled = None

    def will_run(self, node) -> bool:
        """Whether this pass runs `node`, or has run it. Raises torch's error for a leaf of which `grad()` takes the gradient away."""
        if self._scheduled is None:
            self._scheduled = {*self.order, *self.waiting}
        if self.targets is not None and node in self.waiting:
            raise fail(
                RuntimeError,
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not supported.",
                "autograd.grad() accumulates nothing, so no leaf's node runs. Call backward(), or register hooks on the tensors themselves.",
            )
        return node in self._scheduled

    def plan(self, roots, wanted):
        """All nodes that must run, newest first, and how many contributions each accumulator waits for.

        wanted: None, or the nodes to which the gradients are wanted."""
        waiting = {node: 0 for node in roots if node.__class__ is AccumulateGrad}
        seen = set(roots)
        queue = [node for node in dict.fromkeys(roots) if node not in waiting]
        for node in queue:
            for n in node.inputs:
                if n is None:
                    continue
                if n.__class__ is AccumulateGrad:
                    waiting[n] = waiting.get(n, 0) + 1
                elif n not in seen:
                    seen.add(n)
                    queue.append(n)
        queue.sort(key=_by_age, reverse=True)
        return (queue, waiting) if wanted is None else self._needed(queue, waiting, wanted)

    def _needed(self, queue, waiting, wanted):
        """Only the nodes on a path from a root to one that is wanted."""
        needed = {n for n in waiting if n in wanted}
        for node in reversed(queue):  # oldest first, so a node's inputs are decided before it
            if node in wanted or any(n in needed for n in node.inputs):
                needed.add(node)
        order = [node for node in queue if node in needed]
        counts = {n: 0 for n in waiting if n in needed}
        for node in order:
            for n in node.inputs:
                if n in counts:
                    counts[n] += 1
        self.needed = needed
        return order, counts

    def steps(self, roots, grads):
        """The generator behind `steps`: announces the pass and its end."""
        state = per_thread.state
        before, state.backward_pass = state.backward_pass, self
        try:
            if observe.observer is not None:
                observe.observer.backward_begin(roots, {*self.order, *self.waiting}, self.wanted, self.targets is not None)
            yield from self.run(roots, grads)
        except Exception as error:
            if observe.observer is not None:
                observe.observer.backward_end(error)
            raise
        finally:
            state.backward_pass = before
        if observe.observer is not None:
            observe.observer.backward_end(None)
        return self.captured

    def run(self, roots, grads):
        """Runs the nodes. It reads attributes once, because what stands in the inner loop is paid per edge."""
        if detached:
            refuse_detached(self.order)
        create_graph, retain_graph = self.create_graph, self.retain_graph
        pending, waiting, targets, needed = self.pending, self.waiting, self.targets, self.needed
        watching = observe.observer
        m = namespaces.TRACED if create_graph else namespaces.raw(np)
        away = devices.away() and not create_graph  # whether a gradient may lie on another device than the CPU
        for (node, nr), g in zip(roots, grads):
            if watching is not None and (needed is None or node in needed):
                watching.seed(node, nr, g._array if create_graph else g)
            if g is not None:
                self.deliver(node, nr, g)
        for node in [n for n, w in waiting.items() if not w]:
            self.finish_leaf(node)
            yield node
        for node in self.order:
            g = pending.pop(node, None)
            if g is None and not node.runs_without_grad:
                out = (None,) * len(node.inputs)
            else:
                if node.hooks is not None or targets is not None:
                    g = self.before(node, g)
                    if g is _STOP:
                        continue
                if watching is not None:
                    watching.before_node(node, self._raw_tuple(node, g))
                if node.num_outputs != 1:
                    g = self.filled(node, g)
                if needed is not None and not needed.issuperset(node.inputs):
                    out = self.in_part(node, m, g)
                elif away and g.__class__ is not np.ndarray and not isinstance(g, np.generic):
                    out = self.on_device(node, g)
                else:
                    out = self.traced(node, m, g) if create_graph else node.backward_raw(m, g)
                    if node.fix is not None and not create_graph:
                        out = apply_fix(m, node.fix, out)
                if node.hooks is not None and node.hooks.post:
                    out = self.after(node, out, g)
                if watching is not None:
                    self.report(watching, node, out)
            for slot, target in enumerate(node.inputs):
                if target is None:
                    continue
                contribution = out[slot]
                if target.num_outputs != 1:
                    if contribution is not None:
                        self.deliver(target, 0 if node.input_nrs is None else node.input_nrs[slot], contribution)
                elif target.__class__ is AccumulateGrad:
                    if contribution is not None:
                        before = pending.get(target)
                        if before is not None:
                            pending[target] = (
                                self.add(before, contribution) if create_graph or away else before + contribution
                            )
                        elif contribution.__class__ in ARRAYS and (contribution is g or contribution.base is not None):
                            pending[target] = (
                                copied(contribution)
                            )  # .grad must not share memory with a gradient somebody else holds
                        else:
                            pending[target] = contribution
                    left = waiting.get(target)
                    if left is not None:
                        waiting[target] = left - 1
                        if left == 1:
                            self.finish_leaf(target)
                            yield target
                elif contribution is not None:
                    if target in pending:
                        before = pending[target]
                        pending[target] = (
                            self.add(before, contribution) if create_graph or away else before + contribution
                        )
                    else:
                        pending[target] = contribution
            if not retain_graph:
                if node.frees_all:
                    node.saved = None
                    freed = True
                else:
                    freed = node.release()
                if freed and watching is not None:
                    watching.free(node)
            yield node

    def traced(self, node, m, g):
        with set_grad_enabled(True):
            return apply_fix(m, node.fix, node.backward_traced(m, g))

    def in_part(self, node, m, g):
        """Runs a node of which not all gradients are wanted. An operation leaves out the others, as in PyTorch: its hooks see None."""
        if not node.plain:
            return self.on_device(node, g) if not self.create_graph else self.traced(node, m, g)
        wanted = tuple([n if n in self.needed else None for n in node.inputs])
        if self.create_graph:
            out = self.traced(node, m, g)  # nodes made here may refer to this one
        else:
            out = self.on_device(node.heading_for(wanted), g)
        return tuple([None if n is None else x for n, x in zip(wanted, out)])

    def on_device(self, node, g):
        """Runs the node where its gradient is."""
        arrived = g if g.__class__ is list else (g,)
        device = devices.of(next((x for x in arrived if x is not None), np.float32(0)))
        m = namespaces.raw(device.xp)
        with device.backend:
            return apply_fix(m, node.fix, node.backward_raw(m, g))

    def report(self, watching, node, out):
        """Tells an observer what a node computed, and where it goes."""
        raws = tuple(None if x is None else getattr(x, "_array", x) for x in out)
        watching.after_node(node, raws)
        for slot, (target, g) in enumerate(zip(node.inputs, raws)):
            if target is not None and g is not None:
                watching.contribution(node, slot, target, 0 if node.input_nrs is None else node.input_nrs[slot], g)

    def deliver(self, node, nr, g):
        """Adds a gradient to what waits at output `nr` of `node`."""
        pending = self.pending
        if node.num_outputs == 1:
            before = pending.get(node)
            pending[node] = g if before is None else self.add(before, g)
        else:
            slots = pending.get(node)
            if slots is None:
                slots = pending[node] = [None] * node.num_outputs
            slots[nr] = g if slots[nr] is None else self.add(slots[nr], g)

    def add(self, a, b):
        return self.traced_add(a, b) if self.create_graph else plus(a, b)

    def traced_add(self, a, b):
        with set_grad_enabled(True):
            return a + b

    def _tensor(self, g):
        return g if g is None or isinstance(g, Tensor) else wrap(g)

    def _back(self, t):
        return t if t is None or self.create_graph else t._array

    def _raw_tuple(self, node, g):
        gs = (g,) if node.num_outputs == 1 else g or (None,) * node.num_outputs
        return tuple(None if x is None else getattr(x, "_array", x) for x in gs)

    def filled(self, node, gs):
        """Zeros for the outputs of a node where nothing arrived: a rule of several outputs expects a gradient for each."""
        if not node.plain or gs is None or node.op.partial:  # custom functions fill in zeros themselves, unless asked not to
            return gs
        there = next((getattr(g, "_array", g) for g in gs if g is not None), np.float32(0))
        zeros = [
            None if g is not None or not d.is_inexact else devices.filled(devices.of(there), 0, shape, d)
            for g, (shape, d) in zip(gs, node.extra()["shapes"])
        ]
        return [g if z is None else wrap(z) if self.create_graph else z for g, z in zip(gs, zeros)]

    def before(self, node, g):
        """Tensor hooks, retained gradients, captures and prehooks, in torch's order. Returns the gradient, or _STOP when the node need not run."""
        hooks, single = node.hooks, node.num_outputs == 1
        gs = [g] if single else list(g) if g is not None else [None] * node.num_outputs
        if hooks is not None:
            for nr in sorted(set(hooks.tensor) | set(hooks.retain)):
                if gs[nr] is None:
                    continue
                if nr in hooks.tensor:
                    gs[nr] = self._back(self.hooked(run_tensor_hooks, hooks.tensor[nr], self._tensor(gs[nr])))
                keeper = hooks.retain[nr]() if nr in hooks.retain else None
                if keeper is not None and self.accumulate:
                    self.retain(keeper, gs[nr])
        if self.targets is not None:
            runs = any(n in self.needed for n in node.inputs)
            arrived = (
                ([g] if single else g) if runs else gs
            )  # torch: what a node that also runs captures has not passed its hooks yet
            for nr in range(node.num_outputs):
                if (node, nr) in self.targets:
                    self.captured[node, nr] = None if arrived is None else arrived[nr]
            if not runs:
                return _STOP
        if hooks is not None and hooks.pre:
            shown = node.differentiable_outputs
            shown, rest = gs[:shown], gs[shown:]
            gs = [self._back(t) for t in self.hooked(run_node_hooks, hooks.pre, tuple(self._tensor(x) for x in shown))] + rest
        return gs[0] if single else gs

    def retain(self, keeper, g):
        """Adds `g` to the gradient of a non-leaf: a new tensor, where a leaf's is changed in place."""
        if self.create_graph:
            return accumulate(keeper, g, True)
        with guard:
            keeper._grad = plus(keeper.grad._array, g) if keeper._grad is not None else copied(g) if g.__class__ in ARRAYS else g

    def after(self, node, out, g):
        grads = tuple(self._tensor(x) for x in (g[: node.differentiable_outputs] if node.num_outputs > 1 else (g,)))
        result = self.hooked(run_node_hooks, node.hooks.post, tuple(self._tensor(x) for x in out), grads)
        return tuple(self._back(t) for t in result)

    def hooked(self, runner, *args):
        with set_grad_enabled(self.create_graph):
            return runner(*args)

    def finish_leaf(self, node):
        """All contributions to a leaf are in: hooks, then capture or accumulation."""
        g = self.pending.pop(node, None)
        if g is None:
            return
        leaf = node.variable
        hooks = leaf._hooks
        if hooks is not None and hooks.tensor:
            g = self._back(self.hooked(run_tensor_hooks, hooks.tensor[0], self._tensor(g)))
        if self.targets is not None:
            if (node, 0) in self.targets:
                self.captured[node, 0] = g
            return
        if node.hooks is not None and node.hooks.pre:
            g = self._back(self.hooked(run_node_hooks, node.hooks.pre, (self._tensor(g),))[0])
        trained = leaf._req  # it may have been frozen since the graph was made
        if self.accumulate and trained:
            accumulate(leaf, g, self.create_graph)
            if hooks is not None:
                self.hooked(run_accumulated_hooks, hooks.post, leaf)
        if node.hooks is not None and node.hooks.post:
            self.hooked(run_node_hooks, node.hooks.post, (), (self._tensor(g),))
        if observe.observer is not None and trained:
            total = leaf._grad if self.accumulate else g if leaf._grad is None else plus(leaf.grad._array, getattr(g, "_array", g))
            observe.observer.accumulate(leaf, getattr(g, "_array", g), getattr(total, "_array", total))


_STOP = object()


def accumulate(leaf, g, create_graph=False):
    """`tensor.grad += g`: in place on the gradient that is there, so that it stays the same object, unless a graph is made of it.

    Threads that accumulate into one leaf come one after the other."""
    if create_graph:
        return _accumulate_traced(leaf, g)
    with guard:
        add_to_grad(leaf, g)


def _accumulate_traced(leaf, g):
    while True:  # until no other thread accumulated while the sum was computed
        before = leaf.grad if leaf._grad is not None else None
        with set_grad_enabled(True):
            total = g.clone_by_copy() if before is None else before + g
        with guard:
            if leaf._grad is before:
                leaf._grad = total
                return


def add_to_grad(leaf, g):
    """What `accumulate` does for who holds the guard."""
    before = leaf._grad
    if before is None:
        leaf._grad = g if g.__class__ is not Tensor else g._array
    elif isinstance(before, Tensor):
        if before._array.__class__ is np.ndarray:
            np.add(before._array, g, before._array)
        elif before._array.__class__ in ARRAYS:
            device = before._storage.device
            with device.backend:
                device.xp.add(before._array, g, out=before._array)
        else:
            before._array = before._array + g
        before._storage.version += 1
    else:
        leaf._grad = plus(before, g)
