"""Decisions about the end of a pass: what `.grad` holds, what was freed, which node raises an
error."""

from __future__ import annotations

from collections.abc import Iterator


from ..trace.model import Frame, Node
from ..trace.replay import array_of
from .rules import RULES

from .decision import Decision, Wrong, alike, plain, words
from .ground import Ground


class Aftermath(Ground):
    """Decisions of kind "then", and the decision which node raises."""

    def _kept(self, frame: Frame) -> Iterator[Decision]:
        """Add the decision about a leaf's `.grad` that held a gradient before or was cleared."""
        leaf = self.trace.node(frame.receiver or "")
        before, now, came = (
            self.played.grads.get(leaf.id),
            array_of(frame.total),
            array_of(frame.value),
        )
        if (
            "then" not in self.kinds
            or now is None
            or came is None
            or not now.size
            or before is None
            and leaf.id not in self._cleared
        ):
            return
        place, names = tuple(0 for _ in now.shape), {"parent": leaf.label}
        wrong = []
        for key in ("keeps",) if leaf.id in self._cleared else ("clears",):
            grads = self.machine.play(RULES[key]).grads.get(leaf.id) if key == "keeps" else came
            if grads is not None and not alike(grads[place], now[place]):
                wrong.append(
                    Wrong(
                        plain(grads[place]),
                        RULES[key].belief,
                        RULES[key].says.format(**names),
                        *self._consequence(RULES[key], 0),
                    )
                )
        had = "was cleared in between" if leaf.id in self._cleared else f"held {words(before)}"
        self._cleared.discard(leaf.id)
        at = f" at {list(place)}" if place else ""
        yield Decision(
            "then",
            "grad",
            leaf.id,
            frame.index,
            (
                f"{words(came)} has arrived at the leaf `{leaf.label}`, whose `.grad` {had}. What is "
                f"`{leaf.label}.grad` now{at}?"
            ),
            "number",
            plain(now[place]),
            f"{leaf.label}.grad is {words(now)}.",
            wrong=tuple(wrong),
            whole=plain(now) if place else None,
            hint="backward() adds to what is there, and clears nothing.",
            other=f"What arrived is added to what {leaf.label}.grad holds.",
        )

    def _freed(self, frame: Frame) -> Iterator[Decision]:
        node = self.trace.node(frame.node)
        saved = [s for s in self.trace.saved if s.node == node.id]
        if "free" not in self.kinds or not saved:
            return
        what = " and ".join(dict.fromkeys(f"{s.name}" for s in saved))
        yield Decision(
            "then",
            "next",
            node.id,
            frame.index,
            f"`{node.label}` has sent everything. What does it let go of now?",
            "choice",
            "saved",
            f"What it had saved for backward ({what}): a second pass through {node.label} needs it, and fails.",
            (
                ("saved", f"what it saved: {what}"),
                ("value", f"the value of {node.label}"),
                ("nothing", "nothing"),
            ),
            (
                Wrong(
                    "value",
                    "the pass frees the results",
                    (
                        f"{node.label} keeps its value as long as something refers to it; what goes is what was "
                        f"saved for backward alone."
                    ),
                ),
                Wrong(
                    "nothing",
                    "a graph stays as it was",
                    (
                        f"Then a second backward() would run through {node.label}. It does not, unless the first "
                        f"was given retain_graph=True."
                    ),
                ),
            ),
            hint="Its tab says what it saved.",
        )

    def _left(self) -> Iterator[Decision]:
        """Add the decisions after the pass: leaves that no gradient reached, and results whose
        `.grad` is asked for."""
        if (
            "then" not in self.kinds
            or not self.trace.passes
            or any(f.event == "error" for f in self.trace.frames)
        ):
            return
        reached = {f.receiver for f in self.machine.frames if f.event == "accumulate"}
        last = len(self.trace.frames) - 1
        for node in self.trace.nodes:
            if (
                node.kind == "leaf"
                and node.requires_grad
                and node.name
                and node.grad_before is None
                and node.id not in reached
            ):
                says = (
                    f"Nothing came to {node.label}, so nothing made its .grad: None is not 0. An optimizer "
                    f"passes None by, but with weight decay or momentum moves a parameter whose gradient is 0."
                )
                wrong = (
                    Wrong("0", "no gradient is a gradient of 0", says),
                    Wrong(
                        "1",
                        "every leaf gets a gradient",
                        f"The result does not depend on {node.label} along any edge that gradients go.",
                    ),
                )
                yield Decision(
                    "then",
                    "grad",
                    node.id,
                    last,
                    f"The pass is over. What is `{node.label}.grad`?",
                    "choice",
                    "None",
                    f"None: nothing came to {node.label}.",
                    (("None", "None"), ("0", "0"), ("1", "another number")),
                    wrong,
                    hint=f"Is there a way from the result to {node.label}?",
                )
        yield from self._not_kept(last)

    def _not_kept(self, last: int) -> Iterator[Decision]:
        """Add the decision about a result that is not a leaf and whose gradient was passed on."""
        roots = {root for begun in self.trace.passes for root in begun.roots}
        sent = {f.node for f in self.machine.frames if f.event == "contribution"} - roots
        kept = next(
            (n for n in self.trace.nodes if n.id in sent and n.grad is None and n.name), None
        )
        if (
            "left" in self.kinds
            and kept is not None
            and self.right.arrived.get(kept.id) is not None
        ):
            came = words(self.right.arrived.get(kept.id))
            says = (
                f"{came} came to {kept.label} and was sent on; only leaves keep theirs. retain_grad() "
                f"asks for it, and costs a tensor for each node that does."
            )
            yield Decision(
                "then",
                "next",
                kept.id,
                last,
                f"The pass is over. What is `{kept.label}.grad`?",
                "choice",
                "None",
                f"None: {kept.label} is no leaf, and nobody asked for retain_grad().",
                (("None", "None"), ("came", came), ("0", "0")),
                (
                    Wrong("came", "every node keeps its .grad", says),
                    Wrong(
                        "0",
                        "no gradient is a gradient of 0",
                        f"0 would be a number that came. {says}",
                    ),
                ),
                hint="Is it a leaf?",
            )

    def _raises(self, frame: Frame) -> Iterator[Decision]:
        """Add the decision which node raises in the last pass, if one does."""
        if not self.raises or frame.run != self.trace.passes[-1].run:
            return
        order = [
            n
            for n in self.trace.nodes
            if n.requires_grad and n.kind == "op" and n.id in self._reached(frame.run)
        ]
        failed = next(
            (f for f in self.machine.frames if f.run == frame.run and f.event == "error"), None
        )
        choices = (*((n.id, n.label) for n in order), ("none", "none: it runs"))
        wrong = []
        for node in order:
            if failed is None or node.id != failed.node:
                wrong.append(
                    Wrong(
                        node.id,
                        "any change, or any second pass, raises",
                        self._needs_nothing(node, failed),
                    )
                )
        if failed is not None:
            wrong.append(
                Wrong(
                    "none",
                    "nothing is checked",
                    (
                        f"{self._label(failed.node)} saved something for backward that is gone or changed by now. "
                        f"To go on with it would give a wrong gradient, so PyTorch raises."
                    ),
                )
            )
        again = "again" if frame.run > 1 else ""
        said = (
            "Nobody raises: nothing that is needed was changed or freed."
            if failed is None
            else f"{self._label(failed.node)} raises: {failed.text.split(': ', 2)[-1]}"
        )
        yield Decision(
            "who",
            "next",
            self.trace.frames[frame.index - 1].node,
            frame.index,
            f"`backward()` is called {again}".rstrip() + ". Which node raises an error, if any?",
            "node",
            failed.node if failed else "none",
            said,
            choices,
            tuple(wrong),
            hint="Which nodes saved something, and what became of it since?",
        )

    def _reached(self, run: int) -> set[str]:
        found = {f.node for f in self.machine.frames if f.run == run} | {
            f.receiver or "" for f in self.machine.frames if f.run == run
        }
        return found | {
            edge.parent
            for node in found
            for edge in self.machine.into.get(node, [])
            if edge.differentiable
        }

    def _needs_nothing(self, node: Node, failed: Frame | None) -> str:
        saved = [s.name for s in self.trace.saved if s.node == node.id]
        if not saved:
            return (
                f"{node.label} saved nothing: its rule needs no value, so nothing can be missing."
            )
        if failed is not None and node.id > failed.node:
            return f"{node.label} runs: what it saved ({', '.join(saved)}) is as it was."
        if failed is not None:
            return f"The pass does not come to {node.label}: it ends before, at {self._label(failed.node)}."
        return (
            f"{node.label} runs: what it saved ({', '.join(saved)}) is as it was when it was saved."
        )
