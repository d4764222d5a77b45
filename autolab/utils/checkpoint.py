"""Activation checkpointing (`torch.utils.checkpoint`): trade time for memory.

A checkpointed function keeps its arguments only. What backward needs from inside is computed again when backward comes
to it, with the random numbers of the first time. Sources: https://docs.pytorch.org/docs/2.13/checkpoint.html; T. Chen,
B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
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
_TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or wrap "
    "the code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint‑debug mode "
    "globally.\n"
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
    return _Frame(function, args, kwargs, preserve_rng_state).forward()


class _Holder:
    """Stands in a node for a tensor that was not kept. recomputed: the tensor, by the backward pass that asked."""

    def __init__(self):
        self.recomputed: weakref.WeakKeyDictionary[Any, Tensor | None] = weakref.WeakKeyDictionary()


class _Outside:
    """Stands for the backward pass where somebody looks at a saved tensor outside of one."""


class _AllThere(Exception):
    """Ends a recomputation early."""


class _Argument:
    """A tensor argument as a node keeps it: through the hooks that are active, and not to be changed in place."""

    def __init__(self, tensor):
        hooks = per_thread.state.saved_hooks
        self.packed = None
        if (
            hooks is not None
        ):  # a checkpoint inside a checkpoint: the outer one computes this again, too
            self.packed = Packed.of(tensor, *hooks)
            return
        self.tensor, self.version = tensor, tensor._version

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
    """One checkpointed call: how to run it again, and what its first run saved."""

    def __init__(self, function, args, kwargs, preserve_rng_state):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.holders, self.facts = (
            [],
            [],
        )  # in the order of saving: weak references, and what the tensors looked like
        self.counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """How many tensors each backward pass has recomputed."""
        self.completed = self.backward_inside = False

    def forward(self):
        args, self.args = self.args, None
        if not per_thread.state.grad:
            return self.function(*args, **self.kwargs)
        self.args = [_Argument(a) if isinstance(a, Tensor) else a for a in args]
        with saved_tensors_hooks(self.pack, self.unpack):
            result = self.function(*args, **self.kwargs)
            self.completed = True
        return result

    def pack(self, tensor):
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.facts.append(_facts(tensor))
        return holder

    def unpack(self, holder):
        asking = per_thread.state.backward_pass or _Outside()
        if asking not in self.counts:
            self.recompute(asking)
            self.check(asking)
        tensor = holder.recomputed.get(asking)
        if tensor is None:
            raise fail(
                CheckpointError,
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case.",
                "A recomputed tensor is handed out once and then dropped.",
            )
        holder.recomputed[asking] = None
        return tensor

    def recompute(self, asking):
        """Run the function again, and keep what it saves for the backward pass `asking`."""
        args = [a.get() if isinstance(a, _Argument) else a for a in self.args]
        self.counts[asking] = 0

        def pack(tensor):
            tensor = tensor.detach() if tensor.requires_grad else tensor
            number = self.counts[asking]
            self.counts[asking] += 1
            if number >= len(self.holders):
                if (
                    not self.completed
                ):  # backward was called within the function: the rest is not saved yet
                    self.backward_inside = True
                    return tensor
                raise fail(
                    CheckpointError,
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.\n{_TIP}",
                    _NOT_THE_SAME,
                )
            holder = self.holders[number]()
            if holder is not None:
                holder.recomputed[asking] = tensor
            if number + 1 == len(self.holders):
                raise _AllThere
            return tensor

        with contextlib.suppress(_AllThere), fork_rng(enabled=self.rng_state is not None):
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            with saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
                self.function(*args, **self.kwargs)

    def check(self, asking):
        """Raises CheckpointError unless the recomputation saved what the first run saved."""
        if self.backward_inside:
            return
        if self.counts[asking] != len(self.holders):
            raise fail(
                CheckpointError,
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved during "
                f"recomputation: {self.counts[asking]}.\n{_TIP}",
                _NOT_THE_SAME,
            )
        wrong = ""
        for number, reference in enumerate(self.holders):
            holder = reference()
            if holder is None:
                continue
            facts = _facts(holder.recomputed[asking])
            if facts != self.facts[number]:
                wrong += f"tensor at position {number}:\nsaved metadata: {self.facts[number]}\n"
                wrong += f"recomputed metadata: {facts}\n"
        if wrong:
            raise fail(
                CheckpointError,
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{wrong}.\n{_TIP}",
                _NOT_THE_SAME,
            )


def _facts(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}
