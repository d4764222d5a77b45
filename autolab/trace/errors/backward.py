"""Why a backward pass failed, and what to change: pure functions of the trace that ends with the failure.

Each function returns sentences: what happened, with the lines, then the remedy. Node ids follow the order of
computation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ..captions.text import shape_text
from ..model import Edge, Node, Source, Trace
from .exits import NO_DERIVATIVE, SMOOTH, exit_of
from .expressions import Place

VIEWS = frozenset(
    "t transpose view reshape expand permute unsqueeze squeeze select slice split chunk unbind as_strided detach alias diagonal narrow".split()
)
WHOLE_NUMBERS = "It is {}: only floating point numbers have gradients."
_ACTIVATIONS = (
    "relu",
    "elu",
    "selu",
    "celu",
    "hardtanh",
    "relu6",
    "leaky_relu",
    "silu",
    "dropout",
    "threshold",
    "mish",
)
COMPARISONS = frozenset("gt ge lt le eq ne logical_and logical_or logical_not isnan".split())


def line(source: Any) -> str:
    """Return a source line as text: " (net.py, line 3: y = x + 1)", "" if it is not known."""
    if source is None:
        return ""
    source = source if isinstance(source, Source) else Source.from_json(source)
    return f" ({source.file}, line {source.line}: {source.text})"


def number(node_id: str) -> int:
    """Return the position of a node in the order of computation."""
    return int(node_id[1:])


class History:
    """How the nodes of a trace were made and changed."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.into: dict[str, list[Edge]] = {}
        self.out: dict[str, list[Edge]] = {}
        for edge in trace.edges:
            self.into.setdefault(edge.child, []).append(edge)
            self.out.setdefault(edge.parent, []).append(edge)

    def ancestors(self, node_id: str, differentiable: bool = True) -> list[str]:
        """Return the node and all nodes that it was computed from, nearest first."""
        found = {node_id: None}
        todo = [node_id]
        for at in todo:
            for edge in self.into.get(at, ()):
                if (
                    edge.parent not in found
                    and not edge.update
                    and (edge.differentiable or not differentiable)
                ):
                    found[edge.parent] = None
                    todo.append(edge.parent)
        return list(found)

    def base(self, node_id: str) -> str:
        """Return the node that owns the memory: the base of a view, or the node before an in-place change."""
        while True:
            node = self.trace.node(node_id)
            first = next((e for e in self.into.get(node_id, ()) if e.slot == 0), None)
            if first is None or not (node.op in VIEWS or node.op.endswith("_") or first.update):
                return node_id
            node_id = first.parent

    def changes(self, node_id: str, after: int) -> Iterator[Node]:
        """Return the nodes that changed a node's memory in place after the node with number `after` was computed."""
        todo = [self.base(node_id)]
        seen = set(todo)
        for at in todo:
            for edge in self.out.get(at, ()):
                child = self.trace.node(edge.child)
                is_change = (
                    edge.update and bool(child.op) or child.op.endswith("_") and edge.slot == 0
                )
                is_view = child.op in VIEWS and edge.slot == 0
                if edge.child in seen or not (is_change or is_view or edge.update):
                    continue
                seen.add(edge.child)
                todo.append(edge.child)
                if is_change and number(edge.child) > after:
                    yield child

    def before_pass(self, run: int) -> int:
        """Return the number of the last node that was computed before backward pass `run` began."""
        last = -1
        for frame in self.trace.frames:
            if frame.phase == "backward" and frame.run >= run:
                break
            if frame.event in ("compute", "update") and frame.node:
                last = max(last, number(frame.node))
        return last


def is_exact(trace: Trace, recorded: bool) -> bool:
    """Return whether the trace tells at which node a pass failed: PyTorch reports it only to a recording."""
    return recorded or bool(trace.meta["library"] != "torch")


def places_of(trace: Trace, node_id: str) -> Any:
    """Return the other nodes that are involved in a failure (see `Trace.meta`)."""
    return trace.meta.get("failures", {}).get(node_id, {}).get("places", ())


def root_of(trace: Trace, node_id: str) -> Node:
    """Return the node that the failing pass started from."""
    runs = [f for f in trace.frames if f.event == "seed"]
    return trace.node(runs[-1].node if runs else (trace.meta.get("roots") or [node_id])[-1])


