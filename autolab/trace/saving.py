"""Saved tensors of nodes, and their state at the end of a recording."""

from __future__ import annotations

import functools
from typing import Any

from .drafts import SavedDraft, place, slot_names
from .model import Saved
from .reader import Reader, SavedEntry, saved_kinds

States = dict[str, dict[str, str]]
"""Node -> name -> "alive", "freed" or "modified"."""


WHY_GONE = {"freed": "freed by backward()", "modified": "changed in place since it was saved"}
HOOKED = "kept by a hook for saved tensors, which alone knows it"


class Memories:
    """Numbers that identify the memory of saved tensors."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._numbers: dict[Any, int] = {}
        self._given: dict[Any, Any] = {}

    def given(self, tensor: Any, holder: Any) -> None:
        """Note that a leaf or data uses this memory, while `holder()` returns it."""
        self._given[self._reader.memory(tensor)] = holder

    def __call__(self, tensor: Any) -> int | None:
        memory = self._reader.memory(tensor)
        if memory is None:
            return None
        holder = self._given.get(memory)
        return (
            0
            if holder is not None and holder() is not None
            else self._numbers.setdefault(memory, len(self._numbers) + 1)
        )


@functools.lru_cache(maxsize=1024)
def slots(record: Any, count: int) -> tuple[list[str] | None, Any, frozenset[str]]:
    """Return, for nodes of an operation with `count` inputs: input names, the sort key for saved tensors, and the names
    of operands saved besides them."""
    names = slot_names(record, count)
    beside = (
        frozenset()
        if record is None or names is None
        else saved_kinds(record, ("input",)) - {*names}
    )
    return names, place(names), beside


def states_now(saved: list[SavedDraft], reader: Reader) -> States:
    """Return what nodes report about their saved tensors; a freed node reports nothing."""
    states: States = {}
    for item in saved:
        if item.node not in states:
            fn = item.grad_fn()
            kept = [] if fn is None else reader.saved(fn)
            states[item.node] = {
                name: entry.state for name, entry in kept if isinstance(entry, SavedEntry)
            }
    return states


def with_states(saved: list[SavedDraft], states: States | None) -> tuple[Saved, ...]:
    """Return the saved tensors with their states; what a freed node had saved is freed too. Without `states`, they keep
    the state they had when first seen."""
    # A freed list of tensors is reported as one entry under the list's name.
    return tuple(
        item.saved(i, item.state if states is None else states[item.node].get(item.name, "freed"))
        for i, item in enumerate(saved)
    )
