"""Record what changes a leaf or its gradient between two passes: an optimizer's step, `zero_grad()`, in-place
operations, and assignments to `.data` and `.grad`. They are not part of a graph: the changed tensor is a new leaf in
the trace, joined to the old one by edges with `update`, along which no gradient flows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from .captions import formulas
from . import iterations, names, optimizers
from .drafts import Draft
from .iterations import Mark
from .captions.labels import Book
from .model import Group
from .captions.terms import Line, Term, constant, named
from .values import Copy, Value, rounded_up, short

if TYPE_CHECKING:
    from .build import Builder


@dataclass(slots=True)
class Step:
    """One call of an optimizer's `step()`: the learner's text, the optimizer's type, and the ids of its updates."""

    call: str
    type: str
    nodes: list[str] = field(default_factory=list)
    idle: int = 0  # of a step that changed nothing: its parameters, all without a gradient,
    left_out: tuple[str, ...] = ()  # and the leaves with a gradient, which are not in the optimizer


@dataclass(slots=True)
class _Change:
    """What is known about an update before the trace is finished."""

    optimizer: type
    call: str
    facts: optimizers.Facts
    before: Copy | None
    after: Copy | None


class Updates:
    """The part of a recording for updates; `Recording` forwards the events of `engine.observe.Observer`."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.film = builder, builder.film
        self.steps: list[Step] = []
        self.clearing = ""  # the running zero_grad() call
        self._depth = 0
        # of this step: a parameter group and its settings
        self._group: tuple[Any, dict[str, Any]] = None, {}
        # of the parameters that the step is changing
        self._before: dict[int, tuple[str, Copy | None, optimizers.Facts]] = {}
        self._changes: dict[str, _Change] = {}

    # -- optimizers --------------------------------------------------------------------------------
    @property
    def stepping(self) -> bool:
        return self._depth > 0

    def step(self, optimizer: Any, over: bool, frame: FrameType | None) -> None:
        self._depth += -1 if over else 1
        self._group = None, {}
        if self._depth == 1 and not over:
            self.film.check_grads()
            kind = type(optimizer).__name__
            self.steps.append(Step(f"{called(optimizer, frame)}.step()", kind))
        elif self._depth == 0 and not self.steps[-1].nodes:
            mine = [p for group in optimizer.param_groups for p in group["params"]]
            if all(parameter.grad is None for parameter in mine):
                others = map(self.builder.by_tensor.get, self.film.leaves(True))
                self.steps[-1].idle, self.steps[-1].left_out = len(mine), tuple(others)

    def idle(self, book: Book) -> str:
        """Return the sentences about optimizers' steps that changed nothing."""
        calls = dict.fromkeys(step.call for step in self.steps)
        alike = ([step for step in self.steps if step.call == call] for call in calls)
        return " ".join(filter(None, (_idle_words(steps, book) for steps in alike)))

    def update(self, optimizer: Any, group: dict[str, Any], parameter: Any, over: bool) -> None:
        if not over:
            if group is not self._group[0]:
                self._group = group, _settings_of(group)
            facts = optimizers.Facts("", self._group[1])
            self._look(optimizer, parameter, facts, False)
            leaf = self.builder.leaf(parameter)
            self._before[id(parameter)] = leaf, _copied(self.builder.draft(leaf)), facts
        elif id(parameter) in self._before:
            before, copy, facts = self._before.pop(id(parameter))
            self._look(optimizer, parameter, facts, True)
            self._changed_by(type(optimizer), before, copy, parameter, facts)

    def moved(self, optimizer: type, leaf: Any) -> None:
        """Note that an optimizer of unknown arithmetic changed a parameter by an in-place operation."""
        before = self.builder.by_tensor.get(leaf)
        if not self._before and before is not None:
            self._changed_by(optimizer, before, None, leaf, optimizers.Facts("", {}))

    def _changed_by(
        self,
        optimizer: type,
        before: str,
        copy: Copy | None,
        parameter: Any,
        facts: optimizers.Facts,
    ) -> None:
        builder = self.builder
        known = builder.facts(parameter) | {"value": builder.value_of(parameter)}
        draft = builder.add(
            "update", op=optimizer.__name__, operands={"self": (before, 0)}, **known
        )
        builder.edge(before, 0, draft.id, 0, differentiable=False, update=True)
        call = self.steps[-1].call if self.steps else ""
        self._changes[draft.id] = _Change(optimizer, call, facts, copy, _copied(draft))
        if self.steps:
            self.steps[-1].nodes.append(draft.id)
        self.after(parameter, before, draft.id, known=known)

    def _look(self, optimizer: Any, parameter: Any, facts: optimizers.Facts, is_over: bool) -> None:
        """Note the value, gradient and state of a parameter of one number, before or after the step."""
        if not is_over:
            state = optimizer.state.get(parameter, {})
            facts.kept = frozenset([name for name, value in state.items() if value is not None])
        if parameter.numel() != 1:
            return
        number = optimizers.number
        found = {k: number(v) for k, v in optimizer.state.get(parameter, {}).items()}
        numbers = {k: float(v) for k, v in found.items() if isinstance(v, (int, float))}
        if is_over:
            facts.after, facts.state_after = float(number(parameter)), numbers
            return
        facts.before, facts.state_before = float(number(parameter)), numbers
        facts.grad = None if parameter.grad is None else float(number(parameter.grad))

    # -- changed tensors ---------------------------------------------------------------------------
    def after(
        self, tensor: Any, before: str, by: str, op: str = "", known: dict[str, Any] | None = None
    ) -> Draft:
        """Return the new leaf for `tensor`, which `by` changed; `before` is its old node. `known`: its value and facts,
        if already read."""
        builder = self.builder
        if known is None:
            known = builder.facts(tensor) | {"value": builder.value_of(tensor)}
        draft = builder.add(
            "leaf",
            op=op,
            name=builder.draft(before).name,
            requires_grad=True,
            parameter=builder.draft(before).parameter,
            tensor=builder.by_tensor.hold(tensor),
            **known,
        )
        builder._register(tensor, draft)
        builder.edge(by, 0, draft.id, 0, differentiable=False, update=True)
        self.film.changed(by if builder.draft(by).kind == "update" else draft.id, draft, before)
        return draft

    def owner(self, tensor: Any) -> Any:
        """Return the known leaf whose memory `tensor` shares, as `w.data` and `w[0]` do; None if there is none."""
        shares = self.builder.reader.sharing(tensor)
        return next(
            (leaf for leaf in self.film.leaves() if leaf is not tensor and shares(leaf)), None
        )

    def partly(self, leaf: Any, draft: Draft) -> None:
        """Note that `draft` changed a view of a leaf in place."""
        before = self.builder.by_tensor.get(leaf)
        changed = self.after(leaf, before, before, op=draft.op)
        changed.source = draft.source
        self.builder.edge(draft.id, 0, changed.id, 1, differentiable=False)
        changed.operands = {"self": (before, 0), "view": (draft.id, 0)}

    def data_set(self, leaf: Any, value: Any, source: Any) -> None:
        before = self.builder.by_tensor.get(leaf)
        if before is None or self.builder.draft(before).kind != "leaf":
            return
        given = self.builder.find(value)
        changed = self.after(leaf, before, before, op="set_data")
        changed.source, changed.operands = source, {"self": (before, 0)}
        if given is not None:
            self.builder.edge(given, 0, changed.id, 1, differentiable=False)
            changed.operands["data"] = given, 0

    # -- gradients ---------------------------------------------------------------------------------
    def zero_grad(self, owner: Any, over: bool, frame: FrameType | None) -> None:
        if over:
            self.film.check_grads(self.clearing)
            self.clearing = ""
        else:
            self.film.check_grads()
            self.clearing = f"{called(owner, frame)}.zero_grad()"

    def grad_set(self, tensor: Any) -> None:
        leaf = self.builder.by_tensor.get(tensor)
        if leaf is not None and not self.clearing and not self.film.running:
            self.film.check_grad(leaf)

    def grad_changed(self, grad: Any) -> None:
        """Note an in-place change of a tensor that may be some leaf's `.grad`."""
        for leaf in self.film.leaves(True) if not self.clearing and not self.film.running else ():
            if self.builder.reader.grad(leaf) is grad:
                self.film.check_grad(self.builder.by_tensor.get(leaf))

    # -- the result --------------------------------------------------------------------------------
    def share_names(self) -> None:
        """Give all nodes of a changed tensor the same name, whichever node the name was found for."""
        pairs = [(e.parent, e.child) for e in self.builder.edges if e.update]
        for step in (pairs, [(b, a) for a, b in reversed(pairs)]):
            for origin, other in step:
                if self.builder.draft(origin).name and not self.builder.draft(other).name:
                    self.builder.draft(other).name = self.builder.draft(origin).name
        for draft in self.builder.nodes:
            if draft.kind == "update":
                # a name handed on from another tensor: now the tensor's new node has it
                draft.name = ""

    def groups(self, groups: tuple[Group, ...], marks: list[Mark], book: Book) -> tuple[Group, ...]:
        """Return the groups of the modules together with those of steps and iterations."""
        steps = [
            Group(f"s{i}", step.call, step.type, tuple(step.nodes), kind="step")
            for i, step in enumerate(self.steps)
            if step.nodes
        ]
        members = [d.id for d in self.builder.nodes if d.kind in ("op", "update")]
        found = [self._iteration(marks, a, b, book) for a, b in iterations.found(marks)]
        if not steps and not found:
            return groups
        counts: dict[tuple[str | None, str], int] = {}
        calls: dict[str, int] = {}
        made = iterations.around((*groups, *steps), found, members)
        for group in made:
            key = group.parent, group.path
            calls[group.id] = counts[key] = counts.get(key, 0) + 1
        rounds = {g.id for g in made if g.kind == "iteration"}
        return tuple(
            replace(g, call=calls[g.id]) if g.kind == "step" or g.parent in rounds else g
            for g in made
        )

    def _iteration(
        self, marks: list[Mark], start: int, end: int, book: Book
    ) -> iterations.Iteration:
        words = ""
        for mark in marks[start:end]:
            if mark.kind == "backward":
                seed = next((s for s in self.film.shots[mark.shot :] if s.event == "seed"), None)
                root = None if seed is None else self.builder.draft(seed.node)
                if root is not None and root.value is not None and root.shape == ():
                    words = f"{root.name or book.names[root.id]}{root.value.said}"
        after = marks[end].node if end < len(marks) else len(self.builder.nodes)
        return iterations.Iteration(marks[start].node, after, words)

    def describe(self, draft: Draft, book: Book) -> dict[str, Any] | None:
        """Return `Node.update` of an update."""
        change = self._changes.get(draft.id)
        if change is None:
            return self._in_place(draft, book) if draft.kind == "leaf" and draft.op else None
        before = self.builder.draft(draft.operands["self"][0])
        change.facts.name = before.name or book.names[before.id]
        lines = optimizers.lines(change.optimizer, change.facts) if self.builder.formulas else []
        return {
            "call": change.call,
            "optimizer": change.optimizer.__name__,
            "name": change.facts.name,
            "settings": optimizers.settings(change.facts.settings),
            "lines": [line.to_json() for line in lines],
            "change": _change(before.value, draft.value, _moved(change.before, change.after)),
        }

    def _in_place(self, draft: Draft, book: Book) -> dict[str, Any]:
        """Return `Node.update` of a leaf that an in-place operation changed."""
        origin = self.builder.draft(draft.operands["self"][0])
        name, sign = draft.name or book.names[origin.id], _SIGNS.get(draft.op)
        found: dict[str, Any] = {
            "call": "in place",
            "optimizer": draft.op,
            "name": name,
            "settings": {},
            "lines": [],
        }
        other = draft.operands.get("other")
        if sign is not None and other is not None and self.builder.formulas:
            amount = named(book.label(*other), _single(book.value(*other)))
            factor = draft.attrs.get("alpha", 1)
            amount = amount if factor == 1 else constant(float(factor)) * amount
            term = sign(named(name, _single(origin.value)), amount)
            found["lines"] = [
                Line(name, formulas.symbol(name), term, _single(draft.value)).to_json()
            ]
        return found | {"change": _change(origin.value, draft.value, None)}


