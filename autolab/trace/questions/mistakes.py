"""Typical wrong answers to questions about a trace. Each comes with a sentence that says what is wrong, without giving
the answer."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..model import Edge, Frame, Node
from ..replay import Again, Unknown, array_of

Guess = tuple[Any, str]

_MINUS = {"sub", "neg", "rsub"}
_PRODUCTS = {"mm", "matmul", "bmm", "mv", "addmm"}
_MOST_OF_JACOBIAN = 4096
_PASS_ON = {
    "to_copy",
    "clone",
    "view",
    "reshape",
    "unsqueeze",
    "squeeze",
}  # the same count of numbers, all unchanged


def of_gradient(again: Again, node: Node, arrivals: list[Frame]) -> Iterator[Guess]:
    """Return wrong answers about a gradient. arrivals: the frames of one pass that bring `node` a gradient; the last
    one shows the total."""
    own = [
        (f, again.edge(f.edge), array_of(f.value))
        for f in arrivals
        if f.event == "contribution" and f.edge
    ]
    sent = [(edge, value) for _, edge, value in own if value is not None]
    if len(sent) != len(own):
        return
    total: Any = sum(value for _, value in sent)
    before = array_of(_before(again, node, arrivals))
    if before is not None and before.any() and sent:
        yield (
            total,
            f"`{node.label}.grad` was not empty before this pass, and backward() adds to what is there.",
        )
    if before is not None and before.any():
        sent = []  # for a sum, every forgotten factor is forgotten in each term
    if len(sent) > 1:
        yield from _paths_forgotten(again, node, own)
        yield from _one_of(again, node, sent)
        if len({edge.child for edge, _ in sent}) > 1:
            yield total / len(sent), "Contributions are added; this is their mean."
    if sent and not any(f.event == "hook" for f in arrivals):
        yield from _of_rules(again, node, sent, arrivals)
    if len(sent) == 1 and (further := again.trace.node(sent[0][0].child)).op in _PASS_ON:
        earlier = [f for f in again.trace.frames[: arrivals[-1].index] if f.run == arrivals[-1].run]
        there = [
            f for f in earlier if f.receiver == further.id and f.event in ("seed", "contribution")
        ]
        for value, why in of_gradient(again, further, there) if there else ():
            yield np.reshape(value, np.shape(total)), why


def _before(again: Again, node: Node, arrivals: list[Frame]) -> Any:
    """Return the `.grad` of a leaf before a pass."""
    last = arrivals[-1]
    if last.event != "accumulate":
        return None
    known = node.grad_before
    for frame in again.trace.frames[: arrivals[0].index]:
        if frame.receiver == node.id and frame.event in ("accumulate", "update", "clear"):
            known = frame.total
    return known


def _paths_forgotten(
    again: Again, node: Node, own: list[tuple[Frame, Edge, Any]]
) -> Iterator[Guess]:
    """Yield the results if a path is forgotten further up: one contribution to a child that has several."""
    total: Any = sum(value for _, _, value in own)
    for child in dict.fromkeys(edge.child for _, edge, _ in own):
        mine = [(frame, edge) for frame, edge, _ in own if edge.child == child]
        earlier = again.trace.frames[: mine[0][0].index]
        came = [
            (f, array_of(f.value))
            for f in earlier
            if f.receiver == child and f.run == mine[0][0].run and f.event == "contribution"
        ]
        if len(came) < 2 or any(value is None or value.shape for _, value in came):
            continue
        with contextlib.suppress(Unknown):
            local: Any = sum(again.local(edge) for _, edge in mine)
            label = again.trace.node(child).label
            for frame, value in came:
                source = again.trace.node(frame.node).label
                yield (
                    total - local * value,
                    f"That forgets the paths that run from `{source}` to `{label}`. All contributions to "
                    f"`{label}` are added before `{label}` sends anything on.",
                )


def _one_of(again: Again, node: Node, sent: list[tuple[Edge, np.ndarray]]) -> Iterator[Guess]:
    """Yield the results of one contribution alone, or of all but one."""
    children = [again.trace.node(edge.child).label for edge, _ in sent]
    for i, (_, value) in enumerate(sent):
        if len(set(children)) == 1:
            why = f"That is what one of the {len(sent)} uses of `{node.label}` sends. Each use sends a contribution of its own, and they are added."
        else:
            others = " and ".join(dict.fromkeys(f"`{c}`" for c in children if c != children[i]))
            why = f"That is what `{children[i]}` sends, alone. `{node.label}` is used by {others} too: what comes along every path is added."
        yield value, why
    for i in range(len(sent) if len(sent) > 2 else 0):
        rest = sum(value for j, (_, value) in enumerate(sent) if j != i)
        if children.count(children[i]) > 1:
            yield (
                rest,
                f"Only one of the uses of `{node.label}` in `{children[i]}` is counted. Each use is an edge of "
                f"its own, and each sends a contribution.",
            )
        else:
            yield (
                rest,
                f"What `{children[i]}` sends is missing. The contributions of all paths are added.",
            )


def _of_rules(
    again: Again, node: Node, sent: list[tuple[Edge, np.ndarray]], arrivals: list[Frame]
) -> Iterator[Guess]:
    """Yield the results of chain-rule mistakes, made along every edge alike."""
    child = again.trace.node(sent[0][0].child)
    of = f"`{child.label}`" if len(sent) == 1 else "the operations that use it"
    total: Any = sum(value for _, value in sent)
    arrived: list[Any] = [_arrived(again, edge, arrivals) for edge, _ in sent]
    known = all(item is not None for item in arrived)
    scalar = node.shape == () and all(item is not None and item.shape == () for item in arrived)
    if scalar:
        try:
            yield (
                sum(again.local(edge) for edge, _ in sent),
                f"That is the local derivative alone. It has to be multiplied by the gradient that arrives at {of}.",
            )
        except Unknown:
            pass
    if known and all(item.shape == total.shape for item in arrived):
        yield (
            sum(arrived),
            f"That is the gradient that arrives at {of}. It still has to be multiplied by the local derivative.",
        )
        value = again.value(node.id)
        children = {edge.child for edge, _ in sent}
        if value is not None and [again.trace.node(one).op for one in children] == ["mul"]:
            yield (
                sum(value * item for item in arrived),
                f"That has `{node.label}` itself as a factor. Of a product, each operand is sent the value of the other one.",
            )
    elif known and len(sent) == 1 and arrived[0].size * total.size <= _MOST_OF_JACOBIAN:
        with contextlib.suppress(Unknown):
            yield (
                np.tensordot(np.ones_like(arrived[0]), again.local(sent[0][0]), arrived[0].ndim),
                f"That counts every number of {of} alike. The gradient that arrives there says how much each of them counts.",
            )
    if all(again.trace.node(edge.child).op in _MINUS for edge, _ in sent):
        yield (
            -total,
            "The sign is wrong: what is subtracted gets the gradient with a minus, and what it is subtracted from without.",
        )
    if total.ndim == 2:
        yield (
            total.T,
            "These are the right numbers in the wrong places: it is transposed. A gradient has the shape of its tensor.",
        )
    yield from _of_sizes(node, child, total)
    if known and len(sent) == 1:
        yield from _of_another_time(again, sent[0][0], arrived[0])


def _of_sizes(node: Node, child: Node, total: np.ndarray) -> Iterator[Guess]:
    if node.shape is None or child.shape is None:
        return
    shapes: tuple[tuple[int, ...], ...] = (node.shape, child.shape)
    sizes = math.prod(shapes[0]), math.prod(shapes[1])
    if child.op == "mean" and 0 < sizes[1] < sizes[0]:
        yield (
            total * (sizes[0] / sizes[1]),
            f"mean divides by how many numbers it takes together, {sizes[0] // sizes[1]}; so does its gradient.",
        )
    elif child.op in ("add", "sub", "mul", "div", "expand") and 0 < sizes[0] < sizes[1]:
        n = sizes[1] // sizes[0]
        yield (
            total / n,
            f"`{node.label}` is used {n} times by broadcasting. What comes back from all of them is added; this is the mean.",
        )


def _of_another_time(again: Again, edge: Edge, arrived: np.ndarray) -> Iterator[Guess]:
    """Yield the result of a rule that uses an operand's value before or after an in-place change."""
    try:
        operands = again.operands(edge.child)
    except Unknown:
        return
    slot = [other.id for other in again.into[edge.child]].index(edge.id)
    for i, other in enumerate(again.into[edge.child]):
        for when, changed in again.versions(other.parent):
            value = again.value(changed)
            if value is None or value.shape != operands[i].shape:
                continue
            try:
                local = again.jacobian(edge.child, slot, [*operands[:i], value, *operands[i + 1 :]])
            except Unknown:
                continue
            name = again.trace.node(other.parent).name or again.trace.node(other.parent).label
            yield (
                np.tensordot(arrived, local, arrived.ndim),
                f"That is with the value of `{name}` {when} it was changed. The rule uses the one that was there in the forward pass.",
            )


