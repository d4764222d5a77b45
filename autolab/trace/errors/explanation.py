"""Explain an error: its trace, the node that caused it, what happened in words, and what to change.

No extra data is stored for this: an error remembers the call that failed and the recording it happened in
(`engine/exact/failing.py`, `record.py`), and a traceback holds its frames. All of it is freed with the error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...engine.autograd.refusals import FREED
from ...engine.exact.failing import sentences as notes_of
from .. import names
from ..captions.sentences import error as error_line
from ..captions.text import shape_text
from ..model import Trace
from . import backward, expressions, failures, numbers, programs, remedies
from .backward import line
from .unrecorded import NO_GRAPH, UNUSED, entry_of, namespace_of, source_of, trace_of

_KINDS = {
    "freed": FREED[:50],
    "changed": "modified by an inplace operation",
    "no graph": NO_GRAPH,
    "not one number": "grad can be implicitly created only for scalar outputs",
    "nan": "returned nan values",
}
_WATCH = "A recording (`with autolab.record():` around the code) has every step before it, with its value and line."


def of_error(error: BaseException) -> Trace | None:
    """Return the trace that led to `error`, with `meta["explanation"]`; None if no tensor was involved."""
    for link in failures.chain(error):
        seen = link.__dict__.get("_autolab_seen")
        if seen is not None:
            recording, node_id = seen
            return _explained(recording.trace(), node_id, error, link, recorded=True)
    found = trace_of(error)
    if found is None:
        return None
    trace, node_id, link, complete = found
    return _explained(trace, node_id, error, link, recorded=False, complete=complete)


def of_numbers(trace: Trace) -> Trace:
    """Return the same trace with an explanation of its first number that is not finite."""
    found = numbers.first_bad(trace)
    if found is None:
        return _with(trace, "Every number that is known is finite.", [], "", 0, "")
    title = "The first number that is not finite"
    return _with(trace, title, numbers.sentences(trace, found), "", found.index, found.node)


def in_words(error: BaseException) -> tuple[str, list[str]]:
    """Return (the error in one line, a description) of an error without tensors."""
    link = failures.chain(error)[-1]
    advice = remedies.of_message(str(link))
    said = _of_program(link, None) or ([advice] if advice else notes_of(error))
    if "it exists in PyTorch" in str(error):
        said.append("A program that imports PyTorch instead can be recorded and drawn, too.")
    if not said:
        whose = (
            "is about no operation on tensors" if _is_ours(error) else "is not an error of autolab"
        )
        said = [
            f"This {type(error).__name__} {whose}, and no tensor stands in the line that raised it: there is no graph to show."
        ]
    where = line(source_of(error))
    if not any(where in sentence for sentence in said):
        said[0] = f"{said[0].removesuffix('.')}{where}."
    return error_line(error), said


def _is_ours(error: BaseException) -> bool:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and names.ours(last.tb_frame)


def _of_program(link: BaseException, trace: Trace | None) -> list[str]:
    entry = entry_of(link)
    place = None if entry is None else expressions.place(entry)
    found = programs.causes(link, place, trace)
    if len(found) == 1 and (advice := remedies.of_message(str(link))):
        found.append(advice)
    return found


def _with(trace: Trace, title: str, text: list[str], more: str, step: int, node: str) -> Trace:
    said = {"title": title, "text": text, "more": more, "step": step, "node": node}
    return replace(trace, meta=trace.meta | {"explanation": said})


def _explained(
    trace: Trace,
    node_id: str,
    error: BaseException,
    link: BaseException,
    recorded: bool,
    complete: bool = True,
) -> Trace:
    """Return the trace with an explanation: where to look, what happened, what to change."""
    at = next((f for f in reversed(trace.frames) if f.event == "error" and f.node == node_id), None)
    step = at.index if at is not None else max(len(trace.frames) - 1, 0)
    kind = next((kind for kind, part in _KINDS.items() if part in str(link)), "")
    text = _of_program(link, trace if recorded else None)
    advice = remedies.of_message(str(link))
    if len(text) < 2 and not (node_id and trace.node(node_id).error):
        text = _of_pass(trace, node_id, kind, link, recorded) or text
    notes = [] if len(text) > 1 and kind != "nan" else [advice] if advice else notes_of(error)
    if len(text) < 2 and kind != "nan":
        text = [*(_operation(trace, node_id, complete) if node_id else []), *text]
    if kind == "nan" and (bad := numbers.first_bad(trace)) is not None:
        text += numbers.sentences(trace, bad)
        step, node_id = bad.index, bad.node
    text += [note for note in notes if note not in text]
    if trace.meta.get(
        "error"
    ):  # the note in `why` holds for every program; where it matters, the text says so
        trace = replace(trace, meta=trace.meta | {"error": trace.meta["error"] | {"notes": []}})
    return _with(trace, error_line(error), text, "" if recorded else _WATCH, step, node_id)


def _of_pass(
    trace: Trace, node_id: str, kind: str, link: BaseException, recorded: bool
) -> list[str]:
    """Explain a backward pass that could not begin or that failed; [] if nothing is known."""
    entry = entry_of(link)
    place = None if entry is None else expressions.place(entry)
    unused = UNUSED.search(str(link))
    if kind == "changed":
        return backward.changed(trace, node_id, recorded)
    if not node_id:
        return []
    if unused:
        return backward.unused(trace, node_id, int(unused[1]), place)
    if kind == "freed":
        return backward.freed(trace, node_id, recorded)
    if kind == "no graph":
        found = backward.no_graph(trace, node_id, recorded, place)
        return found if recorded else [*found, *_wanting(link)]
    if kind == "not one number":
        return backward.not_one(trace, node_id)
    if kind == "nan":
        node = trace.node(node_id)
        where = (
            f"{node.label} = {node.call}"
            if backward.is_exact(trace, recorded)
            else f"the graph behind {node.label}"
        )
        rule = f"The gradient rule of {where} gave the first NaN of the backward pass{line(node.source)}."
        return [
            rule,
            *([] if recorded else ["A recording has the numbers of the backward pass, too."]),
        ]
    return []


def _wanting(error: BaseException) -> list[str]:
    """Return the variables at an unrecorded line that could have a gradient."""
    wanting = dict.fromkeys(
        n for n, tensor in names.tensors(namespace_of(error)) if tensor.requires_grad
    )
    if not wanting:
        return ["No variable at that line has requires_grad=True."]
    more = f" and {len(wanting) - 5} more" if len(wanting) > 5 else ""
    return [f"Variables at that line that require grad: {', '.join(list(wanting)[:5])}{more}."]


def _operation(trace: Trace, node_id: str, complete: bool) -> list[str]:
    """Describe the failed operation and its operands."""
    node, facts = trace.node(node_id), trace.meta.get("failures", {}).get(node_id)
    if not node.error:
        return [f"It happened at {node.label}{line(node.source)}."]
    operands = [] if facts is None else facts["operands"]
    given = [o for o in operands if o["dtype"] and o["device"]]
    message = node.error if facts is None else facts["message"]
    text = [f"{node.call} failed{line(node.source)}."]
    if given:
        said = [_operand(trace, o) for o in given]
        text.append(f"It was given {'; '.join(said)}.")
    text += ["They are on different devices."] if len({o["device"] for o in given}) > 1 else []
    # An embedding takes integers too, which is correct.
    dtypes = {o["dtype"] for o in given if "type" in message or "float" in o["dtype"]}
    text += ["They are of different dtypes."] if len(dtypes) > 1 else []
    text += [] if complete else ["Something else in this line has no name, so it is not at hand."]
    return text


def _operand(trace: Trace, operand: dict[str, Any]) -> str:
    label = trace.node(operand["node"]).output_label(operand["nr"])
    return (
        f"{label}: {operand['dtype']} {shape_text(tuple(operand['shape']))} on {operand['device']}"
    )
