"""Activation checkpointing (`torch.utils.checkpoint`): trade time for memory.

A checkpointed function keeps its arguments only. What backward needs from inside is computed again when backward comes
to it, with the random numbers of the first time. Sources: https://docs.pytorch.org/docs/2.13/checkpoint.html; T. Chen,
B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from autolab.engine.autograd.modes import enable_grad
from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.graph import saved_tensors_hooks
from autolab.engine.autograd.packing import Packed
from autolab.engine.autograd.refusals import stale
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.exact.random import fork_rng, get_rng_state, set_rng_state
from autolab.engine.core.tensor import Tensor

__all__ = ["CheckpointError", "checkpoint"]

_SHOULD_PASS = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, "
    "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
_NOT_THE_SAME = (
    "The function did something else when it ran again: it depends on something outside (a global, a counter, a random number that is "
    "not torch's) that has changed in between."
)


class CheckpointError(RuntimeError):
    """Recomputing gave other tensors than the first run."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return `function(*args, **kwargs)`, whose inner tensors are not kept for backward but computed again there.

    use_reentrant: pass False, as PyTorch recommends. preserve_rng_state: recompute with the random numbers of the
    first run. Raises NotImplementedError for use_reentrant=True, PyTorch's older variant, and for its other options;
    backward raises CheckpointError when recomputing gives other tensors.
    """
    for option in ("context_fn", "determinism_check", "debug", "early_stop"):
        if option in kwargs:
            raise unsupported("checkpoint", option)
    if use_reentrant is None:
        warnings.warn(_SHOULD_PASS, stacklevel=2)
    elif use_reentrant:
        note = "Pass use_reentrant=False, which gives the same gradients; PyTorch recommends it."
        raise unsupported("checkpoint", "use_reentrant", note)
    if not per_thread.state.grad:
        return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, preserve_rng_state)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


class _Argument:
    """A tensor argument as a node keeps it: through the hooks that are active, and not to be changed in place."""

    def __init__(self, tensor):
        hooks = per_thread.state.saved_hooks
        # a checkpoint inside a checkpoint: the outer one computes this again, too
        self.packed = None if hooks is None else Packed.of(tensor, *hooks)
        self.tensor: Any = None if hooks else tensor
        self.version: int = 0 if hooks else tensor._version

    def get(self):
        if self.packed is not None:
            return self.packed.tensor()
        t = self.tensor
        if t._version != self.version:
            raise stale(_Named, t._storage, self.version, t._array.shape, t._array.dtype, t.grad_fn)
        return t


class _Named:
    @staticmethod
    def name():
        return "checkpoint()"


class _Frame:
    """One checkpointed call: how to run it again. A node keeps the number of each tensor that it would save, and asks
    for the tensor in backward."""

    def __init__(self, function, args, kwargs, preserve_rng_state):
        self.function, self.kwargs = function, kwargs
        self.args = [_Argument(a) if isinstance(a, Tensor) else a for a in args]
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.facts, self.again = [], {}  # of each tensor; number -> the tensor, recomputed

    def pack(self, tensor):
        self.facts.append(_facts(tensor))
        return len(self.facts) - 1

    def unpack(self, number):
        if number not in self.again:
            self.again = dict(enumerate(self.recompute()))
        return self.again.pop(number)

    def recompute(self):
        """Return what the function saves when it runs again."""
        args = [a.get() if isinstance(a, _Argument) else a for a in self.args]
        found = []

        def pack(tensor):
            found.append(tensor.detach())
            return found[-1]

        with (
            fork_rng(enabled=self.rng_state is not None),
            saved_tensors_hooks(pack, lambda tensor: tensor),
            enable_grad(),
        ):
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            self.function(*args, **self.kwargs)
        if list(map(_facts, found)) != self.facts:
            message = f"torch.utils.checkpoint: recomputing saved {len(found)} tensors, the original forward pass {len(self.facts)}"
            if len(found) == len(self.facts):
                message = "torch.utils.checkpoint: Recomputed values have different metadata than during the forward pass"
            raise fail(CheckpointError, message, _NOT_THE_SAME)
        return found


def _facts(tensor):
    return tensor.shape, tensor.dtype, tensor.device
