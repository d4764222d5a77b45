"""What is changed while a recording runs in a way that no event and no version tells: through NumPy, or the `.data` of
a result.

Numbers are compared with those of the trace where a tensor is used again, and where a node reads what it saved. Only
tensors of few numbers (`values.WHOLE`) are: of larger ones the trace keeps no copy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .drafts import Draft
from .reader import SavedEntry, is_tensor
from .values import WHOLE, Value

if TYPE_CHECKING:
    from .build import Builder

UNSEEN = "in a way that autograd does not see"


class Unseen:
    """Part of a builder."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def is_like(self, known: Value | None, tensor: Any) -> bool:
        """Whether a tensor holds the numbers of a value, as far as can be told."""
        if known is None or not is_tensor(tensor) or tensor.numel() > WHOLE:
            return True
        try:
            now = self.builder.value_of(tensor)
            if now is known or now is None or known.is_same(now):
                return True
            return known.shape != now.shape or bool(known.data == now.data)
        except RuntimeError:  # within a transform of torch.func nothing can be read
            return True

    def is_as_it_was(self, draft: Draft) -> bool:
        """Whether no memory at all was changed since a node was made, so that nothing needs to be compared."""
        return draft.changes is not None and draft.changes == self.builder.reader.changes

    def operands(self, draft: Draft, given: Mapping[str, Any]) -> str:
        """What to say of results that were changed before `draft` used them; its formula has not their numbers then."""
        said = []
        for name, (parent, nr) in draft.operands.items():
            origin, item = self.builder.draft(parent), given.get(name)
            if origin.kind != "op" or not origin.grad_fn or self.is_as_it_was(origin):
                continue
            known = origin.outputs[nr].value if 0 < nr < len(origin.outputs) else origin.value
            if not self.is_like(known, item):
                now = self.builder.value_of(item)
                said.append(
                    f"{origin.name or name} had been changed {UNSEEN}, and was {now.text if now else '?'} here"
                )
                draft.unlike |= {name}
        return "; ".join(said)

    def saved(self, node_id: str, node: Any) -> str:
        """What to say when the rule of a node reads what was changed since it was saved."""
        if self.is_as_it_was(self.builder.draft(node_id)):
            return ""
        known = {}
        for item in self.builder.saved_of(node_id):
            if item.saved.value is not None and math.prod(item.saved.shape or ()) <= WHOLE:
                known[item.saved.name] = item.saved.value
        changed = []
        for name, entry in self.builder.reader.saved(node) if known else ():
            if name in known and entry.__class__ is SavedEntry:
                if not self.is_like(known[name], entry.tensor):
                    changed.append(name)
        return ", ".join(changed)
