"""What is changed while a recording runs in a way that no event and no version tells: through NumPy, or the `.data` of
a result.

Numbers are compared with those of the trace where a tensor is used again, and where a node reads what it saved. Only
tensors of few numbers (`values.WHOLE`) are: of larger ones the trace keeps no copy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .drafts import Draft
from .reader import is_tensor
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

    def operands(self, draft: Draft, given: Mapping[str, Any]) -> str:
        """What to say of results that were changed before `draft` used them; its formula has not their numbers then."""
        said = []
        for name, (parent, nr) in draft.operands.items():
            origin, item = self.builder.draft(parent), given.get(name)
            known = origin.outputs[nr].value if 0 < nr < len(origin.outputs) else origin.value
            if origin.kind == "op" and origin.grad_fn and not self.is_like(known, item):
                now = self.builder.value_of(item)
                said.append(
                    f"{origin.name or name} had been changed {UNSEEN}, and was {now.text if now else '?'} here"
                )
                draft.unlike |= {name}
        return "; ".join(said)

    def saved(self, node_id: str, node: Any) -> str:
        """What to say when the rule of a node reads what was changed since it was saved."""
        saved = (item.saved for item in self.builder.saved_of(node_id))
        known = {
            s.name: s.value
            for s in saved
            if s.value is not None and math.prod(s.shape or ()) <= WHOLE
        }
        kept = self.builder.reader.saved(node) if known else ()
        tensors = {name: getattr(entry, "tensor", None) for name, entry in kept if name in known}
        return ", ".join(
            name for name, tensor in tensors.items() if not self.is_like(known[name], tensor)
        )
