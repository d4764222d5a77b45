"""Failed operations: drawn like other operations, with all their operands, though they have no result."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...engine.core.node import Node
from ...engine.exact.failing import sentences
from . import expressions
from .. import names
from ..captions.sentences import error as error_line
from ..drafts import Draft, operation_name, plain
from ..model import Source
from ..reader import is_tensor, reader_for

if TYPE_CHECKING:
    from ..build import Builder

NO_RESULT = "no result"
PASSES = ("backward", "grad")
"""Calls of the public functions that go backward; they fail at their root, not as an operation."""
_PLAIN = (bool, int, float, str)


class Failures:
    """The failed operations of one trace.

    An error is drawn when it is raised. If the package itself catches it, the learner never sees it, and `settle`
    removes it again: then the outermost frame in its traceback belongs to the package."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.facts: dict[str, dict[str, Any]] = {}  # node -> see `model.Trace`, "failures"
        self._changes: list[
            tuple[Any, int, str]
        ] = []  # (memory, its version before, the node that changed it)
        self._open: tuple[BaseException, Draft] | None = None

    def add(
        self,
        op: Any,
        error: BaseException,
        parents: dict[str, tuple[Any, tuple[str, int]]],
        **fields: Any,
    ) -> Draft:
        """Add a node for a failed operation. op: a record, or a name. parents: operand -> (what it is, its node and
        output number); `fields` go to the draft."""
        builder = self.builder
        record = None if isinstance(op, str) else op
        name = op if record is None else operation_name(record.node)
        draft = builder.add(
            "op",
            op=name + ("_" if fields.pop("inplace", False) and not name.endswith("_") else ""),
            name=NO_RESULT,
            record=record,
            error=error_line(error),
            operands={n: parent for n, (_, parent) in parents.items()},
            **fields,
        )
        for slot, (parent, nr) in enumerate(draft.operands.values()):
            builder.edge(parent, nr, draft.id, slot, differentiable=False)
        self._note(draft.id, error, parents)
        if draft.source is not None and self.facts[draft.id]["inside"] == draft.source.to_json():
            self.facts[draft.id]["inside"] = None
        builder.film.broke(draft.id, error_line(error))
        self._open = error, draft
        return draft

    def at(self, node_id: str, error: BaseException) -> None:
        """Note a backward pass that could not start at the node. If no operand requires grad, mark where the graph was
        cut off."""
        self._note(node_id, error, {})
        self.builder.film.broke(node_id, error_line(error), "backward")
        for cut in (
            cuts(self.builder, node_id) if not self.builder.draft(node_id).requires_grad else ()
        ):
            self._place(node_id, "the graph is cut here", cut)

    def in_pass(self, node_id: str, fn: Any, error: BaseException) -> None:
        """Note a backward pass that failed at a node: a saved tensor was changed or freed, or its rule raised."""
        self._note(node_id, error, {})
        for stale in self.builder.reader.stale(fn):
            self._place(node_id, "saved here", node_id, f"{stale.name}, at version {stale.saved}")
            found = [
                (n, v)
                for memory, v, n in self._changes
                if memory() == stale.memory and v > stale.saved
            ]
            if (
                not found
                and stale.tensor is not None
                and (changer := self._changer(stale.tensor, fn)) is not None
            ):
                self.builder.graph([changer])
                found = [(self.builder.by_fn.get(changer), stale.now)]
            for other, version in found:
                self._place(node_id, "changed here", other, f"to version {version}")
            if not found:
                recorded = "by an optimizer's step, or by code that was not recorded"
                who = recorded if self.builder.recording else "by an operation that is not known"
                self._place(node_id, f"changed to version {stale.now} {who}", None)

    def unused(self, node_id: str, asked: Any) -> None:
        """Note that grad() asked for a tensor that the root `node_id` does not depend on."""
        self._place(node_id, "not used", self.builder.tensor(asked)[0])

    def freed(self, node_id: str, line: Source | None, run: int) -> None:
        """Note that pass `run` (0: unknown), begun in `line`, freed the node's saved tensors."""
        self._place(
            node_id,
            "freed before",
            node_id,
            f"by backward pass {run}" if run else "by an earlier backward pass",
            line,
        )

    def meet_changers(self, fn: Any, known: Mapping[str, Any]) -> None:
        """Mark operations that changed a tensor in place, without a recording: a variable often still refers to the
        tensor and leads to the last such operation. known: names and their values."""
        reader = self.builder.reader
        memories = [stale.memory for stale in reader.stale(fn)]
        for _, tensor in names.tensors(known) if memories else ():
            if reader_for(tensor).library == reader.library and reader.memory(tensor) in memories:
                changer = self.builder.find(tensor)
                if changer is not None and self._changer(tensor, fn) is not None:
                    self.changed(tensor, changer)

    def _changer(self, tensor: Any, fn: Any) -> Any:
        """Return the operation that changed what `fn` had saved, if the tensor's grad_fn shows it. An operation under
        no_grad leaves the grad_fn of the operation before it, or a new one that describes the view."""
        reader = self.builder.reader
        found = reader.grad_fn(tensor)
        if found is None or reader.sequence_nr(found) < reader.sequence_nr(fn):
            return None
        record = reader.op(found)
        return None if found is fn or record is not None and record.view else found

    def changed(self, tensor: Any, node_id: str) -> None:
        """Note that the node changed the tensor's memory in place."""
        self._changes.append((*self.builder.reader.watch(tensor), node_id))

    def shared(self, draft: Draft, tensor: Any, changes: bool) -> None:
        """Mark the nodes that share the memory of `tensor`: the operation may not change it because it is a view
        (`changes`), or it got a view whose base was changed."""
        reader = self.builder.reader
        base = reader.lost_base(tensor, changes) if is_tensor(tensor) else None
        other = None if base is None else self.builder.find(base)
        if other is None:
            return
        changers = {n: v for memory, v, n in self._changes if memory() == reader.memory(tensor)}
        if other not in changers:
            self._place(draft.id, "shares this memory", other)
        for changer, version in changers.items():
            self._place(draft.id, "changed here", changer, f"to version {version}")

    def _place(
        self, node_id: str, mark: str, other: str | None, more: str = "", line: Source | None = None
    ) -> None:
        """Note how the node `other` is involved in the failure at `node_id`."""
        if other is not None:
            draft = self.builder.draft(other)
            draft.mark = mark if not draft.mark or draft.mark == mark else f"{draft.mark}, {mark}"
        text = f"{mark}: {more}" if more else mark
        place = {"words": text, "node": other, "line": None if line is None else line.to_json()}
        self.facts[node_id]["places"].append(place)

    def _note(
        self, node_id: str, error: BaseException, parents: dict[str, tuple[Any, tuple[str, int]]]
    ) -> None:
        operands = []
        for name, (item, (parent, nr)) in parents.items():
            facts = self.builder.reader.facts(item) if is_tensor(item) else None
            about = (
                ((), type(item).__name__, "")
                if facts is None
                else (facts.shape, facts.dtype, facts.device)
            )
            operands.append(
                {"name": name, "node": parent, "nr": nr}
                | dict(zip(("shape", "dtype", "device"), about))
            )
        self.facts[node_id] = described(error) | {
            "inside": inside(error.__traceback__),
            "operands": operands,
            "places": [],
        }

    def settle(self) -> None:
        """Decide whether the package caught the last error itself. Called before the next event."""
        if self._open is None:
            return
        (error, draft), self._open = self._open, None
        if error.__traceback__ is not None and names.ours(error.__traceback__.tb_frame):
            self._take_back(draft)

    def replace(self, error: BaseException) -> None:
        """Replace the last error by the same error, raised again with more information."""
        if self._open is not None and self._open[0] is error:
            self._take_back(self._open[1])
            self._open = None

    def _take_back(self, draft: Draft) -> None:
        self.builder.take_back(draft)
        del self.facts[draft.id]


