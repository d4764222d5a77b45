"""Rerun a trace with other numbers: a leaf, a constant, or a learning rate. The learner's tensors are not touched.

`static/replay.js` does the same on a page, for a few operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...engine.core.errors import fail
from ..model import Frame, Node, Trace
from .paths import paths
from ..replay import Again, Unknown, array_of
from ..values import short


class _Run:
    """One rerun. values: the new values of the nodes that changed."""

    def __init__(self, trace: Trace, edits: dict[str, Any]):
        self.trace, self.again, self.edits = trace, Again(trace), edits
        self.values: dict[str, np.ndarray] = {
            k: v for k, v in edits.items() if not isinstance(v, dict)
        }
        self.held: dict[
            str, tuple[np.ndarray | None, bool]
        ] = {}  # leaf -> its `.grad`, and whether that differs from the recording
        self.passes: dict[int, dict[str, np.ndarray] | None] = {}

    def value(self, node: str) -> np.ndarray | None:
        return self.values[node] if node in self.values else self.again.value(node)

    def operands(self, node: str) -> list[np.ndarray]:
        found = [
            self.value(e.parent) if e.parent_nr == 0 else self.again.value(e.parent, e.parent_nr)
            for e in self.again.into.get(node, [])
        ]
        if any(item is None for item in found):
            raise Unknown(
                f"{self.trace.node(node).label} is computed from numbers that the trace does not keep"
            )
        return found  # type: ignore[return-value]

    def touched(self, node: str) -> bool:
        return any(edge.parent in self.values for edge in self.again.into.get(node, []))

    def compute(self, node: str) -> None:
        if self.touched(node):
            try:
                self.values[node] = self.again.result(node, self.operands(node))
            except Unknown as why:
                raise Unknown(
                    f"{self.trace.node(node).label} ({self.trace.node(node).op}): {why}"
                ) from None

    def backward(self, run: int) -> dict[str, np.ndarray] | None:
        """Return all gradients of one pass; None if nothing that affects it has changed."""
        frames = [f for f in self.trace.frames if f.run == run and f.phase == "backward"]
        children = dict.fromkeys(f.node for f in frames if f.event == "contribution")
        if not any(child in self.values or self.touched(child) for child in children):
            return None
        found: dict[str, Any] = {f.node: array_of(f.value) for f in frames if f.event == "seed"}
        for child in children:
            operands = self.operands(child)
            for slot, edge in enumerate(self.again.into[child]):
                if edge.differentiable:
                    local = self.again.jacobian(child, slot, operands)
                    found[edge.parent] = found.get(edge.parent, 0) + np.tensordot(
                        found[child], local, found[child].ndim
                    )
        return found

    def accumulate(self, frame: Frame) -> None:
        leaf = str(frame.receiver)
        if frame.run not in self.passes:
            self.passes[frame.run] = self.backward(frame.run)
        now = (self.passes[frame.run] or {}).get(leaf)
        before, changed = self.held.get(leaf, (array_of(self.trace.node(leaf).grad_before), False))
        if now is None and not changed:
            self.held[leaf] = array_of(frame.total), False
        else:
            part = array_of(frame.value) if now is None else now
            self.held[leaf] = part if before is None or part is None else before + part, True

    def step(self, frame: Frame) -> None:
        node = self.trace.node(frame.node)
        if node.kind != "update":
            if self.touched(node.id):
                raise Unknown(f"{node.label} was changed in place, outside the graph")
            return
        before = next(e.parent for e in self.again.into[node.id] if e.update)
        grad, changed = self.held.get(before, (None, False))
        self.held[str(frame.receiver)] = grad, changed
        if node.id not in self.edits and before not in self.values and not changed:
            return
        settings = (node.update or {}).get("settings", {})
        if node.op != "SGD" or set(settings) - {"lr"}:
            raise Unknown(f"the step of {node.op} is not run again here, only that of plain SGD")
        weight = self.value(before)
        if grad is None or weight is None:
            raise Unknown(f"the gradient for {node.label} is not known")
        lr = self.edits.get(node.id, settings)["lr"]
        self.values[node.id] = self.values[str(frame.receiver)] = (weight - lr * grad).astype(
            weight.dtype
        )


def rerun(trace: Trace, edits: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the new values of the nodes that change. edits: node id -> an array of its shape, or {"lr": rate} for an
    optimizer's update.

    Raises Unknown if a node in between cannot be run again.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> rerun(torch.trace.trace(x * x), {"n0": np.float32(4)})["n1"].item()
    16.0
    """
    run = _Run(trace, edits)
    for frame in trace.frames:
        if frame.event == "compute":
            run.compute(frame.node)
        elif frame.event == "accumulate":
            run.accumulate(frame)
        elif frame.event == "clear":
            run.held[str(frame.receiver)] = array_of(frame.total), False
        elif frame.event == "update":
            run.step(frame)
    return run.values


