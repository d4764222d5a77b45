"""What an error comes from, as a trace: of the recording it happened in, or of what the error and its traceback still
hold.

Nothing is kept for this: an error remembers the call that failed and the recording it happened in
(`engine/exact/failing.py`, `record.py`), and a traceback holds its frames. All of it goes when the error goes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

from ...engine.core.node import Node
from ...engine.autograd.refusals import FREED
from ...engine.exact.failing import sentences
from . import failures, expressions
from .. import names
from ..captions.sentences import error as error_line
from ..build import Builder
from ..model import Frame, Source, Trace
from ..reader import is_tensor, reader_for
from ..captions.text import shape_text
from ..values import Value

_STALE = "modified by an inplace operation"
_NO_GRAPH = ("does not require grad and does not have a grad_fn", "does not require grad")
_NOT_ONE = "grad can be implicitly created only for scalar outputs"
_NAN = "returned nan values"
_UNUSED = re.compile(r"differentiated Tensor at index (\d+) appears to not have been used")


def of_error(error: BaseException) -> Trace | None:
    """The trace of what led to `error`, with `meta["explanation"]`; None when no tensor had to do with it."""
    for link in failures.chain(error):
        seen = link.__dict__.get("_autolab_seen")
        if seen is not None:
            recording, node_id = seen
            return _explained(recording.trace(), node_id, error, link, recorded=True)
    for link in failures.chain(error):
        call = link.__dict__.get("_autolab_call")
        if call is not None:
            return _of_call(error, link, *call)
    return _of_line(error)


def of_numbers(trace: Trace) -> Trace:
    """The same trace, explained by the first number in it that is not finite."""
    found = first_bad(trace)
    said = {
        "title": "Every number that is known is finite.", "text": [], "more": "", "step": 0, "node": "",
    } if found is None else {
        "title": "The first number that is not finite", "text": [_bad_sentence(trace, found)], "more": "",
        "step": found.index, "node": found.node,
    }  # fmt: skip
    return replace(trace, meta=trace.meta | {"explanation": said})


# -- without a recording
# ---------------------------------------------------------------------------------------------------
def _of_call(error: BaseException, link: BaseException, op: Any, args: Any) -> Trace:
    """link: the error that the call raised; `error` may have been made of it since."""
    if op in failures.PASSES and not isinstance(op, Node):
        asked = (
            ("inputs",)
            if "One of the differentiated" in str(error)
            else ("self", "tensors", "outputs")
        )
        tensors, _ = failures.given({n: a for n, a in args.items() if n in asked})
        unused = _UNUSED.search(str(link))
        inputs = list(failures.given({"inputs": args.get("inputs")})[0].values())
        return _of_pass(
            error, link, list(tensors.values()), inputs[int(unused[1])] if unused else None
        )
    expression = _expression(link)
    if isinstance(op, str):
        name, operands, rest = failures.as_written(op, args, expression)
    else:
        record = None if hasattr(op, "next_functions") else op
        name, (operands, rest) = op, failures.operands_of(record, args)
        rest = {n: failures.plain(a) for n, a in rest.items()}
    return _of_operands(error, link, name, operands, rest)


_ROOTS = ("self", "0", "tensors", "outputs")


def _of_line(error: BaseException) -> Trace | None:
    """From the innermost line of the traceback in which tensors stand: of an error that no operation of autolab told
    of."""
    trace = error.__traceback__
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    for entry in reversed(entries):
        expression = expressions.at(entry)
        if expression is not None and expression.operands:
            libraries = {reader_for(t).library for t in expression.operands.values()}
            roots = [
                t for place, t in expression.operands.items() if place.partition("[")[0] in _ROOTS
            ]
            if libraries == {"torch"} and expression.name in failures.PASSES and roots:
                return _of_pass(error, error, roots)
            if len(libraries) == 1:
                found = _of_operands(
                    error, error, expression.name or "line", expression.operands, {}
                )
                said = found.meta["explanation"]
                said["text"] += (
                    ["Something else in this line has no name, so it is not at hand."]
                    if expression.unnamed
                    else []
                )
                if libraries == {"torch"}:
                    said["text"].append(
                        "This is an error of PyTorch itself: what is shown are the tensors in the line that raised it."
                    )
                    said["more"] = ""
                return found
    return None


def _of_operands(
    error: BaseException,
    link: BaseException,
    op: Any,
    operands: dict[str, Any],
    rest: dict[str, Any],
) -> Trace:
    builder = Builder(reader_for(next(t for t in operands.values() if is_tensor(t))))
    known = failures.Failures(builder)
    _meet_origins(builder, operands.values(), link)
    parents = {
        n: (t, builder.tensor(t) if is_tensor(t) else (builder.constant(t), 0))
        for n, t in operands.items()
    }
    _settle_and_name(builder, [t for t in operands.values() if is_tensor(t)], link)
    _play(builder)
    written = _expression(link)
    inplace = written is not None and written.name == f"{getattr(op, 'name', '')}_"
    node = known.add(op, error, parents, attrs=rest, source=_source(link), inplace=inplace)
    for i, tensor in enumerate(operands.values()):
        known.shared(node, tensor, i == 0 and node.op.endswith("_"))
    return _finished(builder, known, node.id, error, link, [])


def _of_pass(
    error: BaseException, link: BaseException, tensors: list[Any], unused: Any = None
) -> Trace:
    """tensors: what the pass began at. unused: the tensor that grad() was asked about in vain."""
    builder = Builder(reader_for(tensors[0]))
    known = failures.Failures(builder)
    _meet_origins(builder, tensors, link)
    roots = [builder.root(t) for t in tensors]
    if unused is not None:
        builder.tensor(unused)  # so that it gets its name
    _settle_and_name(builder, tensors, link)
    _play(builder)
    fn = failures.running_node(link)
    node = builder.by_fn.get(fn) if fn is not None else None
    if node is None:
        bare = (
            next((i for i, t in enumerate(tensors) if not t.requires_grad), 0)
            if _kind(link) == "no graph"
            else 0
        )
        node = roots[bare]
        known.at(node, error)
        if unused is not None:
            known.unused(node, unused)
    else:
        builder.film.broke(node, error_line(error), "backward")
        known.meet_changers(fn, _namespace(link))
        known.in_pass(node, fn, error)
        if str(link) == FREED:
            known.freed(node, None, 0)
    return _finished(builder, known, node, error, link, roots)


def _meet_origins(builder: Builder, items: Iterable[Any], error: BaseException) -> None:
    """So that an operand that was detached from a tensor of the learner's is drawn with it."""
    reader = builder.reader
    memories = [reader.memory(t) for t in items if is_tensor(t) and not t.requires_grad]
    for _, tensor in names.tensors(_namespace(error)):
        if (
            reader_for(tensor).library == reader.library
            and tensor.requires_grad
            and reader.memory(tensor) in memories
        ):
            builder.cuts.remember(tensor, builder.tensor(tensor)[0])


