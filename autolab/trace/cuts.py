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
    """Find cuts for a builder. With `weak`, tensors may be freed in the meantime."""

    def __init__(self, builder: Builder, weak: bool) -> None:
        self.builder = builder
        self._memory: dict[
            Any, tuple[str, Any]
        ] = {}  # memory -> node, and a function that returns the tensor while it exists
        self._given = Seen(
            weak
        )  # result of detach() or .data -> (function that returns its origin, "detach" or "data", the line)

    def remember(self, tensor: Any, node_id: str) -> None:
        """Note which node owns the tensor's memory, so that a later `x.detach()` is recognised as sharing x's
        memory."""
        memory = self.builder.reader.memory(tensor)
        if memory is not None:
            self._memory[memory] = node_id, self.builder.by_tensor.hold(tensor)

    def gave(self, origin: Any, tensor: Any, how: str, source: Source | None) -> None:
        """Note that `detach()` or `.data` of `origin` returned `tensor`."""
        if origin.requires_grad:
            self._given.put(tensor, (self.builder.by_tensor.hold(origin), how, source))

    def origin(self, tensor: Any) -> tuple[str, int] | None:
        """Return the result that requires grad and shares its memory with `tensor`, which does not require grad itself;
        None if there is none."""
        given = self._given.get(tensor)
        origin = given[0]() if given is not None else None
        if origin is not None:
            return self.builder.tensor(origin)
        memory = self.builder.reader.memory(tensor)
        node, held = self._memory.get(memory, (None, None))
        if given is None and isinstance(memory, int) and held is not None and held() is None:
            return None  # PyTorch identifies memory by its address, which may have been reused
        draft = None if node is None else self.builder.draft(node)
        return (
            None
            if draft is None or not draft.requires_grad or draft.shape != tuple(tensor.shape)
            else (draft.id, 0)
        )

    def node(self, tensor: Any) -> str | None:
        """Return a node for `tensor` if it comes from detach() or .data of a known tensor, else None."""
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
        """Before drawing an unknown constant, check whether a variable of the learner's that requires grad has the same
        memory; then the constant is its detach()."""
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
        """Note whether an operation has no grad_fn because it ran under no_grad."""
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
