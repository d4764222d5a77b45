"""Where the code behind a failing line leaves the graph: `.item()`, `.numpy()`, `.detach()`, a comparison ...

The names in the line are followed back to the lines that assigned them; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..reader import is_tensor
from .expressions import Place

SMOOTH = "A comparison gives True or False, which have no gradient: use a smooth function such as sigmoid() in the loss."
NO_DERIVATIVE = {
    "argmax": "argmax() has no gradient: use softmax(), whose probabilities have one.",
    "argmin": "argmin() has no gradient: use softmax(), whose probabilities have one.",
    "round": "Rounding has the gradient 0: leave it out of the loss.",
}
_LEFT = {
    "item": ("is a Python number, which has no graph", "Keep the tensor: leave out .item()."),
    "tolist": (
        "is a list of Python numbers, which have no graph",
        "Keep the tensor: leave out .tolist().",
    ),
    "numpy": (
        "is a NumPy array, which has no graph",
        "Keep the tensor: leave out .numpy(), and compute with operations on tensors.",
    ),
}
_CUT = {
    "detach": ("has no graph", "Leave out .detach() where a gradient is to go back."),
    "long": (
        "is int64, and only floating point numbers have gradients",
        "Keep floating point numbers in the loss.",
    ),
    "int": (
        "is int32, and only floating point numbers have gradients",
        "Keep floating point numbers in the loss.",
    ),
} | {name: ("has no gradient", advice) for name, advice in NO_DERIVATIVE.items()}


@dataclass(frozen=True)
class Exit:
    """what: the sentence, with the line. line: the text of the line. calls: the function called there."""

    what: str
    remedy: str
    line: str
    calls: str = ""


def exit_of(place: Place, recorded: bool) -> Exit | None:
    """Return where the code behind the differentiated result `place` leaves the graph, or None. recorded: operations
    are known from the recording, so look only for calls that are not operations."""
    call = place.node
    if not isinstance(call, ast.Call):
        return None
    start = call.args[0] if call.args else getattr(call.func, "value", None)
    parts = [] if start is None else list(place.behind(start))
    for find in (_checkpoints, _left, _gradients, _copies, *(() if recorded else (_cuts,))):
        for part, what, remedy in find(place, parts):
            source = place.source(part)
            text = "" if source is None else f" ({source.file}, line {source.line}: {source.text})"
            return Exit(
                f"`{place.written(part)}` {what}{text}.",
                remedy,
                source.text if source else "",
                _called(part),
            )
    return None


def _called(part: Any) -> str:
    function = getattr(part, "func", None)
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))


def _keyword(part: ast.Call, wanted: str) -> Any:
    return next((getattr(k.value, "value", None) for k in part.keywords if k.arg == wanted), None)


Found = Iterator[tuple[Any, str, str]]


def _may_have_graph(place: Place, node: Any) -> bool:
    """Return whether a part of the code may be a tensor with a graph; an unnamed value cannot be looked up, so it
    may."""
    item = place.value(node)
    return bool(item.requires_grad) if is_tensor(item) else not isinstance(node, ast.Constant)


def _holds_graph(place: Place, node: Any) -> bool:
    """Return whether a name refers to a tensor that requires grad, or to a list of such tensors."""
    item = place.value(node)
    items = item if isinstance(item, (list, tuple)) else [item]
    return any(is_tensor(one) and one.requires_grad for one in items)


def _checkpoints(place: Place, parts: list[Any]) -> Found:
    for part in parts:
        if _called(part) == "checkpoint" and _keyword(part, "use_reentrant") is not False:
            yield (
                part,
                "runs its part under no_grad, and finds no input that requires grad",
                "Use checkpoint(..., use_reentrant=False).",
            )


def _left(place: Place, parts: list[Any]) -> Found:
    for part in parts:
        owner = getattr(getattr(part, "func", None), "value", None)
        if _called(part) in _LEFT and owner is not None and _may_have_graph(place, owner):
            yield part, *_LEFT[_called(part)]


def _gradients(place: Place, parts: list[Any]) -> Found:
    for part in parts:
        if _called(part) == "grad" and not _keyword(part, "create_graph"):
            yield (
                part,
                "returns gradients without a graph",
                "Use create_graph=True to go back through them.",
            )
        if (
            isinstance(part, ast.Attribute)
            and part.attr == "grad"
            and hasattr(place.value(part.value), "requires_grad")
        ):
            yield (
                part,
                "has no graph: backward() adds plain numbers to it",
                "Use backward(create_graph=True), or autograd.grad(..., create_graph=True).",
            )


def _copies(place: Place, parts: list[Any]) -> Found:
    for part in parts:
        if _called(part) in ("tensor", "as_tensor", "Tensor") and part.args:
            if any(_holds_graph(place, p) for p in ast.walk(part.args[0])):
                yield (
                    part,
                    "copies numbers into a new tensor without a graph",
                    "Use stack([...]), which keeps the graph of each of them.",
                )


def _cuts(place: Place, parts: list[Any]) -> Found:
    blocks = [w for scope in place.scopes() for w in ast.walk(scope) if isinstance(w, ast.With)]
    without = [
        w
        for w in blocks
        if any(_called(i.context_expr) in ("no_grad", "inference_mode") for i in w.items)
    ]
    for part in parts:
        owner = getattr(getattr(part, "func", part), "value", None)
        if owner is not None and not _may_have_graph(place, owner):
            continue
        if _called(part) in _CUT and owner is not None:
            yield part, *_CUT[_called(part)]
        if isinstance(part, ast.Attribute) and part.attr == "data":
            yield part, "has no graph", "Leave out .data where a gradient is to go back."
        if isinstance(part, ast.Compare) and _may_have_graph(place, part.left):
            yield part, "is True or False", SMOOTH
        if isinstance(part, (ast.Call, ast.BinOp)) and any(
            w.lineno < part.lineno <= (w.end_lineno or 0) for w in without
        ):
            yield (
                part,
                "is computed under no_grad, where no graph is made",
                "Compute it outside `no_grad`.",
            )