def _settle_and_name(builder: Builder, tensors: list[Any], error: BaseException) -> None:
    for tensor in tensors:
        builder.root(tensor)
    for name, tensor in names.tensors(_namespace(error)):
        if reader_for(tensor).library == builder.reader.library:
            builder.name(name, tensor)


def _play(builder: Builder) -> None:
    for draft in builder.nodes:
        if draft.kind == "op":
            builder.film.computed(draft)


def _finished(
    builder: Builder,
    known: failures.Failures,
    node_id: str,
    error: BaseException,
    link: BaseException,
    roots: list[str],
) -> Trace:
    source = _source(link)
    meta = {
        "library": builder.reader.library,
        "source": "graph",
        "roots": list(dict.fromkeys(roots)),
        "backward": "",
        "why": "",
        "error": failures.described(error)
        | {"node": node_id, "source": None if source is None else source.to_json()},
        "failures": known.facts,
    }
    trace = builder.finish(meta)
    builder.reader.done([])
    return _explained(trace, node_id, error, link, recorded=False)


def _expression(error: BaseException) -> expressions.Expression | None:
    entry = failures.learners(error.__traceback__)
    return None if entry is None else expressions.at(entry)


def _source(error: BaseException) -> Source | None:
    entry = failures.learners(error.__traceback__)
    return None if entry is None else names.source(entry.tb_frame, entry.tb_lineno)


def _namespace(error: BaseException) -> dict[str, Any]:
    entry = failures.learners(error.__traceback__)
    return names.namespace(None if entry is None else entry.tb_frame)


