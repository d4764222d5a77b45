"""Questions in an explorer: later steps are hidden until the learner has answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets as t

from .. import progress
from ..engine.core.errors import fail
from ..trace import beats, names, reader
from ..trace.questions.asking import question
from .displayed import Displayed

if TYPE_CHECKING:
    from ..trace.layers.folding import Folding
    from ..trace.model import Trace


class Answer:
    """The learner's answer to one question of an explorer; `Explorer.ask` returns it.

    answer  : the latest answer, as it was typed or chosen; "" if there is none.
    right   : whether it is right; None if there is none.
    tries   : number of answers given.
    given_up: whether "Show me" was pressed.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> reply = torch.explore(x * x).ask("x", "grad")
        >>> reply
        Answer to 'What would `x.grad` be after the backward pass?': none yet
        >>> reply.right, reply.tries
        (None, 0)
    """

    def __init__(self, text: str, id: str = "") -> None:
        self.text, self.answer, self.tries, self._id = text, "", 0, id
        self.right: bool | None = None
        self.given_up = False

    def _take(self, reply: Mapping[str, Any]) -> None:
        """Store the page's report about an answer."""
        before = self.tries, self.given_up
        self.answer, self.tries, self.right = (
            str(reply["answer"]),
            int(reply["tries"]),
            reply["right"],
        )
        self.given_up = bool(reply.get("shown"))
        if self._id and before != (self.tries, self.given_up):
            self._keep(str(reply.get("why", "")))

    def _keep(self, why: str) -> None:
        shown = "the answer was shown" if self.given_up else ""
        given, tries = ("", max(1, self.tries)) if self.given_up else (self.answer, self.tries)
        progress.record(
            "ask",
            self._id,
            given=given,
            right=bool(self.right),
            belief=why,
            tries=tries,
            help=shown,
        )

    def __repr__(self) -> str:
        if not self.tries:
            return f"Answer to {self.text!r}: {'given up' if self.given_up else 'none yet'}"
        ended = ", then given up" if self.given_up else ""
        return f"Answer to {self.text!r}: {self.answer!r}, {'right' if self.right else 'wrong'}, tries: {self.tries}{ended}"