def carried(history: History, root: Node, failed: str, last: int) -> list[Node]:
    """Return the results, computed before node number `last`, that link `root` to the node `failed`."""
    behind = set(history.ancestors(root.id))
    found: dict[str, None] = {}
    for child in behind:
        for edge in history.into.get(child, ()):
            crosses = number(edge.parent) <= last < number(child) and edge.differentiable
            if crosses and history.trace.node(edge.parent).kind == "op":
                if failed in history.ancestors(edge.parent):
                    found[edge.parent] = None
    return [history.trace.node(n) for n in sorted(found, key=number)]


def _of_carried(history: History, root: Node, carriers: list[Node]) -> list[str]:
    """Return what to do about results that connect a new loss to an old graph."""
    again = {
        history.trace.node(n).name
        for n in history.ancestors(root.id)
        if number(n) > number(carriers[-1].id)
    }
    state = next((c for c in carriers if c.name and c.name in again), None)
    if state is not None and state.name == root.name:
        name = state.name
        return [
            f"{name} carries the graph of every earlier pass{line(state.source)}.",
            f"Call backward() on the new loss alone, and add up numbers: {name} = {name} + loss.item(). Or add the losses first "
            f"and call {name}.backward() once.",
        ]
    if state is not None:
        name = state.name
        return [
            f"{name} carries the graph of the earlier pass into {root.label}{line(state.source)}.",
            f"Cut it off before the next step: {name} = {name}.detach().",
        ]
    name = carriers[-1].name or carriers[-1].call
    return [
        f"{root.label} was computed from {name}, which was computed before that pass{line(carriers[-1].source)}.",
        f"Compute {name} again for each backward pass (inside the loop, or inside the closure), or pass retain_graph=True to "
        "the earlier backward().",
    ]


def freed(trace: Trace, node_id: str, recorded: bool) -> list[str]:
    """Explain a pass that fails because an earlier pass freed its saved tensors."""
    node = trace.node(node_id)
    where = (
        f"{node.label} = {node.call}"
        if is_exact(trace, recorded)
        else f"The graph behind {node.label}"
    )
    text = [
        f"{where} had saved values for its gradient, and they are gone: a backward pass before this one freed them."
    ]
    places = places_of(trace, node_id)
    earlier = next((p for p in places if p["line"]), None)
    if not recorded or earlier is None:
        return [
            *text,
            "If the same loss is used twice, run the forward pass again, or pass retain_graph=True to the first backward(). If a value "
            "is carried over from an earlier step (a hidden state h, a sum of losses), cut it off: h = h.detach().",
        ]
    text.append(
        f"That was {earlier['words'].partition(': ')[2].removeprefix('by ')}{line(earlier['line'])}."
    )
    run = re.search(r"pass (\d+)", earlier["words"])
    history, root = History(trace), root_of(trace, node_id)
    last = history.before_pass(int(run[1]) if run else 1)
    if number(root.id) > last and (carriers := carried(history, root, node_id, last)):
        return text + _of_carried(history, root, carriers)
    begun = [f.node for f in trace.frames if f.event == "seed"]
    if begun.count(root.id) > 1:
        return [
            *text,
            f"backward() ran through {root.label} already: call it once, or pass retain_graph=True to the first call.",
        ]
    return [
        *text,
        f"{root.label} was computed from {node.label}, too: add the two losses and call backward() once, or pass retain_graph=True "
        "to the first backward().",
    ]


def changed(trace: Trace, node_id: str, recorded: bool) -> list[str]:
    """Explain a pass that needs a saved value which was changed in place."""
    history = History(trace)
    if not node_id:
        node_id = _changed_output(history)
    if not node_id:
        return []
    node = trace.node(node_id)
    for saved in trace.saved if recorded else ():
        if saved.node == node_id and saved.source_node is not None:
            changes = list(history.changes(saved.source_node, number(node_id)))
            if changes:
                return _changed_by(history, node, saved.source_node, changes)
    places = [p for p in places_of(trace, node_id) if p["words"].startswith("changed")]
    changers = {p["node"]: trace.node(p["node"]) for p in places if p["node"]}
    if changers:
        return _changed_by(history, node, node_id, list(changers.values()))
    where = (
        f"{node.label} = {node.call}"
        if is_exact(trace, recorded)
        else f"The graph behind {node.label}"
    )
    return [
        f"{where} had saved a value for its gradient, and it was changed in place afterwards{line(node.source)}.",
        "An optimizer's step changes its parameters in place: run every backward pass before the step. Elsewhere write the change "
        "out of place, or change a clone(). A recording (`with autolab.record():` around the code) shows the line that changed it.",
    ]