def _idle_words(steps: list[Step], book: Book) -> str:
    """Return the sentences about the idle ones among the steps of one call; "" if there are none."""
    empty = [step for step in steps if step.idle]
    if not empty:
        return ""
    often = "" if len(empty) == len(steps) else f" in {len(empty)} of {len(steps)} calls"
    count = empty[-1].idle
    none = "its parameter had no" if count == 1 else f"none of its {count} parameters had a"
    names_ = ", ".join(dict.fromkeys(book.names[leaf] for step in empty for leaf in step.left_out))
    others = f" Not in this optimizer, although they have a gradient: {names_}." if names_ else ""
    return f"{empty[0].call} changed nothing{often}, because {none} gradient.{others}"


_SIGNS: dict[str, Callable[[Term, Term], Term]] = {
    "add_": operator.add,
    "sub_": operator.sub,
    "mul_": operator.mul,
    "div_": operator.truediv,
}


def _single(value: Value | None) -> float | None:
    data = None if value is None or value.shape != () else value.data
    return float(data) if data is not None else None


def _settings_of(group: dict[str, Any]) -> dict[str, Any]:
    """Return the current settings of a parameter group; a learning rate may be a tensor."""
    found = {}
    for name, item in group.items():
        if name != "params":
            found[name] = item if type(item) in _PLAIN else optimizers.number(item)
    return found


