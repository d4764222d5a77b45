"""Collect the learner's decisions in a backward pass, in the order in which the pass needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..trace.model import Edge, Frame, Node
from ..trace.replay import array_of
from .rules import WHAT, Array, Played, Rule

from .decision import MOST, Ambiguous, Decision, Wrong, alike, placed, plain, trivial, words
from .aftermath import Aftermath
from .arrivals import Arrivals
from .changes import Changes


FEW = 12  # all nodes of a graph up to this size are offered


class Decisions(Arrivals, Aftermath, Changes):
    """All decisions about a trace. kinds: which are asked; the others are played. strict: raise
    Ambiguous if a wrong rule gives the right answer or the answer of another rule; otherwise leave
    that rule out. only: operations whose contributions are asked for, () for all. raises: whether
    to ask which node raises an error."""

    def all(self) -> list[Decision]:
        """Return the decisions in order."""
        if "value" in self.kinds:
            self.found = list(self._values())[:MOST]
            return self.found
        self.found = [
            one
            for frame in self.trace.frames
            if frame.event == "compute"
            for one in self._changed(frame)
        ]
        run = 0
        for frame in self.machine.frames:
            if frame.phase == "backward":
                if frame.run != run:
                    run = frame.run
                    self.found += self._raises(frame)
                if frame.event == "contribution":
                    self.found += self._turn(frame)
                elif frame.event == "accumulate":
                    self.found += self._kept(frame)
                elif frame.event == "free":
                    self.found += self._freed(frame)
            elif frame.event == "clear" and frame.receiver:
                self._cleared.add(frame.receiver)
            self.played.step(frame, None, known=True)
        self.found = [*self.found, *self._left(), *self._after()][:MOST]
        return self.found

    def _values(self) -> Iterator[Decision]:
        """Add a decision about the value of each operation in a forward pass."""
        for frame in self.trace.frames:
            node = self.trace.node(frame.node) if frame.node else None
            if (
                frame.event != "compute"
                or node is None
                or frame.value is None
                or frame.value.data is None
            ):
                continue
            value = array_of(frame.value)
            if value is None or not value.size or not np.isfinite(value).all():
                continue
            place = tuple(size - 1 for size in value.shape)
            where = f", at {list(place)}" if place else ""
            yield Decision(
                "value",
                "value",
                node.id,
                frame.index,
                f"What is `{node.label} = {node.call}`{where}?",
                "number",
                plain(value[place]),
                f"{node.label}{placed(place)} is {words(value[place])}.",
                whole=plain(value) if place else None,
                hint=f"Put in the values of what goes into {node.label}.",
                other=f"{node.label} is computed from the values in the cards that lead to it.",
            )

    def _turn(self, frame: Frame) -> Iterator[Decision]:
        """Add the decisions of a node's turn: at its first contribution, then at each one."""
        begins = (frame.run, frame.node) not in self._begun
        if begins:
            if "who" in self.kinds and not self.raises:
                yield from self._who(frame)
            self._begun.add((frame.run, frame.node))
        edge = self.machine.edges[frame.edge or ""]
        child = self.trace.node(frame.node)
        if begins and "how" in self.kinds:
            for cut in self.machine.into[frame.node]:
                if not cut.differentiable and not cut.update:
                    yield from self._cut(frame, cut)
        if "how" in self.kinds and child.shape != self.trace.node(edge.parent).shape:
            yield from self._spread_back(frame, edge)
        if "what" in self.kinds and (not self.only or child.op in self.only):
            yield from self._what(frame, edge)
        if "how" in self.kinds:
            yield from self._how(frame, edge)

    def _who(self, frame: Frame) -> Iterator[Decision]:
        order, counts = self._expected(frame.run)
        waiting = [n for n in order if (frame.run, n) not in self._begun]
        if len(order) < 2 or len(waiting) < 2:
            return
        in_ = self.played.counts
        ready = [n for n in waiting if in_.get(n, 0) == counts.get(n)]
        choices = self._candidates(frame, waiting, ready, counts)
        wrong = []
        for node in choices:
            if node.id in ready:
                continue
            if node.kind == "leaf":
                says = (
                    f"{node.label} is a leaf: gradients end there, and it has nothing to send on."
                )
                wrong.append(Wrong(node.id, "backward begins at the leaves", says))
            elif node.id not in waiting:
                wrong.append(
                    Wrong(
                        node.id,
                        "a node runs as often as one likes",
                        f"{node.label} has run: what it had is sent.",
                    )
                )
            else:
                wrong.append(self._too_early(frame, node, in_.get(node.id, 0), counts[node.id]))
        first = self._label(frame.node)
        others = [self._label(n) for n in ready if n != frame.node]
        also = (
            f" {' and '.join(others)} could run as well; PyTorch takes the one recorded last."
            if others
            else ""
        )
        seeds = [f for f in self.machine.frames if f.event == "seed" and f.run == frame.run]
        begun = ""
        if len(waiting) == len(order) and len(seeds) == 1:
            begun = f"The pass begins with {words(array_of(seeds[0].value))} at `{self._label(seeds[0].node)}`. "
        yield Decision(
            "who",
            "next",
            self.trace.frames[frame.index - 1].node,
            frame.index,
            f"{begun}Which node may run next?",
            "node",
            frame.node,
            f"{first} runs: all that comes to it is in.{also}",
            tuple((n.id, n.label) for n in choices),
            tuple(wrong),
            also=tuple(n for n in ready if n != frame.node),
            other="Not this one: it has run, or still waits for what comes to it, or never gets a gradient.",
            hint="A node may run when a gradient has come along every line that leads from it towards the result.",
        )

    def _candidates(
        self, frame: Frame, waiting: list[str], ready: list[str], counts: dict[str, int]
    ) -> list[Node]:
        """Return the nodes to choose from, in order: all of a small graph; of a large
        one the node that runs now, a few that are ready, partly complete or next, the last that ran, and one leaf."""
        taking_part = [n for n in self.trace.nodes if n.id in counts or n.id in waiting]
        if len(taking_part) <= FEW:
            return taking_part
        in_ = self.played.counts
        leaves = [n.id for n in taking_part if n.kind == "leaf"]
        partly = [n for n in waiting if in_.get(n, 0) and n not in ready]
        before = [
            f.node for f in self.machine.frames if f.run == frame.run and f.index < frame.index
        ]
        offered = {*ready[:4], frame.node, *partly[:3], *waiting[1:3], *leaves[:1], *before[-1:]}
        return [n for n in taking_part if n.id in offered]

    def _too_early(self, frame: Frame, node: Node, got: int, count: int) -> Wrong:
        if not got:
            return Wrong(
                node.id,
                "backward goes level by level",
                f"Nothing has come to {node.label} yet: it has nothing to send.",
            )
        came = words(self.played.arrived.get(node.id))
        says = (
            f"{node.label} still waits for {count - got} of {count} contributions. Run now, it sends on only what "
            f"there is, {came}; what comes later is lost."
        )
        return Wrong(
            node.id,
            "backward goes level by level",
            says,
            *self._consequence(None, frame.index, node.id),
        )

    def _what(self, frame: Frame, edge: Edge) -> Iterator[Decision]:
        arrived = self.played.arrived.get(edge.child)
        right = array_of(frame.value)
        if right is None or not right.size or not np.isfinite(right).all():
            if right is None and frame.value is not None:
                yield from self._big(frame, edge)
            return
        right = right.astype(np.float64)
        names = self._names(edge, arrived, frame.run)
        answers = (
            [] if arrived is None else list(self._answers(edge, arrived.astype(np.float64), right))
        )
        place = self._place(right, [answer for _, answer in answers])
        got = "begins with" if frame.node in self._roots(frame.run) else "has received"
        g = words(arrived)
        lead = f"`{names['child']}` {got} {g if len(g) < 90 else 'its gradient'}."
        if right.ndim and (arrived is None or right.shape != arrived.shape):
            yield self._shape(frame, edge, right, lead)
        # If 1 has arrived, the factor alone is right; relu passes the gradient on, or its factor is the answer.
        plainly = (
            arrived is not None and (arrived == 1).all() or self.trace.node(edge.child).op == "relu"
        )
        hidden = ("dead", "local") if plainly else ()
        told = self._apart(
            right[place], [(rule, answer[place]) for rule, answer in answers], hidden
        )
        if (
            not told
            and self.machine.derivative(edge) is not None
            and (self.strict or trivial(self.trace.node(edge.child), arrived))
        ):
            return  # every rule gives the same answer
        if (
            self.strict
            and alike(right[place], 0)
            and not any(rule.key == "dead" for rule, _ in told)
        ):
            raise Ambiguous("the answer is 0")
        twice = [e.id for e in self.machine.into[edge.child] if e.parent == edge.parent]
        operand = f" (its operand {twice.index(edge.id) + 1})" if len(twice) > 1 else ""
        wrong = tuple(
            Wrong(
                plain(answer),
                rule.belief,
                rule.says.format(**names),
                *self._consequence(rule, frame.index),
            )
            for rule, answer in told
        )
        if self.strict and not all(one.ends for one in wrong):
            raise Ambiguous("a wrong run ends as the right one")
        at = f" at {list(place)}" if place else ""
        text = f"{lead} What does it send to `{names['parent']}`{operand}{at}?"
        yield Decision(
            "what",
            "grad",
            edge.parent,
            frame.index,
            text,
            "number",
            plain(right[place]),
            f"{names['child']} sends {words(right[place])} to {names['parent']}{at}.",
            wrong=wrong,
            whole=plain(right) if place else None,
            edge=edge.id,
            spread=self._slope(edge.parent, frame) if not place else {},
            formulas=self._formulas(edge, right, told) if not place else (),
            hint=(
                f"What has arrived at {names['child']}, times the derivative of {names['child']} by {names['parent']}."
            ),
            other=(
                f"That is no rule that is known here. What has arrived at {names['child']} is multiplied "
                f"by the derivative of {names['child']} by {names['parent']}."
            ),
        )

    def _formulas(
        self, edge: Edge, right: Array, told: list[tuple[Rule, Any]]
    ) -> tuple[tuple[float, str], ...]:
        """Return the answers as formulas, in an order that does not show the right one."""
        child, parent = self._label(edge.child), self._label(edge.parent)
        others = [self._label(e.parent) for e in self.machine.into[edge.child] if e.id != edge.id]
        local = (
            others[0]
            if self.trace.node(edge.child).op == "mul" and len(others) == 1
            else f"∂{child}/∂{parent}"
        )
        arrived = f"grad({child})"
        shown = {
            "local": local,
            "through": arrived,
            "own": f"{arrived} · {parent}",
            "whole": f"{arrived} · 2 · {local}",
            "dead": arrived,
        }
        offered = [
            (float(right), f"{arrived} · {local}"),
            *((float(answer), shown[rule.key]) for rule, answer in told if rule.key in shown),
        ]
        return (
            tuple(sorted(offered, key=lambda pair: (len(pair[1]) * 7 + ord(child[0])) % 5))
            if len(offered) > 1
            else ()
        )

    def _big(self, frame: Frame, edge: Edge) -> Iterator[Decision]:
        """Ask only for the shape if there are many numbers."""
        if frame.value is not None and frame.value.shape != self.trace.node(edge.child).shape:
            yield self._shape(
                frame, edge, np.zeros(frame.value.shape), f"`{self._label(edge.child)}` runs."
            )

    def _shape(self, frame: Frame, edge: Edge, right: Array, lead: str) -> Decision:
        child, parent = self.trace.node(edge.child), self.trace.node(edge.parent)
        shape, label = list(right.shape), f"`{parent.label}`"
        wrong = []
        if child.shape is not None and list(child.shape) != shape:
            says = (
                f"This is the shape of {child.label}. What is sent to {parent.label} has the shape of "
                f"{parent.label}, so that it can be subtracted from it."
            )
            wrong.append(Wrong(list(child.shape), "a gradient has the shape of the result", says))
        if shape[::-1] not in (shape, list(child.shape or ())) and child.op in (
            "matmul",
            "mm",
            "t",
        ):
            says = f"This is the shape of {parent.label} transposed: a factor of the product is in the wrong place."
            wrong.append(Wrong(shape[::-1], "shapes tell the product", says))
        return Decision(
            "what",
            "grad",
            parent.id,
            frame.index,
            f"{lead} Of which shape is what it sends to {label}?",
            "shape",
            shape,
            f"As the shape of {parent.label}: {shape}.",
            wrong=tuple(wrong),
            edge=edge.id,
            hint="A gradient has the shape of the tensor that it belongs to.",
            other=f"What is sent to {parent.label} has the shape of {parent.label}.",
        )

    def _answers(self, edge: Edge, arrived: Array, right: Array) -> Iterator[tuple[Rule, Array]]:
        for rule in WHAT:
            answer = rule.send(self.machine, edge, arrived) if rule.send else None
            if answer is not None and np.shape(answer) == right.shape and np.isfinite(answer).all():
                yield rule, np.asarray(answer)

    def _place(self, right: Array, wrong: list[Array]) -> tuple[int, ...]:
        """Return the marked entry: the first one in which all answers differ, or else the last one."""
        for place in np.ndindex(*right.shape):
            items = [right[place], *(answer[place] for answer in wrong)]
            if not any(alike(a, b) for i, a in enumerate(items) for b in items[:i]) and not alike(
                right[place], 0
            ):
                return place
        return tuple(size - 1 for size in right.shape)

    def _apart(
        self, right: Any, answers: list[tuple[Rule, Any]], hidden: tuple[str, ...]
    ) -> list[tuple[Rule, Any]]:
        """Return the rules that give other answers than the right one and each other. hidden: those
        that may give the right one."""
        kept: list[tuple[Rule, Any]] = []
        for rule, answer in answers:
            if alike(answer, right):
                if self.strict and rule.key not in hidden:
                    raise Ambiguous(f"{rule.key} answers as the right rule")
                continue
            if any(alike(answer, other) for _, other in kept):
                if self.strict:
                    raise Ambiguous(f"{rule.key} answers as another rule")
                continue
            kept.append((rule, answer))
        return kept

    def _slope(self, node: str, frame: Frame) -> dict[str, tuple[float, float]]:
        """Return how much each leaf's gradient changes for each 1 that a node receives too much,
        and its final value."""
        one = Played(self.machine, {node: np.ones(())})
        for later in self.machine.frames:
            if (
                later.index > frame.index
                and later.run == frame.run
                and later.event == "contribution"
            ):
                one.send(later.edge or "", None)
        moved = {
            n: v
            for n, v in one.arrived.items()
            if v is not None and self.trace.node(n).kind == "leaf"
        }
        ends = self.right.grads
        return {
            f"{self._label(n)}.grad": (float(v), float(end))
            for n, v in moved.items()
            if v.ndim == 0 and v != 0 and (end := ends.get(n)) is not None
        }
