"""Represent what a recording could not follow: an operation becomes one node without details, a backward pass a
sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .guard import attempt, sentence

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft

PASS_EVENTS = frozenset(
    "backward_begin seed before_node contribution after_node accumulate free backward_end".split()
)


class Unfollowed:
    """The part of a recording for operations and passes that it could not follow."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._sentences: dict[str, None] = {}
        self._passes = 0  # number of running, nested passes

    @property
    def sentences(self) -> str:
        """Return the sentences about everything that could not be followed, in order."""
        return " ".join(self._sentences)

    def say(self, what: str, error: BaseException) -> str:
        """Note and return the sentence about `what`."""
        text = sentence(what, error)
        self._sentences[text] = None
        return text

    def operation(
        self, name: str, made: Draft | None, event: tuple[Any, ...], error: BaseException
    ) -> None:
        """Draw an operation whose event raised as one node; `made` is its node as far as it was recorded."""
        _, args, _, outputs, node = event[:5]
        builder = self.builder
        draft = made or builder.add("op", op=name)
        draft.missing, draft.record = self.say(f"`{name}`", error), None
        draft.value, draft.mark = None, "not followed"
        for fill in (_facts, _history):
            attempt(lambda fill=fill: fill(builder, draft, outputs[0], node), None)  # type: ignore[misc]
        for output in outputs:
            attempt(lambda output=output: builder.place(output, draft.id), None)  # type: ignore[misc]
        attempt(lambda: self._join(draft, args), None)
        if not any(shot.node == draft.id for shot in builder.film.shots[-2:]):
            builder.film.computed(draft)

    def _join(self, draft: Draft, args: Any) -> None:
        """Draw the edges from the operands that the recording knows."""
        builder = self.builder
        for slot, item in enumerate(args):
            parent = builder.by_tensor.get(item)
            if parent not in (None, draft.id) and builder.edge_at(draft.id, slot) is None:
                draft.operands.setdefault(str(slot), (parent, 0))
                builder.edge(parent, 0, draft.id, slot, differentiable=False)

    # -- backward passes ---------------------------------------------------------------------------
    def enter(self, event: str) -> bool:
        """Count the passes; return whether to ignore this event because recording of its pass was given up."""
        film = self.builder.film
        if event == "backward_begin":
            self._passes += 1
        elif event == "backward_end":
            self._passes -= 1
            if film.is_lost and not self._passes:
                film.end_lost()
                return True
        return film.is_lost

    def lose_pass(self, event: str, error: BaseException) -> None:
        """Give up recording the current pass."""
        film = self.builder.film
        self.say(f"backward pass {film.run}", error)
        film.lose()
        if not self._passes:  # its last event was the one that raised
            film.end_lost()


def _facts(builder: Builder, draft: Draft, output: Any, node: Any) -> None:
    for name, fact in builder.facts(output).items():
        setattr(draft, name, fact)
    draft.requires_grad, draft.tensor = output.requires_grad, builder.by_tensor.hold(output)


def _history(builder: Builder, draft: Draft, output: Any, node: Any) -> None:
    if node is not None:
        builder.by_fn.put(node, draft.id)
        draft.grad_fn = builder.reader.grad_fn_name(node)
