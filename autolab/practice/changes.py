"""Decisions about in-place changes: which saved value they change, what an error leaves behind, and
what would prevent it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..trace.model import Frame, Node
from ..trace.replay import array_of

from .decision import Decision, Wrong, words
from .ground import Ground


class Changes(Ground):
    """Decisions about in-place changes, and about the state after a pass that raised."""

    def _saved_by(self, node: str) -> str:
        """Return in words what a node saved, or "" for nothing."""
        labels = {
            s.source_node: self._label(s.source_node)
            for s in self.trace.saved
            if s.node == node and s.source_node
        }
        return " and ".join(
            label if id != node else f"{label}, its own result" for id, label in labels.items()
        )

    def _changed(self, frame: Frame) -> Iterator[Decision]:
        """Add the decision at an in-place change: whose saved value is it?"""
        if "changed" not in self.kinds or not self.trace.node(frame.node).op.endswith("_"):
            return
        call = _method(self.trace.node(frame.node))
        before = self.trace.frames[: frame.index]
        nodes = [self.trace.node(f.node) for f in before if f.event == "compute"]
        hit = {s.node for s in self.trace.saved if s.state == "modified"}
        right = next((node for node in nodes if node.id in hit), None)
        wrong = []
        for node in nodes:
            if node is right:
                continue
            kept = self._saved_by(node.id)
            why = (
                f"saved {kept}, and that is not what changes"
                if kept
                else "saved nothing: its derivative needs no value"
            )
            wrong.append(
                Wrong(
                    node.id,
                    "a change disturbs whoever made or used the tensor",
                    f"{node.label} {why}.",
                )
            )
        if right is not None:
            says = f"{right.label} saved {self._saved_by(right.id)}, in the very memory that `{call}` writes to."
            wrong.append(
                Wrong(
                    "none",
                    "what is saved is a copy",
                    f"{says} PyTorch keeps no copy, but the number of its version.",
                )
            )
        said = (
            f"{right.label}: it saved {self._saved_by(right.id)}."
            if right
            else "Nobody's: what was saved is not what changes."
        )
        yield Decision(
            "who",
            "next",
            frame.node,
            frame.index,
            f"`{call}` writes into the memory of a tensor. Whose saved value, kept for backward, changes by it?",
            "node",
            right.id if right else "none",
            said,
            (*((node.id, node.label) for node in nodes), ("none", "nobody's")),
            tuple(wrong),
            hint="A node saves what its rule needs: a product saves its operands, `exp` and `tanh` save their own result.",
        )

    def _after(self) -> Iterator[Decision]:
        """Add the decisions at the end: what would have prevented an error, and the leaf's `.grad`."""
        if "after" not in self.kinds:
            return
        last = len(self.trace.frames) - 1
        failed = next((f for f in self.machine.frames if f.event == "error"), None)
        leaf = next(node for node in self.trace.nodes if node.kind == "leaf" and node.requires_grad)
        came = [
            array_of(f.total)
            for f in self.machine.frames
            if f.event == "accumulate" and f.receiver == leaf.id
        ]
        totals = [words(total) for total in came if total is not None]
        if failed is not None:
            yield from self._helps(failed, last)
        elif len(totals) < 2:
            return
        grad, first = f"{leaf.label}.grad", totals[0] if totals else "None"
        has = totals[-1] if totals else "None"
        if failed is None:
            wrong = [
                Wrong(
                    first,
                    "backward begins anew",
                    f"{first} was there from the first pass; backward() adds to it.",
                ),
                Wrong(
                    "None",
                    "a second pass takes it back",
                    f"backward() adds to {grad}, and clears nothing.",
                ),
            ]
        elif totals:
            twice = words(2 * np.asarray(came[-1]))
            wrong = [
                Wrong(
                    "None",
                    "an error undoes what came before",
                    f"The first pass was over: {grad} has what it added.",
                ),
                Wrong(
                    twice,
                    "what was sent before the error counts",
                    f"The second pass ended before it came to {leaf.label}.",
                ),
            ]
        else:
            wrong = [
                Wrong(
                    "0",
                    "no gradient is a gradient of 0",
                    f"Nothing came to {leaf.label}: its .grad is None, as before.",
                )
            ]
        offered = sorted({has, *(str(one.answer) for one in wrong)})
        yield Decision(
            "then",
            "grad",
            leaf.id,
            last,
            f"{'The error has been raised' if failed else 'Both passes are over'}. What is `{grad}` now?",
            "choice",
            has,
            f"{has}: {'the pass that raised never came to' if failed else 'both passes added to what was there at'} {leaf.label}.",
            tuple((choice, choice) for choice in offered),
            tuple(one for one in wrong if one.answer != has),
            hint=f"Which passes have come to {leaf.label}?",
        )

    def _helps(self, failed: Frame, last: int) -> Iterator[Decision]:
        """Return what would have prevented the error."""
        at = self._label(failed.node)
        if "modified by an inplace" in failed.text:
            change = next(n for n in reversed(self.trace.nodes) if n.op.endswith("_"))
            call, out = _method(change), _out_of_place(change)
            right = (
                "out",
                f"`{out}` instead of `{call}`",
                f"It makes a new tensor, and what {at} saved stays as it is.",
            )
            wrong = [
                ("no_grad", f"`{call}` under `no_grad()`", "what is not recorded does not count",
                 "no_grad() keeps the change out of the graph, not out of the memory: the version counts it."),
                ("retain", "`retain_graph=True`", "retain_graph keeps the values",
                 "retain_graph keeps what was saved from being freed. Here it is there, and has been overwritten."),
            ]  # fmt: skip
        else:
            right = (
                "retain",
                "`retain_graph=True` in the first `backward()`",
                f"Then {at} keeps what it saved for another pass.",
            )
            wrong = [
                ("clear", "`x.grad = None` between the two", "the gradient of the first pass is in the way",
                 "Clearing .grad starts a new sum. What is missing is what the first pass freed."),
                ("detach", "`y.detach().backward()`", "detach makes a fresh graph",
                 "detach() cuts: there is no graph behind it at all, and backward() raises."),
            ]  # fmt: skip
        yield Decision(
            "then",
            "next",
            failed.node,
            last,
            f"`{at}` raised. What would have helped?",
            "choice",
            right[0],
            right[2],
            tuple(
                sorted(
                    ((key, text.replace("`", "")) for key, text, *_ in (right, *wrong)),
                    key=lambda one: one[1],
                )
            ),
            tuple(Wrong(key, belief, says) for key, _, belief, says in wrong),
            hint="Was it overwritten, or freed?",
        )


def _method(node: Node) -> str:
    """Return a call such as add_(a, 5) as the program writes it: a.add_(5)."""
    return re.sub(r"^(\w+_)\((\w+)(?:\(\d+\))?, (.*)\)$", r"\2.\1(\3)", node.call)


def _out_of_place(node: Node) -> str:
    return re.sub(r"^(\w+)\.(\w+)_\((.*)\)$", r"\1 = \1.\2(\3)", _method(node))