def _arrived(again: Again, edge: Edge, arrivals: list[Frame]) -> np.ndarray | None:
    """Return the gradient that had arrived at an edge's child when its rule ran."""
    at = next(f for f in arrivals if f.edge == edge.id)
    frames = again.trace.frames[: at.index]
    found = next(
        (
            f
            for f in reversed(frames)
            if f.receiver == edge.child and f.run == at.run and f.event != "free"
        ),
        None,
    )
    return None if found is None else array_of(found.total)


def of_value(again: Again, node: Node) -> Iterator[Guess]:
    """Return wrong answers about the result of an operation, or about a leaf after an update."""
    if node.kind == "update" or node.kind == "leaf":
        yield from _of_update(again, node)
        return
    try:
        operands = again.operands(node.id)
    except Unknown:
        return
    if node.op in ("sub", "div", "pow", "rsub") and len(operands) == 2:
        yield from _run(again, node, operands[::-1], f"The operands of {node.op} are exchanged.")
    if node.op == "pow":
        exponent = operands[1] if len(operands) == 2 else node.attrs.get("exponent")
        if exponent is not None:
            yield (
                operands[0] * exponent,
                "That is the base times the exponent; a power multiplies the base by itself.",
            )
    numbers = operands[0] if operands else np.zeros(())
    size = math.prod(list(node.shape or ()))
    if node.op in ("sum", "mean") and size:
        n = numbers.size / size
        value = again.value(node.id)
        if value is not None:
            yield (
                (value / n, "That is the mean; sum does not divide.")
                if node.op == "sum"
                else (value * n, "That is the sum: mean divides by how many numbers there are.")
            )
    if node.op in ("relu", "abs", "neg", "exp", "log", "tanh", "sigmoid", "sqrt"):
        yield numbers, f"That is what {node.op} is given, not what it makes of it."
    if node.op == "log":
        yield (
            np.log10(np.maximum(numbers.astype(float), 1e-300)),
            "That is the logarithm to base 10; this one is the natural logarithm.",
        )
    if node.op in _PRODUCTS and len(operands) == 2:
        a, b = operands
        if a.shape == b.shape:
            yield (
                a * b,
                "That is the product number by number; `@` multiplies rows by columns and adds.",
            )
        yield from _run(
            again, node, [b, a], "The operands are exchanged: for matrices a @ b is not b @ a."
        )
        value = again.value(node.id)
        if value is not None and value.ndim == 2:
            yield value.T, "These are the right numbers in the wrong places: it is transposed."
    for i, edge in enumerate(again.into.get(node.id, [])):
        for when, changed in again.versions(edge.parent):
            value, name = (
                again.value(changed),
                again.trace.node(edge.parent).name or again.trace.node(edge.parent).label,
            )
            if value is not None:
                yield from _run(
                    again,
                    node,
                    [*operands[:i], value, *operands[i + 1 :]],
                    f"That is with the value of `{name}` {when} it was changed.",
                )