def _changed_output(history: History) -> str:
    """Return the node whose result was changed, found by the operation in the message: "output 0 of Tanh"."""
    found = re.search(r"output \d+ of (\w+)", history.trace.meta["error"]["message"])
    made = found[1].removesuffix("Backward0") if found else ""
    for node in reversed(history.trace.nodes):
        if (
            made
            and node.grad_fn == f"{made}Backward0"
            and any(history.changes(node.id, number(node.id)))
        ):
            return str(node.id)
    return ""


def _changed_by(history: History, node: Node, saved: str, changes: list[Node]) -> list[str]:
    first = changes[0]
    base = history.trace.node(history.base(saved))
    name = base.name or base.label
    by = first.update["call"] if first.update and first.kind == "update" else ""
    where = line(first.source)
    saying = f"{node.label} = {node.call} had saved it{line(node.source)}."
    if by:
        text = [f"{name} was changed by {by}{where} after {saying}"]
    else:
        by = "" if first.op == "copy_" or not first.op.endswith("_") else f" by {first.op}"
        text = [f"{name} was changed in place{by}{where} after {saying}"]
        text += [
            f"So it was again{line(other.source)}."
            for other in changes[1:3]
            if other.source != first.source
        ]
    root = root_of(history.trace, node.id)
    runs = [f.run for f in history.trace.frames if f.event == "seed"]
    if runs and runs[-1] > 1:
        last = history.before_pass(runs[-1] - 1)
        carriers = carried(history, root, node.id, last) if number(root.id) > last else []
        if carriers:
            return text + _of_carried(history, root, carriers)
    if first.kind == "update":
        return [
            *text,
            f"Run all backward passes before the step, or compute {node.name or root.label} again after {by}.",
        ]
    if base.kind == "leaf":
        return [
            *text,
            "Make this change after the last backward pass that needs the old value, or compute the loss again after it.",
        ]
    if first.op.rstrip("_") in _ACTIVATIONS:
        return [
            *text,
            f"Use {first.op.rstrip('_')} with inplace=False, which leaves its input as it was.",
        ]
    if base.kind == "data":
        return [
            *text,
            f"Use a copy in the operation: {name}.clone(), or write the change out of place.",
        ]
    other = first.name or name
    return [
        *text,
        f"Write the change out of place (`{other} = {other} + 1` instead of `{other} += 1`), or change {other}.clone().",
    ]


def _as_written(place: Place | None) -> str:
    """Return the code of the result that `result.backward()` or `grad(result, ...)` starts from; "" if unknown."""
    call = None if place is None else place.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    if call.func.attr == "backward" and not call.args:
        return ast.unparse(call.func.value)
    return ast.unparse(call.args[0]) if call.func.attr == "grad" and call.args else ""


def no_graph(trace: Trace, node_id: str, recorded: bool, place: Place | None) -> list[str]:
    """Explain a backward pass that cannot begin, because its result has no graph."""
    root = trace.node(node_id)
    if root.requires_grad:
        return [
            f"The tensor asked about does not require grad; {root.label} does.",
            "Make it a leaf before the forward pass: x.requires_grad_().",
        ]
    name = _as_written(place) if root.is_number else ""
    text = [f"{name or root.label} has no graph behind it: no gradient can go back."]
    cuts = dict.fromkeys(p["node"] for p in places_of(trace, node_id) if p["node"])
    made = [_of_cut(trace, trace.node(n)) for n in cuts]
    code = exit_of(place, recorded) if place is not None else None
    known = [trace.node(n).source for n in cuts]
    if code and (
        not made or code.calls == "checkpoint" or None in known or code.line in made[0][0]
    ):
        return [*text, code.what, code.remedy]
    if made:
        return text + [sentence for sentences in made[:2] for sentence in sentences]
    frozen = [trace.node(n) for n in trace.meta.get("frozen", ())]
    behind = set(History(trace).ancestors(node_id, False))
    named = [n.name or n.label for n in frozen if n.id in behind]
    if named:
        return [
            *text,
            _frozen(named),
            "Unfreeze those that should learn: parameter.requires_grad_(True).",
        ]
    if root.dtype and not root.dtype.startswith(("float", "complex", "bfloat")):
        return [*text, WHOLE_NUMBERS.format(root.dtype)]
    given = [n.label for n in map(trace.node, behind) if n.kind == "data" and n.name]
    if given and recorded:
        text.append(
            f"It was computed from {', '.join(sorted(given)[:5])}, and none of them requires grad."
        )
    return [
        *text,
        "Make what should get a gradient a leaf that requires grad: requires_grad=True where it is made, or x.requires_grad_().",
    ]


