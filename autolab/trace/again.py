"""Values that the graph did not keep, computed again from those it did: `trace(loss)` without a recording.

Only numbers are worked out: no `.grad`, no version counter, no running statistics and no random stream is touched, and
nothing is observed. What could come out differently is not computed, and the node says why (`Node.missing`): what was
drawn at random, what depends on an argument that nothing kept, what was changed in place since, what is on a GPU, what
is too much work.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.core import observe
from .reader import UNKNOWN, SavedEntry, dtype_name, is_tensor
from .since import Checks

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft

MOST = 1 << 22
"""Numbers in one result that is computed again."""
WORK = 1 << 30
"""Additions and multiplications in one trace: some tenths of a second. Each number of a result counts as at least
16."""
CHECKED = 1 << 28
"""The same for values that are known, and computed again to see whether they still are what they were."""

ENOUGH = 32
"""From so many operations that differ in their numbers only, they are run again together."""
_NUMBERS = (bool, int, float, complex)

UNKEPT = "its value was not kept: no later gradient needs it"
_SHAPED: dict[
    str, Callable[[tuple[int, ...]], Any]
] = {  # arguments that the shape of the result tells
    "size": lambda shape: shape,
    "output_size": lambda shape: shape[-2:],
}
_PRODUCTS = {"convolution", "addmm", "mm", "bmm", "mv", "addmv", "linear", "matmul"}


class Unknown(Exception):
    """Why a value cannot be computed again."""


def fill(builder: Builder) -> tuple[dict[str, str], dict[str, str]]:
    """Gives the operations of an existing graph the values that can be computed again, and the others a reason.

    What is known is computed again as well, to see whether it still is what it was. Returns what became of
    values that are shown as they were, and why others may have been other ones than is shown, by node."""
    _forget_overwritten(builder)
    changed = {item.saved.source_node for item in builder.saved if item.saved.state == "modified"}
    checks = Checks(builder)
    left = {False: WORK, True: CHECKED}
    with _unseen(builder.reader):
        ordinary = builder.values and not changed and builder.reader.library == "autolab"
        together = _together(builder) if ordinary else set()
        for draft in builder.nodes:  # parents first
            fn = builder.fns.get(draft.id)
            if fn is None:
                continue
            if draft.id in together and not (checks.since or checks.lost):
                checks.confirm(draft)
                continue
            compared = bool(checks.known(draft))
            shown = compared or draft.value is not None
            if shown and not (builder.values and compared):
                continue
            try:
                if not builder.values:
                    raise Unknown("this trace was made without values")
                known = _operands(builder, draft, fn, changed)
                if (work := _work(draft, known)) > left[
                    shown
                ]:  # something smaller may still be done
                    raise Unknown("it takes too much work")
                left[shown] -= work
                run = functools.partial(_run, builder, draft, fn)
                if shown:
                    checks.compare(draft, known, run)
                    if draft.value is not None or draft.id in checks.lost:
                        continue
                results = run(known)
            except Unknown as why:
                if shown:
                    checks.cannot(draft)
                elif not draft.missing:
                    draft.missing = (
                        f"{UNKEPT}, and it is not computed again: {why}"
                        if builder.values
                        else str(why)
                    )
                continue
            for nr, result in enumerate(results[: max(1, len(draft.outputs))]):
                if (draft.id, nr) not in builder.raw:
                    builder.set_output(draft.id, nr, result)
            draft.again = draft.value is not None
        checks.finish()
    return checks.since, checks.notes


def _forget_overwritten(builder: Builder) -> None:
    """A result that a later in-place operation overwrote is not known: what the node kept is the newer value."""
    for item in builder.saved:
        if (
            item.saved.state == "modified"
            and item.saved.source_node is not None
            and item.saved.source_nr == 0
        ):
            draft = builder.draft(item.saved.source_node)
            if draft.kind == "op":
                draft.value, draft.missing = (
                    None,
                    "not known: it was changed in place since it was saved",
                )


@contextmanager
def _unseen(reader: Any):
    """No history, no observer, and no word of 1/0."""
    before, observe.observer = observe.observer, None
    try:
        with reader.without_grad(), np.errstate(all="ignore"):
            yield
    finally:
        observe.observer = before


def _together(builder: Builder) -> set[str]:
    """Operations on single numbers that come to the number shown.

    A program of scalars is run again as a few operations on vectors: one by one takes four times as long. One that
    comes to something else, or of which anything is out of the ordinary, is not among them: it is run again alone."""
    alike: dict[Any, list[tuple[str, Any, list[Any]]]] = {}
    singles: dict[Any, Any] = {}  # (node, output number) -> the number
    for draft in builder.nodes:
        record, result = draft.record, _single(builder, draft)
        if result is None:
            continue
        singles[draft.id, 0] = result
        if record is None or not record.broadcast or draft.outputs:
            continue
        known = []
        for name in record.params:
            if (item := singles.get(draft.operands.get(name))) is None:
                break
            known.append(item)
        else:
            kinds = tuple(
                [
                    item.dtype if isinstance(item, np.generic) else (type(item), item)
                    for item in known
                ]
            )
            alike.setdefault((record, draft.dtype, result.dtype, kinds), []).append(
                (draft.id, result, known)
            )
    found: set[str] = set()
    for (record, dtype, kind, kinds), runs in alike.items():
        if len(runs) < ENOUGH or not any(isinstance(kind, np.dtype) for kind in kinds):
            continue
        columns = zip(*[known for _, _, known in runs])
        pairs = zip(columns, kinds, strict=True)
        given = [
            builder.reader.plain(np.array(c, k)) if isinstance(k, np.dtype) else c[0]
            for c, k in pairs
        ]
        came = record.call(*given)
        if dtype_name(came.dtype) == dtype:
            same = came._array == np.array([result for _, result, _ in runs], kind)
            found.update(node for (node, _, _), is_same in zip(runs, same, strict=True) if is_same)
    return found


def _single(builder: Builder, draft: Draft) -> Any:
    """The single number that a node is, in NumPy's kind, or a number of the learner's code; None where it is not one,
    or may have been changed."""
    item = draft.held() if draft.kind == "leaf" else builder.raw.get((draft.id, 0))
    if item is None or draft.missing or draft.value is None:
        return None
    if isinstance(item, np.generic):
        return item
    if is_tensor(item):
        item = item._array if builder.reader.version(item) == 0 else None
    if isinstance(item, np.ndarray) and item.shape == ():
        item = item[()]
    return item if item.__class__ in _NUMBERS or isinstance(item, np.generic) else None


def _work(draft: Draft, known: dict[str, Any]) -> int:
    """About how many additions and multiplications an operation is."""
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


@functools.cache
def _is_drawn(record: Any) -> bool:
    return any("generator" in name for name in record.params)


def _operands(builder: Builder, draft: Draft, fn: Any, changed: set[str | None]) -> dict[str, Any]:
    """The operands by name, as tensors outside any graph, or numbers."""
    record = draft.record
    if record is None:
        what = (
            "a function of your own"
            if hasattr(type(fn), "saved_tensors")
            else f"what {draft.grad_fn} computes is not known here"
        )
        raise Unknown(what if what[0] == "w" else f"{what} would have to run again")
    if _is_drawn(record):
        raise Unknown("it was drawn at random")
    known = {
        name: _operand(builder, parent, nr, changed)
        for name, (parent, nr) in draft.operands.items()
    }
    for item in known.values():
        if (device := builder.reader.device(item)) not in ("", "cpu"):
            raise Unknown(f"it is on {device}")
    return known


def _run(builder: Builder, draft: Draft, fn: Any, known: dict[str, Any]) -> list[Any]:
    """The results as tensors. Raises Unknown when they cannot be known to be those of then."""
    record = draft.record
    kept = functools.cache(
        lambda: builder.reader.kept(fn)
    )  # of which most arguments make a question
    arguments = {name: _argument(builder, draft, fn, name, known, kept) for name in record.params}
    if record.name == "native_batch_norm" and arguments["training"]:
        arguments |= {
            "running_mean": None,
            "running_var": None,
        }  # they would be changed, and have no influence
    try:
        found = builder.reader.again(record, arguments, draft.attrs)
    except Exception as error:  # whatever it raises: that run is not the learner's
        raise Unknown(f"running it again failed with {type(error).__name__}") from None
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    shape, dtype = tuple(results[0].shape), dtype_name(results[0].dtype)
    if draft.shape is not None and (shape, dtype) != (tuple(draft.shape), draft.dtype or dtype):
        raise Unknown("an argument that was not kept made it another shape or dtype")
    return results


def _operand(builder: Builder, parent: str, nr: int, changed: set[str | None]) -> Any:
    draft, item = builder.draft(parent), builder.raw.get((parent, nr), UNKNOWN)
    if parent in changed and draft.kind != "op":
        raise Unknown(f"{draft.name or 'an operand'} was changed in place since")
    if draft.kind == "leaf":
        item = draft.held()
        item = UNKNOWN if item is None else item
        version = 0 if item is UNKNOWN else builder.reader.version(item)
        if version and any(
            other is not None and builder.draft(other).kind == "leaf" for other in changed
        ):
            raise Unknown(
                f"{draft.name or 'an operand'} may have been changed in place since, as other leaves were"
            )
        if draft.missing:
            raise Unknown(f"{draft.name or 'an operand'} was changed since, and is not known")
    elif draft.kind == "data" and draft.missing and item is not UNKNOWN:
        raise Unknown(f"{draft.name or 'an operand'} was changed since, and is not known")
    elif draft.kind == "op" and (draft.value is None if nr == 0 else item is UNKNOWN):
        raise Unknown("what it was computed from is not known")
    if item is UNKNOWN:
        raise Unknown("what it was computed from was not kept")
    return item if isinstance(item, (bool, int, float, complex)) else builder.reader.plain(item)


def _argument(
    builder: Builder,
    draft: Draft,
    fn: Any,
    name: str,
    known: dict[str, Any],
    kept_by: Callable[[], dict[str, Any]],
) -> Any:
    """What the operation was called with under this name. `kept_by`: what its node keeps."""
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
        return (
            None
            if own == draft.dtype and name in record.defaults
            else builder.reader.dtype(draft.dtype)
        )
    if name in ("momentum", "memory_format"):
        return 0.0 if name == "momentum" else None  # of no influence on the numbers
    raise Unknown(f"its argument {name} was not kept")