def _run(again: Again, node: Node, operands: list[np.ndarray], why: str) -> Iterator[Guess]:
    try:
        yield again.result(node.id, operands), why
    except Exception:  # incompatible shapes: no learner would answer that
        return


def _of_update(again: Again, node: Node) -> Iterator[Guess]:
    before = next((e.parent for e in again.into.get(node.id, []) if e.update), None)
    step = (
        again.trace.node(before) if before and again.trace.node(before).kind == "update" else node
    )
    if step.update is None:
        return
    leaf = next((e.parent for e in again.into.get(step.id, []) if e.update), None)
    w = None if leaf is None else again.value(leaf)
    at = next((f.index for f in again.trace.frames if f.event == "update" and f.node == step.id), 0)
    found = next(
        (
            f
            for f in reversed(again.trace.frames[:at])
            if f.receiver == leaf and f.event in ("accumulate", "clear")
        ),
        None,
    )
    grad, lr = array_of(found.total) if found else None, step.update["settings"].get("lr")
    if w is not None and grad is not None and lr is not None:
        yield w, "That is the value before the step."
        yield w + lr * grad, "That goes up the slope: the step is taken against the gradient."
        yield (
            w - grad,
            "The learning rate is missing: only that part of the gradient is subtracted.",
        )
        yield -lr * grad, "That is how far it moves, not where it arrives."


