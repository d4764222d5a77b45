"""The widget of `practice`: an explorer whose backward pass waits for the learner's decisions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import traitlets as t

from .. import progress
from ..engine.core.errors import fail
from ..trace.model import Trace
from ..trace.records import rough
from ..viz.mime import Bundle, invitation
from ..widgets import assets
from ..widgets.asking import Answer
from ..widgets.explorer import Explorer, as_trace
from .decision import KINDS
from .decisions import Decisions
from .due import due, in_a_row
from .levels import LEVELS, Task, level_of, task

HELP = ("full", "hints", "none")
MOST = 200
"""The largest number of operations in a learner's own graph; nobody answers more than a few hundred
questions."""
MODES = ("backward", "forward")
EVERY = (*KINDS, "free", "left")  # the kinds of decisions for a learner's own graph


@dataclass(frozen=True)
class Result:
    """The result of a practice: how many decisions of each kind were asked, answered, and right at
    the first try without help.

    asked, answered, at_once: by "who", "what", "how", "then" ("value" in forward mode). level: None for a graph of
    one's own.

    Example:

        >>> torch.practice(level=1, seed=1).result
        what: 0 of 3 right at the first try, 3 open
    """

    asked: Mapping[str, int]
    answered: Mapping[str, int]
    at_once: Mapping[str, int]
    level: int | None = None

    @property
    def complete(self) -> bool:
        """Return whether everything was answered."""
        return sum(self.answered.values()) == sum(self.asked.values())

    @property
    def perfect(self) -> bool:
        """Return whether everything was answered, and right at the first try."""
        return sum(self.at_once.values()) == sum(self.asked.values())

    def __repr__(self) -> str:
        parts = [
            f"{kind}: {self.at_once[kind]} of {count} right at the first try"
            for kind, count in self.asked.items()
        ]
        left = sum(self.asked.values()) - sum(self.answered.values())
        return "; ".join(parts) + (f", {left} open" if left else "")


class Practice(Explorer):
    """An explorer that waits for the learner's decisions, as `autolab.practice` returns it.

    result: what was right at the first try. help: "full", "hints" or "none". seed: makes the same graph again, by
    `level` and `seed`.
    program: the code of a level's graph. The page checks answers and carries wrong ones out, with a kernel or without.
    """

    _esm = assets.loader("practice")
    _script = t.Unicode(assets.module("practice")).tag(sync=True)
    practice = t.Dict().tag(
        sync=True
    )  # what the page shows as a whole: title, help, program, gradient descents

    def __init__(self, trace: Trace, decisions: Decisions, facts: Mapping[str, Any]) -> None:
        self._told: dict[str, int] = {}
        super().__init__(_plain(trace) if decisions.raises else trace)
        self._ask(decisions, facts)

    def _ask(self, decisions: Decisions, facts: Mapping[str, Any]) -> None:
        self._facts, self._told = dict(facts), {}
        asked = [one.to_json(i) for i, one in enumerate(decisions.found)]
        # Parts of a dry run or a network may be folded, but the nodes in question must be visible.
        opened = {part for one in asked for part in self._folding.opening(one["node"])}
        with self.hold_sync():
            self.practice = {**facts, "walks": decisions.walks()}
            self.replies, self.questions = {}, asked
            self.asked = " ".join(one["id"] for one in asked)
            self.step = asked[0]["until"]
            if opened - set(self.expanded):
                self.expanded = [*self.expanded, *sorted(opened - set(self.expanded))]

    @property
    def program(self) -> str:
        """Return the code of a level's graph, or "" for the learner's own graph."""
        return str(self._facts.get("program", ""))

    @property
    def help(self) -> str:
        """Return how much help there is: "full", "hints" or "none"."""
        return str(self._facts["help"])

    @property
    def seed(self) -> int | None:
        """Return the seed that draws this graph again, or None for the learner's own graph."""
        return self._facts.get("seed")

    @property
    def result(self) -> Result:
        """Return the numbers of decisions asked, answered, and right at the first try."""
        counts: dict[str, dict[str, int]] = {"asked": {}, "answered": {}, "at_once": {}}
        for one in self.questions:
            reply, kind = self.replies.get(one["id"], {}), one["decision"]
            over = bool(reply.get("over"))
            for name, yes in (
                ("asked", True),
                ("answered", over),
                ("at_once", over and _at_once(reply)),
            ):
                counts[name][kind] = counts[name].get(kind, 0) + yes
        return Result(**counts, level=self._facts["level"])

    def ask(self, *args: Any, **options: Any) -> Answer:
        """Raise TypeError, because a practice asks its own questions; use
        `autolab.explore(...).ask(...)`."""
        raise fail(
            TypeError,
            "a practice asks its own questions, so it has no ask()",
            "To ask a question of your own, use autolab.explore(loss).ask(...).",
        )

    def another(self, seed: int | None = None, level: int | None = None) -> None:
        """Show another graph of the same level in the same place, with the current amount of help.

        seed: as for `practice`. level: of another one. Raises TypeError for a graph of one's own.
        """
        if self._facts["level"] is None:
            raise fail(
                TypeError,
                "a graph of your own has no level to draw another from",
                "practice(level=…) has.",
            )
        number = self._facts["level"] if level is None else level_of(level).number
        drawn, facts = _of_level(number, None, self._facts["mode"], seed)
        self.show(_plain(drawn.trace) if drawn.asked.raises else drawn.trace)
        self._ask(drawn.asked, facts)

    @t.observe("replies")
    def _keep_replies(self, change: Any) -> None:
        """Record the answers that the page reports: each try, and the graph when it is finished."""
        name, new = self._facts["level"] or "own graph", change["new"]
        for one in self.questions:
            reply = new.get(one["id"])
            key = (reply or {}).get("tries", 0) + bool((reply or {}).get("shown"))
            if reply is None or self._told.get(one["id"], 0) >= key:
                continue
            self._told[one["id"]] = key
            shown = bool(reply.get("shown"))
            progress.record(
                "practice",
                f"{name}.{one['decision']}",
                given=None if shown else reply.get("answer"),
                right=False if shown else bool(reply["right"]),
                belief=str(reply.get("belief", "")),
                tries=max(1, int(reply.get("tries", 1))),
                help="shown" if shown else str(reply.get("help", "")),
                seconds=reply.get("seconds"),
            )
        if new and self.result.complete and "all" not in self._told:
            self._told["all"] = 1
            mode = _suffix(self._facts["mode"])
            progress.record(
                "practice",
                f"{name}{mode}",
                given=self.seed,
                right=self.result.perfect,
                help=self.help,
            )
            if self._facts["level"] is not None and not mode:
                self.practice = {
                    **self.practice,
                    "yours": in_a_row(self._facts["level"]),
                    "next": due().level,
                }

    def _on_message(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("kind") == "another":
            self.another(level=content.get("level"))
        else:
            super()._on_message(widget, content, buffers)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0].pop("image/svg+xml", None)  # the static picture would show every answer
            bundle[0]["text/plain"] = invitation(f"{self!r} waits for you at every decision")
        return bundle

    def __repr__(self) -> str:
        what = (
            f"level {self._facts['level']}, {self._facts['title']}"
            if self._facts["level"]
            else "your graph"
        )
        return f"Practice({what}: {self.result})"


