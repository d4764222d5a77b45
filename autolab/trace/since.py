"""What was changed since it was computed: an existing graph shows the numbers that are in memory now, and nothing notes
a change under `no_grad`, through `.data` or through NumPy.

An operation whose result and operands are known is run again. Where it comes to something else, its equation would be
false, and version counters and neighbours say what was changed. A result that is known to be what changed gets the
number of then; of what is in doubt no number is shown, and the node says why (`Node.missing`). `meta["changed"]` says
what became of a number of then, and of a number of now that it may have been another.

A leaf knows the version it had when it was used first; of data, and of PyTorch's leaves, only how often they were
changed in place: where nothing that can be run again depends on them, they cannot be told from those that were filled
in place before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .reader import UNKNOWN, is_tensor

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft

UNSEEN = "in a way that autograd does not see, such as .data or NumPy"

_VOUCHES = frozenset(
    "add sub rsub mul div add_scalar mul_scalar div_scalar neg exp log tanh sigmoid sum sum_all mean mean_all sqrt reciprocal "
    "dot mv mm bmm addmm matmul convolution softmax log_softmax".split()
)
"""Operations that come to something else when one number of an operand does (`relu` need not)."""


def _is_view(draft: Draft) -> bool:
    return draft.record is not None and draft.record.view and "self" in draft.operands


def _each_counts(draft: Draft) -> bool:
    return draft.record.name in _VOUCHES


class Checks:
    """What is known of the nodes of a graph while its operations are run again, parents first."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._by_memory: dict[Any, list[Draft]] | None = None
        self._confirmed: list[
            Draft
        ] = []  # those verified last, as long as nobody asks for whose number they vouch
        self.vouched: dict[
            str, list[str]
        ] = {}  # node -> those that come to what they came to, with its number
        self.felt: dict[
            str, list[str]
        ] = {}  # the same, where some change of it could have made no difference
        self.verified: set[str] = set()  # operations that come to the number shown
        self.blamed: list[Draft] = []  # those that do not, as a version tells of an operand
        self.disputes: list[
            tuple[Draft, str]
        ] = []  # those that do not, without a version that tells what was changed; the number now
        self.lost: set[str] = set()  # their numbers are not known
        self.unseen = False  # whether something was changed without a version that tells
        self.found = dict(builder.raw)  # what was in memory
        self.since: dict[str, str] = {}  # node that has its number of then -> what became of it
        self.notes: dict[
            str, str
        ] = {}  # node that has its number of now, which may not be that of then
        self.stale, alive = (
            {
                (item.saved.source_node, item.saved.source_nr)
                for item in builder.saved
                if item.saved.state == state
            }
            for state in ("modified", "alive")
        )
        for draft in reversed(
            builder.nodes
        ):  # a view has the memory and the version of what it is a view of
            if draft.record is not None and _is_view(draft):
                for known in (self.stale, alive):
                    known |= {draft.operands["self"]} if (draft.id, 0) in known else set()
        self.kept = {
            node for node, nr in alive - self.stale if nr == 0
        }  # as when it was saved, says the version
        for draft in builder.nodes if self.stale else ():
            if (draft.id, 0) in self.stale and draft.kind != "op":
                self.forget(draft, "it was changed in place since it was used")

    @functools.cached_property
    def children(self) -> dict[str, list[Draft]]:
        """Node -> the operations that it is an operand of."""
        found: dict[str, list[Draft]] = {}
        for draft in self.builder.nodes:
            for parent, _ in draft.operands.values():
                found.setdefault(parent, []).append(draft)
        return found

    # -- what the version counters say ---------------------------------------------------------------
    def moved(self, draft: Draft, nr: int = 0) -> bool:
        """Whether a result was changed in place after it was made, or may have been."""
        if (draft.id, nr) in self.stale or not nr:
            return bool(draft.version) or (draft.id, nr) in self.stale
        item = self.builder.raw.get((draft.id, nr))
        return is_tensor(item) and bool(self.builder.reader.version(item))

    def is_fresh(self, draft: Draft) -> bool:
        """Whether the result certainly has memory of its own: then every count of its version is a later change."""
        record = draft.record
        if record is None or record.view:
            return False
        if record.changing is None or "self" not in draft.operands:
            return True
        parent, nr = draft.operands["self"]
        if self.builder.draft(parent).kind == "leaf":
            return True  # a leaf is not changed in place by what autograd follows
        before, now = self.found.get((parent, nr), UNKNOWN), self.found.get((draft.id, 0), UNKNOWN)
        return (
            before is not UNKNOWN
            and now is not UNKNOWN
            and not np.may_share_memory(self._array(before), self._array(now))
        )

    def suspects(self, draft: Draft) -> list[Draft]:
        """Leaves and data that `draft` was computed from, also by way of what was computed again, and that may have
        been changed."""
        found = []
        for other in self._behind(draft):
            if (
                other.kind != "op"
                and other.version
                and other.id not in self.kept
                and not self._is_right(other.id)
            ):
                found += [other] if self.later(other) is not False else []
        return found

    def later(self, draft: Draft) -> bool | None:
        """Whether a leaf was changed in place after it was used first; None where nothing tells."""
        tensor = draft.held() if draft.kind == "leaf" else None
        first = None if tensor is None else self.builder.reader.first_version(tensor)
        return None if first is None else first != draft.version

    def _behind(self, draft: Draft, through: Callable[[Draft], bool] | None = None) -> list[Draft]:
        """The operands, and those of operands that were computed again, `through` operations for which that holds."""
        todo, seen, found = [draft], {draft.id}, []
        while todo:
            here = todo.pop()
            for parent, _ in here.operands.values() if through is None or through(here) else ():
                if parent not in seen and parent not in self.since:  # that was used as it was later
                    seen.add(parent)
                    found.append(other := self.builder.nodes[int(parent[1:])])
                    if other.kind == "op" and (other.again or _is_view(other)):
                        todo.append(other)
        return found

    # -- an operation was run again --------------------------------------------------------------------
    def known(self, draft: Draft) -> list[int]:
        """Which results of an operation are known, and can be compared."""
        if not draft.outputs:
            return [0] if (draft.id, 0) in self.builder.raw else []
        return [nr for nr in range(len(draft.outputs)) if (draft.id, nr) in self.builder.raw]

    def compare(
        self, draft: Draft, known: dict[str, Any], run: Callable[[dict[str, Any]], list[Any]]
    ) -> None:
        """Of a node with known results: what it comes to from the operands `known`, as they are shown. Raises what
        `run` raises."""
        results, (nr, *others) = run(known), self.known(draft)
        shown, moved = self.builder.raw[draft.id, nr], self.moved(draft, nr)
        operands = draft.operands.items() if self.since else ()
        used = frozenset([n for n, (parent, _) in operands if parent in self.since])
        fresh = bool(moved or others) and self.is_fresh(draft)
        if fresh and moved:
            suspects = self.suspects(draft)
            if not suspects and not used:
                self._put_back(draft, nr, results)
            else:
                self.forget(draft, f"it was changed in place since, and is {self._now(shown)} now")
                self._forget_all(
                    suspects,
                    f"it, or what {draft.op} made of it, may have been changed in place since",
                )
        elif self._same(shown, results[nr], draft) and not (
            used and self._differs(draft, results, others)
        ):
            if not _is_view(draft):  # which is the same whatever became of the memory
                self.confirm(draft)
        elif (used or moved) and not self.is_fresh(draft):
            suspects = self.suspects(draft)
            self.forget(
                draft,
                f"its memory was changed in place, before or after {draft.op}; it is {self._now(shown)} now",
            )
            self._forget_all(suspects, "it may have been changed in place since")
            self.unseen = (
                True  # an operation in place counts its own change: it may have been an operand
            )
        elif used and not self._differs(
            draft, results := run(known | self._later(draft, used)), [nr, *others]
        ):
            draft.unlike = used  # changed before it was used here: the number of then is its own, and not this one's operand
            self.confirm(draft)
        elif suspects := self.suspects(draft):
            sure = "it was" if len(suspects) == 1 else "it or another operand was"
            self._forget_all(suspects, f"{sure} changed in place since {draft.op} used it")
            self.blamed.append(draft)
        else:
            self.disputes.append((draft, self._now(shown)))
        for other in others if draft.id not in self.lost else ():
            if not self._differs(draft, results, [other]):
                continue
            if (
                fresh
                and self.moved(draft, other)
                and (draft.id in self.verified or draft.id in self.since)
            ):
                self._put_back(draft, other, results)
            else:
                self.verified.discard(draft.id)
                self.disputes.append((draft, self._now(shown)))
                break

    def _differs(self, draft: Draft, results: list[Any], numbers: list[int]) -> bool:
        return not all(
            self._same(self.builder.raw[draft.id, nr], results[nr], draft) for nr in numbers
        )

    def _later(self, draft: Draft, used: frozenset[str]) -> dict[str, Any]:
        """Operands that were put back, as they are now."""
        return {name: self.builder.reader.plain(self.found[draft.operands[name]]) for name in used}

    def finish(self) -> None:
        """Settles what only all nodes together tell. Where something was changed, nothing is believed that nobody
        vouches for."""
        for draft, now in reversed(self.disputes):
            self._settle(draft, now)
        for draft in (
            self.blamed
        ):  # where it may be that, too: what was made, and what was used, can be two numbers
            if draft.version is None and any(
                child.id not in self.verified for child in self.children.get(draft.id, ())
            ):
                self.forget(draft, "it may have been changed in place before it was used")
        for draft in self.builder.nodes if self.lost or self.since else ():
            if (
                self._is_right(draft.id)
                or self._is_number(draft)
                or draft.id in self.verified
                or draft.id in self.since
                and not self.unseen
            ):
                continue
            if draft.kind != "op":
                doubtful = (
                    self.unseen
                    or draft.version
                    and draft.id not in self.kept
                    and self.later(draft) is not False
                )
            else:
                doubtful = self.unseen or bool(self.lost) and (draft.again or draft.version is None)
            if doubtful:
                self.forget(draft, "it may have been changed since, as others were")
        for draft in self.builder.nodes:
            if (
                draft.kind != "op"
                and draft.version
                and draft.value is not None
                and not self._is_number(draft)
            ):
                self._doubt(draft)

    def _doubt(self, draft: Draft) -> None:
        """Of a leaf or data that was changed in place when nothing tells: before it was used, or after."""
        later = self.later(draft)
        if later is False or draft.id in self.kept or self._is_right(draft.id):
            return
        if self._is_right(draft.id, self.felt):  # a change of all of it would have been noticed
            if later:
                self.notes[draft.id] = (
                    "as it is now: it was changed in place since it was used first, where that makes no difference here"
                )
            return
        why = f"it was changed in place{f' {draft.version} times' if (draft.version or 0) > 1 else ''}, before or after it was used here"
        if later:
            self.forget(draft, why)
            return
        self.notes[draft.id], name = f"as it is now: {why}", draft.name or "an operand"
        todo = [draft.id]
        while todo:
            node = todo.pop()
            for child in self.children.get(
                node, ()
            ):  # no equation holds the numbers of two moments
                child.unlike |= {
                    n for n, (parent, _) in child.operands.items() if child.again or parent == node
                }
                if child.again and child.id not in self.notes:
                    self.notes[child.id] = (
                        f"with {name} as it is now, which may have been changed in place since"
                    )
                    todo.append(child.id)

    def _settle(self, draft: Draft, now: str) -> None:
        """One of a result and its operands was changed, and no version says which."""
        self.unseen = True
        parents = [self.builder.draft(parent) for parent, _ in draft.operands.values()]
        certain = [
            p
            for p in parents
            if self._is_right(p.id) and (p.kind != "op" or p.version == 0 or p.id in self.verified)
        ]
        doubtful = [p for p in parents if p not in certain and not self._is_number(p)]
        if draft.id in self.lost:
            return
        if (
            self._is_right(draft.id) and draft.version == 0
        ):  # else it may have been changed before it was used
            self.verified.discard(draft.id)
            for other in doubtful:
                self.forget(
                    other,
                    f"{'it' if len(doubtful) == 1 else 'it or another operand'} was changed since {draft.op} used it, {UNSEEN}",
                )
            return
        for other in doubtful:
            self.forget(other, f"it, or what {draft.op} made of it, was changed since, {UNSEEN}")
        names = ", ".join(dict.fromkeys(p.name for p in doubtful if p.name)) or (
            "an operand" if doubtful else ""
        )
        self.forget(
            draft,
            f"{names}{' or this' if names else 'it'} was changed since, {UNSEEN}; it is {now} now",
        )

    def cannot(self, draft: Draft) -> None:
        """An operation with a known value cannot be run again: only its version and what it is a view of speak."""
        nr = next((nr for nr in self.known(draft) if self.moved(draft, nr)), self.known(draft)[0])
        shown = self.builder.raw[draft.id, nr]
        parents = [self.builder.draft(parent) for parent, _ in draft.operands.values()]
        lost = [p for p in parents if p.id in self.lost]
        if self.moved(draft, nr) and self.is_fresh(draft):
            self.forget(draft, f"it was changed in place since, and is {self._now(shown)} now")
        elif self.moved(draft, nr) and draft.record is None and draft.id not in self.kept:
            self.forget(
                draft,
                f"its memory was changed in place, and is {self._now(shown)} now; whether that was later is not known",
            )
        elif lost and not self.is_fresh(draft):
            self.forget(
                draft,
                f"its memory is that of {lost[0].name or 'its operand'}, which was changed; it is {self._now(shown)} now",
            )

    def confirm(self, draft: Draft) -> None:
        """A number that comes out as it was vouches for what it was computed from."""
        self.verified.add(draft.id)
        self._confirmed.append(draft)

    def _weigh(self) -> None:
        """Works out for whose numbers the operations vouch that were confirmed: before somebody asks, or a number is
        exchanged, for in most graphs nobody does."""
        if not self._confirmed:
            return
        confirmed, self._confirmed = self._confirmed, []
        for draft in confirmed:
            for known, through in ((self.vouched, _each_counts), (self.felt, self._some_count)):
                for other in self._behind(draft, through):
                    known.setdefault(other.id, []).append(draft.id)

    def _is_right(self, node_id: str, by: dict[str, list[str]] | None = None) -> bool:
        self._weigh()
        return any(
            other not in self.lost
            for other in (self.vouched if by is None else by).get(node_id, ())
        )

    def _some_count(self, draft: Draft) -> bool:
        """Whether an operation let some of its operands' numbers through (not a `relu` that came to 0 everywhere)."""
        return _each_counts(draft) or bool(
            np.any(self._array(self.builder.raw.get((draft.id, 0), 0)))
        )

    def _put_back(self, draft: Draft, nr: int, results: list[Any]) -> None:
        """Only the result was changed: the number of then is what came out now."""
        self._weigh()
        now = self._now(self.builder.raw.pop((draft.id, nr)))
        if nr == 0:
            draft.value, draft.again = None, True
        draft.outputs = tuple(
            replace(o, value=None) if i == nr else o for i, o in enumerate(draft.outputs)
        )
        self.builder.set_output(draft.id, nr, results[nr])
        said = f"{draft.outputs[nr].label or f'result {nr}' if nr else 'it'} was changed in place since, and is {now} now"
        self.since[draft.id] = "; ".join(filter(None, (self.since.get(draft.id), said)))

    def _forget_all(self, drafts: list[Draft], why: str) -> None:
        for draft in drafts:
            self.forget(draft, why)

    def forget(self, draft: Draft, why: str) -> None:
        """No number is shown, and the node says why; nor what was computed again from it, or lies in the same
        memory."""
        self._weigh()
        todo = [(draft, why)]
        while todo:
            draft, why = todo.pop()
            if draft.value is None and not self.known(draft):
                continue
            draft.missing = f"not known: {why}" + (
                f"; it is {draft.value.text} now"
                if draft.kind != "op" and draft.value is not None
                else ""
            )
            draft.value, draft.outputs = None, tuple(replace(o, value=None) for o in draft.outputs)
            draft.unlike = frozenset(
                draft.operands
            )  # its gradients may come from the changed number
            self.since.pop(draft.id, None)
            self.verified.discard(draft.id)
            for nr in self.known(draft):
                self.builder.raw.pop((draft.id, nr), None)
            self.lost.add(draft.id)
            for child in self.children.get(draft.id, ()):
                if child.again:
                    todo.append((child, "what it was computed from was changed since"))
                elif _is_view(child):
                    todo.append(
                        (
                            child,
                            f"its memory is that of {draft.name or 'its operand'}, which was changed",
                        )
                    )
            if draft.kind == "op" and not draft.again:
                name = draft.name or f"what {draft.op} made"
                todo += [
                    (d, f"its memory is that of {name}, which was changed")
                    for d in self._sharers(draft)
                    if not d.again
                ]
            draft.again = False

    def _sharers(self, draft: Draft) -> list[Draft]:
        if self._by_memory is None:
            self._by_memory = {}
            for (node_id, nr), item in self.found.items():
                if nr == 0 and self.builder.draft(node_id).kind == "op":
                    self._by_memory.setdefault(self._memory(item), []).append(
                        self.builder.draft(node_id)
                    )
        item = self.found.get((draft.id, 0), UNKNOWN)
        return [] if item is UNKNOWN else self._by_memory.get(self._memory(item), [])

    def _memory(self, item: Any) -> Any:
        if is_tensor(item) and self.builder.reader.library == "torch":
            return self.builder.reader.memory(item)
        array = getattr(item, "_array", item)
        while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
            array = array.base
        return id(array)

    # -- numbers ---------------------------------------------------------------------------------------
    def _is_number(self, draft: Draft) -> bool:
        return draft.kind == "data" and not draft.name and draft.shape == () and not draft.version

    def _now(self, shown: Any) -> str:
        value = self.builder.value_of(shown)
        return "?" if value is None else value.text

    def _array(self, item: Any) -> np.ndarray:
        return np.asarray(self.builder.reader.array(item) if is_tensor(item) else item)

    def _same(self, shown: Any, result: Any, draft: Draft) -> bool:
        """The same but for rounding, which may differ where memory lies otherwise or other threads add up."""
        a, b = self._array(shown), self._array(result)
        if a.shape == () == b.shape and a == b:
            return True
        if a.shape != b.shape or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            return a.shape == b.shape
        if a.dtype.kind not in "fc":
            return False
        sizes = [
            self._largest(self._array(item))
            for p in draft.operands.values()
            if (item := self._raw(*p)) is not UNKNOWN
        ]
        room = (
            64
            * np.finfo(a.dtype).eps
            * max(self._largest(a), *(s * max(1.0, t) for s in sizes for t in sizes), 1e-30)
        )
        with np.errstate(all="ignore"):
            return bool(np.allclose(a, b, rtol=0, atol=room, equal_nan=True))

    def _raw(self, parent: str, nr: int) -> Any:
        draft = self.builder.draft(parent)
        if draft.kind == "leaf":
            tensor = draft.held()
            return UNKNOWN if tensor is None else tensor
        return self.builder.raw.get((parent, nr), UNKNOWN)

    @staticmethod
    def _largest(array: np.ndarray) -> float:
        if array.dtype.kind not in "fc" or not array.size:
            return 0.0
        with np.errstate(all="ignore"):
            top = float(np.max(np.abs(array)))
        return top if np.isfinite(top) else 0.0