def answer(trace: Trace, message: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a page that asks for a rerun with `message["edits"]`."""
    from ..values import Value

    edits: dict[str, Any] = {}
    for node, edit in message["edits"].items():
        dtype = trace.node(node).dtype
        edits[node] = (
            edit
            if "lr" in edit
            else np.array(edit["data"], dtype if dtype.startswith("float") else None).reshape(
                edit["shape"]
            )
        )
    told = {"kind": "what-if", "id": message["id"]}
    try:
        found = rerun(trace, edits)
    except Unknown as why:
        return told | {"why": str(why)}
    return told | {
        "values": {
            node: Value.of(array).to_json() for node, array in found.items() if array.size <= 64
        }
    }


@dataclass(frozen=True)
class WhatIf:
    """Results with another number next to the recorded ones; `Explorer.what_if` returns it.

    changes  : name -> (before, after), numbers or arrays, of all changed nodes, the edited one first.
    result   : the name of the last result that changed; "" if none did.
    moved    : by how much the number was moved; None for a learning rate.
    predicted: the change of the result according to the gradient: gradient times `moved`. None if there is no gradient.
    happened : the actual change. None if the result has more than one number, or did not change.
    """

    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    result: str = ""
    moved: Any = None
    predicted: float | None = None
    happened: float | None = None

    def __repr__(self) -> str:
        if not self.result:
            return "Nothing changes by it"
        before, after = self.changes[self.result]
        said = f"{self.result}: {_few(before)} → {_few(after)}"
        if self.predicted is None or self.happened is None:
            return said
        moved = f"; moved by {_few(self.moved)}: predicted {_few(self.predicted)}, happened {_few(self.happened)}"
        rest = self.happened - self.predicted
        small = 1e-5 * abs(self.happened) + 5e-7 * max(abs(before), abs(after))
        return (
            said + moved + ("" if abs(rest) <= small else f"; the rest, {_few(rest)}, is curvature")
        )


def changed(
    trace: Trace, node: str, value: Any, at: tuple[int, ...], derivatives: dict[str, Any]
) -> WhatIf:
    """Rerun with another number for a leaf, a constant or a learning rate, and return what changed.

    node: its id; "lr" for the learning rate of every step. value: a number, or an array of the node's shape; at: the
        index of the number to change. derivatives: edge id -> local derivative, of `paths.local_derivatives`.

    Raises ValueError if the node is not a given number, if the shape is not the node's, and if a node in between cannot
    be run again.
    """
    edits, moved = _edits(trace, node, value, at)
    try:
        found = rerun(trace, edits)
    except Unknown as why:
        raise fail(
            ValueError,
            f"this cannot be run again: {why}",
            "Run your own code with the other number.",
        ) from None
    names: dict[str, tuple[Any, Any]] = {}
    for id in sorted(found, key=lambda id: int(id[1:])):
        one, before, after = trace.node(id), array_of(trace.node(id).value), found[id]
        if (
            isinstance(after, np.ndarray)
            and one.kind != "update"
            and (before is None or not np.array_equal(before, after, equal_nan=True))
        ):
            names[one.label if one.label not in names else id] = _plain(before), _plain(after)
    used = {edge.parent for edge in trace.edges}
    named = [one for one in trace.nodes if one.label in names]
    last = next(
        (one for one in reversed(named) if one.kind == "op" and one.id not in used),
        named[-1] if named else None,
    )
    if last is None:
        return WhatIf(moved=_plain(moved))
    before, after = names[last.label]
    if not isinstance(before, float) or not isinstance(after, float):
        return WhatIf(names, last.label, _plain(moved))
    return WhatIf(
        names,
        last.label,
        _plain(moved),
        _predicted(trace, node, last, moved, derivatives),
        after - before,
    )


def _edits(
    trace: Trace, node: str, value: Any, at: tuple[int, ...]
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Return the edits for `rerun`, and by how much the number was moved."""
    if node == "lr":
        steps = [
            one.id
            for one in trace.nodes
            if one.kind == "update" and "lr" in (one.update or {}).get("settings", {})
        ]
        if not steps:
            raise fail(
                ValueError,
                "lr: there is no step of an optimizer here",
                "Record a loop with optimizer.step() in it.",
            )
        return {step: {"lr": float(value)} for step in steps}, None
    one, before = trace.node(node), array_of(trace.node(node).value)
    made = any(edge.update and edge.child == node for edge in trace.edges)
    if one.kind not in ("leaf", "data") or made or before is None:
        kept = (
            "its numbers are not kept"
            if before is None and not made and one.kind != "op"
            else "it is computed from others"
        )
        raise fail(
            ValueError,
            f"{one.label} cannot be changed: {kept}",
            "Change a leaf, a constant or the learning rate.",
        )
    after = before.copy()
    try:
        after[at] = value
    except (ValueError, IndexError) as error:
        raise fail(
            ValueError,
            f"value: one number, or numbers of shape {list(before[at].shape) if not at else list(before.shape)} were expected ({error})",
            "at=(0, 1) means one number of a tensor.",
        ) from None
    exact = before.astype(np.float64)
    exact[at] = value
    return {node: after}, np.round(exact - before, 12)  # 3.01 - 3 is 0.009999999999999787


def _predicted(
    trace: Trace, node: str, last: Node, moved: np.ndarray | None, derivatives: dict[str, Any]
) -> float | None:
    if moved is None or not trace.node(node).requires_grad:
        return None
    try:
        found = paths(trace, node, last.id, derivatives)
    except ValueError:
        return None
    return (
        None if found.gradient is None else float(np.round(found.gradient[0] @ moved.ravel(), 12))
    )


def _plain(array: Any) -> Any:
    """Return one number as a number, several as an array."""
    return float(array) if array is not None and np.ndim(array) == 0 else array


def _few(item: Any) -> str:
    if isinstance(item, float):
        return short(float(f"{item:.6g}"))
    return f"an array of shape {list(np.shape(item))}"