def running_node(error: BaseException) -> Any:
    """Return the graph node whose rule raised the error: the innermost one that a frame of the traceback holds."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if names.ours(trace.tb_frame):
            held = names.local_names(trace.tb_frame)
            found = next(
                (
                    held[n]
                    for n in ("node", "self")
                    if isinstance(held.get(n), Node) and not hasattr(held[n], "variable")
                ),
                found,
            )
        trace = trace.tb_next
    return found


def cuts(builder: Builder, node_id: str) -> list[str]:
    """Return the nodes at which the graph behind `node_id`, which does not require grad, was cut off."""
    found, todo, seen = [], [node_id], {node_id}
    for at in todo:
        parents = [parent for parent, _ in builder.draft(at).operands.values()]
        if any(builder.draft(parent).requires_grad for parent in parents):
            found.append(at)
            continue
        todo += [p for p in parents if p not in seen]
        seen.update(parents)
    return found


def dirty(args: Any, outputs: Any) -> list[Any]:
    """Return the tensors that a custom function marked as dirty: each output is the same tensor as the input."""
    return [o for o in outputs if any(o is a for a in args)]


def described(error: BaseException) -> dict[str, Any]:
    """Return an error as data."""
    return {"type": type(error).__name__, "message": str(error), "notes": sentences(error)}


def inside(trace: TracebackType | None) -> dict[str, Any] | None:
    """Return the innermost line of the learner's code below the calling line, as in a custom function's forward."""
    found: Source | None = None
    called = False
    while trace is not None:
        if names.ours(trace.tb_frame):
            called = True
        elif called and not names.library(trace.tb_frame):
            found = names.source(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return None if found is None else found.to_json()


def learners(trace: TracebackType | None) -> TracebackType | None:
    """Return the innermost entry of a traceback that is a line of the learner's code."""
    found = None
    while trace is not None:
        if not names.ours(trace.tb_frame) and not names.library(trace.tb_frame):
            found = trace
        trace = trace.tb_next
    return found


