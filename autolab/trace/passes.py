"""Find which nodes get a gradient in a backward pass, and why the others get none."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .model import Node, Pass

if TYPE_CHECKING:
    from .drafts import Draft, EdgeDraft
    from .film import Shot

MOST_LOOKED_AT = 2_000_000
"""Nodes that are looked at, in all passes together, for what cuts a node off; from then on it is only said that it
is."""

CUT = "cut"
FROZEN = "it is frozen"
REENTRANT = "CheckpointFunctionBackward"
HIDDEN = "what checkpoint(use_reentrant=True) runs, under no_grad and then again in backward, may use it all the same"
CUTS = {"detach": "detach()", "data": ".data"}
"""`Node.cut` -> what it is called, where it is no mode."""


@dataclass(slots=True)
class Plan:
    """The facts about a pass that are known when it begins, as node ids.

    known   : number of nodes at that time.
    nodes   : nodes that get a gradient.
    asked   : the inputs of `grad()` or `backward(inputs=...)`, None for every leaf.
    returns : whether the gradients are returned, not accumulated.
    frozen  : leaves of its graph that no longer require grad: their gradient is computed and discarded.
    ended   : whether it ended without an error.
    """

    run: int
    known: int
    nodes: set[str]
    asked: tuple[str, ...] | None = None
    returns: bool = False
    frozen: set[str] = field(default_factory=set)
    roots: list[str] = field(default_factory=list)
    ended: bool = False


def passes(
    plans: Sequence[Plan],
    shots: Sequence[Shot],
    nodes: Sequence[Draft],
    edges: Sequence[EdgeDraft],
    frozen: set[str],
) -> tuple[Pass, ...]:
    """Return the passes of a film that began. `frozen`: parameters that do not require grad."""
    return _Account(nodes, edges, frozen).of(plans, shots)


def own_reason(node: Node | Draft, operands: Iterable[Node | Draft], frozen: bool) -> str:
    """Return why a node does not require grad, if the reason holds for every pass."""
    if node.error:
        return "it failed: there is no result"
    if node.cut:
        return (
            f"{CUTS[node.cut]} cuts here"
            if node.cut in CUTS
            else f"it was computed under {node.cut}"
        )
    if node.kind == "update":
        return "a step is no operation of a graph"
    if node.is_number:
        return "it is a constant"
    if node.dtype == "bool":
        return "True and False have no gradient"
    if "int" in node.dtype:
        return "whole numbers have no gradient"
    if node.kind != "op":
        return FROZEN if frozen else f"{node.label} does not require grad"
    if not any(p.requires_grad for p in operands):
        return "nothing it is computed from requires grad"
    # An operation that has gradient rules but no graph got only frozen inputs.
    had = node.record is not None and node.record.rules  # type: ignore[union-attr]
    return (
        "nothing that it was computed from required grad then"
        if had
        else f"{node.op} has no gradient"
    )


class _Account:
    """Goes through the frames like `Trace.states`, and notes what each pass changes when it begins."""

    def __init__(
        self, nodes: Sequence[Draft], edges: Sequence[EdgeDraft], frozen: set[str]
    ) -> None:
        self.nodes, self.frozen = nodes, frozen
        self.edges = edges
        # Only what differs from "none" has an entry.
        self.states = {n.id: "accumulated" for n in nodes if n.grad_before is not None}
        self.held = dict(self.states)  # the state that each node's `.grad` alone gives
        # node -> why it gets no gradient, according to the latest pass
        self.said: dict[str, str] = {}
        self.open: dict[str, None] = {}  # nodes whose reason another pass may change
        self.seen = self.looked_at = 0
        self.plan: Plan | None = None

    @functools.cached_property
    def into(self) -> dict[str, list[EdgeDraft]]:
        """Return node -> the edges that lead to it."""
        found: dict[str, list[EdgeDraft]] = {}
        for edge in self.edges:
            found.setdefault(edge.child, []).append(edge)
        return found

    def of(self, plans: Sequence[Plan], shots: Sequence[Shot]) -> tuple[Pass, ...]:
        reached: defaultdict[int, set[str]] = defaultdict(set)
        returns = 0
        for shot in shots:
            if shot.receiver is None:
                continue
            if shot.event == "return":
                returns += 1
            elif shot.event not in ("update", "clear"):
                reached[shot.run].add(shot.receiver)
        found: list[Pass] = []
        todo = list(reversed(plans))
        for shot in shots:
            while todo and todo[-1].run <= shot.run:
                plan = todo.pop()
                found.append(
                    self._begin(plan, plan.nodes & reached[plan.run] if plan.ended else plan.nodes)
                )
            if not todo and not returns:
                break  # what happens to the gradients afterwards is never shown
            if shot.receiver is not None or shot.dropped:
                self._apply(shot)
            returns -= shot.event == "return"
        return tuple(found)

    def _apply(self, shot: Shot) -> None:
        for node in shot.dropped:
            self.states[node] = "freed"
        if shot.receiver is None:
            return
        if (
            shot.event == "return" and not shot.state and self.plan is not None
        ):  # nothing arrived: None, or zeros filled in
            before = self.states.get(shot.receiver, "none")
            shot.state = "never" if before == "none" else before
            shot.note = self._why(shot.receiver, self.plan, self._cutters(self.plan))
        self.states[shot.receiver] = shot.state
        if shot.event in ("accumulate", "update", "clear"):
            self.held[shot.receiver] = shot.state
        if shot.state in ("none", "never"):
            self.open[shot.receiver] = None

    def _begin(self, plan: Plan, gets: set[str]) -> Pass:
        goes = plan.nodes | plan.frozen
        fresh = sorted((n for n in goes if self.states.get(n, "none") != "none"), key=_number)
        if (
            self.plan is not None and not self.plan.ended
        ):  # an error left a gradient here that is now lost
            left = ("contribution", "accumulated")
            fresh += [
                n for n in sorted(self.plan.nodes - goes, key=_number) if self.states.get(n) in left
            ]
        for node in fresh:
            if not self._keeps(node):
                self.states[node] = self.held.get(node, "none")
                self.open[node] = None
        self.plan = plan
        candidates = dict.fromkeys(
            (*(n.id for n in self.nodes[self.seen : plan.known]), *self.open)
        )
        self.seen, self.open = max(self.seen, plan.known), {}
        never = self._never(plan, [n for n in candidates if n not in gets])
        call = "grad" if plan.returns else "backward"
        return Pass(plan.run, call, tuple(plan.roots), plan.asked or (), tuple(fresh), never)

    def _never(self, plan: Plan, candidates: list[str]) -> dict[str, str]:
        """Return `Pass.never` for the nodes that get no gradient in this pass."""
        never: dict[str, str] = {}
        cutters: dict[str, str] | None = None
        for node in candidates:
            wants = self._node(node).requires_grad
            if wants:
                self.open[node] = None
            if self.states.get(node, "none") not in ("none", "never"):
                continue
            if wants and cutters is None:
                cutters = self._cutters(plan)
            why = self._why(node, plan, cutters or {})
            if self.said.get(node) != why or self.states.get(node) != "never":
                never[node] = self.said[node] = why
                self.states[node] = "never"
        return never

    def _keeps(self, node_id: str) -> bool:
        """Return whether a result keeps its gradient (`retain_grad`)."""
        node = self._node(node_id)
        return node.kind == "op" and node.grad is not None

    def _why(self, node_id: str, plan: Plan, cutters: dict[str, str]) -> str:
        node = self._node(node_id)
        if not node.requires_grad and node_id not in plan.frozen:
            operands = (
                (self._node(e.parent) for e in self.into.get(node_id, ()))
                if node.kind == "op"
                else ()
            )
            return own_reason(node, operands, node_id in self.frozen)
        result = ", ".join(self._label(root) for root in plan.roots[:3]) or "the result"
        if node_id in plan.frozen:
            return f"{FROZEN}; it was not when {result} was computed"
        if node_id in plan.nodes:
            return "the operations that use it send nothing here"
        cutter = cutters.get(node_id)
        if cutter is None and self.looked_at > MOST_LOOKED_AT:
            return f"the way back from {result} does not come here"
        if cutter is None and any(self._node(n).grad_fn == REENTRANT for n in plan.nodes):
            return f"no way that is shown leads to it from {result}; {HIDDEN}"
        if cutter is None:
            return f"{result} {'does' if len(plan.roots) < 2 else 'do'} not depend on it"
        if cutter == "":
            return f"only the gradient of {', '.join(map(self._label, plan.asked or ()))} was asked for"
        return self._way(self._node(cutter), result)

    def _way(self, cutter: Draft, result: str) -> str:
        at = f"its way to {result} is cut at {cutter.label}"
        if cutter.kind != "op":  # a leaf or a step: after a change, the tensor is a new leaf
            return "it was changed since, and no gradient flows back through an update"
        if cutter.cut:
            return f"{at} by {CUTS.get(cutter.cut, cutter.cut)}"
        if "int" in cutter.dtype:
            return f"{at}: whole numbers have no gradient"
        if cutter.dtype == "bool":
            return f"{at}: True and False have no gradient"
        ruled = (
            set()
            if cutter.record is None
            else {cutter.record.params[i] for i, _, _ in cutter.record.rules}
        )
        ends = [
            e.slot
            for e in self.into[cutter.id]
            if not e.differentiable and self._node(e.parent).requires_grad
        ]
        if ruled and {name for slot, name in enumerate(cutter.operands) if slot in ends} <= ruled:
            return f"{at}: what leads there did not require grad then"
        return f"{at}: {cutter.op} has no gradient"

    def _label(self, node_id: str) -> str:
        return self._node(node_id).label

    def _node(self, node_id: str) -> Draft:
        return self.nodes[_number(node_id)]

    def _cutters(self, plan: Plan) -> dict[str, str]:
        """Return node -> the node at which its path to the roots is cut, "" if it is not cut, for all ancestors of
        the roots. A node without gradient on the path is CUT itself: nodes before it that require grad are cut off
        there."""
        found = dict.fromkeys(plan.roots, "")
        for number in range(plan.known - 1, -1, -1):
            child = f"n{number}"
            here = found.get(child)
            if here is None:
                continue
            for edge in self.into.get(child, ()):
                parent = edge.parent
                through = (
                    CUT
                    if not self._node(parent).requires_grad
                    else here
                    if edge.differentiable and here != CUT
                    else child
                )
                if through == "" or parent not in found:
                    found[parent] = through
            self.looked_at += 1
            if self.looked_at > MOST_LOOKED_AT:
                break
        return found


def _number(node_id: str) -> int:
    return int(node_id[1:])