class Asking(Displayed):
    """The part of an Explorer that asks questions. The page checks the answers, with a kernel or without.

    questions: the questions as `trace.questions.Question` has them, each with an `id`.
    replies  : id -> {"answer", "right", "tries", "shown", "over"}, as the page writes them.
    asked    : the ids of the open questions, in the order in which they are asked; all frames from the first that gives
        away an answer are hidden.
    """

    questions = t.List(t.Dict()).tag(sync=True)
    replies = t.Dict().tag(sync=True)
    asked = t.Unicode("").tag(sync=True)

    if TYPE_CHECKING:
        trace: Trace
        _folding: Folding
        step: Any
        expanded: Any

    def ask(
        self,
        node: Any,
        kind: str,
        *,
        text: str = "",
        because: Mapping[str, str] | None = None,
        step: int | None = None,
        id: str = "",
    ) -> Answer:
        """Ask the learner a question. Later steps are hidden until the answer is right or "Show me" was pressed.

        node   : a tensor that has a name in your code, or what a node's card shows: a name or an expression ("a * b").
        kind   : "value" or "shape" of a result; "grad": its gradient after a backward pass; "state": the state of its
            gradient then; "next": which operation runs after it.
        text   : the question in your own words, `code` between backquotes; "" for the explorer's.
        because: answer -> one sentence about what is wrong with it, shown instead of the explorer's own.
        step   : ask about the steps after this one, counted from 0; None: after the current step. If nothing follows,
            start from the beginning.
        id     : with a name, the answers are kept in `autolab.progress`.

        Numbers are right within 0.5 %; products, fractions and powers are taken (`2*3*4`). Several questions come in
        the order of the steps that would tell them. Returns an Answer, which tells what the learner did.

        Raises ValueError where there is nothing to ask: no such node, a value that was given, no gradient, more than 16
        numbers, or a graph of 4,000 nodes or more, whose numbers stay in the kernel. TypeError for a `node` that is
        neither tensor nor text.

        Example:

            >>> x = torch.tensor(3., requires_grad=True)
            >>> explorer = torch.explore(x * x)
            >>> reply = explorer.ask(x, "grad")
            >>> explorer.step, reply.answer
            (0, '')
        """
        from .packing import BIG

        if len(self.trace.nodes) >= BIG:
            note = "Ask about a smaller graph: one layer, or one sample."
            raise fail(
                ValueError,
                f"this graph has {len(self.trace.nodes):,} nodes; up to {BIG:,} can be asked about",
                note,
            )
        expressions = beats.Expressions(self.trace, self._titles)
        asked = question(
            self.trace, self._called(node), kind, self.step if step is None else step
        ).to_json()
        asked["id"] = f"q{len(self.questions) + 1}"
        asked["text"] = text or expressions(asked["text"])
        asked["said"] = expressions(asked["said"])
        asked["choices"] = [[value, expressions(words)] for value, words in asked["choices"]]
        # The first match is shown, so the author's sentences come before the explorer's own.
        asked["wrong"] = [
            *([str(given), why] for given, why in (because or {}).items()),
            *([given, expressions(why)] for given, why in asked["wrong"]),
        ]
        reply = Answer(asked["text"], id)
        self._answers[asked["id"]] = reply
        with self.hold_sync():
            self.questions = [*self.questions, asked]
            order = {one["id"]: one["until"] for one in self.questions}
            self.asked = " ".join(sorted([*self.asked.split(), asked["id"]], key=order.__getitem__))
            self.step = min(self.step, asked["until"])
            parts = [
                part for part in self._folding.opening(asked["node"]) if part not in self.expanded
            ]
            if parts:
                self.expanded = [*self.expanded, *parts]
        return reply

    @property
    def _titles(self) -> dict[str, str]:
        """Return what the cards of operations show."""
        shown = beats.Names(self.trace, self._folding)
        return {node.id: shown.title(node.id) for node in self.trace.nodes if node.kind == "op"}

    def _called(self, node: Any) -> str:
        """Return what `question` knows a node by, given anything that identifies the node."""
        if isinstance(node, str):
            if any(node in (n.id, n.label, n.name) for n in self.trace.nodes):
                return node
            written = {_plain(title): node_id for node_id, title in self._titles.items()}
            return written.get(_plain(node), node)
        if not reader.is_tensor(node):
            raise fail(
                TypeError,
                f"node must be a tensor or the name of a node, got {type(node).__name__}",
                _NAMES,
            )
        known = {n.label for n in self.trace.nodes} | {n.name for n in self.trace.nodes}
        for name, tensor in names.tensors(names.namespace(names.caller())):
            if tensor is node and name in known:
                return name
        raise fail(ValueError, "node: this tensor has no name in your code that a node has", _NAMES)

    @property
    def _answers(self) -> dict[str, Answer]:
        return self.__dict__.setdefault("_answers_by_id", {})

    def _ask_nothing(self) -> None:
        """Close all questions, because another trace is shown."""
        self.__dict__.pop("_answers_by_id", None)
        self.questions, self.replies, self.asked = [], {}, ""

    @property
    def _held(self) -> int | None:
        """Return the last step that may be seen while a question is open; None for all."""
        until = [asked["until"] for asked in self.questions if asked["id"] in self.asked.split()]
        return min(until, default=None)

    @t.observe("replies")
    def _replied(self, change: Any) -> None:
        for number, reply in change["new"].items():
            if number in self._answers:
                self._answers[number]._take(reply)


def _plain(expression: str) -> str:
    """Return an expression as it is compared with a card's: "a · b" and "a*b" are the same."""
    return expression.replace("·", "*").replace(" ", "")


_NAMES = 'Write what the node\'s card shows: explorer.ask("loss", "value") or explorer.ask("a * b", "value").'
