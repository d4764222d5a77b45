"""In which state a recording's saved tensors are at its end."""

from __future__ import annotations

from dataclasses import replace

from .drafts import SavedDraft
from .model import Saved
from .reader import Reader, SavedEntry

States = dict[str, dict[str, str]]
"""Node -> name -> "alive", "freed" or "modified"."""


def states_now(saved: list[SavedDraft], reader: Reader) -> States:
    """What nodes say of what they saved; one that is gone says nothing."""
    states: States = {}
    for item in saved:
        if item.saved.node not in states:
            fn = item.grad_fn()
            kept = [] if fn is None else reader.saved(fn)
            states[item.saved.node] = {name: entry.state for name, entry in kept if isinstance(entry, SavedEntry)}
    return states


def with_states(saved: list[SavedDraft], states: States | None) -> tuple[Saved, ...]:
    """The saved tensors; what a node that is gone had saved was freed with it. Without `states` they are what they were when they were met."""
    if states is None:
        return tuple(item.saved for item in saved)
    # A list of tensors that was freed comes back as one entry under the list's name.
    return tuple(replace(item.saved, state=states[item.saved.node].get(item.saved.name, "freed")) for item in saved)
