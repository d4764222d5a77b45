"""Turn the events of running code into a trace: the events of `engine.core.observe.Observer`, from either library."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from ..engine.core import observe
from ..engine.autograd.refusals import FREED
from . import assigned, names, stack
from .errors import failures, expressions
from .build import Builder
from .drafts import Draft, operation_name, plain
from .drafts import place as place_of
from .guard import attempt, guarded, note, rescue, sentence
from .iterations import Mark
from .model import Output, Source, Trace
from .parameters import Parameters
from .reader import Reader, SavedEntry
from .recorded import Recorded
from .captions.text import render
from .times import Times
from .unfollowed import PASS_EVENTS, Unfollowed
from .updates import Updates
from .captions.sentences import error as error_line

BEFORE = (
    "not known: it was changed in place here, and nothing in the recording had its value before"
)
EXCHANGED = "A specimen ran meanwhile, with a rule in the place of the engine's own: formulas state the engine's, numbers are the specimen's."
_COMPREHENSIONS = frozenset(["<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"])


def _of_a_pass(event: Callable[..., None]) -> Callable[..., None]:
    """Guard an event of a backward pass; once recording of the pass was given up, ignore its events."""
    name = event.__name__
    is_end = name in ("backward_begin", "backward_end")

    @functools.wraps(event)
    def handle(self: Recorder, *args: Any) -> None:
        try:
            if self._unfollowed.enter(name) if is_end else self._builder.film.is_lost:
                return
            event(self, *args)
        except Exception as error:
            note(self, name, args, error)

    return handle


def _to_film(name: str) -> Callable[..., None]:
    """Return a handler for an event of a backward pass that only adds frames."""

    def handle(self: Recorder, *args: Any) -> None:
        """Add what the engine does now to the frames of this backward pass."""
        film = self._builder.film
        if not film.is_lost:
            try:
                getattr(film, name)(*args)
            except Exception as error:
                note(self, name, args, error)

    return handle


class Recorder(Recorded[Trace]):
    """Records autolab in a `with` block."""

    _call = "record"

    def __init__(self) -> None:
        self._builder = self._new_builder()
        self._failures = failures.Failures(self._builder)
        self._parameters = Parameters(self._builder)
        self._spelled = expressions.Spelled()
        self._updates = Updates(self._builder)
        self._unfollowed = Unfollowed(self._builder)
        self._scanned: tuple[int, ...] = ()  # where names were last looked for
        self._sources: dict[tuple[int, int], tuple[Any, Source | None]] = {}
        self._made: Draft | None = None  # the node of the operation being recorded
        self._marks: list[Mark] = []
        self._error: dict[str, Any] | None = None
        self._passes: dict[int, Source | None] = {}  # backward pass -> the line that began it
        self._running_node: Any = lambda: None
        self._has_nodes: bool | None = None  # set at the end of the block

    @property
    def has_nodes(self) -> bool:
        """Whether anything was recorded."""
        return bool(self._builder.nodes) if self._has_nodes is None else self._has_nodes

    def _new_builder(self) -> Builder:
        return Builder(Reader(), weak=True)

    def _watch(self) -> None:
        observe.add(self)

    def _stop(self) -> None:
        observe.remove(self)

    def _at(self, custom: bool) -> stack.At:
        return stack.at("autolab", custom)

    def _read_call(
        self, op: Any, args: Any, custom: bool
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """Return (the operation's record, its operands, its other arguments)."""
        record_ = None if custom else op
        return record_, *failures.operands_of(record_, args)

    def _operation(self, op: Any, record_: Any) -> str:
        """Return the name of the operation."""
        return operation_name(
            self._builder.reader.grad_fn_name(op) if record_ is None else record_.node
        )

    def _called(self, op: Any) -> str:
        """Return the name of an operation whose event has not been read yet."""
        return self._operation(op, None if hasattr(op, "next_functions") else op)

    # -- the block ---------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self._check_new()
        self._times = Times(self._builder.reader.library)
        self._running = True
        self._watch()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._stop()
        self._failures.settle()
        if error is not None:
            attempt(lambda: self._ended_by(error), None)
        self._has_nodes = self.has_nodes
        self._write_out, self._running = self._ending(names.caller()), False
        self._builder.forget()
        self._builder = self._new_builder()  # the trace now contains what the old builder knew
        self._unfollowed = Unfollowed(self._builder)
        self._updates, self._marks, self._parameters = (
            Updates(self._builder),
            [],
            Parameters(self._builder),
        )

    def _ended_by(self, error: BaseException) -> None:
        """Record the error that ended the block: of the operation that failed, of a backward pass, or of the learner's
        own code."""
        found = next(
            (
                own
                for link in failures.chain(error)
                if (own := link.__dict__.get("_autolab_seen")) and own[0] is self
            ),
            None,
        )
        node, film = "" if found is None else found[1], self._builder.film
        if found is None and not (film.shots and film.shots[-1].event == "error"):
            try:
                node = self._at_the_line(error)
            except (
                Exception
            ):  # a tensor without a shape cannot be drawn; only the learner's error matters
                film.broke("", error_line(error))
        frame = failures.learners(error.__traceback__)
        source = None if frame is None else names.source(frame.tb_frame, frame.tb_lineno)
        self._error = failures.described(error) | {
            "node": node or (film.shots[-1].node if film.shots else "")
        }
        self._error["source"] = None if source is None else source.to_json()
        error._autolab_seen = self, self._error["node"]  # type: ignore[attr-defined]

    def _at_the_line(self, error: BaseException) -> str:
        """Return the node for an error that no operation reported: Python refused a call, or the learner's own code
        raised it. Return "" in the second case."""
        frame = failures.learners(error.__traceback__)
        expression = None if frame is None else expressions.at(frame)
        if frame is None or expression is None or not expression.operands:
            self._builder.film.broke("", error_line(error))
            return ""
        parents = {
            n: (a, self._parent(a, None, None, i, frame.tb_frame))
            for i, (n, a) in enumerate(expression.operands.items())
        }
        source = names.source(frame.tb_frame, frame.tb_lineno)
        return self._failures.add(expression.name or "line", error, parents, source=source).id

    def _render(self, trace: Trace) -> str:
        return render(trace)

    def _summary(self, trace: Trace) -> str:
        return f"{len(trace.nodes):,} nodes, {len(trace.frames):,} steps"

    def _so_far(self, frame: FrameType | None) -> Trace:
        return self._ending(frame)()

    def _ending(self, frame: FrameType | None) -> Callable[[], Trace]:
        """Return what `_ended` returns; if the trace cannot be made, return an empty one that says why."""
        library = self._builder.reader.library

        def empty(error: Exception) -> Trace:
            meta = {"library": library, "source": "recording", "roots": [], "backward": ""}
            why = sentence("the block to its end", error)
            return Trace((), meta=meta | {"why": why, "error": self._error})

        write_out = rescue(lambda: self._ended(frame), lambda error: lambda: empty(error))
        return lambda: rescue(write_out, empty)

    def _ended(self, frame: FrameType | None) -> Callable[[], Trace]:
        """Return a function that makes the trace of everything up to now, without needing any tensor."""
        builder = self._builder
        self._failures.settle()
        for name, tensor in names.tensors(names.namespace(frame)):
            if builder.reader.owns(tensor):
                builder.name(name, tensor)
        builder.film.check_grads()
        parents = {edge.parent for edge in builder.edges}
        roots = [
            d.id
            for d in builder.nodes
            if d.kind == "op" and d.requires_grad and d.id not in parents
        ]
        why = "" if builder.film.run else "No backward pass was recorded."
        if not builder.nodes:
            why = "Nothing was recorded: no operation on a tensor ran in the block."
        elif builder.film.exchanged:
            why = f"{why} {EXCHANGED}".strip()
        why = f"{why} {self._unfollowed.sentences}".strip()
        return builder.ended(
            {
                "library": builder.reader.library,
                "source": "recording",
                "roots": roots,
                "backward": "recorded" if builder.film.run else "",
                "why": why,
                "error": self._error,
            }
            | ({"failures": self._failures.facts} if self._failures.facts else {}),
            self._updates,
            self._marks,
        )

    def lost(self, event: str, args: tuple[Any, ...], error: Exception) -> None:
        """Note that the recorder could not follow an event; the program goes on."""
        if event == "forward":
            name = attempt(lambda: self._called(args[0]), "operation")
            self._unfollowed.operation(name, self._made, args, error)
        elif event in PASS_EVENTS:
            self._unfollowed.lose_pass(event, error)
        else:
            self._unfollowed.say(f"{event.replace('_', ' ')}", error)

    # -- forward events ----------------------------------------------------------------------------
    @guarded()
    def failed(self, op, args, error, inplace=False):
        if self._builder.film.running:  # the pass will report the error
            return
        custom = hasattr(op, "next_functions")
        at = self._at(custom)
        frame = at.frame
        if at.hidden or frame is None:
            return
        self._mark("forward", at.lines)
        self._failures.replace(error)
        if isinstance(op, str):
            if op in failures.PASSES:
                return self._refused_pass(args, error, frame)
            op, operands, literals = failures.as_written(op, args, expressions.running(frame))
        else:
            record_, operands, literals = self._read_call(op, args, custom)
            op = self._operation(op, None) if record_ is None else record_
            literals = {n: plain(a) for n, a in literals.items()}
        parents = {
            n: (a, self._parent(a, None, None, slot, frame))
            for slot, (n, a) in enumerate(operands.items())
        }
        at_call = {"source": names.source(frame), "scope": self._builder.reader.scope_now()}
        draft = self._failures.add(op, error, parents, **at_call, attrs=literals, inplace=inplace)
        self._scan(frame)
        self._parameters.name(draft, at.modules, operands)
        for i, item in enumerate(operands.values()):
            self._failures.shared(draft, item, inplace and not i)
        error._autolab_seen = self, draft.id

    def _refused_pass(self, args, error, frame):
        """Record that backward() or grad() refused its arguments, at the node of its root."""
        tensors, _ = failures.given(
            {name: a for name, a in args.items() if name in ("self", "tensors", "outputs")}
        )
        root = next(iter(tensors.values()), None)
        if root is not None:
            node = self._builder.tensor(root)[0]
            self._failures.at(node, error)
            self._scan(frame)
            error._autolab_seen = self, node

    @guarded()
    def forward(self, op, args, attrs, outputs, node, inplace=False):
        builder = self._builder
        self._made = None
        self._failures.settle()
        custom = hasattr(
            op, "next_functions"
        )  # an autograd.Function: its node takes the op's place
        at = self._at(custom)
        frame = at.frame
        if at.hidden or not outputs or builder.film.running and node is None:
            # Inside a custom function, or arithmetic of a hook or rule: the learner sees the function as one operation.
            return
        target = args[0] if inplace else None
        if at.optimizer is not None or self._updates.clearing:
            if at.optimizer is not None and inplace and target.requires_grad:
                self._updates.moved(at.optimizer, target)
            return
        self._mark("forward", at.lines)
        if frame is not None:
            self._scan(frame)
        record_, operands, literals = self._read_call(op, args, custom)
        owner = self._owner(target, node)
        leaf = (
            owner
            if owner is not None and (owner.shape, owner.dtype) == (target.shape, target.dtype)
            else None
        )
        changed = outputs[:1] if inplace else failures.dirty(args, outputs) if custom else ()
        parents = self._parents(operands, changed, target, node, frame, leaf)
        draft = self._draft(record_, op, outputs, node, inplace, leaf)
        draft.source = self._source(frame, at.line)
        draft.time = self._times.last(custom)
        draft.operands = parents
        if not changed:
            draft.unlike = builder.unlike(draft, operands)
        kept = [] if node is None else self._kept(draft, node, operands)
        for name, item in literals.items():
            if name not in draft.attrs:
                draft.attrs[name] = plain(item)
        self._spell(draft, frame)
        self._join(draft, parents, node, inplace)
        if node is not None:
            builder.by_fn.put(node, draft.id)
            for entry in kept:
                builder.save(draft, node, entry)
        builder.cuts.by_no_grad(draft, outputs[0], node)
        for output in changed:
            self._failures.changed(output, draft.id)
        for nr, output in enumerate(outputs):
            builder.place(output if leaf is None else leaf, draft.id, nr)
            if output.requires_grad:
                builder.cuts.remember(output, draft.id)
        draft.scope = builder.reader.scope_now()
        self._parameters.name(draft, at.modules, operands)
        if draft.kind == "leaf":
            self._mark("update", at.lines)
            builder.film.changed(draft.id, draft)
        else:
            builder.film.computed(draft)
        if inplace and node is None and draft.kind != "leaf":
            self._changed_elsewhere(draft, target, owner, at.lines)
        if inplace and outputs[0]._base is not None:
            self._rebased(draft, outputs[0]._base)

    def _kept(self, draft: Draft, node: Any, operands: dict[str, Any]) -> list[SavedEntry]:
        """Return the tensors that a node saved, in the order of the operands; the attributes are the draft's."""
        saved = [item for item in self._builder.reader.saved(node) if "_sym_" not in item[0]]
        if len(saved) > 1:
            saved.sort(key=place_of(list(operands)))
        found = []
        for name, item in saved:
            if item.__class__ is SavedEntry:
                found.append(item)
            else:
                draft.attrs[name] = plain(item)
        return found

    def _join(
        self, draft: Draft, parents: dict[str, tuple[str, int]], node: Any, inplace: bool
    ) -> None:
        """Draw the edges from an operation's operands; those for which its node has an edge carry gradients."""
        ahead = () if node is None else node.next_functions
        for slot, (parent, nr) in enumerate(parents.values()):
            goes_back = slot < len(ahead) and ahead[slot][0] is not None
            if (
                node is None and inplace and draft.kind == "op" and draft.requires_grad
            ):  # of a view: its node belongs to the base
                goes_back = (
                    self._builder.reader.grad_enabled()
                    and self._builder.draft(parent).requires_grad
                )
            changes = draft.kind == "leaf" and slot == 0
            self._builder.edge(parent, nr, draft.id, slot, differentiable=goes_back, update=changes)

    def _spell(self, draft: Draft, frame: FrameType | None) -> None:
        """Note how the numbers among an operation's arguments are written in the learner's code."""
        if draft.attrs.get("dtype", "").rpartition(".")[2] == draft.dtype:
            # The library adds it; it tells nothing beyond the result's dtype.
            del draft.attrs["dtype"]
        constants = []
        for parent, _ in draft.operands.values():
            known = self._builder.draft(parent)
            if known.tensor is None and known.kind == "data" and known.shape == ():
                if not known.literal:
                    constants.append(known)
        numbers = [name for name, item in draft.attrs.items() if type(item) in (int, float)]
        if not constants and not numbers:
            return
        texts = self._spelled.at(frame)
        for constant in constants:
            number = constant.value.data if constant.value is not None else None
            constant.literal = texts.get((type(number), number), "")
        for name in numbers if texts else ():
            item = draft.attrs[name]
            if (text := texts.get((type(item), item))) is not None:
                draft.spelled[name] = text

    def _owner(self, target: Any, node: Any) -> Any:
        """Return the leaf whose memory an in-place operation changes: `target` itself, or the leaf of which `target` is
        `.data` or a view."""
        if target is None or node is not None or self._builder.reader.grad_fn(target) is not None:
            return None
        return (
            target if target.requires_grad and target._base is None else self._updates.owner(target)
        )

    def _changed_elsewhere(self, draft: Draft, target: Any, leaf: Any, lines: stack.Lines) -> None:
        """Record other changes by an in-place operation outside any graph: of a leaf through a view of it, of a leaf's
        `.grad`."""
        if leaf is target or self._builder.reader.grad_fn(target) is not None:
            leaf = self._updates.owner(target)
        if leaf is not None:
            self._mark("update", lines)
            self._updates.partly(leaf, draft)
        else:
            self._updates.grad_changed(target)

    def _mark(self, kind: str, place: stack.Lines) -> None:
        film = self._builder.film
        if observe.observer is not self and not film.exchanged:
            watching = getattr(observe.observer, "observers", ())
            film.exchanged = self in watching and any(hasattr(o, "exchanges") for o in watching)
        self._marks.append(Mark(kind, place, len(self._builder.nodes), len(film.shots)))

    def _parents(
        self,
        operands: dict[str, Any],
        changed: Any,
        target: Any,
        node: Any,
        frame: FrameType | None,
        leaf: Any,
    ) -> dict[str, tuple[str, int]]:
        found = {}
        for slot, (name, item) in enumerate(operands.items()):
            own = next((o for o in changed if o is item), target) if changed else target
            found[name] = self._parent(item, own, node, slot, frame, leaf)
        return found

    def _parent(
        self,
        item: Any,
        target: Any,
        node: Any,
        slot: int,
        frame: FrameType | None,
        leaf: Any = None,
    ) -> tuple[str, int]:
        builder = self._builder
        if item is target and leaf is not None and leaf is not target:
            return builder.by_tensor.get(leaf), 0
        if not builder.reader.owns(item):
            return builder.constant(item), 0
        if item is not target:
            if not item.requires_grad:
                builder.cuts.meet(item, frame)
            return self._called_grad(builder.tensor(item), item)
        # In place: the tensor is already its own result (one version later), so its history is the one before.
        if node is not None:
            before, nr = node.next_functions[slot]
            if before is not None and not hasattr(before, "variable"):
                builder.graph([before])
                return builder.by_fn.get(before), nr
        found, version = builder.find(item), builder.reader.version(item)
        if found is not None and builder.draft(found).version in (None, (version or 0) - 1):
            return found, 0
        is_leaf = item.requires_grad and builder.reader.grad_fn(item) is None
        facts = builder.facts(item) | {"version": None, "bytes": None}
        draft = builder.add(
            "leaf" if is_leaf else "data", requires_grad=is_leaf, missing=BEFORE, **facts
        )
        return self._called_grad((draft.id, 0), item)

    def _called_grad(self, parent: tuple[str, int], tensor: Any) -> tuple[str, int]:
        """Return `parent`, named "w.grad" if `tensor` is the gradient of a named leaf."""
        draft = self._builder.draft(parent[0])
        if draft.kind != "data" or draft.name or draft is not self._builder.nodes[-1]:
            return parent  # not new: when it was added, it was no leaf's gradient
        for leaf in self._builder.film.leaves(True):
            name = self._builder.draft(self._builder.by_tensor.get(leaf)).name
            if name and self._builder.reader.grad(leaf) is tensor:
                draft.name = f"{name}.grad"
        return parent

    def _draft(
        self, record_: Any, op: Any, outputs: tuple[Any, ...], node: Any, inplace: bool, leaf: Any
    ) -> Draft:
        builder = self._builder
        first = outputs[0] if leaf is None else leaf
        grad_fn = "" if node is None else builder.reader.grad_fn_name(node)
        name = self._operation(op, record_) + ("_" if inplace else "")
        draft = self._made = builder.add(
            "op" if leaf is None else "leaf",
            op=name,
            grad_fn=grad_fn,
            requires_grad=first.requires_grad,
            value=builder.value_of(first),
            record=record_,
            tensor=builder.by_tensor.hold(first),
            **builder.facts(first),
        )
        if len(outputs) > 1:
            shown = record_.outputs if record_ is not None else ()
            told = map(builder.reader.facts, outputs)
            draft.outputs = tuple(
                Output(
                    shown[i] if i < len(shown) else f"output {i}",
                    of.shape,
                    of.dtype,
                    builder.value_of(t),
                )
                for i, (t, of) in enumerate(zip(outputs, told))
            )
        return draft

    def _scan(self, frame: FrameType) -> None:
        """Give known tensors the names that they have now; later, a loop may reuse the name for another tensor. Within
        one statement, names stay as they are."""
        builder = self._builder
        at = id(frame), frame.f_lasti, builder.given
        if at == self._scanned:
            return
        self._scanned = at
        if frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
            self._scan(frame.f_back)  # the loop variable already has its name
        for name, item in names.values(names.local_names(frame)):
            if builder.reader.owns(item) and builder.has_no_name(item):
                builder.name(name, item)

    def _rebased(self, draft: Draft, base: Any) -> None:
        """Give the base of a view a new history after an in-place operation on the view: only the changed slice is
        new."""
        builder = self._builder
        if base.grad_fn is None or builder.by_fn.get(base.grad_fn) is not None:
            return
        builder.graph([base.grad_fn])
        whole = builder.draft(builder.by_fn.get(base.grad_fn))
        slot = len(base.grad_fn.next_functions)
        builder.edge(draft.id, 0, whole.id, slot, differentiable=False)
        before = builder.edge_at(whole.id, 0)
        whole.operands = {"self": (before.parent, before.parent_nr)} if before is not None else {}
        whole.operands["slice"] = draft.id, 0
        whole.source, whole.tensor, whole.version = (
            draft.source,
            builder.by_tensor.hold(base),
            builder.reader.version(base),
        )
        builder.place(base, whole.id)
        builder.set_output(whole.id, 0, base)
        builder.film.computed(whole)

    @guarded()
    def detached(self, origin, tensor, how):
        self._builder.cuts.gave(origin, tensor, how, names.source(names.caller()))

    # -- between passes ----------------------------------------------------------------------------
    @guarded()
    def step(self, optimizer, over):
        frame = self._name_here()
        if over or not self._updates.stepping:
            self._mark("update" if over else "other", stack.lines(frame))
        self._updates.step(optimizer, over, frame)

    @guarded()
    def update(self, *args):
        self._updates.update(*args)

    @guarded()
    def zero_grad(self, owner, over):
        frame = names.caller()
        if not over:
            self._mark("other", stack.lines(frame))
        self._updates.zero_grad(owner, over, frame)

    @guarded()
    def grad_set(self, tensor):
        self._updates.grad_set(tensor)

    @guarded()
    def data_set(self, leaf, value):
        frame = names.caller()
        self._mark("update", stack.lines(frame))
        self._updates.data_set(leaf, value, names.source(frame))

    # -- backward events ---------------------------------------------------------------------------
    @_of_a_pass
    def backward_begin(self, *args):
        self._failures.settle()
        frame = self._name_here()
        self._mark("backward", stack.lines(frame))
        self._builder.film.backward_begin(*args)
        self._passes.setdefault(self._builder.film.run, names.source(frame))

    def _name_here(self) -> FrameType | None:
        """Return the learner's frame, whose variables name the known tensors."""
        frame, builder = names.caller(), self._builder
        if frame is not None:
            find = names.tensors if builder.has_unnamed_leaves() else names.values
            for name, tensor in find(names.local_names(frame)):
                if builder.reader.owns(tensor) and builder.has_no_name(tensor):
                    builder.name(name, tensor)
        return frame

    def _source(self, frame: FrameType | None, line: int | None) -> Source | None:
        """Return the line that `frame` is at, or `line` of its file; results are cached, because a loop repeats
        lines."""
        if frame is None:
            return None
        code = frame.f_code  # keep a reference, so that its id is not reused
        key = id(code), frame.f_lineno if line is None else line
        if key not in self._sources:
            self._sources[key] = code, names.source(frame, line)
        return self._sources[key][1]

    @_of_a_pass
    def before_node(self, node, grads):
        self._running_node = self._holder(node)
        self._builder.film.before_node(node, grads)

    def _holder(self, node: Any) -> Callable[[], Any]:
        return self._builder.by_fn.hold(node)

    seed, after_node, contribution, accumulate, free = map(
        _to_film, ("seed", "after_node", "contribution", "accumulate", "free")
    )

    @_of_a_pass
    def backward_end(self, error):
        film = self._builder.film
        film.backward_end(error)
        if error is not None and film.shots[-1].event == "error" and film.shots[-1].node:
            node_id, fn = film.shots[-1].node, self._running_node()
            self._failures.in_pass(node_id, fn, error)
            earlier = [
                s.run
                for s in film.shots
                if s.event == "free" and s.node == node_id and s.run < film.run
            ]
            if earlier and str(error) == FREED:
                self._failures.freed(node_id, self._passes.get(earlier[0]), earlier[0])
            error._autolab_seen = self, node_id

    @guarded()
    def returned(self, targets, grads):
        self._builder.film.returned(targets, grads, assigned.to_grad(sys._getframe(1), len(grads)))