def _at_once(reply: Mapping[str, Any]) -> bool:
    return bool(reply["right"]) and reply["tries"] == 1 and not reply.get("shown")


NOTHING: Any = object()  # the argument `loss` was not given


def _check_size(trace: Trace) -> None:
    """Raise ValueError for a graph that is too large: the time to find its questions grows with the
    square of its size."""
    count = sum(node.kind == "op" for node in rough(trace.nodes))
    if count > MOST:
        raise fail(
            ValueError,
            f"loss: this graph has {count:,} operations; practice asks about at most {MOST}",
            "Practice with a smaller piece, such as one step or one layer. autolab.explore(loss) shows all of it.",
        )


def practice(
    loss: Any = NOTHING,
    params: Mapping[str, Any] | None = None,
    *,
    level: int | None = None,
    help: str | None = None,
    mode: str = "backward",
    seed: int | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Practice:
    """Be the engine: the backward pass of a graph waits for you at every decision.

    Which node may run, what it sends along an edge, what becomes of it where it arrives, what is left afterwards. A
    wrong answer is carried out, beside the right run, with the belief that leads there; then you may go back.

    loss: a result of autolab or of PyTorch, a recording, or a Trace. params, namespace: as for `autolab.explore`.
    level: instead of a loss, 1 to 12: a graph with fresh numbers; `print(autolab.practice)` lists what each trains.
        Neither: the level whose turn it is by your progress: one that was yours a day ago (then two days ago, four, …),
        else the one you have begun, else the next.
    help: "full" (rules, formulas to choose from), "hints" (when asked for) or "none"; None: full, and less with each
        graph of the level that was right at the first try. mode: "backward", or "forward": values are asked, not
        gradients. seed: a whole number draws the same graph each time.

    Answers are kept in `autolab.progress`; three graphs in a row that were right at the first try make a level yours.

    Raises ValueError for arguments that there are not, for both `loss` and `level`, for a `loss` that is None, for a
    graph in which there is nothing to decide, and for one of more than 200 operations.

    Example:

        >>> game = torch.practice(level=5, seed=1)
        >>> game.result.asked
        {'who': 3, 'how': 4, 'what': 4}
        >>> x = torch.tensor(3., requires_grad=True)
        >>> torch.practice(x * x + x).result.complete
        False
    """
    _check(loss, level, help, mode, seed)
    if loss is NOTHING:
        turn = due() if level is None else None
        drawn, facts = _of_level(turn.level if turn else level_of(level).number, help, mode, seed)
        return Practice(drawn.trace, drawn.asked, facts | {"why": turn.why if turn else ""})
    trace = as_trace(loss, params, namespace=namespace, called="loss")
    _check_size(trace)
    decisions = Decisions(trace, ("value",) if mode == "forward" else EVERY)
    if not decisions.all():
        raise fail(
            ValueError,
            f"loss: there is nothing to decide in this graph, {mode}",
            trace.meta.get("why") or "It needs an operation and a leaf that requires grad.",
        )
    facts = {
        "title": "your graph",
        "level": None,
        "trains": "",
        "help": help or "full",
        "mode": mode,
        "program": "",
        "seed": None,
    }
    return Practice(trace, decisions, facts)


def _check(loss: Any, level: Any, help: Any, mode: Any, seed: Any) -> None:
    """Raise ValueError for arguments that `practice` does not accept."""
    if help is not None and help not in HELP:
        raise fail(
            ValueError,
            f"help should be one of {', '.join(HELP)}, or None, but is {help!r}",
            "None gives less help after each graph that was answered correctly.",
        )
    if mode not in MODES:
        raise fail(
            ValueError,
            f"mode should be one of {', '.join(MODES)}, but is {mode!r}",
            '"forward" asks for values, "backward" for the decisions of the backward pass.',
        )
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise fail(
            ValueError,
            f"seed should be a whole number or None, but is {seed!r}",
            "None draws a new graph each time.",
        )
    if loss is None or (loss is not NOTHING and level is not None):
        raise fail(
            ValueError,
            "loss should be a result, but is None"
            if loss is None
            else "one of loss and level should be given, got both",
            "practice(loss) is for your own graph, practice(level=1) draws one, practice() draws what is due.",
        )


def _of_level(
    number: int, help: str | None, mode: str, seed: int | None
) -> tuple[Task, dict[str, Any]]:
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    drawn, level, row = (
        task(number, chosen, mode == "forward"),
        LEVELS[number],
        in_a_row(number, _suffix(mode)),
    )
    due = help or HELP[min(row, len(HELP) - 1)]
    facts = {
        "title": level.title,
        "level": number,
        "trains": level.trains,
        "help": due,
        "mode": mode,
        "program": drawn.program,
        "seed": chosen,
    }
    return drawn, facts


def _suffix(mode: str) -> str:
    """Return the suffix of a finished graph's id in the progress file."""
    return " forward" if mode == "forward" else ""


def _plain(trace: Trace) -> Trace:
    """Return the trace without the information which node raises."""
    nodes = tuple(replace(node, error="", mark="") for node in trace.nodes)
    saved = tuple(
        replace(one, state="alive" if one.state == "modified" else one.state) for one in trace.saved
    )
    return replace(
        trace, nodes=nodes, saved=saved, meta=trace.meta | {"error": None, "failures": {}}
    )
