"""The frames of a trace: record each step while it happens, and write its sentence at the end."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.core.observe import Observer
from . import passes
from .captions import sentences
from .guard import attempt
from .model import Edge, Frame, Node, Pass
from .passes import Plan
from .records import Records
from .values import Value

if TYPE_CHECKING:
    from .build import Builder
    from .captions import labels
    from .drafts import Draft


OF_TOTAL = "of its total"
"""The state of a shot whose total tells whether it is zero, once the trace is made."""


@dataclass(slots=True)
class Shot:
    """An unfinished frame. Its texts and formulas are added last, when every node has its label."""

    phase: str
    event: str
    run: int = 0
    node: str = ""
    edge: str | None = None
    receiver: str | None = None
    state: Any = ""
    value: Value | None = None
    total: Value | None = None
    upstream: Value | None = None  # the gradient that the node's rule was applied to
    # which contribution to the receiver's result `nr` this is in its run, counted from 1
    part: int = 0
    # information that only the event has: an error's message, the names of freed values
    note: str = ""
    dropped: tuple[str, ...] = ()  # nodes whose gradient has been freed by now
    hooked: bool = False  # whether hooks changed what the node sends
    name: str = ""  # of a gradient that was returned
    nr: int = 0  # the receiver's result that the gradient belongs to
    index: int = 0  # filled in at the end


class Film(Observer):
    """Record frames. The backward events are those of `engine.observe.Observer`, sent by the engine or by a replay.

    rehearsal: the events come from a replay that frees nothing, so frames say what backward() would free."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self._reader = builder, builder.reader
        self.shots: list[Shot] = []
        self.rehearsal = False
        self.exchanged = False  # whether a rule of the engine was replaced (a specimen)
        self.run = 0
        self.running = False
        self.plans: list[Plan] = []  # of all passes so far
        self.is_lost = False  # whether recording of the current pass was given up
        self._start = 0  # number of shots before the current pass
        self._inner = 0  # number of passes running inside this one: in a hook or a checkpoint
        self._returning = False  # grad() has its gradients but has not returned them yet
        self._at = ""  # the node whose rule is running
        self._fn: Any = None  # the engine's node with that id
        self._upstream: Value | None = None
        self._arrived: Any = None  # the array of its gradient, for the node's first result
        # The gradient so far in this run and its value, per node and output.
        self._sums: dict[tuple[str, int], tuple[Any, Value | None]] = {}
        self._last: dict[
            str, dict[int, int]
        ] = {}  # receiver -> its result -> the latest contribution frame of this run
        self._parts: dict[tuple[str, int], int] = {}
        self._owner: dict[
            int, str
        ] = {}  # leaf tensor (by id) -> the leaf's node that this run's gradient belongs to
        self._grads: dict[str, Value | None] = {}  # leaf -> the `.grad` it had when last checked
        self._latest: dict[
            str, None
        ] = {}  # leaves of these that certainly, and others that possibly, have not changed since
        self._to_free: Any = None
        self._done = ""  # the node whose rule ran last, while its contributions are being recorded
        self._dropped: tuple[str, ...] = ()  # finished nodes that the next frame reports

    # -- forward -----------------------------------------------------------------------------------
    def computed(self, draft: Draft, note: str = "") -> None:
        self.shots.append(Shot("forward", "compute", node=draft.id, value=draft.value, note=note))
        self.builder.pictures.computed(draft)

    def forward(self, *args: Any, **kwargs: Any) -> None:
        """Ignore forward events: a custom function's operations during a backward pass are not part of the displayed
        graph."""

    def broke(self, node_id: str, message: str, phase: str = "forward") -> None:
        """Record an error outside a recorded pass: of the operation of that node, ("") of the learner's own code, or
        ("backward") of a pass that could not begin or is unknown."""
        self.shots.append(Shot(phase, "error", node=node_id, note=message))

    def leaf_added(self, draft: Draft) -> None:
        self._grads[draft.id] = draft.grad_before
        self._latest[draft.id] = None

    # -- between passes ----------------------------------------------------------------------------
    def changed(self, by: str, leaf: Draft, before: str = "") -> None:
        """Record that the leaf of node `before` was changed and is now `leaf`; its `.grad` is unchanged."""
        grad = self._grad_of(leaf.held(), self._grads.get(before))
        self._grads[leaf.id] = grad
        self._latest[leaf.id] = None
        state = "none" if grad is None else OF_TOTAL
        told = None, leaf.id, state, leaf.value, grad
        self.shots.append(Shot("update", "update", self.run, by, *told))

    def leaves(self, with_grad: bool = False) -> list[Any]:
        """Return the tensors that are leaves now, each once. `with_grad`: only those whose `.grad` was recorded."""
        return [
            tensor
            for leaf, tensor in self._leaves_now()
            if not with_grad or self._grads[leaf] is not None
        ]

    def _leaves_now(self) -> list[tuple[str, Any]]:
        """Yield (node, tensor) of every leaf that still exists."""
        nodes, now = self.builder.nodes, self.builder.by_tensor.get
        held = [(leaf, nodes[int(leaf[1:])].tensor()) for leaf in self._latest]
        latest = [(leaf, item) for leaf, item in held if item is not None and now(item) == leaf]
        if len(latest) < len(held):
            self._latest = dict.fromkeys([leaf for leaf, _ in latest])
        return latest

    def check_grads(self, note: str = "") -> None:
        """Record every leaf's `.grad` that was reset or replaced since the last check; `note`: by which call."""
        for leaf, tensor in self._leaves_now():
            self._check_grad(leaf, tensor, note)

    def check_grad(self, leaf: str, note: str = "") -> None:
        """Record the `.grad` of one leaf if it was reset or replaced since the last check."""
        tensor = self.builder.draft(leaf).held()
        if tensor is not None and self.builder.by_tensor.get(tensor) == leaf:
            self._check_grad(leaf, tensor, note)

    def _check_grad(self, leaf: str, tensor: Any, note: str) -> None:
        before = self._grads.get(leaf)
        now = self._grad_of(tensor, before)
        if now is not before and (now is None or not now.is_same(before)):
            self._grads[leaf] = now
            shot = Shot("update", "clear", self.run, leaf, receiver=leaf, value=before, total=now)
            shot.state, shot.note = "none" if now is None else OF_TOTAL, note
            self.shots.append(shot)

    def _grad_of(self, tensor: Any, known: Value | None = None) -> Value | None:
        """Return the `.grad` of a leaf; `known`: its value at the last check."""
        grad = self._reader.grad(tensor)
        if grad is None or known is not None and self._reader.shows(known, grad):
            return None if grad is None else known
        return self.builder.value_of(grad)

    def last_grad(self, leaf: str) -> Value | None:
        """Return the `.grad` that a leaf had at the last check."""
        return self._grads.get(leaf)

    # -- backward: events --------------------------------------------------------------------------
    def backward_begin(self, roots: Any, nodes: Any, wanted: Any, returns: bool) -> None:
        if self.running:
            self._inner += 1
        else:
            self._begin()
        leaves = {n for n in nodes if hasattr(n, "variable")}
        inner = [n for n in nodes if n not in leaves] if leaves else nodes
        self.builder.graph([*(root for root, _ in roots if not hasattr(root, "variable")), *inner])
        plan = self.plans[-1] if self._inner else Plan(self.run, 0, set(), returns=returns)
        for node in inner:
            child = self.builder.by_fn.get(node)
            plan.nodes.add(child)
            for slot, (target, _) in enumerate(node.next_functions):
                if target in leaves:
                    wants = target.variable.requires_grad
                    (plan.nodes if wants else plan.frozen).add(self._receiver(child, slot, target))
        started = [self._node_id(root) for root, _ in roots]
        if not self._inner:
            plan.roots = list(dict.fromkeys(started))
            if wanted is not None:
                plan.asked = tuple(sorted(map(self._node_id, wanted), key=lambda n: int(n[1:])))
            self.plans.append(plan)
            self._returning = returns
        plan.nodes.update(n for n, (root, _) in zip(started, roots) if root in nodes)
        plan.known = len(self.builder.nodes)

    def seed(self, node: Any, output_nr: int, grad: Any) -> None:
        grad = self._reader.arriving(grad)
        receiver = self._node_id(node)
        value, total = self._add(receiver, output_nr, grad)
        self._await(receiver, output_nr)
        self._shoot("seed", receiver, receiver, "contribution", value, total, output_nr)

    def before_node(self, node: Any, grads: tuple[Any, ...]) -> None:
        grads = tuple(map(self._reader.arriving, grads))
        self._free_rehearsed()
        self._drop_done()
        node_id = self._node_id(node)
        self._fn, self._at = node, node_id
        self._complete(node_id)
        self._arrived, self._upstream, known = grads[0], None, None
        if self.builder.pictures.layers:
            self.builder.pictures.arrived(node_id, grads, self.run)
        for nr, grad in enumerate(grads):
            arrived, known = self._sums.pop((node_id, nr), (None, None))
            if grad is not None and arrived is not None and not self._reader.same(arrived, grad):
                before, known = known, self._value(grad)
                self._shoot(self._changed_by(node), node_id, node_id, OF_TOTAL, before, known, nr)
        if len(grads) == 1:
            self._upstream = self._value(grads[0]) if known is None else known

    def contribution(self, node: Any, slot: int, target: Any, target_nr: int, grad: Any) -> None:
        builder, grad = self.builder, self._reader.arriving(grad)
        child = self._at if node is self._fn else self._node_id(node)
        edge = builder.edge_at(child, slot)
        if builder.pictures.layers:
            builder.pictures.contribution(builder.draft(child), slot, grad, self.run)
        receiver = self._node_id(target) if edge is None else edge.parent
        if hasattr(target, "variable"):
            self._own(target.variable, receiver)
        value, total = self._add(receiver, target_nr, grad)
        part = self._parts[receiver, target_nr] = self._parts.get((receiver, target_nr), 0) + 1
        frozen = receiver in self.plans[-1].frozen
        if not frozen:
            self._await(receiver, target_nr)
        self._shoot(
            "contribution",
            child,
            receiver,
            "never" if frozen else "contribution",
            value,
            None if frozen else total,
            target_nr,
            edge=None if edge is None else edge.id,
            upstream=self._upstream,
            hooked=self._reader.sends_through_hooks(node),
            part=part,
        )

    def _own(self, tensor: Any, leaf: str) -> None:
        """Note that `leaf` gets a part of the gradient of `tensor`, which was another leaf before or after an in-place
        change."""
        before, self._owner[id(tensor)] = self._owner.get(id(tensor), leaf), leaf
        if before != leaf:
            for kept in (self._sums, self._parts):
                if (before, 0) in kept:
                    kept[leaf, 0] = kept.pop((before, 0))  # type: ignore[assignment]

    def after_node(self, node: Any, grad_inputs: tuple[Any, ...]) -> None:
        if self.rehearsal:
            self._to_free = node
        node_id = self._node_id(node)
        keeps = self._keeps_grad(node, node_id)
        self._done = "" if keeps else node_id
        if keeps:
            self._retained(node_id, self._result(node, node_id))

    def _retained(self, node_id: str, tensor: Any) -> None:
        """Note that `retain_grad` adds to the gradient that an earlier pass left in `tensor`."""
        grad = None if tensor is None else self.builder.reader.grad(tensor)
        if grad is None or self._arrived is None:
            return
        total = self._value(grad)
        if self.rehearsal:  # a dry run leaves `.grad` unchanged
            total = self._value(self._reader.added(grad, self._arrived))
        value = self._value(self._arrived)
        if total is not None and not total.is_same(value):
            self._shoot("accumulate", node_id, node_id, OF_TOTAL, value, total)

    def accumulate(self, tensor: Any, grad: Any, total: Any) -> None:
        grad, total = self._reader.arriving(grad), self._reader.arriving(total)
        receiver = self._leaf_id(tensor)
        arrived, known = self._sums.pop((receiver, 0), (None, None))
        if arrived is None or not self._reader.same(arrived, grad):
            before, known = known, self._value(grad)
            if arrived is not None:
                self._shoot(
                    self._changed_by(tensor), receiver, receiver, "contribution", before, known
                )
        value, total = known, known if total is grad else self._value(total)
        self._last.pop(receiver, None)
        before, self._grads[receiver] = self._grads.get(receiver), total
        self._grads[self.builder.by_tensor.get(tensor) or receiver] = (
            total  # the leaf may have been changed in the meantime
        )
        lost = (
            before.text
            if self.exchanged and before is not None and not before.is_zero and total == value
            else ""
        )
        self._shoot("accumulate", receiver, receiver, OF_TOTAL, value, total, note=lost)

    def _changed_by(self, item: Any) -> str:
        """Return what changed the gradient that came to a node or a leaf: a "hook", or a replacement "rule"; "" if
        nothing did."""
        return "rule" if self.exchanged and not self._reader.hooked(item) else "hook"

    def free(self, node: Any) -> None:
        node_id = self._node_id(node)
        names = [s.name for s in self.builder.saved_of(node_id)]
        if not names:
            return  # only numbers such as a dim or an index were saved
        if node_id == self._done:
            self._done = ""  # this frame reports it
        state = "accumulated" if self._keeps_grad(node, node_id) else "freed"
        self._shoot("free", node_id, node_id, state, note=", ".join(names))

    def backward_end(self, error: BaseException | None) -> None:
        self._free_rehearsed()
        if self._inner:
            self._inner -= 1
            return
        if error is None:
            self._drop_done()
            if self._dropped:  # no frame comes after it
                self.shots[-1].dropped += self._dropped
                self._dropped = ()
            # A gradient that autograd.grad() returns is complete without being accumulated.
            for receiver in list(self._last):
                self._complete(receiver)
            self.plans[-1].ended = True
        else:
            self._shoot("error", self._at, note=sentences.error(error))
            self._returning = False
        self.running, self._fn = False, None

    def returned(self, targets: Any, grads: Any, names: Sequence[str] = ()) -> None:
        """Record that `grad()` returns `grads`, which the learner's code calls `names` ("" if not known)."""
        self._returning = False
        if not self.plans or self.plans[-1].run != self.run:
            return  # recording of the pass was given up
        arrived = {
            shot.receiver
            for shot in self.shots
            if shot.run == self.run and shot.event in ("seed", "contribution")
        }
        for (node, nr), grad, name in zip(targets, grads, names or [""] * len(grads)):
            leaf = getattr(node, "variable", None)
            receiver = self._node_id(node) if leaf is None else self._leaf_id(leaf)
            state = "returned" if receiver in arrived and receiver in self.plans[-1].nodes else ""
            value = self._value(grad)
            held = self._value(self.builder.reader.grad(leaf)) if leaf is not None else None
            note = "" if leaf is None else "None" if held is None else held.text
            total = value if state else None
            self._shoot("return", receiver, receiver, state, value, total, nr, name=name, note=note)

    def lose(self) -> None:
        """Stop recording the current pass and remove its frames."""
        if self.running:
            own = self.shots[self._start :]
            self.shots[self._start :] = [shot for shot in own if shot.phase == "forward"]
            self.plans = [plan for plan in self.plans if plan.run != self.run]
        self.is_lost = self.running = True
        self._inner, self._fn, self._returning = 0, None, False
        self._forget_gradients()

    def end_lost(self) -> None:
        """End a pass whose recording was given up; take the `.grad` that it left as given."""
        self.is_lost = self.running = False
        for leaf, tensor in self._leaves_now():
            self._grads[leaf] = self._grad_of(tensor)

    # -- backward: helpers -------------------------------------------------------------------------
    def _begin(self) -> None:
        self._lost()
        self.check_grads()
        self.run += 1
        self.running, self._start = True, len(self.shots)
        self._forget_gradients()

    def _forget_gradients(self) -> None:
        self._sums.clear()
        self._last.clear()
        self._parts.clear()
        self._owner.clear()
        self._to_free = None
        self._done, self._dropped = "", ()

    def _lost(self) -> None:
        """Remove the gradients of a `grad()` call that failed after computing everything, so nothing received them."""
        if self._returning and self.shots:
            self.shots[-1].dropped += tuple(
                n for n in self.plans[-1].asked or () if n in self.plans[-1].nodes
            )
        self._returning = False

    def _receiver(self, child: str, slot: int, target: Any) -> str:
        """Return the node that receives what `child` sends along a slot. For a leaf that has changed in place since,
        return its earlier node."""
        edge = self.builder.edge_at(child, slot)
        return edge.parent if edge is not None else self._node_id(target)

    def _shoot(
        self,
        event: str,
        node: str,
        receiver: str | None = None,
        state: Any = "",
        value: Value | None = None,
        total: Value | None = None,
        nr: int = 0,
        edge: str | None = None,
        **told: Any,
    ) -> None:
        shot = Shot("backward", event, self.run, node, edge, receiver, state, value, total, **told)
        shot.nr, shot.dropped, self._dropped = nr, self._dropped, ()
        self.shots.append(shot)

    def _drop_done(self) -> None:
        """Mark the gradient of the node whose rule ran last as freed, because it has been passed on."""
        if self._done:
            self._dropped += (self._done,)
            self._done = ""

    def _keeps_grad(self, node: Any, node_id: str) -> bool:
        """Return whether `retain_grad` was called on a result of the node."""
        tensor = self._result(node, node_id)
        return tensor is not None and bool(tensor.retains_grad)

    def _result(self, node: Any, node_id: str) -> Any:
        """Return the node's first result while it exists. An autolab node refers to a result that retains its
        gradient."""
        kept = getattr(getattr(node, "hooks", None), "retain", None) or {}
        return kept[0]() if 0 in kept else self.builder.draft(node_id).held()

    def _value(self, grad: Any) -> Value | None:
        return None if grad is None else self.builder.value_of(grad)

    def _add(self, receiver: str, nr: int, grad: Any) -> tuple[Value | None, Value | None]:
        """Return (the value of a contribution, the value of the sum so far)."""
        before, value = self._sums.get((receiver, nr)), self.builder.value_of(grad)
        if before is None:
            total, said = self._reader.kept_gradient(grad), value
        else:
            total = self._reader.plus(before[0], grad)
            said = self._value(total)
        self._sums[receiver, nr] = total, said
        return value, said

    def _await(self, receiver: str, nr: int) -> None:
        """Wait for the next frame to bring a part of the gradient of result `nr`."""
        self._last.setdefault(receiver, {})[nr] = len(self.shots)

    def _complete(self, receiver: str) -> None:
        last = self._last.pop(receiver, None)
        if last:
            newest = self.shots[max(last.values())]
            newest.state = OF_TOTAL
            if len(last) > 1:
                newest.state = _Later(tuple([self.shots[i].total for i in last.values()]))

    def _node_id(self, node: Any) -> str:
        if node is self._fn:
            return self._at
        known = self.builder.by_fn.get(node)
        if known is None:
            if hasattr(node, "variable"):
                return self.builder.leaf(node.variable)
            self.builder.graph([node])
            known = self.builder.by_fn.get(node)
        return known

    def _leaf_id(self, tensor: Any) -> str:
        return self._owner.get(id(tensor)) or self.builder.leaf(tensor)

    def _free_rehearsed(self) -> None:
        node, self._to_free = self._to_free, None
        if node is None:
            return
        saved = self.builder.saved_of(self._node_id(node))
        if saved and any(item.state == "alive" for item in saved):
            self.free(node)

    # -- the result --------------------------------------------------------------------------------
    def forget(self) -> None:
        """Release all gradients."""
        self._sums.clear()
        self._arrived = self._to_free = None

    def develop(
        self, nodes: Sequence[Node], edges: Sequence[Edge], frozen: set[str], book: labels.Book
    ) -> tuple[Sequence[Frame], tuple[Pass, ...]]:
        """Return the finished frames with their sentences, and the backward passes. `frozen`: parameters that do not
        require grad."""
        self._lost()
        shots = self.shots[:]
        for index, shot in enumerate(shots):
            shot.index = index
            if shot.state is OF_TOTAL:
                shot.state = _told((shot.total,))
            elif shot.state.__class__ is _Later:
                shot.state = _told(shot.state.values)
        found = passes.passes(self.plans, shots, self.builder.nodes, self.builder.edges, frozen)
        roots = {p.run: ", ".join(book.names[root] for root in p.roots) for p in found}
        return frames(shots, nodes, edges, book, roots, self.rehearsal), found


