"""Build the trace of an error that happened outside a recording, from what the error and its traceback still hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ...engine.autograd.refusals import FREED
from ...engine.core.node import Node
from .. import names
from ..build import Builder
from ..captions.sentences import error as error_line
from ..model import Source, Trace
from ..reader import is_tensor, reader_for
from . import expressions, failures

UNUSED = re.compile(r"differentiated Tensor at index (\d+) appears to not have been used")
NO_GRAPH = "does not require grad"
_ROOTS = ("self", "0", "tensors", "outputs")


def entry_of(error: BaseException) -> TracebackType | None:
    """Return the traceback entry that is the learner's own line."""
    return failures.learners(error.__traceback__)


def source_of(error: BaseException) -> Source | None:
    """Return the learner's own line."""
    entry = entry_of(error)
    return None if entry is None else names.source(entry.tb_frame, entry.tb_lineno)


def namespace_of(error: BaseException) -> dict[str, Any]:
    """Return the variables at the learner's own line."""
    entry = entry_of(error)
    return names.namespace(None if entry is None else entry.tb_frame)


def trace_of(error: BaseException) -> tuple[Trace, str, BaseException, bool] | None:
    """Return (trace, failed node, the error that the call raised, whether nothing in the line is missing); None if no
    tensor was involved. `error` may have been created from the error that the call raised."""
    for link in failures.chain(error):
        call = link.__dict__.get("_autolab_call")
        if call is not None:
            found = _of_call(error, link, *call)
            return None if found is None else (*found, link, True)
    return _of_line(error)


def _of_call(
    error: BaseException, link: BaseException, op: Any, args: Any
) -> tuple[Trace, str] | None:
    """Build the trace of a failed call. Return None if the operands belong to two libraries, which share no graph."""
    if op in failures.PASSES and not isinstance(op, Node):
        of_inputs = "One of the differentiated" in str(error)
        asked = ("inputs",) if of_inputs else ("self", "tensors", "outputs")
        tensors, _ = failures.given({n: a for n, a in args.items() if n in asked})
        unused = UNUSED.search(str(link))
        inputs = list(failures.given({"inputs": args.get("inputs")})[0].values())
        unused_input = inputs[int(unused[1])] if unused else None
        return _of_pass(error, link, list(tensors.values()), unused_input)
    if isinstance(op, str):
        name, operands, rest = failures.as_written(op, args, _expression(link))
    else:
        record = None if hasattr(op, "next_functions") else op
        name, (operands, rest) = op, failures.operands_of(record, args)
        rest = {n: failures.plain(a) for n, a in rest.items()}
    if len({reader_for(t).library for t in operands.values() if is_tensor(t)}) != 1:
        return None
    return _of_operands(error, link, name, operands, rest)


def _of_line(error: BaseException) -> tuple[Trace, str, BaseException, bool] | None:
    """Build the trace of an error that no operation of autolab reported, from the innermost traceback line that
    contains tensors."""
    entries: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    for entry in reversed(entries):
        expression = expressions.at(entry)
        if expression is None or not expression.operands:
            continue
        libraries = {reader_for(t).library for t in expression.operands.values()}
        roots = [t for p, t in expression.operands.items() if p.partition("[")[0] in _ROOTS]
        if libraries == {"torch"} and expression.name in failures.PASSES and roots:
            return (*_of_pass(error, error, roots), error, True)
        if len(libraries) == 1:
            name = expression.name or "line"
            found = _of_operands(error, error, name, expression.operands, {})
            return (*found, error, not expression.unnamed)
    return None


def _of_operands(
    error: BaseException,
    link: BaseException,
    op: Any,
    operands: dict[str, Any],
    rest: dict[str, Any],
) -> tuple[Trace, str]:
    tensors = [t for t in operands.values() if is_tensor(t)]
    builder = Builder(reader_for(tensors[0]))
    known = failures.Failures(builder)
    _meet_origins(builder, tensors, link)
    parents = {
        n: (t, builder.tensor(t) if is_tensor(t) else (builder.constant(t), 0))
        for n, t in operands.items()
    }
    _name(builder, tensors, link)
    written = _expression(link)
    inplace = written is not None and written.name == f"{getattr(op, 'name', '')}_"
    node = known.add(op, error, parents, attrs=rest, source=source_of(link), inplace=inplace)
    for i, tensor in enumerate(operands.values()):
        known.shared(node, tensor, i == 0 and node.op.endswith("_"))
    return _finished(builder, known, node.id, error, link, []), node.id


def _of_pass(
    error: BaseException, link: BaseException, tensors: list[Any], unused: Any = None
) -> tuple[Trace, str]:
    """Build the trace of a failed pass. tensors: where the pass started. unused: the tensor for which grad() found no
    gradient."""
    builder = Builder(reader_for(tensors[0]))
    known = failures.Failures(builder)
    _meet_origins(builder, tensors, link)
    roots = [builder.root(t) for t in tensors]
    if unused is not None:
        builder.tensor(unused)  # so that it gets its name
    _name(builder, tensors, link)
    fn = failures.running_node(link)
    node = builder.by_fn.get(fn) if fn is not None else None
    if node is None:
        bare = next((i for i, t in enumerate(tensors) if not t.requires_grad), 0)
        node = roots[bare if NO_GRAPH in str(link) else 0]
        known.at(node, error)
        if unused is not None:
            known.unused(node, unused)
    else:
        builder.film.broke(node, error_line(error), "backward")
        known.meet_changers(fn, namespace_of(link))
        known.in_pass(node, fn, error)
        if str(link) == FREED:
            known.freed(node, None, 0)
    return _finished(builder, known, node, error, link, roots), node


def _meet_origins(builder: Builder, items: Iterable[Any], error: BaseException) -> None:
    """Draw an operand that was detached together with the learner's tensor that it came from."""
    reader = builder.reader
    memories = [reader.memory(t) for t in items if not t.requires_grad]
    for _, tensor in names.tensors(namespace_of(error)):
        if reader_for(tensor).library == reader.library and tensor.requires_grad:
            if reader.memory(tensor) in memories:
                builder.cuts.remember(tensor, builder.tensor(tensor)[0])


def _name(builder: Builder, tensors: list[Any], error: BaseException) -> None:
    """Give the nodes the learner's names, and add the frames of the forward pass."""
    for tensor in tensors:
        builder.root(tensor)
    for name, tensor in names.tensors(namespace_of(error)):
        if reader_for(tensor).library == builder.reader.library:
            builder.name(name, tensor)
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
    source = source_of(link)
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
    builder.reader.done([])
    return builder.finish(meta)


def _expression(error: BaseException) -> expressions.Expression | None:
    entry = entry_of(error)
    return None if entry is None else expressions.at(entry)
