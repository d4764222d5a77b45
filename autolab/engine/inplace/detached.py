"""What `detach_()` cut out of graphs: nodes that saved such a tensor before have to refuse it.

Source: torch/csrc/autograd/saved_variable.cpp, "Trying to use a saved tensor that has been detached in-place"."""

from __future__ import annotations

import weakref

from ..core.errors import fail
from ..core.guard import guard
from ..core.node import next_sequence_nr
from ..core.saved import entries

detached: dict = {}
"""id -> (weak reference, sequence number then) of the tensors that `detach_()` cut out of a graph. A pass asks once whether there are any."""


latest_detached = -1
"""The sequence number at the latest `detach_()`: younger nodes cannot have saved what it cut out."""


def note_detached(t):
    """Remembers that `t` left its graph in place: what older nodes saved of it has no history any more."""
    global latest_detached
    with guard:
        latest_detached = sequence_nr = next_sequence_nr()
    key = id(t)
    detached[key] = weakref.ref(t, lambda _: detached.pop(key, None)), sequence_nr


def refuse_detached(nodes):
    """Raises torch's error when one of `nodes` saved a tensor before `detach_()` was called on it."""
    for node in nodes:
        for entry in entries(node) or ():
            found = detached.get(id(entry[0])) if entry.__class__ is tuple and entry else None
            if found is not None and found[0]() is entry[0] and node.sequence_nr < found[1]:
                raise fail(
                    RuntimeError,
                    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
                    "out-of-place `.detach()` instead",
                    f"{node.name()} saved the tensor for its gradient; detach_() then cut the way back to what it was computed from.",
                )
