"""Unfinished nodes, edges and saved tensors, and small rules about names, attributes and repeated leaves."""

from __future__ import annotations

import functools
import re
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .model import Kinds, Output, Saved, Source
from .values import Value, number

ALIAS_FROM = 4
"""A leaf or constant with more children than this is drawn again at each further child: one box with 60 lines takes
dot 14 s."""


@dataclass(slots=True)
class Draft(Kinds):
    """An unfinished node: the fields of `model.Node`, and what its formulas need."""

    id: str
    kind: str
    op: str = ""
    grad_fn: str = ""
    name: str = ""
    label: str = ""  # filled in at the end
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    value: Value | None = None
    grad: Value | None = None  # filled in at the end
    grad_before: Value | None = None
    source: Source | None = None
    module: str = ""
    scope: Any = None  # the module call that made it; see `scopes`
    cut: str = ""
    version: int | None = None
    bytes: int | None = None
    error: str = ""
    mark: str = ""
    outputs: tuple[Output, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    literal: str = ""  # a number as it is written in the learner's code
    spelled: dict[str, str] = field(
        default_factory=dict
    )  # attributes, by name, as they are written there
    missing: str = ""  # why there is no value
    again: bool = False  # whether the value was recomputed
    record: Any = None  # the op's registry record, for formulas
    operands: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # argument -> (parent id, its output number)
    unlike: frozenset[str] = (
        frozenset()
    )  # operands that were changed in place before their use here: they keep the number before the change
    parameter: bool = False  # whether it is a module's parameter
    time: float | None = None  # duration in seconds
    tensor: Any = None  # returns the tensor, or None when it is freed: for names and `.grad`

    def held(self) -> Any:
        """Return the tensor; None if it was freed or never seen."""
        return None if self.tensor is None else self.tensor()

    def looked_at(self, tensor: Any) -> tuple[Draft, Value | None]:
        """Take over the facts that `Builder._look` found about the first result, which has not changed since."""
        return self, self.value

    def change_output(self, nr: int, **fields: Any) -> None:
        """Replace fields of output `nr`."""
        self.outputs = tuple(
            replace(o, **fields) if i == nr else o for i, o in enumerate(self.outputs)
        )


@dataclass(slots=True)
class EdgeDraft:
    """An unfinished edge: the fields of `model.Edge` except the formulas."""

    id: str
    parent: str
    parent_nr: int
    child: str
    slot: int
    differentiable: bool
    update: bool
    alias: bool = False  # filled in at the end


@dataclass(slots=True)
class SavedDraft:
    """An unfinished saved tensor: the fields of `model.Saved`."""

    node: str
    name: str
    grad_fn: Any  # a function that returns the node, like `Draft.tensor`
    source_node: str | None
    source_nr: int
    state: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    version: int | None = None
    bytes: int | None = None
    value: Value | None = None
    missing: str = ""
    memory: int | None = None

    def saved(self, number: int, state: str) -> Saved:
        """Return the finished record."""
        same = {name: getattr(self, name) for name in self.__slots__ if name != "grad_fn"}
        return Saved(f"s{number}", **same | {"state": state})


class Seen:
    """A dictionary with objects as keys, by identity. With `weak`, objects may be freed; then their id no longer counts
    as seen."""

    def __init__(self, weak: bool) -> None:
        self.weak = weak
        self._found: dict[int, tuple[Any, Any]] = {}

    def hold(self, item: Any) -> Any:
        """Return a function that returns `item`, or None once it is freed."""
        return weakref.ref(item) if self.weak else lambda: item

    def put(self, item: Any, what: Any) -> None:
        self._found[id(item)] = (weakref.ref(item) if self.weak else item, what)

    def get(self, item: Any) -> Any:
        found = self._found.get(id(item))
        return None if found is None or self.weak and found[0]() is not item else found[1]


def place(names: list[str] | None) -> Any:
    """Return a sort key that orders saved tensors by operand and then alphabetically, because libraries list them
    differently."""
    places = {name: i for i, name in enumerate(names or ())}
    return lambda item: (places.get(item[0], len(places)), item[0])


def slot_names(record: Any, count: int) -> list[str] | None:
    """Return the argument names of a node's inputs; None if the record does not fit."""
    if record is None or not record.rules:
        return None
    if record.spread:
        base = record.params[record.rules[0][0]]
        return [f"{base}[{i}]" for i in range(count)]
    return [record.params[i] for i, _, _ in record.rules] if len(record.rules) == count else None


_OVERLOAD = re.compile(r"_(scalar|tensor|of_number|number|base|spread|raw)$")


@functools.lru_cache(maxsize=1024)
def operation_name(grad_fn: str) -> str:
    """Return the operation that a grad_fn name stands for: "MulBackward0" -> "mul", "NllLossBackward0" ->
    "nll_loss"."""
    head, found, tail = grad_fn.rpartition("Backward")
    base = head if found and (not tail or tail.isdigit() or tail == "s") else grad_fn
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", base).lower()
    words = re.sub(r"(\d)_d(?=_|$)", r"\1d", words)  # MaxPool2D becomes max_pool2d
    return _OVERLOAD.sub("", words) or grad_fn


def plain(item: Any) -> Any:
    """Return an attribute as JSON data."""
    if item is None or isinstance(item, (bool, str)) or item.__class__ is int:
        return item
    if isinstance(item, (list, tuple)):
        return [plain(i) for i in item]
    return number(item) if isinstance(item, (int, float, np.number)) else str(item)


def mark_aliases(nodes: list[Draft], edges: list[EdgeDraft]) -> None:
    """Mark the edges that a picture replaces with another box of the same name as the parent."""
    ops = {draft.id for draft in nodes if draft.kind == "op"}
    children: dict[str, list[str]] = {}
    for edge in edges:
        if edge.parent not in ops:
            known = children.get(edge.parent)
            if known is None:
                children[edge.parent] = [edge.child]
            elif edge.child not in known[-2:]:
                known.append(edge.child)
    often = {parent: known[0] for parent, known in children.items() if len(known) > ALIAS_FROM}
    for edge in edges if often else ():
        if edge.parent in often:
            edge.alias = edge.child != often[edge.parent]


def fill_devices(known: dict[str, Draft], edges: list[EdgeDraft]) -> None:
    """Fill in unknown devices from the neighbours of a node. `known`: the nodes by id."""
    if all(draft.shape is not None and draft.device in ("", "cpu") for draft in known.values()):
        edges = []  # there is only one device
    for edge in reversed(
        edges
    ):  # operands are on the result's device; only a copy reads from another one
        parent, child = known[edge.parent], known[edge.child]
        if (
            parent.kind == "op"
            and child.device
            and not parent.device
            and child.grad_fn != "ToCopyBackward0"
        ):
            parent.device = child.device
    for edge in edges:  # parents come before children, so one pass is enough
        child = known[edge.child]
        child.device = child.device or ("" if child.error else known[edge.parent].device)
    for draft in known.values():
        draft.device = draft.device or ("" if draft.shape is None else "cpu")


def name_overwritten(nodes: list[Draft]) -> None:
    """Give the value before an in-place operation the name of the result, because both are the same tensor."""
    for draft in reversed(nodes):
        found = draft.operands.get("self") if draft.op.endswith("_") and not draft.error else None
        before = None if found is None else nodes[int(found[0][1:])]
        if before is not None and draft.name and not before.name and before.outputs == ():
            before.name = draft.name
