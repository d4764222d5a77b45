"""Collect nodes, edges, saved tensors and frames while a trace is made, then freeze them as a `Trace`.

Two modules use it: `graph.py` goes through an existing grad_fn graph, and `record.py` watches operations as they run.
For history that is older than the recording, `record.py` also reads the existing graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .captions import labels
from . import scopes
from .cuts import Cuts
from .drafts import (
    Draft,
    EdgeDraft,
    SavedDraft,
    Seen,
    fill_devices,
    mark_aliases,
    name_overwritten,
    operation_name,
    plain,
)
from .saving import HOOKED, WHY_GONE, Memories, States, slots, states_now, with_states
from .film import Film
from .model import Output, Trace
from .pictures import Pictures
from .records import Records
from .reader import UNKNOWN, Facts, Reader, SavedEntry, is_parameter, is_tensor
from .values import WHOLE, Value, type_name, written

if TYPE_CHECKING:
    from .iterations import Mark
    from .updates import Updates


_KINDS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


@functools.lru_cache(maxsize=256)  # a loop meets the same few numbers again and again
def _value_of_literal(item: Any, kind: str, sign: str) -> Value:
    """Return the Value of a number in the learner's code. `sign` distinguishes numbers that are equal but written
    differently, such as 0.0 and -0.0."""
    return Value.of_literal(item, written(item), kind)


class Builder:
    """Collect the parts of a trace. With `weak`, tensors and graph nodes may be freed while a long recording goes on.
    Without `values` or `formulas` the trace has none, so a big graph is traced faster."""

    def __init__(
        self, reader: Reader, *, weak: bool = False, values: bool = True, formulas: bool = True
    ) -> None:
        self.reader, self.values, self.formulas, self.recording = reader, values, formulas, weak
        self.nodes: list[Draft] = []
        self._by_id: dict[str, Draft] = {}
        self.draft: Callable[[str], Draft] = self._by_id.__getitem__
        self.given = 0  # number of nodes that no operation made
        self._unnamed: list[Draft] = []  # leaves without a name
        self.edges: list[EdgeDraft] = []
        self.saved: list[SavedDraft] = []
        self.film = Film(self)
        self.pictures = Pictures(self)
        self.by_fn, self.by_tensor, self.output_nr = reader.seen_nodes(weak), Seen(weak), Seen(weak)
        self._constants: dict[Any, tuple[Any, str]] = {}
        self.cuts = Cuts(self, weak)
        self._memories = Memories(reader)
        self._saved_of: dict[str, list[SavedDraft]] = {}
        self._looked: dict[
            int, tuple[Facts, Value | None, Any]
        ] = {}  # saved tensor -> its SavedDraft, so that the same tensor keeps the same id
        self._edge_at: dict[tuple[str, int], EdgeDraft] = {}
        self._outputs_seen: dict[tuple[str, int], Value] = {}
        self._saved_outputs: dict[
            Any, tuple[str, int, Any]
        ] = {}  # the data node of a saved result that has no gradient
        # For an existing graph whose values are recomputed: nodes by id, and the available results and constants.
        self.fns: dict[str, Any] = {}
        self.raw: dict[tuple[str, int], Any] = {}

    # -- nodes -------------------------------------------------------------------------------------
    def add(self, kind: str, **fields: Any) -> Draft:
        node_id = f"n{len(self.nodes)}"
        draft = self._by_id[node_id] = Draft(node_id, kind, **fields)
        self.nodes.append(draft)
        if kind == "leaf":
            self._unnamed.append(draft)
        self.given += kind in ("leaf", "data")
        return draft

    def has_unnamed_leaves(self) -> bool:
        """Return whether a leaf has no name yet."""
        self._unnamed = [draft for draft in self._unnamed if not draft.name]
        return bool(self._unnamed)

    def take_back(self, draft: Draft) -> None:
        """Remove the node that was added last, with its edges and its frame."""
        assert (
            self.nodes.pop() is self._by_id.pop(draft.id) is draft
            and self.film.shots.pop().node == draft.id
        )
        while self.edges and self.edges[-1].child == draft.id:
            edge = self.edges.pop()
            del self._edge_at[edge.child, edge.slot]

    def value_of(self, item: Any, dtype: str = "") -> Value | None:
        """Return the Value of a tensor, an array or a number; None if the trace keeps no values."""
        if not self.values:
            return None
        if isinstance(item, (np.ndarray, np.generic)):
            return Value.of(item, dtype)
        if is_tensor(item):
            return self.reader.value(item)
        if (kept := getattr(item, "value", None)) is not None and isinstance(kept, Value):
            return kept
        return Value.of(item, dtype)

    def facts(self, tensor: Any) -> dict[str, Any]:
        """Return what a tensor knows about itself, as fields of its node."""
        return self.reader.facts(tensor)._asdict()

    def leaf(self, tensor: Any) -> str:
        """Return the node of a tensor that requires grad and has no grad_fn. Make a new node if its value was changed
        in place."""
        found = self.by_tensor.get(tensor)
        if found is not None and self.draft(found).version == self.reader.version(tensor):
            return found
        grad = self.reader.grad(tensor)
        draft = self.add(
            "leaf",
            requires_grad=True,
            value=self.value_of(tensor),
            tensor=self.by_tensor.hold(tensor),
            parameter=is_parameter(tensor),
            grad_before=None if grad is None else self.value_of(grad),
            **self.facts(tensor),
        )
        self._register(tensor, draft)
        self._memories.given(tensor, draft.tensor)
        self.film.leaf_added(draft)
        return draft.id

    def constant(self, item: Any) -> str:
        """Return the node of a value that does not require grad: a tensor, the raw array saved of one, a number, or
        UNKNOWN."""
        if item is UNKNOWN:
            return self.add("data", missing=self.reader.unkept).id
        if isinstance(item, (bool, int, float, complex)):
            kind = _KINDS[next(kind for kind in _KINDS if isinstance(item, kind))]
            return self._keep(
                self.add("data", shape=(), dtype=kind, value=self._literal(item, kind)).id, item
            )
        key = self.reader.data_key(item)
        found = self._constants.get(key)
        if found is not None and self._unchanged(found[1], item):
            return found[1]
        if is_tensor(item):
            draft = self.add(
                "data",
                value=self.value_of(item),
                tensor=self.by_tensor.hold(item),
                **self.facts(item),
            )
            draft.parameter = is_parameter(item)
            self._memories.given(item, draft.tensor)
            self.place(item, draft.id)
        else:
            draft = self.add(
                "data", shape=np.shape(item), dtype=type_name(item.dtype), value=self.value_of(item)
            )
        self._constants[key] = (item, draft.id)
        return self._keep(draft.id, item)

    def _keep(self, node_id: str, item: Any, nr: int = 0) -> str:
        if not self.recording:
            self.raw[node_id, nr] = item
        return node_id

    def _literal(self, item: Any, kind: str) -> Value | None:
        sign = "" if item and item.__class__ is not complex else repr(item)
        return _value_of_literal(item, kind, sign) if self.values else None

    def _unchanged(self, node_id: str, tensor: Any) -> bool:
        """Return whether a tensor still has the value that its node shows, judging by its version counter."""
        version = self.draft(node_id).version
        return version is None or not is_tensor(tensor) or version == self.reader.version(tensor)

    def unlike(self, draft: Draft, given: Mapping[str, Any]) -> frozenset[str]:
        """Return the operands that NumPy changed after their nodes recorded the numbers. NumPy changes no version
        counter, so small tensors are compared."""
        return frozenset(
            name
            for name, (parent, _) in draft.operands.items()
            if self.draft(parent).kind != "op" and self._differs(self.draft(parent), given[name])
        )

    def _differs(self, draft: Draft, tensor: Any) -> bool:
        known, reader = draft.value, self.reader
        if known is None or not reader.owns(tensor) or tensor.numel() > WHOLE:
            return False
        if draft.device not in ("", "cpu"):
            return False
        try:
            return not reader.shows(known, tensor)
        except RuntimeError:  # inside a torch.func transform nothing can be read
            return False

    def place(self, tensor: Any, node_id: str, nr: int = 0) -> None:
        """Note that `tensor` is result `nr` of a node; before, it may have been a result of another node."""
        self.by_tensor.put(tensor, node_id)
        if nr or self.output_nr.get(tensor):
            self.output_nr.put(tensor, nr)

    def _register(self, tensor: Any, draft: Draft) -> None:
        self.place(tensor, draft.id)
        self.cuts.remember(tensor, draft.id)

    def tensor(self, tensor: Any) -> tuple[str, int]:
        """Return (node id, output number) of any tensor. If the tensor is new, read its history from its graph."""
        fn = self.reader.grad_fn(tensor)
        if fn is not None:
            if (node_id := self.by_fn.get(fn)) is None:
                self.graph([fn])
                node_id = self.by_fn.get(fn)
            if self.recording and self.draft(node_id).tensor is None:
                self.settle(node_id, tensor.output_nr, tensor)
            return node_id, tensor.output_nr
        if tensor.requires_grad:
            return self.leaf(tensor), 0
        found = self.by_tensor.get(tensor)
        if found is not None and self._unchanged(found, tensor):
            return found, self.output_nr.get(tensor) or 0
        return (self.cuts.node(tensor) or self.constant(tensor)), 0

    def root(self, tensor: Any) -> str:
        """Return the node of a result that the caller asked to trace; its own value is available."""
        node_id, nr = self.tensor(tensor)
        if self.draft(node_id).kind == "op":
            self.settle(node_id, nr, tensor)
        return node_id

    def settle(self, node_id: str, nr: int, tensor: Any) -> None:
        """Note facts about `tensor`, output `nr` of an operation, that only the tensor itself knows."""
        draft = self.draft(node_id)
        if draft.tensor is None and nr == 0:
            facts = self.reader.facts(tensor)
            draft.tensor, draft.device = self.by_tensor.hold(tensor), draft.device or facts.device
            draft.version, draft.shape, draft.dtype = facts.version, facts.shape, facts.dtype
            if (
                not self.recording and (grad := self.reader.grad(tensor)) is not None
            ):  # kept by `retain_grad`
                draft.grad_before = self.value_of(grad)
        if self._is_as_made(tensor):
            self.set_output(node_id, nr, tensor)

    def _is_as_made(self, tensor: Any) -> bool:
        """Return whether a result was never changed in place, as far as an existing graph can tell."""
        return self.recording or not self.reader.version(tensor)

    # -- edges and saved tensors -------------------------------------------------------------------
    def edge(
        self,
        parent: str,
        parent_nr: int,
        child: str,
        slot: int,
        differentiable: bool = True,
        update: bool = False,
    ) -> None:
        edge = EdgeDraft(
            f"e{len(self.edges)}", parent, parent_nr, child, slot, differentiable, update
        )
        self.edges.append(edge)
        self._edge_at[child, slot] = edge

    def edge_at(self, child: str, slot: int) -> EdgeDraft | None:
        return self._edge_at.get((child, slot))

    def save(self, draft: Draft, fn: Any, entry: SavedEntry) -> None:
        """Note that `draft` saves `entry` for its backward pass."""
        source, nr = self._source_of(draft, entry)
        if nr and source == draft.id and entry.tensor is not None and not self.recording:
            self._saved_outputs[self.reader.data_key(entry.tensor)] = draft.id, nr, entry.tensor
        made = SavedDraft(draft.id, entry.name, self.by_fn.hold(fn), source, nr, entry.state)
        self.saved.append(made)
        self._saved_of.setdefault(draft.id, []).append(made)
        if entry.tensor is None:
            made.missing = WHY_GONE.get(entry.state, HOOKED)
            return
        known = None if source in (None, draft.id) or nr else self.draft(source)
        look = self._look
        if (
            known is not None
            and known.bytes is not None
            and entry.name not in draft.unlike
            and not known.outputs
            and known.version == self.reader.version(entry.tensor)
        ):
            look = known.looked_at
        facts, made.value = look(entry.tensor)
        made.shape, made.dtype, made.version, made.bytes = (
            facts.shape,
            facts.dtype,
            facts.version,
            facts.bytes,
        )
        given = source is not None and self.draft(source).kind != "op"  # in memory anyway
        made.memory = 0 if given else self._memories(entry.tensor)

    def _look(self, tensor: Any) -> tuple[Any, Value | None]:
        """Return the facts and the value of a saved tensor. In an existing graph nothing changes, so read them only
        once."""
        found = self._looked.get(id(tensor))
        if found is None:
            found = self.reader.facts(tensor), self.value_of(tensor), tensor
            if not self.recording:
                self._looked[id(tensor)] = found
        return found[:2]

    def saved_of(self, node_id: str) -> Sequence[SavedDraft]:
        return self._saved_of.get(node_id, ())

    def _source_of(self, draft: Draft, entry: SavedEntry) -> tuple[str | None, int]:
        """Return (node id, output number) of a saved tensor."""
        if entry.name in draft.operands:
            return draft.operands[entry.name]
        outputs = draft.record.outputs if draft.record is not None else ()
        if entry.name.startswith("result") or entry.name in outputs:
            return draft.id, outputs.index(entry.name) if entry.name in outputs else 0
        if entry.tensor is None:
            return None, 0
        fn = self.reader.grad_fn(entry.tensor)
        return (
            (self.by_fn.get(fn), entry.tensor.output_nr)
            if fn is not None
            else (self.by_tensor.get(entry.tensor), 0)
        )

    # -- an existing graph -------------------------------------------------------------------------
    def graph(self, fns: Iterable[Any]) -> None:
        """Add the nodes behind `fns` that are not known yet, oldest operation first, without recursion."""
        known = self.by_fn.get
        found = {fn: fn.next_functions for fn in fns if known(fn) is None}
        if not found:
            return
        todo = list(found)
        while todo:
            for parent, _ in found[todo.pop()]:
                if parent is not None and parent not in found and known(parent) is None:
                    if not hasattr(parent, "variable"):
                        found[parent] = parent.next_functions
                        todo.append(parent)
        ordered = sorted(
            (fn for fn in found if not hasattr(fn, "variable")), key=self.reader.sequence_nr
        )
        self.reader.walked(ordered)
        for fn in ordered:
            self._from_graph(fn, found[fn])

    def _from_graph(self, fn: Any, inputs: Sequence[tuple[Any, int]]) -> None:
        record, grad_fn = self.reader.op(fn), self.reader.grad_fn_name(fn)
        names, order, beside = slots(record, len(inputs))
        kept = list(self.reader.saved(fn))
        if len(kept) > 1:
            kept.sort(key=order)
        saved = {name: item for name, item in kept if item.__class__ is SavedEntry}
        attrs = {name: plain(item) for name, item in kept if name not in saved}
        parents = [
            None if attrs and names and attrs.get(f"{names[slot]}_sym_sizes_opt") == [0]  # a convolution saves whether it has a bias
            else self._parent(fn, slot, parent, record, names, saved)
            for slot, (parent, _) in enumerate(inputs)
        ]  # fmt: skip
        extras = [  # operands that never get a gradient but are saved (an index, a mask, class labels)
            (name, self.constant(entry.tensor))
            for name, entry in saved.items()
            if name in beside and entry.tensor is not None and not entry.tensor.requires_grad
        ] if beside else ()  # fmt: skip
        outputs = self.reader.outputs(fn)
        result = self.reader.result(fn)
        draft = self.add(
            "op",
            op=operation_name(record.node if record is not None else grad_fn),
            grad_fn=grad_fn,
            requires_grad=True,
            shape=outputs[0][0],
            dtype=outputs[0][1],
            device=outputs[0][2],
            attrs=attrs,
            record=record,
            scope=self.reader.scope(fn),
            value=None if result is None else self.value_of(result),
        )
        if len(outputs) > 1:
            shown = (
                record.outputs if record is not None and len(record.outputs) == len(outputs) else ()
            )
            draft.outputs = tuple(
                Output(
                    shown[i] if shown else f"output {i}",
                    shape,
                    dtype,
                    draft.value if i == 0 else None,
                )
                for i, (shape, dtype, _) in enumerate(outputs)
            )
        self.by_fn.put(fn, draft.id)
        if self.recording:
            draft.missing = (
                "" if result is not None else "not kept: it was computed before the recording began"
            )
        else:
            self.fns[draft.id] = fn
            if result is not None:
                self.raw[draft.id, 0] = result
        for slot, (name, parent) in enumerate(zip(names or map(str, range(len(inputs))), parents)):
            if parent is not None:
                draft.operands[name] = parent, inputs[slot][1]
                self.edge(parent, inputs[slot][1], draft.id, slot, inputs[slot][0] is not None)
        for slot, (name, parent) in enumerate(extras, len(inputs)):
            draft.operands[name] = parent, 0
            self.edge(parent, 0, draft.id, slot, differentiable=False)
        for entry in saved.values():
            self.save(draft, fn, entry)
            self._learn(entry.tensor)

    def _parent(
        self,
        fn: Any,
        slot: int,
        parent: Any,
        record: Any,
        names: list[str] | None,
        saved: dict[str, SavedEntry],
    ) -> str | None:
        if parent is not None:
            known = self.by_fn.get(parent)
            return (
                self.leaf(parent.variable)
                if known is None and hasattr(parent, "variable")
                else known
            )
        if names is None:
            return None  # an operation unknown to the registry: an operand can't be told from an omitted argument
        operand, entry = self.reader.operand(fn, slot), saved.get(names[slot])
        if (
            entry is not None
            and entry.tensor is not None
            and not isinstance(operand, (bool, int, float))
        ):
            return (
                self.by_tensor.get(entry.tensor)
                or self.cuts.node(entry.tensor)
                or self.constant(entry.tensor)
            )
        if operand is None or operand is UNKNOWN and names[slot] in record.defaults:
            return None
        return self.constant(operand)

    def _learn(self, tensor: Any) -> None:
        """Take the value of a result from a saved tensor, which is the result of another operation."""
        fn = None if tensor is None else self.reader.grad_fn(tensor)
        if not self.values or fn is None:
            return
        node_id = self.by_fn.get(fn)
        if node_id is not None:
            self.cuts.remember(tensor, node_id)
        seen = (node_id, tensor.output_nr) in self._outputs_seen
        if node_id is not None and not seen and self._is_as_made(tensor):
            self.set_output(node_id, tensor.output_nr, tensor)

    def set_output(self, node_id: str, nr: int, tensor: Any) -> None:
        """Note that `tensor` is output `nr` of an operation in an existing graph or in a recording."""
        draft = self.draft(node_id)
        shown = [draft.value] * (nr == 0) + [output.value for output in draft.outputs[nr : nr + 1]]
        if self.recording and shown and None not in shown:
            return  # seen when it was computed; it may have been changed in place since
        value = self.value_of(tensor)
        if value is None:
            return
        self._outputs_seen[node_id, nr] = value
        self._keep(node_id, tensor, nr)
        self.pictures.result(draft, nr, tensor)
        if nr == 0 and draft.value is None:
            draft.value, draft.shape, draft.dtype, draft.missing = (
                value,
                value.shape,
                value.dtype,
                "",
            )
        if nr < len(draft.outputs) and draft.outputs[nr].value is None:
            draft.change_output(nr, value=value, shape=value.shape, dtype=value.dtype)

    # -- names -------------------------------------------------------------------------------------
    def name(self, name: str, tensor: Any) -> None:
        """Note that `tensor` is called `name` in the learner's code; the first name wins."""
        node_id, nr = self.find(tensor), 0
        if node_id is None:
            return
        draft = self.draft(node_id)
        draft.parameter = draft.parameter or is_parameter(tensor)
        if draft.kind == "data" and draft.version is None:
            draft.version = self.reader.version(tensor)  # the graph keeps only the array
        if draft.kind == "op" and self.reader.grad_fn(tensor) is not None:
            nr = tensor.output_nr
            self.settle(node_id, nr, tensor)
        else:
            nr = self._output_of(tensor)
        if nr == 0 and not draft.name:
            draft.name = name
        elif 0 < nr < len(draft.outputs) and not draft.outputs[nr].label:
            draft.change_output(nr, label=name)

    def _output_of(self, tensor: Any) -> int:
        """Return which result of its node a tensor without grad_fn is, such as the indices of `max`."""
        nr = self.output_nr.get(tensor)
        return (
            nr
            if nr is not None
            else self._saved_outputs.get(self.reader.data_key(tensor), ("", 0, None))[1]
        )

    def has_no_name(self, tensor: Any) -> bool:
        """Return whether a tensor of a recording is known but has no name yet."""
        found = self.by_tensor.get(tensor)
        if found is None:
            return False
        draft, nr = self.draft(found), self.output_nr.get(tensor) or 0
        return not (draft.outputs[nr].label if nr else draft.name)

    def find(self, tensor: Any) -> str | None:
        """Return the node of a tensor; None if it is not part of the trace."""
        # Look up the tensor first: after an in-place operation it still has the name of its older node.
        found = self.by_tensor.get(tensor)
        if found is None and (fn := self.reader.grad_fn(tensor)) is not None:
            found = self.by_fn.get(fn)
        if found is None and not tensor.requires_grad:
            key = self.reader.data_key(tensor)
            constant = self._constants.get(key)
            found = (
                self._saved_outputs.get(key, (None, 0, None))[0]
                if constant is None
                else constant[1]
            )
        return found

    # -- the result --------------------------------------------------------------------------------
    def finish(self, meta: dict[str, Any]) -> Trace:
        """Return the frozen trace. `meta` as in `model.Trace`. The builder can't be used afterwards."""
        trace = self.ended(meta)()
        self.__dict__.clear()  # its parts refer to it: without this, its tables would stay until the garbage collector runs
        return trace

    def ended(
        self, meta: dict[str, Any], updates: Updates | None = None, marks: Iterable[Mark] = ()
    ) -> Callable[[], Trace]:
        """Return a function that makes the trace from the present state of tensors and nodes. For a recording, it also
        uses the changes of leaves and the source lines."""
        for draft in self.nodes:
            if draft.tensor is not None or draft.kind == "leaf":
                draft.grad = self._grad_of(draft)
        states = states_now(self.saved, self.reader) if self.recording else None
        return lambda: self._written(meta, updates, marks, states)

    def forget(self) -> None:
        """Release everything that is not part of the finished trace, because the recording is over."""
        self._constants.clear()
        self._memories = Memories(self.reader)
        self.film.forget()

    def _written(
        self,
        meta: dict[str, Any],
        updates: Updates | None,
        marks: Iterable[Mark],
        states: States | None,
    ) -> Trace:
        groups = scopes.groups(self.nodes, self.edges)
        fill_devices(self._by_id, self.edges)
        name_overwritten(self.nodes)
        mark_aliases(self.nodes, self.edges)
        if self.reader.library == "autolab":
            scopes.name_parameters(self.nodes, self.edges)
        if updates is not None:
            updates.share_names()
        book = labels.Book(self.nodes, self.formulas)
        book.write_out(self.saved)
        edges = book.edges(self.edges, self.film.shots)
        if updates is not None:
            groups = updates.groups(groups, list(marks), book)
            meta = meta | {"why": f"{meta['why']} {updates.idle(book)}".strip()}
        layers = self.pictures.all(book)
        told = {} if updates is None else {d.id: updates.describe(d, book) for d in self.nodes}
        nodes = Records(self.nodes, lambda _, d: book.node(d, layers.get(d.id), told.get(d.id)))
        frozen = {d.id for d in self.nodes if d.parameter and not d.requires_grad}
        frames, passes = self.film.develop(nodes, edges, frozen, book)
        if frozen:
            meta = meta | {"frozen": [d.id for d in self.nodes if d.id in frozen]}
        away = {d.device for d in self.nodes} - {"", "cpu"}
        if away:
            unknown = {"title": "", "simulated": False}
            meta = meta | {
                "devices": {name: self.reader.titles.get(name, unknown) for name in sorted(away)}
            }
        saved = with_states(self.saved, states)
        if self.recording:  # the recording may go on and change its drafts
            return Trace(tuple(nodes), tuple(edges), saved, tuple(frames), groups, passes, meta)
        for draft in self.nodes:
            draft.tensor = None
        return Trace(nodes, edges, saved, frames, groups, passes, meta)

    def _grad_of(self, draft: Draft) -> Value | None:
        tensor = draft.held() if draft.requires_grad else None
        if draft.kind == "leaf" and (tensor is None or self.by_tensor.get(tensor) != draft.id):
            # The tensor is gone or was changed in place, so its `.grad` belongs to a later version.
            return self.film.last_grad(draft.id)
        grad = None if tensor is None else self.reader.grad(tensor)
        return None if grad is None else self.value_of(grad)
