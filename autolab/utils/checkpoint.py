"""Activation checkpointing (`torch.utils.checkpoint`): trade time for memory.

A checkpointed function keeps its arguments only. What backward needs from inside is computed again when backward comes
to it, with the random numbers of the first time. Sources: https://docs.pytorch.org/docs/2.13/checkpoint.html; T. Chen,
B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autolab.engine.core.differentiate import backward
from autolab.engine.autograd.function import Function
from autolab.engine.autograd.modes import enable_grad, no_grad
from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.graph import saved_tensors_hooks
from autolab.engine.autograd.packing import Packed
from autolab.engine.autograd.refusals import stale
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.engine.exact.random import fork_rng, get_rng_state, set_rng_state
from autolab.engine.core.tensor import Tensor

__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "detach_variable", "noop_context_fn", "set_checkpoint_early_stop",
]  # fmt: skip

Contexts = tuple[contextlib.AbstractContextManager, contextlib.AbstractContextManager]
"""For the first run, and for the recomputation."""

_SHOULD_PASS = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, "
    "but if you need to preserve the current {}, you can pass use_reentrant=True. Refer to docs for more details on the "
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


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: for the first run and for the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose inner tensors are not kept for backward but computed again there.

    use_reentrant: False is the variant to use; True is PyTorch's older one. context_fn: makes two contexts, for the
    first run and for the recomputation. determinism_check: "default" compares shape, dtype and device of what is
    recomputed, "none" nothing. early_stop: stop recomputing when all that is needed is there. preserve_rng_state:
    recompute with the random numbers of the first run. Raises ValueError for arguments that do not go together;
    backward raises CheckpointError when recomputing gives other tensors.
    """
    if use_reentrant is None:
        text = "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        warnings.warn(_SHOULD_PASS.format("", text, "default behavior"), stacklevel=2)
        use_reentrant = True
    if not use_reentrant:
        if debug:
            raise unsupported("checkpoint", "debug")
        frame = _Frame(
            function, args, kwargs, context_fn, determinism_check, early_stop, preserve_rng_state
        )
        return frame.forward()
    note = "With use_reentrant=True only positional arguments reach the function."
    if kwargs:
        raise fail(ValueError, "Unexpected keyword arguments: " + ",".join(kwargs), note)
    if context_fn is not noop_context_fn or debug is not False:
        message = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        raise fail(ValueError, message, "Pass use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run modules one after the other in `segments` pieces, all but the last checkpointed.

    functions: an `nn.Sequential` or a list. Raises ValueError for unknown keyword arguments.
    """
    if use_reentrant is None:
        text = "In version 2.9 we will raise an exception if use_reentrant is not passed."
        warnings.warn(
            _SHOULD_PASS.format(".checkpoint_sequential", text, "default behavior"), stacklevel=2
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise fail(
            ValueError,
            "Unexpected keyword arguments: " + ",".join(kwargs),
            "Only preserve_rng_state is taken.",
        )
    functions = list(functions)
    size, end = len(functions) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            _one_after_the_other(functions[start:end]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _one_after_the_other(functions[end:])(input)


def _one_after_the_other(functions):
    def run(input):
        for function in functions:
            input = function(input)
        return input

    return run


_early_stop: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the `with` block checkpoints stop recomputing early, or do not, whatever their `early_stop` says."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


# use_reentrant=False -------------------------------------------------------------------------------------------------


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
        self.tensor, self.version = tensor, None if tensor.is_inference() else tensor._version

    def get(self):
        if self.packed is not None:
            return self.packed.tensor()
        t = self.tensor
        if self.version is not None and t._version != self.version:
            raise stale(_Named, t._storage, self.version, t._array.shape, t._array.dtype, t.grad_fn)
        return t


class _Named:
    @staticmethod
    def name():
        return "checkpoint()"


class _Frame:
    """One checkpointed call: how to run it again, and what its first run saved."""

    def __init__(
        self, function, args, kwargs, context_fn, determinism_check, early_stop, preserve_rng_state
    ):
        if determinism_check not in ("default", "none"):
            message = f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
            raise fail(ValueError, message, "'none' turns the check off.")
        self.function, self.args, self.kwargs = function, args, kwargs
        self.compares = determinism_check == "default"
        self.first_context, self.again_context = context_fn()
        self.early_stop = early_stop if _early_stop is None else _early_stop
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
            with self.first_context:
                return self.function(*args, **self.kwargs)
        self.args = [_Argument(a) if isinstance(a, Tensor) else a for a in args]
        with saved_tensors_hooks(self.pack, self.unpack), self.first_context:
            result = self.function(*args, **self.kwargs)
            self.completed = True
        if not self.completed:
            raise fail(
                RuntimeError,
                "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
                "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward.",
                "The first context of context_fn may not swallow errors.",
            )
        return result

    def pack(self, tensor):
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.facts.append(_facts(tensor) if self.compares else None)
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
            if self.early_stop and number + 1 == len(self.holders):
                raise _AllThere
            return tensor

        with contextlib.suppress(_AllThere), fork_rng(enabled=self.rng_state is not None):
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            with (
                saved_tensors_hooks(pack, lambda tensor: tensor),
                enable_grad(),
                self.again_context,
            ):
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
        if not self.compares:
            return
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


# use_reentrant=True --------------------------------------------------------------------------------------------------


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of the tuple `inputs` outside of any graph, asking for gradients as before."""
    if not isinstance(inputs, tuple):
        message = f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        raise fail(RuntimeError, message, "Pass a tuple.")
    return tuple(
        i.detach().requires_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns when no tensor asks for a gradient: then there will be none."""
    if not any(i.requires_grad for i in inputs if isinstance(i, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


class CheckpointFunction(Function):
    """The older variant: the whole call is one node, whose backward runs the function again and backward through it."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = get_rng_state() if preserve_rng_state else None
        ctx.tensor_places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        if per_thread.state.backward_pass.targets is not None:
            raise fail(
                RuntimeError,
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument.",
                "This variant runs a backward pass of its own inside, which knows nothing of the inputs asked for.",
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.tensor_places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        with fork_rng(enabled=ctx.rng_state is not None):
            if ctx.rng_state is not None:
                set_rng_state(ctx.rng_state)
            leaves = detach_variable(tuple(inputs))
            with enable_grad():
                outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        asking = [
            (o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad
        ]
        if not asking:
            message = "none of output has requires_grad=True, this checkpoint() is not necessary"
            raise fail(
                RuntimeError,
                message,
                "Nothing inside depends on a parameter or input that asks for a gradient.",
            )
        backward([o for o, _ in asking], [g for _, g in asking])
        return None, None, *(i.grad if isinstance(i, Tensor) else None for i in leaves)
