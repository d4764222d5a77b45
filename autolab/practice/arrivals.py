"""Decisions about how a contribution arrives: it is set, added or dropped; a cut edge sends
nothing; a broadcast operand sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..trace.model import Edge, Frame
from ..trace.replay import array_of
from .rules import HOW, RULES

from .decision import Ambiguous, Decision, Wrong, words
from .ground import Ground

RECEIVE = (
    ("set", "set: it replaces what is there"),
    ("add", "add: to what is there"),
    ("average", "average: with what is there"),
    ("drop", "drop: it goes nowhere"),
)


class Arrivals(Ground):
    """Decisions of kind "how"."""

    def _how(self, frame: Frame, edge: Edge) -> Iterator[Decision]:
        counts = self._expected(frame.run)[1]
        if counts.get(edge.parent, 0) < 2:
            return
        value, there = array_of(frame.value), self.played.arrived.get(edge.parent)
        if value is None:
            return  # too many numbers to show
        parent, sent = self._label(edge.parent), words(value)
        names = self._names(edge, self.played.arrived.get(edge.child), frame.run)
        wrong = []
        for rule in HOW if there is not None else (RULES["lost"],):
            ends, at, key = self._consequence(rule, frame.index)
            if self.strict and not ends:
                raise Ambiguous(f"{rule.key} ends as the right rule")
            chosen = "drop" if rule.once else rule.key
            wrong.append(Wrong(chosen, rule.belief, rule.says.format(**names), ends, at, key))
        if there is None:
            text = f"`{names['child']}` sends {sent} to `{parent}`, where nothing is yet. What happens to it there?"
            said = (
                f"{parent} has {sent} now. The first contribution is set: to set it and to add it to "
                f"nothing is the same."
            )
            answer, also = "set", ["add"]
        else:
            text = (
                f"`{names['child']}` sends {sent} to `{parent}`, where {words(there)} is already. What "
                f"happens to it there?"
            )
            said, answer, also = f"It is added: {parent} has {words(there + value)} now.", "add", []
        offered = (
            RECEIVE
            if there is not None
            else tuple(pair for pair in RECEIVE if pair[0] != "average")
        )
        yield Decision(
            "how",
            "grad",
            edge.parent,
            frame.index,
            text,
            "choice",
            answer,
            said,
            offered,
            tuple(wrong),
            tuple(also),
            edge=edge.id,
            hint=f"{names['root']} depends on {parent} along {counts[edge.parent]} edges.",
        )

    def _cut(self, frame: Frame, edge: Edge) -> Iterator[Decision]:
        """Add the decision about an edge that no gradient follows, although a number could be sent."""
        parent, arrived = self.trace.node(edge.parent), self.played.arrived.get(edge.child)
        if not parent.cut or not parent.dtype.startswith("float") or arrived is None:
            return
        local = self.machine.derivative(edge)
        if local is None:
            return
        value, label = np.tensordot(arrived, local, arrived.ndim), parent.label
        why = (
            f"{label} was detached"
            if parent.cut == "detach"
            else f"{label} was computed under no_grad"
        )
        says = f"{why}: no edge of the graph leads there, and whatever would be sent has nowhere to go."
        belief = "gradients go wherever values came from"
        yield Decision(
            "how",
            "grad",
            parent.id,
            frame.index,
            (
                f"`{self._label(edge.child)}` runs. `{label}` is its operand, too, and {words(value)} "
                f"would be its share. What happens?"
            ),
            "choice",
            "drop",
            f"Nothing comes to {label}: {why}.",
            tuple(p for p in RECEIVE if p[0] != "average"),
            (Wrong("set", belief, says), Wrong("add", belief, says)),
            edge=edge.id,
            hint=f"Look at how {label} was made.",
        )

    def _spread_back(self, frame: Frame, edge: Edge) -> Iterator[Decision]:
        """Add the decision about an operand that was broadcast."""
        child, parent = self.trace.node(edge.child), self.trace.node(edge.parent)
        if (
            child.op.rstrip("_") not in ("add", "sub", "mul", "div")
            or child.shape is None
            or parent.shape is None
        ):
            return
        names, mean = self._names(edge, None, frame.run), RULES["batch mean"]
        big, small = list(child.shape), list(parent.shape)
        keep = (
            f"{parent.label} has shape {small} and its gradient has to be subtracted from it: PyTorch "
            f"refuses a gradient of shape {big} for it."
        )
        one = f"Every place that {parent.label} was spread to moves {names['root']}; the others would be forgotten."
        yield Decision(
            "how",
            "grad",
            parent.id,
            frame.index,
            (
                f"`{child.label}` has shape {big}, its operand `{parent.label}` only {small}: it was "
                f"spread over the rest. What becomes of the gradient on its way there?"
            ),
            "choice",
            "sum",
            f"It is summed over the places that {parent.label} was spread to.",
            (
                ("sum", "summed"),
                ("mean", "averaged"),
                ("keep", f"kept as {big}"),
                ("first", "the first is taken"),
            ),
            (
                Wrong(
                    "mean",
                    mean.belief,
                    mean.says.format(**names),
                    *self._consequence(mean, frame.index),
                ),
                Wrong("keep", "a gradient has the shape of the result", keep),
                Wrong("first", "one use counts", one),
            ),
            edge=edge.id,
            hint=f"{parent.label} was used once for every place that it was spread to.",
        )