def _frozen(named: list[str]) -> str:
    more = f" and {len(named) - 4} more" if len(named) > 4 else ""
    return f"{', '.join(named[:4])}{more} {'is' if len(named) == 1 else 'are'} frozen: requires_grad is False."


def _of_cut(trace: Trace, cut: Node) -> list[str]:
    """Say where a graph ends, and what to do about it."""
    at = f"The graph ends at {cut.label} = {cut.call}"
    if cut.cut in ("no_grad", "inference_mode"):
        own = next(
            (
                e.parent
                for e in trace.edges
                if e.child == cut.id and trace.node(e.parent).name == cut.name != ""
            ),
            None,
        )
        advice = (
            f"This makes a new tensor {cut.name} without a graph. Change the old one in place instead: {cut.name} -= ... inside no_grad."
            if own
            else f"Compute it outside `{cut.cut}`."
        )
        return [f"{at}, under {cut.cut}{line(cut.source)}.", advice]
    if cut.cut in ("detach", "data"):
        return [
            f"{at}{line(cut.source)}.",
            f"Leave out .{cut.cut}{'()' if cut.cut == 'detach' else ''} where a gradient is to go back.",
        ]
    if cut.op in COMPARISONS:
        advice = SMOOTH
    elif cut.op in NO_DERIVATIVE:
        advice = NO_DERIVATIVE[cut.op]
    elif not cut.dtype.startswith(("float", "complex", "bfloat")):
        advice = f"{cut.label} is {cut.dtype}: only floating point numbers have gradients."
    else:
        leaves = [trace.node(e.parent) for e in trace.edges if e.child == cut.id]
        named = [n.name or n.label for n in leaves if n.kind == "leaf"]
        named += [
            n.name
            for e in trace.edges
            if e.child in {x.id for x in leaves if x.op in VIEWS}
            and (n := trace.node(e.parent)).kind == "leaf"
        ]
        if named:
            return [
                f"{at}{line(cut.source)}.",
                _frozen(named),
                "Unfreeze those that should learn: parameter.requires_grad_(True).",
            ]
        advice = "This operation has no gradient."
    return [f"{at}{line(cut.source)}.", advice]


def unused(trace: Trace, node_id: str, index: int, place: Place | None) -> list[str]:
    """Explain why a requested gradient does not exist."""
    root = trace.node(node_id)
    places = places_of(trace, node_id)
    asked = next((trace.node(p["node"]).label for p in places if p["node"]), "")
    if (
        not asked
        and place is not None
        and isinstance(place.node, ast.Call)
        and len(place.node.args) > 1
    ):
        inputs = place.node.args[1]
        items = inputs.elts if isinstance(inputs, (ast.List, ast.Tuple)) else [inputs]
        asked = place.written(items[index]) if index < len(items) else ""
    asked = asked or f"the tensor at index {index}"
    return [
        f"grad() was asked for the gradient of {root.label} with respect to {asked}, but {root.label} was not computed from it.",
        "Use it in the forward pass; or allow_unused=True returns None for it.",
    ]


def not_one(trace: Trace, node_id: str) -> list[str]:
    """Explain a pass that cannot start because its root has more than one number."""
    root = trace.node(node_id)
    return [
        f"{root.label} has the shape {shape_text(root.shape or ())}; backward() starts from one number.",
        f"Reduce it to one, as {root.name or 'loss'}.sum() or {root.name or 'loss'}.mean() does.",
    ]


_AT_ZERO = {
    "sqrt": "The derivative of sqrt() is infinite at 0: add a small number inside, sqrt(x + 1e-8).",
    "log": "log() is infinite at 0: keep its input away from 0, as x.clamp(min=1e-8) does.",
    "div": "A division by 0: add a small eps to what is divided by.",
    "pow": "This power has no finite derivative at 0: add a small eps to the base.",
    "norm": "The norm has no derivative at 0: add a small eps to what it is taken of.",
    "linalg_vector_norm": "The norm has no derivative at 0: add a small eps to what it is taken of.",
}


def at_zero(op: str) -> list[str]:
    """Return what to do if the operation `op` produced a number that is not finite."""
    return [_AT_ZERO[op]] if op in _AT_ZERO else []
