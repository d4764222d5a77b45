"""A recorded run again with other numbers: of a leaf, a constant, or a learning rate. Nothing of the learner's
is touched, only numbers are worked out.

`static/replay.js` does the same on a page, for a few operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .model import Frame, Trace
from .replay import Again, Unknown, array_of


class _Run:
    """values: what the nodes that changed have become."""

    def __init__(self, trace: Trace, edits: dict[str, Any]):
        self.trace, self.again, self.edits = trace, Again(trace), edits
        self.values: dict[str, np.ndarray] = {k: v for k, v in edits.items() if not isinstance(v, dict)}
        self.held: dict[
            str, tuple[np.ndarray | None, bool]
        ] = {}  # leaf -> what its `.grad` holds, and whether that is another than recorded
        self.passes: dict[int, dict[str, np.ndarray] | None] = {}

    def value(self, node: str) -> np.ndarray | None:
        return self.values[node] if node in self.values else self.again.value(node)

    def operands(self, node: str) -> list[np.ndarray]:
        found = [
            self.value(e.parent) if e.parent_nr == 0 else self.again.value(e.parent, e.parent_nr)
            for e in self.again.into.get(node, [])
        ]
        if any(item is None for item in found):
            raise Unknown(f"{self.trace.node(node).label} is computed from numbers that the trace does not keep")
        return found  # type: ignore[return-value]

    def touched(self, node: str) -> bool:
        return any(edge.parent in self.values for edge in self.again.into.get(node, []))

    def compute(self, node: str) -> None:
        if self.touched(node):
            try:
                self.values[node] = self.again.result(node, self.operands(node))
            except Unknown as why:
                raise Unknown(f"{self.trace.node(node).label} ({self.trace.node(node).op}): {why}") from None

    def backward(self, run: int) -> dict[str, np.ndarray] | None:
        """All gradients of one pass, None where nothing that has to do with it has changed."""
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
        self.values[node.id] = self.values[str(frame.receiver)] = (weight - lr * grad).astype(weight.dtype)


def rerun(trace: Trace, edits: dict[str, Any]) -> dict[str, np.ndarray]:
    """What becomes of the nodes that change. edits: node id -> an array of its shape, or of an optimizer's update {"lr": rate}.

    Raises Unknown where something on the way cannot be run again.

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
    """What a page is told that asks for a run with `message["edits"]`."""
    from .values import Value

    edits: dict[str, Any] = {}
    for node, edit in message["edits"].items():
        dtype = trace.node(node).dtype
        edits[node] = (
            edit
            if "lr" in edit
            else np.array(edit["data"], dtype if dtype.startswith("float") else None).reshape(edit["shape"])
        )
    told = {"kind": "what-if", "id": message["id"]}
    try:
        found = rerun(trace, edits)
    except Unknown as why:
        return told | {"why": str(why)}
    return told | {"values": {node: Value.of(array).to_json() for node, array in found.items() if array.size <= 64}}