def of_shape(again: Again, node: Node) -> Iterator[tuple[tuple[int, ...], str]]:
    shape = tuple(node.shape or ())
    if len(shape) > 1:
        yield shape[::-1], "The sizes are the right ones, in the wrong order: it is transposed."
    for edge in again.into.get(node.id, []):
        parent = again.trace.node(edge.parent)
        if parent.shape is not None:
            yield (
                tuple(parent.shape),
                f"That is the shape of `{parent.label}`; {node.op} makes another one.",
            )
    first = next((again.trace.node(e.parent).shape for e in again.into.get(node.id, [])), None)
    dims = node.attrs.get("dim")
    if (
        first is not None
        and dims is not None
        and node.op in ("sum", "mean", "max", "min", "amax", "amin", "prod", "var", "std")
    ):
        gone = {d % max(1, len(first)) for d in ([dims] if isinstance(dims, int) else dims)}
        kept = tuple(1 if d in gone else size for d, size in enumerate(first))
        removed = tuple(size for d, size in enumerate(first) if d not in gone)
        yield (
            (kept, "Without keepdim=True the dimension that was summed over is gone.")
            if removed == shape
            else (removed, "With keepdim=True the dimension stays, of size 1.")
        )
        yield (
            tuple(size for d, size in enumerate(first) if d in gone),
            "That is the dimension that goes away; the others stay.",
        )
    if len(shape) > 1:
        yield (
            (math.prod(shape),),
            "So many numbers there are; the shape says how they are arranged.",
        )


def of_state(node: Node, state: str, others: list[str]) -> Iterator[tuple[str, str]]:
    """Return for each other state why the gradient of `node` is not in it. state: the right one."""
    comes, x = state not in ("none", "never"), f"`{node.label}`"
    leaf = node.kind != "op"
    if leaf or state != "accumulated":
        keeps = (
            f"{x} is a leaf, and a leaf keeps its gradient in `.grad`."
            if leaf
            else f"{x} is a result, not a leaf: without retain_grad() its gradient is passed on and freed."
        )
    else:
        keeps = f"retain_grad() was called on {x}, so its gradient is kept in `.grad`."
    nothing = f"No gradient reaches {x} in this pass, so nothing can be kept, zero or freed."
    words = {
        "none": f"The pass is over, so no more gradients will reach {x}."
        if state != "none"
        else "",
        "never": f"A gradient does reach {x}, because no operation between the result and {x} cuts the graph."
        if comes
        else f"This pass does not include {x}, so a later pass can still bring it a gradient.",
        "zero": f"The gradient of {x} is not 0."
        if comes
        else f"A gradient of 0 is a number, and it would be in `.grad`. {nothing}",
        "accumulated": nothing
        if not comes
        else "The gradient is the number 0, which the explorer shows as a state of its own."
        if state == "zero"
        else keeps,
        "freed": keeps if comes else nothing,
        "returned": "grad() returns only the gradients that it was asked for."
        if comes
        else nothing,
    }
    for other in others:
        if words[other]:
            yield other, words[other]


def of_next(again: Again, run: int, after: Frame, others: list[str]) -> Iterator[tuple[str, str]]:
    """Return for each other node why it is not the one that runs in frame `after`."""
    trace = again.trace
    ran = {
        f.node
        for f in trace.frames[: after.index]
        if (f.event == "compute" if run == 0 else f.run == run and f.event == "contribution")
    }
    for other in others:
        node = trace.node(other)
        x = f"`{node.label}`"
        if node.kind != "op":
            yield (
                other,
                f"{x} is no operation: "
                + (
                    "its value is there from the start."
                    if run == 0
                    else "a leaf has no rule; what arrives is added to its `.grad`."
                ),
            )
        elif other in ran:
            yield other, f"{x} is done already."
        elif run == 0:
            waits = [
                trace.node(e.parent).label
                for e in again.into.get(other, [])
                if trace.node(e.parent).kind == "op" and e.parent not in ran
            ]
            why = (
                f"{x} needs {_names(waits)}, not computed yet."
                if waits
                else f"{x} could be computed now, but the program computes something else first."
            )
            yield other, why
        else:
            coming = [
                f
                for f in trace.frames
                if f.run == run and f.receiver == other and f.event in ("seed", "contribution")
            ]
            late = [trace.node(f.node).label for f in coming if f.index >= after.index]
            if not coming:
                yield other, f"No gradient comes to {x} in this pass."
            elif late:
                yield (
                    other,
                    f"{x} still waits for what {_names(late)} sends. Run now, it would hand on too little.",
                )
            else:
                yield (
                    other,
                    f"{x} has all of its gradient, but of those that are ready the one that was computed last runs first.",
                )


def _names(labels: list[str]) -> str:
    return " and ".join(dict.fromkeys(f"`{label}`" for label in labels))
