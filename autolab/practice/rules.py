"""Repeat a backward pass with another rule, to show where a wrong belief leads.

The trace contains the right pass: which node sends what along which edge, in order. Here the same
contributions are sent again with the derivatives of the trace's operations (`trace/replay.py`) and
one changed rule: what is sent, how it arrives, or which node runs too early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..trace.model import Edge, Frame, Trace
from ..trace.replay import Again, Unknown, array_of

Array = np.ndarray
STEPS = 12  # steps of gradient descent
MOST = 20_000  # the largest number of entries of a derivative that is computed


class Machine:
    """The backward passes of a trace, which can be run by any rule. moved: other values of the
    leaves to start from."""

    def __init__(
        self, trace: Trace, again: Again | None = None, moved: dict[str, Array] | None = None
    ) -> None:
        self.trace, self.again = trace, again or Again(trace)
        self.edges = {edge.id: edge for edge in trace.edges}
        self.into, self._known = self.again.into, {}  # type: dict[str, list[Edge]], dict[str, Array | None]
        self.frames = [frame for frame in trace.frames if frame.phase != "forward"]
        self.recorded = moved is None
        self._values: dict[str, Array] | None = None
        if moved is not None:
            self._values = dict(moved)
            for node in trace.nodes:
                if node.kind == "op":
                    self._values[node.id] = self.again.result(node.id, self._operands(node.id))

    def value(self, node_id: str) -> Array | None:
        """Return the result of a node, or None if it is not known."""
        if self._values is not None and node_id in self._values:
            return self._values[node_id]
        return self.again.value(node_id)

    def _operands(self, node_id: str) -> list[Any]:
        found = [self.value(edge.parent) for edge in self.into.get(node_id, [])]
        if any(one is None for one in found):
            raise Unknown("a value is not kept")
        return found

    def derivative(self, edge: Edge) -> Array | None:
        """Return the derivative of an edge's child with respect to its parent (the child's shape,
        then the parent's), or None if it is not known."""
        if edge.id not in self._known:
            slot = [other.id for other in self.into[edge.child]].index(edge.id)
            try:
                operands, child = self._operands(edge.child), self.value(edge.child)
                if child is None or child.size * operands[slot].size > MOST:
                    raise Unknown("too many numbers")
                if self.trace.node(edge.child).op == "detach":
                    found = np.eye(child.size).reshape(child.shape * 2)
                else:
                    found = self.again.jacobian(edge.child, slot, operands)
                self._known[edge.id] = found.astype(np.float64)
            except Exception:  # an operation that cannot be repeated has no other run
                self._known[edge.id] = None
        return self._known[edge.id]

    def sent(self, edge: Edge, arrived: Array | None, rule: Rule | None = None) -> Array | None:
        """Return what goes along an edge; without a special rule, the right contribution. None
        means nothing, or not known."""
        if arrived is None:
            return None
        if rule is not None and rule.send is not None:
            other = rule.send(self, edge, arrived)
            if other is not None:
                return other
        local = self.derivative(edge)
        return None if local is None else np.tensordot(arrived, local, arrived.ndim)

    def play(self, rule: Rule | None = None, since: int = 0, early: str = "") -> Played:
        """Run all passes. `rule` applies from frame `since` on, where the node `early` runs with
        the contributions it has so far."""
        played = Played(self)
        for leaf in self.trace.nodes:
            if leaf.kind == "leaf" and leaf.grad_before is not None:
                played.grads[leaf.id] = array_of(leaf.grad_before)
        for frame in self.frames:
            if frame.index == since and early:
                played.run_early(early)
            holds = rule is not None and (
                frame.index == since if rule.once else frame.index >= since
            )
            played.step(
                frame,
                rule if holds else None,
                known=frame.index < since or rule is None and not early,
            )
        return played

    def walk(self, rule: Rule | None, rate: float) -> list[float] | None:
        """Return the steps of gradient descent for the only leaf of a graph of single numbers, or
        None if that is impossible."""
        leaves = [n for n in self.trace.nodes if n.kind == "leaf" and n.requires_grad]
        if (
            len(leaves) != 1
            or any(n.shape != () for n in self.trace.nodes)
            or len(self.trace.nodes) > 14
        ):
            return None
        at, places = self.value(leaves[0].id), []
        try:
            for _ in range(STEPS + 1):
                if at is None or not np.isfinite(at) or abs(at) > 1e6:
                    break
                places.append(float(at))
                grad = (
                    Machine(self.trace, self.again, {leaves[0].id: at})
                    .play(rule)
                    .grads.get(leaves[0].id)
                )
                at = at - np.float32(rate) * np.float32(0 if grad is None else grad)
        except (Unknown, ValueError):
            return None
        return places


