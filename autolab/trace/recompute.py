"""Recompute values that a graph did not save from those that it did, for `trace(loss)` without a recording.

Only numbers are computed, by the engine's own operations on copies; the learner's tensors are not touched. An operation
is recomputed only if its operands' version counters show that they have not changed since; else the node says why it
has no value (`Node.missing`). A small known result is recomputed too: if the results differ, an operand was changed in
a way that no version counts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.autograd.modes import no_grad
from ..engine.core import observe
from ..engine.core.dtype import BY_NAME
from ..engine.core.tensor import wrap
from .reader import UNKNOWN, is_tensor
from .replay import Unknown, called, is_random
from .values import WHOLE

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft, SavedDraft

MOST = 1 << 22
"""Numbers in one result that is computed."""
WORK = 1 << 30
"""Additions and multiplications in one trace: some tenths of a second. Each number of a result counts as at least
16."""
MOST_NODES = 5_000
"""Of a bigger graph no result that is known is computed again."""
RECORD = "wrap the code in autolab.record() to see the old value"
UNKEPT = "its value was not kept: no later gradient needs it"
UNCOUNTED = "as it is now: it was changed since it was used, through .data or NumPy"
_PRODUCTS = {"convolution", "addmm", "mm", "bmm", "mv", "addmv", "linear", "matmul"}


def fill(builder: Builder) -> dict[str, str]:
    """Give the operations of an existing graph the values that can be computed, and the others a reason. Return a
    sentence about in-place changes, by node."""
    notes = _changed(builder)
    changed = {draft.id for draft in builder.nodes if draft.id in notes or draft.missing}
    saved: dict[str | None, list[SavedDraft]] = {}
    for item in builder.saved:
        saved.setdefault(item.source_node, []).append(item)
    left, doubtful = WORK, set[str]()
    with observe.unwatched(), no_grad(), np.errstate(all="ignore"):
        for draft in builder.nodes:  # parents first
            draft.unlike |= {n for n, (parent, _) in draft.operands.items() if parent in changed}
            if (fn := builder.fns.get(draft.id)) is None:
                continue
            left -= _compute(builder, draft, changed, doubtful, left)
            if _was_changed(builder, draft, fn, saved.get(draft.id, []), notes):
                changed.add(draft.id)
    several = " (or another one that says so)" if len(doubtful) > 1 else ""
    notes |= dict.fromkeys(doubtful, UNCOUNTED + several)
    _forget(builder, doubtful)
    return notes


def _compute(
    builder: Builder, draft: Draft, changed: set[str], doubtful: set[str], left: int
) -> int:
    """Compute the value of an operation that has none, or check a small one. Return the amount of work."""
    known = draft.value is not None
    few = len(builder.nodes) <= MOST_NODES and math.prod(draft.shape or ()) <= WHOLE
    if known and not (few and _leaves(builder, draft)):
        return 0
    try:
        if not builder.values:
            raise Unknown("this trace was made without values")
        operands = _operands(builder, draft, changed)
        work = _work(draft, operands)
        if work > left:  # a smaller operation may still fit
            raise Unknown("it takes too much work")
        results = _run(builder, draft, operands)
    except Unknown as why:
        if not known:
            draft.missing = draft.missing or f"{UNKEPT}, and it is not computed again: {why}"
        return 0
    if known and not _same(builder, draft, results[0]):
        draft.unlike |= {*draft.operands}
        doubtful |= _leaves(builder, draft)
    for nr, result in enumerate(results[: max(1, len(draft.outputs))] if not known else ()):
        if (draft.id, nr) not in builder.raw:
            builder.set_output(draft.id, nr, result)
    if not known and draft.value is not None:
        draft.again, draft.missing = True, ""
    return work


def _leaves(builder: Builder, draft: Draft) -> set[str]:
    """Return the leaves and data that a result was computed from, as far as the results in between were recomputed."""
    behind = dict.fromkeys(parent for parent, _ in draft.operands.values())
    todo = list(behind)
    for node in todo:
        if builder.draft(node).again:
            todo += [p for p, _ in builder.draft(node).operands.values() if p not in behind]
            behind |= dict.fromkeys(todo)
    found = map(builder.draft, behind)
    return {d.id for d in found if d.kind != "op" and not d.is_number and d.held() is not None}


def _forget(builder: Builder, doubtful: set[str]) -> None:
    """Remove values computed from leaves and data that were changed without a new version."""
    for draft in builder.nodes if doubtful else ():
        if draft.again and any(parent in doubtful for parent, _ in draft.operands.values()):
            doubtful.add(draft.id)
            draft.again, draft.value = False, None
            draft.missing = f"something that it was computed from was changed in place; {RECORD}"
            draft.outputs = tuple(replace(o, value=None) for o in draft.outputs)


def _was_changed(
    builder: Builder, draft: Draft, fn: Any, saved: list[SavedDraft], notes: dict[str, str]
) -> bool:
    """Return whether a result was changed in place after it was made, judging by its memory now or when it was saved.
    With the original value, the equations of operations that saved it would be false."""
    tensor, reader, found = draft.held(), builder.reader, False
    if tensor is not None and draft.value is not None and reader.version(tensor):
        found = not reader.shows(draft.value, tensor)
        if found and reader.grad_fn(tensor) is fn:
            now = reader.value(tensor).text
            notes[draft.id] = f"as it was made: it was changed in place since, and is {now} now"
    for item in saved:
        if item.version and item.value is not None and not item.source_nr:
            if not item.value.is_same(draft.value):
                builder.draft(item.node).unlike |= {item.name}
                found = True
    return found


def _same(builder: Builder, draft: Draft, result: np.ndarray) -> bool:
    """Return whether the recomputed result equals the recorded one up to rounding."""
    known = builder.raw.get((draft.id, 0), result)
    one = np.asarray(builder.reader.array(known) if is_tensor(known) else known)
    if one.dtype.kind not in "fc" or one.shape != result.shape:
        return np.array_equal(one, result)
    size = float(np.max(np.abs(one), initial=0, where=np.isfinite(one)))
    return np.allclose(one, result, rtol=0, atol=1e-4 * max(size, 1e-30), equal_nan=True)


def _changed(builder: Builder) -> dict[str, str]:
    """Remove the values of leaves and data that were changed in place since their use. Return a sentence about each
    that may have been changed before or after its use: its version does not tell which."""
    stale = {s.source_node for s in builder.saved if s.state == "modified"}
    alive = {(s.node, s.name) for s in builder.saved if s.state == "alive"}
    unsure = {  # used by an operation that did not save it, so its version then is unknown
        parent
        for draft in builder.nodes
        for name, (parent, _) in draft.operands.items()
        if (draft.id, name) not in alive
    }
    notes = {}
    for draft in builder.nodes:
        if draft.kind == "op":
            if draft.id in stale and builder.reader.library == "torch":
                draft.value = None  # it was read from the present memory
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


def _work(draft: Draft, operands: dict[str, Any]) -> int:
    """Return roughly how many additions and multiplications an operation takes."""
    sizes = [np.shape(item) for item in operands.values()]
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


def _operands(builder: Builder, draft: Draft, changed: set[str]) -> dict[str, Any]:
    """Return the operands by name, as arrays or numbers."""
    if draft.record is None:
        raise Unknown(f"what {draft.grad_fn} computes is not known here")
    if is_random(draft.record):
        raise Unknown("it was drawn at random")
    return {n: _operand(builder, *parent, changed) for n, parent in draft.operands.items()}


def _operand(builder: Builder, parent: str, nr: int, changed: set[str]) -> Any:
    draft = builder.draft(parent)
    item = draft.held() if draft.kind == "leaf" else builder.raw.get((parent, nr), UNKNOWN)
    if parent in changed:
        raise Unknown(f"{draft.name or 'an operand'} was changed in place; {RECORD}")
    if item is None or item is UNKNOWN or draft.value is None and nr == 0:
        raise Unknown("what it was computed from is not known")
    array = builder.reader.array(item) if is_tensor(item) else item
    if np.asarray(array).dtype.name not in BY_NAME:
        raise Unknown(f"autolab has no numbers of type {np.asarray(array).dtype.name}")
    return array


def _run(builder: Builder, draft: Draft, operands: dict[str, Any]) -> list[np.ndarray]:
    """Return the recomputed results. Raise Unknown if they may differ from the original ones."""
    record, given = draft.record, dict[str, Any]()
    for name, item in operands.items():
        base, bracket, _ = name.partition("[")
        tensor = item if isinstance(item, (bool, int, float, complex)) else wrap(np.array(item)[()])
        if bracket:
            given.setdefault(base, []).append(tensor)
        else:
            given[name] = tensor
    for name in record.params:
        if name not in given and name not in draft.attrs:
            _leave_out(builder, draft, name, given)
    try:
        found = called(record, draft, given)
    except Unknown:
        raise
    except Exception as error:  # any error of this rerun must not reach the learner
        raise Unknown(f"running it again failed with {type(error).__name__}") from None
    results = [r._array for r in (found if isinstance(found, (tuple, list)) else [found])]
    shape, dtype = results[0].shape, results[0].dtype.name
    if draft.shape is not None and (shape, dtype) != (tuple(draft.shape), draft.dtype or dtype):
        raise Unknown("an argument that was not kept made it another shape or dtype")
    return results


def _leave_out(builder: Builder, draft: Draft, name: str, given: dict[str, Any]) -> None:
    """Add to `given` the value of an argument that is not an operand and was not saved. Raise Unknown if it is not
    known."""
    record, tensor = draft.record, next((t for t in given.values() if is_tensor(t)), None)
    slots = [record.params[i] for i, _, _ in record.rules]
    if name in ("size", "output_size") and draft.shape is not None or name in record.constants:
        return
    if name in slots:
        there_was_none = builder.reader.operand(builder.fns[draft.id], slots.index(name)) is None
    else:
        there_was_none = name in record.also_saves and name not in record.lists
    if record.params.index(name) in record.tensors and (
        there_was_none or draft.attrs.get(f"{name}_sym_sizes_opt") == [0]
    ):
        given[name] = None
    elif name == "dtype" and draft.dtype:
        same = tensor is not None and tensor.dtype is BY_NAME.get(draft.dtype)
        given[name] = None if same and name in record.defaults else BY_NAME.get(draft.dtype)
    elif name in ("momentum", "memory_format"):  # they don't affect the numbers
        given[name] = 0.0 if name == "momentum" else None
    else:
        raise Unknown(f"its argument {name} was not kept")