def operands_of(record_: Any, args: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (operands, other arguments) by name. Operands are in slot order: first those that may get a gradient, then
    other tensors."""
    if record_ is None:
        return {str(i): a for i, a in enumerate(args) if is_tensor(a)}, {}
    arguments = dict(zip(record_.params, args))
    order, numbers = _order(record_)
    operands: dict[str, Any] = {}
    for name in order:
        item = arguments.get(name)
        if item is None:
            continue
        if is_tensor(item) or name in numbers and isinstance(item, (bool, int, float)):
            operands[name] = item
            del arguments[name]
        elif isinstance(item, (list, tuple)) and any(map(is_tensor, item)):
            operands.update((f"{name}[{i}]", x) for i, x in enumerate(item) if is_tensor(x))
            if is_tensor(item[0]):
                del arguments[name]
    known = record_.defaults
    rest = {
        n: a for n, a in arguments.items() if a is not None and (n not in known or a != known[n])
    }
    return operands, rest


@functools.cache
def _order(record_: Any) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return (the parameters of a record in slot order, those whose numbers count as operands)."""
    first = [record_.params[i] for i, _, _ in record_.rules]
    others = [p for p in record_.params if p not in first]
    return (*first, *others), frozenset(first or record_.operands)


def given(args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (tensors, other arguments that can be written down) of a call's arguments; list elements count
    separately."""
    tensors: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, item in args.items():
        if is_tensor(item):
            tensors[name] = item
        elif isinstance(item, (list, tuple)) and any(is_tensor(x) for x in item):
            tensors |= {f"{name}[{i}]": x for i, x in enumerate(item) if is_tensor(x)}
        elif (
            isinstance(item, _PLAIN)
            or isinstance(item, (list, tuple))
            and all(isinstance(x, _PLAIN) for x in item)
        ):
            rest[name] = plain(item)
    return tensors, rest


def chain(error: BaseException | None) -> list[BaseException]:
    """Return an error and its causes, the original cause last."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def as_written(
    name: str, args: dict[str, Any], expression: expressions.Expression | None
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return (name, tensors, other arguments) of a call as the learner's line has them, if it can be read: the
    package's own wrappers know neither names nor all arguments."""
    tensors, rest = given(args)
    if expression is None:
        return name, tensors, rest
    if expression.method:
        tensors = {"self" if n == "argument 1" else n: item for n, item in tensors.items()}
    return expression.name or name, tensors, rest
