"""The backward pass: nodes in torch's order, gradients summed where paths meet.

`steps` is a generator; `backward()` merely exhausts it, the explorer looks between its steps. Nothing here recurses:
graphs of any depth run. Source: https://docs.pytorch.org/docs/2.13/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from . import namespaces, observe
from .errors import fail
from .device import ARRAYS, CPU, copied, device, filled, of, plus
from .grad_mode import guard, per_thread, set_grad_enabled
from .node import AccumulateGrad, Node, apply_fix
from .tensor import Tensor, wrap

Root = tuple[Node, int]
"""A node and the number of its output."""

CHECKS: list[Callable[[Sequence[Node]], None]] = []
"""What else is asked before a pass runs: functions of its nodes that raise where it may not."""


def steps(roots: Sequence[Root], grads: Sequence[Any], **settings: Any) -> Iterator[Node]:
    """Runs a backward pass, yielding each node after it ran. grads: the raw array arriving at each root (a Tensor when
    create_graph). settings: those of `_Pass`.

    >>> x = wrap(np.float64(3))
    >>> x.requires_grad = True
    >>> y = x * x
    >>> [node.name() for node in steps([(y.grad_fn, 0)], [np.float64(1)])]
    ['torch::autograd::AccumulateGrad', 'MulBackward0']
    >>> float(x.grad)
    6.0
    """
    return _Pass(roots, **settings).steps(grads)


def execute(roots: Sequence[Root], grads: Sequence[Any], **settings: Any) -> dict[Root, Any]:
    """The same at once, without NumPy's warnings (torch gives none for 1/0). Returns the gradients of `targets`.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> y = x * x
    >>> leaf = y.grad_fn.inputs[0]
    >>> execute([(y.grad_fn, 0)], [np.float32(1)], targets={(leaf, 0)})[leaf, 0]
    np.float32(6.0)
    """
    backward_pass = _Pass(roots, **settings)
    with np.errstate(all="ignore"):
        for _ in backward_pass.steps(grads):
            pass
    return backward_pass.captured


def _with_refusal_early(order: list[Node]) -> list[Node]:
    """`order` with a node that can only raise directly after the last node that leads to it: PyTorch gives such a node
    the highest number, so nothing else runs before it that needs not."""
    refusing = [node for node in order if node.refuses]
    if not refusing:
        return order
    ready = {n: place for place, node in enumerate(order) for n in node.inputs}
    first = min(refusing, key=lambda node: ready.get(node, -1))
    place = ready.get(first, -1) + 1
    return [*order[:place], first, *[node for node in order[place:] if node is not first]]


def fitted(node: Node, slot: int, target: Node, nr: int, g: Any) -> Any:
    """The gradient number `slot` that `node` gives, as output `nr` of `target`, which has hooks, takes it."""
    wrong = f"Function {node.name()} returned an invalid gradient at index {slot}"
    return target.hooks.fitted(nr, g, wrong)


_STOP = object()
"""In the place of a gradient: the node need not run."""


@dataclass(eq=False)
class _Pass:
    """One backward pass: what it works on, and what waits where."""

    roots: Sequence[Root]
    retain_graph: bool = False  # nodes keep what they saved
    create_graph: bool = False  # gradients are Tensors, with a graph of their own
    targets: set[Root] | None = (
        None  # their gradients are wanted, instead of accumulation: they are `captured`
    )
    only: set[Node] | None = (
        None  # these run, hooks and all, and what is on a path to them: `backward(inputs=)`
    )
    accumulate: bool = True  # False: all is computed and reported, `.grad` left alone (a rehearsal)

    def __post_init__(self) -> None:
        self.captured: dict[Root, Any] = {}
        self.needed: set[Node] | None = (
            None  # the nodes to which gradients go when not all are wanted
        )
        self.pending: dict[
            Node, Any
        ] = {}  # what has arrived so far; of a node with several outputs a list
        self.wanted = self.only if self.targets is None else {node for node, _ in self.targets}
        self.order, self.waiting = self.plan([node for node, _ in self.roots], self.wanted)

    def plan(
        self, roots: list[Node], wanted: set[Node] | None
    ) -> tuple[list[Node], dict[Node, int]]:
        """All nodes that must run, newest first, and how many contributions each accumulator waits for. wanted: the
        nodes whose gradients are wanted, None for all."""
        waiting: dict[Node, int] = {node: 0 for node in roots if node.__class__ is AccumulateGrad}
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
        queue.sort(key=attrgetter("sequence_nr"), reverse=True)
        if wanted is not None:
            queue, waiting = self._needed(queue, waiting, wanted)
        return _with_refusal_early(queue), waiting

    def _needed(
        self, queue: list[Node], waiting: dict[Node, int], wanted: set[Node]
    ) -> tuple[list[Node], dict[Node, int]]:
        """Only the nodes on a path from a root to one that is wanted."""
        self.needed = needed = {n for n in waiting if n in wanted}
        for node in reversed(queue):  # oldest first, so a node's inputs are decided before it
            if node in wanted or any(n in needed for n in node.inputs):
                needed.add(node)
        order = [node for node in queue if node in needed]
        counts = dict.fromkeys((n for n in waiting if n in needed), 0)
        for n in [n for node in order for n in node.inputs if n in counts]:
            counts[n] += 1
        return order, counts

    # -- the run -----------------------------------------------------------------------------------------------------
    def steps(self, grads: Sequence[Any]) -> Iterator[Node]:
        """The generator behind `steps`: announces the pass and its end."""
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
        """Runs the nodes, one after the other; what arrives along several edges is summed before the node is there."""
        for check in CHECKS:
            check(self.order)
        watching, pending = observe.observer, self.pending
        for i, ((node, nr), g) in enumerate(zip(self.roots, grads)):
            if node.hooks is not None and g is not None:
                g = node.hooks.fitted(nr, g, f"invalid gradient at index {i}")
            if watching is not None and (self.needed is None or node in self.needed):
                watching.seed(node, nr, g._array if self.create_graph else g)
            if g is not None:
                self.deliver(node, nr, g)
        for leaf in [n for n, left in self.waiting.items() if not left]:
            self.finish_leaf(leaf)
            yield leaf
        for node in self.order:
            g = pending.pop(node, None)
            if g is None and not node.runs_without_grad:
                out: Any = (None,) * len(node.inputs)
            else:
                if node.hooks is not None or self.targets is not None:
                    g = self.arrived(node, g)
                    if g is _STOP:
                        continue
                if watching is not None:
                    watching.before_node(
                        node,
                        _raws([g] if node.num_outputs == 1 else g or [None] * node.num_outputs),
                    )
                out = self.run_node(node, g)
                if watching is not None:
                    self.report(watching, node, out)
            for leaf in self.send(node, g, out):
                self.finish_leaf(leaf)
                yield leaf
            if not self.retain_graph and node.release() and watching is not None:
                watching.free(node)
            yield node

    def run_node(self, node: Node, g: Any) -> Any:
        """The gradients that `node` sends on, one per input: its rules', and what its hooks make of them."""
        if node.num_outputs != 1:
            g = self.filled(node, g)
        in_part = self.needed is not None and not self.needed.issuperset(node.inputs)
        out = self.in_part(node, g) if in_part else self.gradients(node, g)
        return out if node.hooks is None else node.hooks.after(self, node, out, g)

    def gradients(self, node: Node, g: Any) -> Any:
        """What the rules of a node give, computed where the gradient is, or on Tensors when it is to have a graph of
        its own."""
        if self.create_graph:
            with set_grad_enabled(True):
                return apply_fix(
                    namespaces.TRACED, node.fix, node.backward_traced(namespaces.TRACED, g)
                )
        where = CPU if isinstance(g, (np.ndarray, np.generic)) else _place(g)
        m = namespaces.raw(where.xp)
        if where is CPU:
            return apply_fix(m, node.fix, node.backward_raw(m, g))
        with where.backend:
            return apply_fix(m, node.fix, node.backward_raw(m, g))

    def in_part(self, node: Node, g: Any) -> Any:
        """Runs a node of which not all gradients are wanted. An operation leaves out the others, as in PyTorch: its
        hooks see None."""
        assert self.needed is not None
        if not node.plain or node.refuses:
            return self.gradients(node, g)
        wanted = tuple([n if n in self.needed else None for n in node.inputs])
        alike = node
        if not self.create_graph:  # else the nodes that are made here may refer to this one
            alike = object.__new__(node.__class__)
            alike.inputs, alike.saved, alike.fix = wanted, node.saved, node.fix
            if node.op.variadic:
                alike.num_outputs = node.num_outputs
        return tuple([None if n is None else x for n, x in zip(wanted, self.gradients(alike, g))])

    def send(self, node: Node, g: Any, out: Sequence[Any]) -> list[Node]:
        """Hands the gradients `out` of a node, at which `g` had arrived, along its edges. Returns the leaves that now
        have all of theirs."""
        pending, waiting, nrs = self.pending, self.waiting, node.input_nrs
        complete = []
        for slot, target in enumerate(node.inputs):
            if target is None:
                continue
            contribution = out[slot]
            if contribution is not None:
                nr = 0 if nrs is None else nrs[slot]
                if target.hooks is not None:
                    contribution = fitted(node, slot, target, nr, contribution)
                if target.__class__ is AccumulateGrad and target not in pending:
                    contribution = own(contribution, g)
                self.deliver(target, nr, contribution)
            left = waiting.get(target)
            if left is not None:
                waiting[target] = left - 1
                if left == 1:
                    complete.append(target)
        return complete

    def deliver(self, node: Node, nr: int, g: Any) -> None:
        """Adds a gradient to what waits at output `nr` of `node`."""
        pending = self.pending
        if node.num_outputs == 1:
            before = pending.get(node)
            pending[node] = g if before is None else self.add(before, g)
        else:
            slots = pending.setdefault(node, [None] * node.num_outputs)
            slots[nr] = g if slots[nr] is None else self.add(slots[nr], g)

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two gradients."""
        if not self.create_graph:
            return plus(a, b)
        with set_grad_enabled(True):
            return a + b

    def filled(self, node: Node, gs: Any) -> Any:
        """Zeros for the outputs of a node where nothing arrived: a rule of several outputs expects a gradient for each.
        Custom functions fill them in themselves, unless asked not to."""
        if not node.plain or gs is None or node.op.partial:
            return gs
        gs, where = list(gs), _place(_raws(gs))
        for nr, (shape, d) in enumerate(node.extra()["shapes"]):
            if gs[nr] is None and d.is_inexact:
                zeros = filled(where, 0, shape, d)
                gs[nr] = wrap(zeros) if self.create_graph else zeros
        return gs

    # -- hooks and captures ------------------------------------------------------------------------------------------
    def arrived(self, node: Node, g: Any) -> Any:
        """Tensor hooks, retained gradients, captures and prehooks, in torch's order. Returns the gradient, or _STOP
        when the node need not run."""
        hooks, single = node.hooks, node.num_outputs == 1
        gs = [g] if single else list(g or [None] * node.num_outputs)
        if hooks is not None:
            gs = hooks.arrived(self, gs)
        if self.targets is not None and self.needed is not None:
            runs = any(n in self.needed for n in node.inputs)
            # torch: what a node that also runs captures has not passed its hooks yet
            seen = [g] if runs and single else g if runs else gs
            for nr in range(node.num_outputs):
                if (node, nr) in self.targets:
                    self.captured[node, nr] = None if seen is None else seen[nr]
            if not runs:
                return _STOP
        if hooks is not None:
            gs = hooks.before(self, node, gs)
        return gs[0] if single else gs

    # -- leaves ------------------------------------------------------------------------------------------------------
    def finish_leaf(self, node: Any) -> None:
        """All contributions to a leaf are in: hooks, then capture or accumulation. node: its AccumulateGrad."""
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
            g = own_hooks.spread(leaf, g)
        trained = leaf._req  # it may have been frozen since the graph was made
        if self.accumulate and trained:
            accumulate(leaf, g, self.create_graph)
            if hooks is not None:
                hooks.accumulated(self, leaf)
        if own_hooks is not None:
            own_hooks.after(self, node, (), g)
        if observe.observer is not None and trained:
            arrived = getattr(g, "_array", g)
            total = (
                leaf._grad
                if self.accumulate
                else g
                if leaf._grad is None
                else plus(leaf.grad._array, arrived)
            )
            observe.observer.accumulate(leaf, arrived, getattr(total, "_array", total))

    # -- for observers -----------------------------------------------------------------------------------------------
    def report(self, watching: Any, node: Node, out: Sequence[Any]) -> None:
        """Tells an observer what a node computed, and where it goes."""
        raws = _raws(out)
        watching.after_node(node, raws)
        for slot, (target, g) in enumerate(zip(node.inputs, raws)):
            if target is not None and g is not None:
                watching.contribution(
                    node, slot, target, 0 if node.input_nrs is None else node.input_nrs[slot], g
                )


def _place(g: Any) -> device:
    """Where a raw gradient is, or the first of several."""
    if g.__class__ in (list, tuple) or g is None:
        g = next((x for x in g or () if x is not None), np.float32(0))
    return of(g)


def _raws(gs: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([getattr(g, "_array", g) for g in gs])


def own(contribution: Any, g: Any = None) -> Any:
    """What may become `.grad`: it must not share memory with a gradient that somebody else holds, as `g`, which arrived
    at the node.

    >>> g = np.ones(2)
    >>> own(g, g) is g, own(g * 2, g) is g
    (False, False)
    """
    is_array: bool = contribution.__class__ in ARRAYS
    return (
        copied(contribution)
        if is_array and (contribution is g or contribution.base is not None)
        else contribution
    )


def accumulate(leaf: Tensor, g: Any, create_graph: bool = False) -> None:
    """`tensor.grad += g`: in place on the gradient that is there, so that it stays the same object, unless it has a
    graph. Threads that accumulate into one leaf come one after the other.

    >>> x = wrap(np.float64(3))
    >>> accumulate(x, np.float64(2)), accumulate(x, np.float64(5)), float(x.grad)
    (None, None, 7.0)
    """
    if not create_graph:
        with guard:
            return add_to_grad(leaf, g)
    while True:  # until no other thread accumulated while the sum was computed
        before = leaf.grad if leaf._grad is not None else None
        with set_grad_enabled(True):
            total = g.clone_by_copy() if before is None else before + g
        with guard:
            if leaf._grad is before:
                leaf._grad = total
                return


def _other_shape(shape: tuple[int, ...], came: tuple[int, ...]) -> Exception:
    """PyTorch's error for a gradient of the shape `came` that cannot be added in place to one of `shape`."""
    message = f"output with shape {list(shape)} doesn't match the broadcast shape {list(came)}"
    sizes = [(a, b) for a, b in zip(reversed(shape), reversed(came)) if a != b and 1 not in (a, b)]
    if sizes:
        place = (
            max(len(shape), len(came)) - 1 - [*zip(reversed(shape), reversed(came))].index(sizes[0])
        )
        message = f"The size of tensor a ({sizes[0][0]}) must match the size of tensor b ({sizes[0][1]}) at non-singleton dimension {place}"
    note = "The leaf has another shape now than its `.grad`: set `.grad = None` before."
    return fail(RuntimeError, message, note)


def add_to_grad(leaf: Tensor, g: Any) -> None:
    """What `accumulate` does for who holds the guard.

    >>> x = torch.tensor(3.)
    >>> add_to_grad(x, np.float32(2)), x.grad
    (None, tensor(2.))
    """
    before = leaf._grad
    if before is None:
        leaf._grad = g if g.__class__ is not Tensor else g._array
    elif isinstance(before, Tensor):
        if before._array.__class__ is np.ndarray:
            try:
                np.add(before._array, g, before._array)
            except ValueError:  # `leaf.data = …` gave it another shape
                raise _other_shape(before._array.shape, g.shape) from None
        elif before._array.__class__ in ARRAYS:
            where = before._storage.device
            with where.backend:
                where.xp.add(before._array, g, out=before._array)
        else:
            before._array = before._array + g
        before._storage.version += 1
    else:
        try:
            leaf._grad = plus(before, g)
        except ValueError:
            raise _other_shape(before.shape, g.shape) from None
