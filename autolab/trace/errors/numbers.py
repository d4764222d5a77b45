"""The first number of a trace that is not finite, and where it came from."""

from __future__ import annotations

from typing import Any

from ..model import Frame, Node, Trace
from ..values import Value
from .backward import at_zero, line


def first_bad(trace: Trace) -> Frame | None:
    """Return the frame that made the first NaN or inf; None if all known numbers are finite.

    Ignore an -inf that was intended, as in a mask, which softmax turns into 0."""
    given: dict[str, list[Node]] = {}
    for edge in trace.edges:
        given.setdefault(edge.child, []).append(trace.node(edge.parent))
    later: Frame | None = None
    for frame in trace.frames:
        here = kinds(frame.value) | kinds(frame.total)
        if not here:
            continue
        if frame.phase != "forward":
            return frame
        node = trace.node(frame.node)
        before = {kind for parent in given.get(node.id, ()) for kind in kinds(parent.value)}
        before |= {kind for kind in ("inf", "-inf", "nan") if kind in _said(node.attrs)}
        if "nan" in here - before or "-inf" in here and not before or "inf" in here and not before:
            return frame
        if later is None and here != {"-inf"}:
            later = frame
    return later


def kinds(value: Value | None) -> set[str]:
    """Return which of "nan", "inf", "-inf" a value contains."""
    if value is None:
        return set()
    shown = {
        n for n in _flat(value.data if value.sample is None else value.sample) if isinstance(n, str)
    }
    stats = value.stats or {"nan": 0, "inf": 0}
    shown |= {"nan"} if stats["nan"] else set()
    return shown | ({"inf"} if stats["inf"] and not shown & {"inf", "-inf"} else set())


def _flat(data: Any) -> list[Any]:
    return [n for item in data for n in _flat(item)] if isinstance(data, list) else [data]


def _said(attrs: dict[str, Any]) -> set[str]:
    return {str(item) for item in attrs.values()}


def sentences(trace: Trace, frame: Frame) -> list[str]:
    """Say where the first number that is not finite was made, and what to change."""
    node = trace.node(frame.node)
    if frame.phase == "backward":
        arrived = "" if frame.receiver is None else f", towards {trace.node(frame.receiver).label}"
        return [
            f"In the backward pass {node.label} = {node.call} made the first number that is not finite{arrived}: {frame.text}.",
            *at_zero(node.op),
        ]
    parents = [trace.node(e.parent) for e in trace.edges if e.child == node.id]
    before = [p.label for p in parents if kinds(p.value)]
    known = [
        f"{p.label} = {p.value.text}"
        for p in parents
        if p.value is not None and p.label != p.value.text
    ]
    why = f"; {', '.join(before)} was so already, and was not computed here" if before else ""
    held = "; ".join(known) or "numbers that are not known"
    return [
        f"{frame.text} is the first number that is not finite{line(node.source)}; it was given {held}{why}.",
        *([] if before else at_zero(node.op)),
    ]
