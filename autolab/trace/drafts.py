"""Nodes in the making, and the small rules about names, attributes and repeated leaves."""

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
    """A node in the making: the fields of `model.Node`, and what its formulas need."""

    id: str
    kind: str
    op: str = ""
    grad_fn: str = ""
    name: str = ""
    label: str = ""  # at the end
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    value: Value | None = None
    grad: Value | None = None  # at the end
    grad_before: Value | None = None
    source: Source | None = None
    module: str = ""
    scope: Any = None  # the call of a module that made it; see `scopes`
    cut: str = ""
    version: int | None = None
    bytes: int | None = None
    error: str = ""
    mark: str = ""
    outputs: tuple[Output, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    literal: str = ""  # a number as it stands in the learner's code
    spelled: dict[str, str] = field(default_factory=dict)  # the same of attributes, by name
    missing: str = ""  # why there is no value
    again: bool = False  # whether the value was computed again
    record: Any = None  # the op's registry record, for formulas
    operands: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # argument -> (parent id, its output number)
    unlike: frozenset[str] = (
        frozenset()
    )  # operands that were changed before they were used here: their number is the one before
    parameter: bool = False  # of a module
    time: float | None = None  # seconds that it took
    tensor: Any = (
        None  # a function that gives the tensor, or None when it is gone: for names and `.grad`
    )

    def held(self) -> Any:
        """The tensor, None where it is gone or was never met."""
        return None if self.tensor is None else self.tensor()

    def looked_at(self, tensor: Any) -> tuple[Draft, Value | None]:
        """What `Builder._look` says of its first result, which is as it was."""
        return self, self.value

    def change_output(self, nr: int, **fields: Any) -> None:
        """Exchanges fields of output `nr`."""
        self.outputs = tuple(
            replace(o, **fields) if i == nr else o for i, o in enumerate(self.outputs)
        )


@dataclass(slots=True)
class EdgeDraft:
    """An edge in the making: the fields of `model.Edge` that are no formulas."""

    id: str
    parent: str
    parent_nr: int
    child: str
    slot: int
    differentiable: bool
    update: bool
    alias: bool = False  # at the end


@dataclass(slots=True)
class SavedDraft:
    """A saved tensor in the making: the fields of `model.Saved`."""

    node: str
    name: str
    grad_fn: Any  # a function that gives the node, as `Draft.tensor`
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
        """The finished record."""
        same = {name: getattr(self, name) for name in self.__slots__ if name != "grad_fn"}
        return Saved(f"s{number}", **same | {"state": state})


class Seen:
    """Objects by identity. With `weak`, an object may die; then its id no longer counts as seen."""

    def __init__(self, weak: bool) -> None:
        self.weak = weak
        self._found: dict[int, tuple[Any, Any]] = {}

    def hold(self, item: Any) -> Any:
        """A function that gives `item` back, or None once it is gone."""
        return weakref.ref(item) if self.weak else lambda: item

    def put(self, item: Any, what: Any) -> None:
        self._found[id(item)] = (weakref.ref(item) if self.weak else item, what)

    def get(self, item: Any) -> Any:
        found = self._found.get(id(item))
        return None if found is None or self.weak and found[0]() is not item else found[1]


def place(names: list[str] | None) -> Any:
    """A sort key that puts what is saved in the order of the operands, then the alphabet: libraries list it
    differently."""
    places = {name: i for i, name in enumerate(names or ())}
    return lambda item: (places.get(item[0], len(places)), item[0])


def slot_names(record: Any, count: int) -> list[str] | None:
    """The argument names at a node's inputs, None when the record does not fit."""
    if record is None or not record.rules:
        return None
    if record.spread:
        base = record.params[record.rules[0][0]]
        return [f"{base}[{i}]" for i in range(count)]
    return [record.params[i] for i, _, _ in record.rules] if len(record.rules) == count else None


_OVERLOAD = re.compile(r"_(scalar|tensor|of_number|number|base|spread|raw)$")


@functools.lru_cache(maxsize=1024)
def operation_name(grad_fn: str) -> str:
    """The operation behind a grad_fn name: "MulBackward0" -> "mul", "NllLossBackward0" -> "nll_loss"."""
    head, found, tail = grad_fn.rpartition("Backward")
    base = head if found and (not tail or tail.isdigit() or tail == "s") else grad_fn
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", base).lower()
    words = re.sub(r"(\d)_d(?=_|$)", r"\1d", words)  # MaxPool2D is max_pool2d
    return _OVERLOAD.sub("", words) or grad_fn


def plain(item: Any) -> Any:
    """An attribute as JSON."""
    if item is None or isinstance(item, (bool, str)) or item.__class__ is int:
        return item
    if isinstance(item, (list, tuple)):
        return [plain(i) for i in item]
    return number(item) if isinstance(item, (int, float, np.number)) else str(item)


def mark_aliases(nodes: list[Draft], edges: list[EdgeDraft]) -> None:
    """Notes which edges a picture replaces by another box of the parent's name."""
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
    """Devices that nothing told, from what a node is joined to. `known`: the nodes by id."""
    if all(draft.shape is not None and draft.device in ("", "cpu") for draft in known.values()):
        edges = []  # there is but one
    for edge in reversed(
        edges
    ):  # operands are where the result is; only a copy comes from elsewhere
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
    """What an in-place operation changed has the name of what it became: both are one tensor."""
    for draft in reversed(nodes):
        found = draft.operands.get("self") if draft.op.endswith("_") and not draft.error else None
        before = None if found is None else nodes[int(found[0][1:])]
        if before is not None and draft.name and not before.name and before.outputs == ():
            before.name = draft.name