def frames(
    shots: Sequence[Shot],
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    book: labels.Book,
    roots: Mapping[int, str],
    rehearsal: bool,
) -> Records:
    """Return the frames of these shots; the text of each is written when first read. `roots`: the nodes that each run
    starts from."""

    @functools.cache
    def parts() -> dict[tuple[int, str | None, int], int]:
        """Return the number of contributions per run, receiver and result."""
        return {(shot.run, shot.receiver, shot.nr): shot.part for shot in shots if shot.part}

    def words_of(shot: Shot) -> tuple[str, str]:
        node = nodes[int(shot.node[1:])] if shot.node else None
        receiver = nodes[int(shot.receiver[1:])] if shot.receiver else None
        edge = edges[int(shot.edge[1:])] if shot.edge else None
        of = parts().get((shot.run, shot.receiver, shot.nr), 0)
        chain = ""
        if edge is not None and edge.tex and not shot.hooked and not shot.note:
            # in the chain rule, the number comes from the rule alone
            chain = book.chain(edge, shot.upstream, shot.value)
        rounded, root = shot.node in book.rounded, roots.get(shot.run, "")
        return sentences.describe(shot, node, receiver, edge, of, root, rounded, rehearsal, chain)

    def frame(index: int, shot: Shot) -> Frame:
        where = shot.phase, shot.event, shot.run, shot.node, shot.edge, shot.receiver, shot.state
        made = Frame(
            index, *where, shot.value, shot.total, "", "", shot.dropped, shot.name, shot.nr
        )
        tell = functools.partial(words_of, shot)
        return made.told_by(functools.partial(attempt, tell, (shot.event, "")))

    return Records(shots, frame)


@dataclass(slots=True)
class _Later:
    """The state of a complete gradient, derived from its numbers when the trace is made, for each result of an
    operation."""

    values: tuple[Value | None, ...]


def _told(values: tuple[Value | None, ...]) -> str:
    return "zero" if all(value is not None and value.is_zero for value in values) else "accumulated"
