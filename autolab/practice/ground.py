"""The shared data for all decisions about one graph: the right run, runs by other rules, names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..trace.model import Edge, Trace
from ..trace.replay import array_of
from .rules import RULES, STEPS, Machine, Played, Rule

from .decision import Decision, KINDS, rounded, same, words


class Ground:
    """The trace, its machine, and the progress of the right run."""

    def __init__(
        self,
        trace: Trace,
        kinds: Sequence[str] = KINDS,
        strict: bool = False,
        only: Sequence[str] = (),
        raises: bool = False,
    ) -> None:
        self.trace, self.kinds, self.strict, self.only, self.raises = (
            trace,
            kinds,
            strict,
            only,
            raises,
        )
        self.machine = Machine(trace)
        self.found: list[Decision] = []
        self.played = Played(self.machine)
        self._begun: set[tuple[int, str]] = set()  # pairs (run, node) whose turn is over
        self._cleared: set[str] = (
            set()
        )  # leaves whose `.grad` the program has cleared since the last question about them
        for leaf in trace.nodes:
            if leaf.kind == "leaf" and leaf.grad_before is not None:
                self.played.grads[leaf.id] = array_of(leaf.grad_before)
        self.right = self.machine.play()
        self._runs: dict[tuple[str, int, str], Played] = {}

    def _label(self, node_id: str) -> str:
        return self.trace.node(node_id).label

    def _expected(self, run: int) -> tuple[list[str], dict[str, int]]:
        """Return the nodes that send in a pass, in order, and the number of contributions for each
        node."""
        order: dict[str, None] = {}
        counts: dict[str, int] = {}
        for frame in self.machine.frames:
            if frame.run == run and frame.event == "seed":
                counts[frame.node] = counts.get(frame.node, 0) + 1
            elif frame.run == run and frame.event == "contribution" and frame.receiver:
                order[frame.node] = None
                counts[frame.receiver] = counts.get(frame.receiver, 0) + 1
        return list(order), counts

    def _consequence(self, rule: Rule | None, since: int, early: str = "") -> tuple[Any, Any, str]:
        """Return what differs at the end, for leaves and nodes, and whose gradient descent shows
        it."""
        key = (rule.key if rule else "", since, early)
        if key not in self._runs:
            self._runs[key] = self.machine.play(rule, since, early)
        run, ends, at = self._runs[key], [], {}
        for node in self.trace.nodes:
            mine, right = run.grads.get(node.id), self.right.grads.get(node.id)
            if node.kind == "leaf" and not same(mine, right):
                ends.append((f"{node.label}.grad", words(mine), words(right)))
                at[node.id] = words(mine)
            elif node.kind == "op" and not same(
                run.arrived.get(node.id), self.right.arrived.get(node.id)
            ):
                at[node.id] = words(run.arrived.get(node.id))
        return tuple(ends), at, rule.key if rule is not None and rule.says and not rule.once else ""

    def walks(self) -> dict[str, Any]:
        """Return the steps of gradient descent by the right rule and by each rule of a wrong
        answer, {"rate", "leaf", rule: places}; {} if the graph has not exactly one leaf, does not
        consist of single numbers, or the right rule does not converge."""
        for rate in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005):
            right = self.machine.walk(None, rate)
            if right is None:
                return {}
            moves = np.diff(right)
            if (
                len(moves) == STEPS
                and moves[0]
                and moves.min() * moves.max() >= 0
                and abs(moves[-1]) < 0.2 * abs(moves[0])
            ):
                break
        else:
            return {}
        used = {wrong.rule for one in self.found for wrong in one.wrong if wrong.rule}
        walked = {key: self.machine.walk(RULES[key], rate) or [] for key in sorted(used)}
        leaf = next(n.label for n in self.trace.nodes if n.kind == "leaf")
        return {"rate": rate, "leaf": leaf, "right": rounded(right)} | {
            key: rounded(places) for key, places in walked.items()
        }

    def _names(self, edge: Edge, g: Any, run: int) -> dict[str, str]:
        child = self.trace.node(edge.child)
        others = [self._label(e.parent) for e in self.machine.into[edge.child] if e.id != edge.id]
        rest = (
            f"{others[0]}, the other factor"
            if child.op == "mul" and others
            else "the power: its exponent comes down as a factor"
        )
        roots = next((p.roots for p in self.trace.passes if p.run == run), ())
        root = self._label(roots[0]) if roots else "the result"
        return {
            "child": child.label,
            "parent": self._label(edge.parent),
            "g": words(g),
            "rest": rest,
            "root": root,
        }

    def _roots(self, run: int) -> tuple[str, ...]:
        return next((p.roots for p in self.trace.passes if p.run == run), ())