def in_words(error: BaseException) -> tuple[str, list[str]]:
    """(the error in one line, what can be said of it) of an error without tensors."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    kind = type(error).__name__
    ours = last is not None and names.ours(last.tb_frame)
    whose = (
        f"This {kind} is about no operation on tensors"
        if ours
        else f"This {kind} is not an error of autolab"
    )
    why = f"{whose}, and no tensor stands in the line that raised it: there is no graph to show{_line(_source(error))}."
    return error_line(error), [why, *sentences(error)]


# -- in words
# --------------------------------------------------------------------------------------------------------------
def _kind(error: BaseException) -> str:
    text = str(error)
    if text == FREED:
        return "freed"
    if _UNUSED.search(text):
        return "unused"
    kinds = {
        "changed": (_STALE,),
        "no graph": _NO_GRAPH,
        "not one number": (_NOT_ONE,),
        "nan": (_NAN,),
    }
    return next((kind for kind, parts in kinds.items() if any(part in text for part in parts)), "")


def _explained(
    trace: Trace, node_id: str, error: BaseException, link: BaseException, recorded: bool
) -> Trace:
    """The trace with its explanation: where to look, and what is known."""
    kind = _kind(link)
    at = next((f for f in reversed(trace.frames) if f.event == "error" and f.node == node_id), None)
    step = at.index if at is not None else max(len(trace.frames) - 1, 0)
    text: list[str] = []
    more = ""
    if node_id:
        if trace.node(node_id).error or kind not in _SAID:
            text, more = _operation(trace, node_id, recorded)
        elif trace.meta["library"] == "torch" and not recorded and kind in _BEHIND:
            text, more = [_BEHIND[kind].format(trace.node(node_id).label)], _WATCH
        else:
            text, more = _SAID[kind](trace, node_id, recorded)
    if kind == "no graph" and not recorded:
        text += _unconnected(link)
    if kind == "nan" and (bad := first_bad(trace)) is not None:
        text.append(_bad_sentence(trace, bad))
        step, node_id = bad.index, bad.node
    said = {
        "title": error_line(error),
        "text": text,
        "more": more,
        "step": step,
        "node": node_id,
    }
    return replace(trace, meta=trace.meta | {"explanation": said})


def _line(source: Any) -> str:
    if source is None:
        return ""
    source = source if isinstance(source, Source) else Source.from_json(source)
    return f" ({source.file}, line {source.line}: {source.text})"


def _operation(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    node, facts = trace.node(node_id), trace.meta.get("failures", {}).get(node_id)
    if not node.error:
        return [f"It happened at {node.label}{_line(node.source)}."], ""
    given = (
        [o for o in facts["operands"] if o["dtype"] and o["device"]] if facts is not None else []
    )
    message = node.error if facts is None else facts["message"]
    text = [f"{node.call} failed{_line(node.source)}."]
    if given:
        facts = [
            f"{trace.node(o['node']).output_label(o['nr'])}: {o['dtype']} {shape_text(tuple(o['shape']))} on {o['device']}"
            for o in given
        ]
        text.append(f"It was given {'; '.join(facts)}.")
    text += ["They are on different devices."] if len({o["device"] for o in given}) > 1 else []
    # An embedding gets whole numbers, too, and nothing is wrong with that.
    dtypes = {o["dtype"] for o in given if "type" in message or "float" in o["dtype"]}
    text += ["They are of different dtypes."] if len(dtypes) > 1 else []
    return (
        text,
        ""
        if recorded
        else "A recording (`with autolab.record():` around the code) has every step before it, with its value and line.",
    )


def _freed(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    node = trace.node(node_id)
    places = [
        p for p in trace.meta.get("failures", {}).get(node_id, {}).get("places", ()) if p["line"]
    ]
    text = [
        f"{node.label} = {node.call} had saved values for its gradient, and they are gone: a backward pass before this one freed them."
    ]
    text += [
        f"That was {p['words'].partition(': ')[2].removeprefix('by ')}{_line(p['line'])}."
        for p in places
    ]
    return text, "" if recorded else "A recording of both passes shows which line freed them."


def _changed(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    text = []
    for place in trace.meta["failures"][node_id]["places"]:
        node, (what, _, which) = (
            trace.node(place["node"]) if place["node"] else None,
            place["words"].partition(": "),
        )
        did = {"saved here": f"saved {which}", "changed here": f"changed it in place, {which}"}.get(
            what, what
        )
        text.append(
            f"{did.capitalize()}."
            if node is None
            else f"{node.label} = {node.call} {did}{_line(node.source)}."
        )
    return (
        text,
        "" if recorded else "A recording shows every operation that changed it, with its line.",
    )


def _no_graph(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    root = trace.node(node_id)
    places = [trace.node(p["node"]) for p in trace.meta["failures"][node_id]["places"] if p["node"]]
    if root.requires_grad:
        return [f"The tensor asked about does not require grad; {root.label} does."], ""
    text = [f"{root.label} has no graph behind it: no gradient can go back."]
    under = {mode: f", under {mode}" for mode in ("no_grad", "inference_mode")}
    text += [
        f"The graph ends at {cut.label} = {cut.call}{under.get(cut.cut, '')}{_line(cut.source)}."
        for cut in places
    ]
    if not places and root.dtype and not root.dtype.startswith(("float", "complex", "bfloat")):
        text.append(f"It is {root.dtype}: only floating point numbers have gradients.")
    return (
        text,
        ""
        if recorded
        else "Operations outside a graph leave no trace: a recording shows them all, and where the graph ends.",
    )


def _unconnected(error: BaseException) -> list[str]:
    wanting = list(
        dict.fromkeys(
            name for name, tensor in names.tensors(_namespace(error)) if tensor.requires_grad
        )
    )
    if not wanting:
        return ["No variable at that line has requires_grad=True."]
    more = f" and {len(wanting) - 5} more" if len(wanting) > 5 else ""
    return [f"Variables at that line that require grad: {', '.join(wanting[:5])}{more}."]


def _not_one(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    root = trace.node(node_id)
    return [
        f"{root.label} has the shape {shape_text(root.shape or ())}; backward() starts from one number."
    ], ""


def _nan(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    node = trace.node(node_id)
    return [
        f"The gradient rule of {node.label} = {node.call} gave the first NaN of the backward pass{_line(node.source)}."
    ], ("" if recorded else "A recording has the numbers of the backward pass, too.")


def _unused(trace: Trace, node_id: str, recorded: bool) -> tuple[list[str], str]:
    root, places = (
        trace.node(node_id),
        trace.meta.get("failures", {}).get(node_id, {}).get("places", ()),
    )
    index = _UNUSED.search(trace.meta["error"]["message"])
    asked = next(
        (trace.node(p["node"]).label for p in places if p["node"]),
        f"the tensor at index {index[1] if index else 0}",
    )
    return [
        f"grad() was asked for the gradient of {root.label} with respect to {asked}, but {root.label} was not computed from it."
    ], ""


_BEHIND = {
    "freed": "The graph behind {} had saved values for its gradient, and some of them are gone: a backward pass before this one freed them.",
    "changed": "Something that the graph behind {} had saved for its gradient has been changed in place since.",
    "nan": "The graph behind {} has an operation whose gradient rule gave NaN.",
}
"""Of a pass that nobody watched and that does not say where it was."""

_WATCH = "A recording (`with autolab.record():` around the code) shows at which operation, and which line is to blame."


_SAID = {
    "unused": _unused,
    "freed": _freed,
    "changed": _changed,
    "no graph": _no_graph,
    "not one number": _not_one,
    "nan": _nan,
}


# -- the first number that is not finite
# -----------------------------------------------------------------------------------
def first_bad(trace: Trace) -> Frame | None:
    """The frame that made the first NaN or inf: of the forward pass, else of a backward pass; None when all known
    numbers are finite."""
    return next((f for f in trace.frames if is_bad(f.value) or is_bad(f.total)), None)


def is_bad(value: Value | None) -> bool:
    """Whether a value holds NaN or inf."""
    if value is None:
        return False
    if value.stats is not None:
        return bool(value.stats["nan"] or value.stats["inf"])
    return any(isinstance(number, str) for number in _flat(value.data))


def _flat(data: Any) -> list[Any]:
    return [n for item in data for n in _flat(item)] if isinstance(data, list) else [data]


def _bad_sentence(trace: Trace, frame: Frame) -> str:
    node = trace.node(frame.node)
    if frame.phase == "backward":
        arrived = "" if frame.receiver is None else f", towards {trace.node(frame.receiver).label}"
        return f"In the backward pass {node.label} = {node.call} made the first number that is not finite{arrived}: {frame.text}."
    given = [trace.node(e.parent) for e in trace.edges if e.child == node.id]
    sick = [p.label for p in given if is_bad(p.value)]
    held = "; ".join(
        f"{p.label} = {p.value.text}"
        for p in given
        if p.value is not None and p.label != p.value.text
    )
    why = f"; {', '.join(sick)} was so already, and was not computed here" if sick else ""
    return f"{frame.text} is the first number that is not finite{_line(node.source)}; it was given {held or 'numbers that are not known'}{why}."