_PLAIN = (bool, int, float, str, tuple, type(None))


def _copied(draft: Draft) -> Copy | None:
    """Return the stored copy of a small value, if its text has not been requested yet."""
    return None if draft.value is None else draft.value.copied


def _moved(before: Copy | None, after: Copy | None) -> float | None:
    """Return the largest change among the numbers of a small parameter."""
    if before is None or after is None or not before.array().size:
        return None
    return float(np.abs(after.array().astype(float) - before.array()).max())


def _change(before: Value | None, after: Value | None, moved: float | None) -> str:
    if before is None or after is None:
        return ""
    if before == after:
        return "nothing moves"
    if max(len(before.text), len(after.text)) <= 40 and after.sample is None:
        return f"from {before.text} to {after.text}"
    return "" if moved is None else f"no number moves by more than {short(rounded_up(moved))}"


def called(owner: Any, frame: FrameType | None) -> str:
    """Return the learner's name for an optimizer or module: a variable, an attribute of `self`; else its type."""
    if frame is not None:
        local = names.local_names(frame)
        for name, item in [*local.items(), *frame.f_globals.items()]:
            if item is owner and not name.startswith("_"):
                return str(name)
        for name, item in (
            vars(local["self"]).items() if hasattr(local.get("self"), "__dict__") else ()
        ):
            if item is owner:
                return f"self.{name}"
    return type(owner).__name__
