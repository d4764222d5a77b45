"""Values that a graph did not keep, computed from those it did: `trace(loss)` without a recording.

Only numbers are worked out: no `.grad`, no version counter, no running statistics and no random stream is touched, and
nothing is observed. An operation is computed only from operands that are known to be what they were when it ran, by
their version counters; else the node says why it has no value (`Node.missing`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.core import observe
from .reader import UNKNOWN, SavedEntry, dtype_name, is_tensor

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft

MOST = 1 << 22
"""Numbers in one result that is computed."""
WORK = 1 << 30
"""Additions and multiplications in one trace: some tenths of a second. Each number of a result counts as at least
16."""
RECORD = "wrap the code in autolab.record() to see the old value"
UNKEPT = "its value was not kept: no later gradient needs it"
_SHAPED: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "size": lambda shape: shape,
    "output_size": lambda shape: shape[-2:],
}
"""Arguments that the shape of the result tells."""
_PRODUCTS = {"convolution", "addmm", "mm", "bmm", "mv", "addmv", "linear", "matmul"}


class Unknown(Exception):
    """Why a value cannot be computed."""


def fill(builder: Builder) -> dict[str, str]:
    """Give the operations of an existing graph the values that can be computed, and the others a reason. Return what
    is to be said of what was changed in place, by node."""
    notes = _changed(builder)
    changed = {draft.id for draft in builder.nodes if draft.id in notes or draft.missing}
    left, again = WORK, set[str]()
    saved: dict[str | None, list[Any]] = {}
    for item in builder.saved:
        saved.setdefault(item.source_node, []).append(item)
    with observe.unwatched(), builder.reader.without_grad(), np.errstate(all="ignore"):
        for draft in builder.nodes:  # parents first
            draft.unlike |= {n for n, (parent, _) in draft.operands.items() if parent in changed}
            if (fn := builder.fns.get(draft.id)) is None:
                continue
            left -= _fill_one(builder, draft, fn, changed, again, left)
            if now := _changed_since(builder, draft, fn):
                notes[draft.id] = f"as it was made: it was changed in place since, and is {now} now"
            if _looks_changed(builder, draft, saved.get(draft.id, [])):
                changed.add(draft.id)
    return notes


def _changed_since(builder: Builder, draft: Draft, fn: Any) -> str:
    """Return what the result of `fn` holds now if it was changed in place outside the graph, else ""."""
    tensor, reader = draft.held(), builder.reader
    if tensor is None or draft.value is None or not reader.version(tensor):
        return ""
    if reader.grad_fn(tensor) is not fn:
        return ""
    return "" if reader.shows(draft.value, tensor) else reader.value(tensor).text


def _fill_one(
    builder: Builder, draft: Draft, fn: Any, changed: set[str], again: set[str], left: int
) -> int:
    """Compute the value of an operation, or, where it is known, whether it follows from operands that were computed.
    Return the work that it took."""
    computed = [parent for parent, _ in draft.operands.values() if parent in again]
    shown = draft.value
    if shown is not None and not computed:
        return 0
    try:
        if not builder.values:
            raise Unknown("this trace was made without values")
        known = _operands(builder, draft, fn, changed)
        work = _work(draft, known)
        if work > left:  # something smaller may still be done
            raise Unknown("it takes too much work")
        results = _run(builder, draft, fn, known)
    except Unknown as why:
        if shown is None:
            reason = f"{UNKEPT}, and it is not computed again: {why}"
            draft.missing = draft.missing or (reason if builder.values else str(why))
        return 0
    if shown is not None:
        if not _same(builder, draft, results[0]):
            _forget(builder, computed)
        return work
    for nr, result in enumerate(results[: max(1, len(draft.outputs))]):
        if (draft.id, nr) not in builder.raw:
            builder.set_output(draft.id, nr, result)
    if draft.value is not None:
        draft.again, draft.missing = True, ""
        again.add(draft.id)
    return work


def _looks_changed(builder: Builder, draft: Draft, saved: list[Any]) -> bool:
    """Whether a result was changed in place after it was made: by what is in memory, or was when it was saved.
    Equations with the number of then would be false for the operations that saved it."""
    tensor, found = draft.held(), False
    if tensor is not None and builder.reader.version(tensor):
        now = builder.value_of(tensor)
        found = now is not None and not now.is_same(draft.value)
    for item in saved:
        if item.version and item.value is not None and not item.source_nr:
            if not item.value.is_same(draft.value):
                builder.draft(item.node).unlike |= {item.name}
                found = True
    return found


def _same(builder: Builder, draft: Draft, result: Any) -> bool:
    """Whether what an operation comes to now is what it came to then, but for rounding."""
    one, other = (
        np.asarray(builder.reader.array(item) if is_tensor(item) else item)
        for item in (builder.raw.get((draft.id, 0), result), result)
    )
    if one.dtype.kind not in "fc" or one.shape != other.shape:
        return np.array_equal(one, other)
    with np.errstate(all="ignore"):
        size = float(np.max(np.abs(one), initial=0, where=np.isfinite(one)))
        return np.allclose(one, other, rtol=0, atol=1e-4 * max(size, 1e-30), equal_nan=True)


def _forget(builder: Builder, nodes: list[str]) -> None:
    """Take back values that were computed, as something that they depend on was changed unnoticed."""
    todo = list(nodes)
    while todo:
        draft = builder.draft(todo.pop())
        if draft.again:
            draft.again, draft.value = False, None
            draft.missing = f"something that it was computed from was changed in place; {RECORD}"
            draft.outputs = tuple(replace(o, value=None) for o in draft.outputs)
            builder.raw.pop((draft.id, 0), None)
            todo += [parent for parent, _ in draft.operands.values()]


def _changed(builder: Builder) -> dict[str, str]:
    """Take away the values of leaves and data that were changed in place since they were used. Return what to say of
    those that were changed before or after: their version does not tell which."""
    stale = {s.source_node for s in builder.saved if s.state == "modified"}
    alive = {(s.node, s.name) for s in builder.saved if s.state == "alive"}
    unsure = {  # used by an operation that did not save it, and so does not know its version
        parent
        for draft in builder.nodes
        for name, (parent, _) in draft.operands.items()
        if (draft.id, name) not in alive
    }
    notes = {}
    for draft in builder.nodes:
        if draft.kind == "op":
            if draft.id in stale and builder.reader.library == "torch":
                draft.value = None  # it was learned from what is in memory now
            continue
        if draft.value is None or draft.shape == () and not draft.name:
            continue
        tensor = draft.held()
        first = None if tensor is None else builder.reader.first_version(tensor)
        if draft.id in stale or first is not None and first != draft.version:
            draft.missing = f"changed in place since it was used, {draft.value.text} now; {RECORD}"
            draft.value = None
        elif draft.version and first is None and draft.id in unsure:
            notes[draft.id] = (
                "as it is now: it was changed in place, before or after it was used here"
            )
    return notes


def _work(draft: Draft, known: dict[str, Any]) -> int:
    """Return about how many additions and multiplications an operation is."""
    sizes = [tuple(item.shape) for item in known.values() if is_tensor(item)]
    numbers = max(map(math.prod, [draft.shape or (), *sizes]))
    if numbers > MOST:
        raise Unknown(f"{numbers:,} numbers are too many")
    if draft.record.name not in _PRODUCTS:
        return 16 * numbers
    inner = [
        math.prod(shape) // max(1, shape[0 if draft.record.name == "convolution" else -1])
        for shape in sizes
        if len(shape) > 1
    ]
    return math.prod(draft.shape or ()) * max(16, min(inner, default=1))


def _operands(builder: Builder, draft: Draft, fn: Any, changed: set[str]) -> dict[str, Any]:
    """Return the operands by name, as tensors outside any graph, or numbers."""
    record = draft.record
    if record is None and hasattr(type(fn), "saved_tensors"):
        raise Unknown("a function of your own would have to run again")
    if record is None:
        raise Unknown(f"what {draft.grad_fn} computes is not known here")
    if any("generator" in name for name in record.params):
        raise Unknown("it was drawn at random")
    known = {n: _operand(builder, *parent, changed) for n, parent in draft.operands.items()}
    for item in known.values():
        if (device := builder.reader.device(item)) not in ("", "cpu"):
            raise Unknown(f"it is on {device}")
    return known


def _operand(builder: Builder, parent: str, nr: int, changed: set[str]) -> Any:
    draft = builder.draft(parent)
    item = draft.held() if draft.kind == "leaf" else builder.raw.get((parent, nr), UNKNOWN)
    if parent in changed:
        raise Unknown(f"{draft.name or 'an operand'} was changed in place; {RECORD}")
    if item is None or item is UNKNOWN or draft.value is None and nr == 0:
        raise Unknown("what it was computed from is not known")
    return item if isinstance(item, (bool, int, float, complex)) else builder.reader.plain(item)


def _run(builder: Builder, draft: Draft, fn: Any, known: dict[str, Any]) -> list[Any]:
    """Return the results as tensors. Raise Unknown when they cannot be known to be those of then."""
    record = draft.record
    kept = functools.cache(lambda: builder.reader.kept(fn))
    arguments = {name: _argument(builder, draft, fn, name, known, kept) for name in record.params}
    if record.name == "native_batch_norm" and arguments["training"]:
        # they would be changed, and have no influence
        arguments |= {"running_mean": None, "running_var": None}
    try:
        found = builder.reader.again(record, arguments, draft.attrs)
    except Exception as error:  # whatever it raises: that run is not the learner's
        raise Unknown(f"running it again failed with {type(error).__name__}") from None
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    shape, dtype = tuple(results[0].shape), dtype_name(results[0].dtype)
    if draft.shape is not None and (shape, dtype) != (tuple(draft.shape), draft.dtype or dtype):
        raise Unknown("an argument that was not kept made it another shape or dtype")
    return results


def _argument(
    builder: Builder,
    draft: Draft,
    fn: Any,
    name: str,
    known: dict[str, Any],
    kept_by: Callable[[], dict[str, Any]],
) -> Any:
    """Return what the operation was called with under this name. `kept_by`: what its node keeps."""
    record = draft.record
    if name in known:
        return known[name]
    if f"{name}[0]" in known:
        return [item for key, item in known.items() if key.partition("[")[0] == name]
    kept = kept_by()
    if name in kept:
        item = kept[name]
        if not isinstance(item, SavedEntry):
            return item
        if item.tensor is not None:
            return builder.reader.plain(item.tensor)
        raise Unknown(
            f"its {name} was {'changed in place' if item.state == 'modified' else 'freed'} since"
        )
    if name in record.constants:
        return record.constants[name]
    if name in {record.params[i] for i in record.tensors}:
        slots = [record.params[i] for i, _, _ in record.rules]
        if name in slots and builder.reader.operand(fn, slots.index(name)) is None:
            return None
        if (
            draft.attrs.get(f"{name}_sym_sizes_opt") == [0]
            or name in record.also_saves
            and name not in {*slots, *record.lists}
        ):
            return None  # there was none
        raise Unknown(f"its argument {name} was not kept")
    if name in _SHAPED and draft.shape is not None:
        return _SHAPED[name](tuple(draft.shape))
    if name == "dtype" and draft.dtype:
        own = next((dtype_name(item.dtype) for item in known.values() if is_tensor(item)), "")
        same = own == draft.dtype and name in record.defaults
        return None if same else builder.reader.dtype(draft.dtype)
    if name in ("momentum", "memory_format"):
        return 0.0 if name == "momentum" else None  # of no influence on the numbers
    raise Unknown(f"its argument {name} was not kept")