@dataclass
class Played:
    """The result of a run: `arrived` at each node, `grads` of the leaves."""

    machine: Machine
    arrived: dict[str, Array | None] = field(default_factory=dict)
    grads: dict[str, Array | None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    run: int = 0

    def step(self, frame: Frame, rule: Rule | None, known: bool = False) -> None:
        """Apply one frame of the right run by this rule. known: the frame is as in the trace, so
        nothing is computed."""
        if frame.run > self.run and frame.phase == "backward":
            self.run = frame.run
            self.arrived.clear()
            self.counts.clear()
            self.done.clear()
        if frame.event == "seed":
            self.arrived[frame.node] = array_of(frame.value)
            self.counts[frame.node] = 1
        elif frame.event == "contribution" and frame.node not in self.done:
            value = array_of(frame.value) if known and self.machine.recorded else None
            self.send(frame.edge or "", rule, value)
        elif frame.event == "accumulate" and frame.receiver:
            before, new = self.grads.get(frame.receiver), self.arrived.get(frame.receiver)
            if rule is not None and rule.clears:
                before = None
            self.grads[frame.receiver] = (
                new if before is None else before if new is None else before + new
            )
        elif frame.event == "clear" and frame.receiver and not (rule is not None and rule.keeps):
            self.grads[frame.receiver] = array_of(frame.total)

    def send(self, edge_id: str, rule: Rule | None, new: Array | None = None) -> None:
        """Send one contribution and let the receiver handle it."""
        edge = self.machine.edges[edge_id]
        if new is None:
            new = self.machine.sent(edge, self.arrived.get(edge.child), rule)
        if new is None or edge.parent in self.done:
            return
        before, count = self.arrived.get(edge.parent), self.counts.get(edge.parent, 0) + 1
        self.counts[edge.parent] = count
        if rule is not None and rule.receive is not None:
            self.arrived[edge.parent] = rule.receive(before, new, count)
        else:
            self.arrived[edge.parent] = new if before is None else _added(before, new)

    def run_early(self, node_id: str) -> None:
        """Let a node send the contributions it has. It is finished then, so later contributions are
        lost."""
        for edge in self.machine.into.get(node_id, []):
            if edge.differentiable:
                self.send(edge.id, None)
        self.done.add(node_id)


def _added(a: Array, b: Array) -> Array:
    return a + b if a.shape == b.shape else b


@dataclass(frozen=True)
class Rule:
    """One changed rule. key: its name. belief: the sentence behind it. says: why it is wrong, with
    places for names.

    send(machine, edge, arrived): return what goes along an edge, None to keep the right contribution. receive(before,
    new, count): return what the receiver has afterwards. clears, keeps: how `.grad` is treated. once: the rule applies
    only in the frame where it begins.
    """

    key: str
    belief: str
    says: str
    send: Callable[[Machine, Edge, Array], Array | None] | None = None
    receive: Callable[[Array | None, Array, int], Array | None] | None = None
    clears: bool = False
    keeps: bool = False
    once: bool = False


def _parent(m: Machine, edge: Edge, arrived: Array) -> Array | None:
    """Return the value of an operand if it has the shape of the arriving gradient."""
    x = m.value(edge.parent)
    return None if x is None or x.shape != arrived.shape else x.astype(np.float64)


def _op(m: Machine, edge: Edge) -> str:
    return m.trace.node(edge.child).op.rstrip("_")


def _local(m: Machine, edge: Edge, g: Array) -> Array | None:
    local = m.derivative(edge)
    if local is None or _op(m, edge) in ("matmul", "mm") or local.size < g.size**2:
        return None  # the derivative is not a single number
    return local.reshape(g.size, -1).sum(0).reshape(local.shape[g.ndim :])


def _through(m: Machine, edge: Edge, g: Array) -> Array | None:
    x = m.value(edge.parent)
    return (
        None
        if x is None or x.shape != g.shape or _op(m, edge) in ("add", "sub", "relu", "sum")
        else g
    )


def _own(m: Machine, edge: Edge, g: Array) -> Array | None:
    x = _parent(m, edge, g)
    return (
        None
        if x is None or _op(m, edge) not in ("mul", "pow", "square") or _repeated(m, edge)
        else g * x
    )


def _repeated(m: Machine, edge: Edge) -> list[Edge]:
    same = [other for other in m.into[edge.child] if other.parent == edge.parent]
    return same if len(same) > 1 else []


def _whole(m: Machine, edge: Edge, g: Array) -> Array | None:
    parts = [m.sent(other, g) for other in _repeated(m, edge)]
    return None if not parts or any(part is None for part in parts) else sum(parts[1:], parts[0])  # type: ignore


def _dead(m: Machine, edge: Edge, g: Array) -> Array | None:
    return g if _op(m, edge) == "relu" and _parent(m, edge, g) is not None else None


def _input(m: Machine, edge: Edge, g: Array) -> Array | None:
    x, op = _parent(m, edge, g), _op(m, edge)
    if x is None or op not in ("exp", "tanh", "sigmoid"):
        return None
    return g * {"exp": x * np.exp(x - 1), "tanh": 1 - x * x, "sigmoid": x * (1 - x)}[op]


def _undivided(m: Machine, edge: Edge, g: Array) -> Array | None:
    x = m.value(edge.parent)
    return (
        np.full(x.shape, float(g))
        if x is not None and _op(m, edge) == "mean" and g.size == 1
        else None
    )


def _divided(m: Machine, edge: Edge, g: Array) -> Array | None:
    x = m.value(edge.parent)
    return (
        np.full(x.shape, float(g) / x.size)
        if x is not None and _op(m, edge) == "sum" and g.size == 1
        else None
    )


def _transposed(m: Machine, edge: Edge, g: Array) -> Array | None:
    if _op(m, edge) not in ("matmul", "mm") or len(m.into[edge.child]) != 2:
        return None
    left, right = (m.value(other.parent) for other in m.into[edge.child])
    if left is None or right is None or left.ndim != 2 or right.ndim != 2:
        return None
    pair = (g, right) if edge.id == m.into[edge.child][0].id else (left, g)
    mine = left if pair[0] is g else right
    fits = (
        pair[0].shape[1] == pair[1].shape[0] and (pair[0].shape[0], pair[1].shape[1]) == mine.shape
    )
    return pair[0] @ pair[1] if fits else None


def _batch_mean(m: Machine, edge: Edge, g: Array) -> Array | None:
    x, right = m.value(edge.parent), m.sent(edge, g)
    if (
        x is None
        or right is None
        or _op(m, edge) not in ("add", "sub", "mul", "div")
        or x.size == g.size
    ):
        return None
    return right * x.size / g.size


def _average(before: Array | None, new: Array, count: int) -> Array:
    return new if before is None else before + (new - before) / count


RULES = {
    rule.key: rule
    for rule in (
        Rule(
            "local",
            "the gradient is the derivative",
            "This is the derivative of {child} by {parent} alone. It is right only where what has arrived is 1;"
            " here {g} has arrived at {child}, and multiplies it.",
            send=_local,
        ),
        Rule(
            "through",
            "a gradient is handed through",
            "This is what has arrived at {child}. It is multiplied by the derivative of "
            "{child} by {parent}; only where that is 1 nothing changes.",
            send=_through,
        ),
        Rule(
            "own",
            "each operand gets its own value",
            "This has the value of {parent} itself as its factor. How much {child} moves with {parent} depends "
            "on {rest}.",
            send=_own,
        ),
        Rule(
            "whole",
            "an operand that is used twice has one edge",
            "This is what both edges send together. {parent} is two operands of {child}: each edge has a "
            "contribution of its own, and they are added where they arrive.",
            send=_whole,
        ),
        Rule(
            "dead",
            "relu passes every gradient",
            "Here relu gave 0 for every {parent} near this one: nothing that {parent} does moves {child}, so "
            "nothing is sent.",
            send=_dead,
        ),
        Rule(
            "input",
            "the rule looks at the operand",
            "This is computed from {parent} by another rule. {child} saved its result, and its derivative is "
            "told by that.",
            send=_input,
        ),
        Rule(
            "undivided",
            "a mean sends what a sum sends",
            "Each element of {parent} moves the mean by 1/n of what it moves itself: the n is missing.",
            send=_undivided,
        ),
        Rule(
            "divided",
            "a sum shares its gradient out",
            "A sum moves as much as each of its elements does: every element of {parent} gets all of it, and "
            "nothing is divided.",
            send=_divided,
        ),
        Rule(
            "transposed",
            "shapes tell the product",
            "The shapes fit, as the matrices are square, but one factor has to be transposed: element by "
            "element, {child} sums over the other index.",
            send=_transposed,
        ),
        Rule(
            "batch mean",
            "a gradient over a batch is a mean",
            "{parent} was used once for each place it was spread to: every use counts in full, so they are "
            "summed and not averaged.",
            send=_batch_mean,
        ),
        Rule(
            "set",
            "the gradient is the one that came last",
            "What was there is gone with this: {parent} has several ways to {root}, and each counts. They add.",
            receive=lambda before, new, count: new,
        ),
        Rule(
            "average",
            "a gradient is the mean over paths",
            "{parent} moves {root} along all of its paths at once: what they carry adds up, and is not averaged.",
            receive=_average,
        ),
        Rule(
            "drop",
            "the gradient is the one that came first",
            "Dropped, this path counts for nothing, although {root} depends on {parent} along it.",
            receive=lambda before, new, count: new if before is None else before,
        ),
        Rule(
            "lost",
            "a path may be left out",
            "Dropped, this path counts for nothing, although {root} depends on {parent} along it.",
            receive=lambda before, new, count: before,
            once=True,
        ),
        Rule(
            "clears",
            "backward() clears .grad first",
            "backward() adds to what {parent}.grad holds. To clear it is the program's business: zero_grad().",
            clears=True,
        ),
        Rule(
            "keeps",
            "gradients add up for ever",
            "{parent}.grad was cleared in between: only what came since then is in it.",
            keeps=True,
        ),
    )
}
"""The rules by name."""

WHAT = tuple(rule for rule in RULES.values() if rule.send is not None)
HOW = tuple(rule for rule in RULES.values() if rule.receive is not None and not rule.once)
