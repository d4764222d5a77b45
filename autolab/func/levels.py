"""What a transform differentiates by: copies of its arguments that exist only while it runs.

Every call of `grad`, `vjp`, `jvp` … opens a level. What came from outside and needs a gradient there stays connected,
so that transforms can be nested and their results can be trained through; what depends on the level's own copies alone
leaves it without a graph."""

from __future__ import annotations

from contextlib import contextmanager

from ..engine.autograd.modes import is_grad_enabled
from ..engine.core.grad_mode import per_thread, set_grad_enabled
from ..engine.core.node import AccumulateGrad, accumulator
from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor
from ..engine.inplace.inference import inference_mode
from . import trees


@contextmanager
def without_inference():
    """Leave `inference_mode` for a block and keep the grad mode: PyTorch's transforms record even there.

    A function may use tensors that were made under the mode around it, so its nodes may save them."""
    state = per_thread.state
    grad, saves = state.grad, state.saves_inference
    state.saves_inference = saves or state.inference
    try:
        with inference_mode(False), set_grad_enabled(grad):
            yield
    finally:
        state.saves_inference = saves


class Level:
    """One call of a transform. `with Level() as level:` … `level.enter(tree)`, `level.leave(tree)`."""

    def __init__(self):
        self.open = True
        self.tracked = is_grad_enabled()  # whether results stay connected to what is outside

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.open = False

    def fresh(self, t):
        """Return a copy of the tensor `t` (same memory) that this level differentiates by."""
        if not t.dtype.is_floating_point:
            raise fail(
                RuntimeError,
                "only Tensors of floating point dtype can require gradients",
                "A gradient needs values that can change by small amounts; use .float() first.",
            )
        if t.requires_grad and not t.is_inference():
            return t.view_as(t)
        ordinary = t.detach().clone() if t.is_inference() else t.detach()
        copy = ordinary.requires_grad_()
        copy._level = self
        return copy

    def enter(self, tree):
        """Return `tree` with a fresh copy of each tensor. Raises ValueError for what is no tensor."""

        def enter(t):
            if isinstance(t, Tensor):
                return self.fresh(t)
            message = f"Thing passed to transform API must be Tensor, got {type(t)}"
            raise fail(
                ValueError,
                message,
                "One can differentiate by tensors only: torch.tensor(…) makes one; argnums chooses others.",
            )

        return trees.mapped(enter, tree)

    def leave(self, tree):
        """Return `tree` with each tensor as it is outside of this level: without a graph unless something outside needs
        its gradient.

        Raises RuntimeError for what is no tensor."""

        def leave(t):
            if not isinstance(t, Tensor):
                message = f"Expected tensors, got unsupported type {type(t)}"
                raise fail(
                    RuntimeError,
                    message,
                    "What a function gives back beside its result has to be tensors, too.",
                )
            return (
                t
                if self.tracked and self.concerns_others(t)
                else t.detach()
                if t.requires_grad
                else t
            )

        return trees.mapped(leave, tree)

    def concerns_others(self, *tensors):
        """Return whether a leaf outside of this level, and of levels that are closed, needs a gradient of one of
        `tensors`."""
        return any(
            isinstance(node, AccumulateGrad) and _level_of(node.variable) not in (self, None)
            for node in _graph(tensors)
        )


class _Outside:
    """The level of leaves that were made by no transform."""


OUTSIDE = _Outside()


def _level_of(leaf):
    """Return the open level that made a leaf, OUTSIDE, or None where its level is closed."""
    level = leaf.__dict__.get("_level", OUTSIDE)
    return level if level is OUTSIDE or level.open else None


def _graph(tensors):
    """Yield all nodes behind the tensors."""
    waiting = [
        accumulator(t) if t.grad_fn is None else t.grad_fn for t in tensors if t.requires_grad
    ]
    seen = set(map(id, waiting))
    while waiting:
        node = waiting.pop()
        yield node
        for before in node.inputs:
            if before is not None and id(before) not in seen:
                seen.add(id(before))
                waiting.append(before)
