"""Where gradients are cut off in a trace: `detach()`, `.data`, and operations under `no_grad`."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any

from . import names
from .drafts import Draft, Seen

if TYPE_CHECKING:
    from .build import Builder
    from .model import Source


class Cuts:
    """Part of a builder. `weak`: tensors may die meanwhile."""

    def __init__(self, builder: Builder, weak: bool) -> None:
        self.builder = builder
        self._memory: dict[
            Any, tuple[str, Any]
        ] = {}  # -> node, and what gives the tensor back while it lives
        self._given = Seen(
            weak
        )  # what detach() or .data gave -> (what gives its origin, "detach" or "data", the line)

    def remember(self, tensor: Any, node_id: str) -> None:
        """Notes whose memory it is, so that `x.detach()` is recognised as x's later."""
        memory = self.builder.reader.memory(tensor)
        if memory is not None:
            self._memory[memory] = node_id, self.builder.by_tensor.hold(tensor)

    def gave(self, origin: Any, tensor: Any, how: str, source: Source | None) -> None:
        """`detach()` or `.data` of `origin` gave `tensor`."""
        if origin.requires_grad:
            self._given.put(tensor, (self.builder.by_tensor.hold(origin), how, source))

    def origin(self, tensor: Any) -> tuple[str, int] | None:
        """The result that requires grad and whose memory `tensor` shares without requiring grad itself, or None."""
        given = self._given.get(tensor)
        origin = given[0]() if given is not None else None
        if origin is not None:
            return self.builder.tensor(origin)
        memory = self.builder.reader.memory(tensor)
        node, held = self._memory.get(memory, (None, None))
        if given is None and isinstance(memory, int) and held is not None and held() is None:
            return None  # PyTorch's memory is an address, which may have been given out again
        draft = None if node is None else self.builder.draft(node)
        return (
            None
            if draft is None or not draft.requires_grad or draft.shape != tuple(tensor.shape)
            else (draft.id, 0)
        )

    def node(self, tensor: Any) -> str | None:
        """A node for `tensor` when it is what detach() or .data of a known tensor gives, else None."""
        builder, origin = self.builder, self.origin(tensor)
        if origin is None:
            return None
        _, how, source = self._given.get(tensor) or (None, "detach", None)
        draft = builder.add(
            "op",
            op=how,
            cut=how,
            source=source,
            value=builder.value_of(tensor),
            tensor=builder.by_tensor.hold(tensor),
            **builder.facts(tensor),
        )
        draft.operands = {"self": origin}
        builder.edge(*origin, draft.id, 0, differentiable=False)
        builder.place(tensor, draft.id)
        if builder.recording:
            builder.film.computed(draft)
        return draft.id

    def meet(self, tensor: Any, frame: FrameType | None) -> None:
        """Before an unknown constant is drawn: if the learner has a tensor that requires grad over the same memory,
        this is its detach()."""
        builder = self.builder
        if (
            frame is None
            or tensor.requires_grad
            or builder.find(tensor) is not None
            or self.origin(tensor) is not None
        ):
            return
        for name, item in names.local_names(frame).items():
            if (
                builder.reader.owns(item)
                and item.requires_grad
                and builder.reader.memory(item) == builder.reader.memory(tensor)
                and item.shape == tensor.shape
            ):
                self.remember(item, builder.tensor(item)[0])
                builder.name(name, item)
                return

    def by_no_grad(self, draft: Draft, result: Any, node: Any) -> None:
        """Notes that no_grad is why an operation has no node, where it is."""
        if (
            node is None
            and draft.kind == "op"
            and not self.builder.reader.grad_enabled()
            and result.dtype.is_floating_point
            and any(
                self.builder.draft(parent).requires_grad for parent, _ in draft.operands.values()
            )
        ):
            draft.cut = self.builder.reader.mode_without_grad()
