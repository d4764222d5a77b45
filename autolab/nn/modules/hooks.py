"""Module hooks: register them, and run them around a forward call.

The order is PyTorch's: forward pre-hooks, the forward itself, forward hooks. Around all of them, an identity
`BackwardHookFunction` has a node that reports when gradients reach the module's outputs and leave its inputs. Source:
https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.hooks import RemovableHandle
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported

from .backward_hooks import BackwardHook

Hooks: TypeAlias = OrderedDict[int, Any]


def _add(table, hook, **options):
    """Add `hook` to `table` and return its handle. Raise NotImplementedError for options that courses do not use."""
    for name, value in options.items():
        if value:
            note = "A hook is called with the module, its positional arguments and its output, in the order of registering."
            raise unsupported("register_hook", name, note)
    return RemovableHandle.add(table, hook)


class ModuleHooks:
    """The part of `Module` that stores hooks and runs them around `forward`."""

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_hooks: Hooks

    def _init_hooks(self):
        for name in (
            "_backward_hooks",
            "_forward_hooks",
            "_forward_pre_hooks",
        ):
            object.__setattr__(self, name, OrderedDict())

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before every `forward`; a value that it returns replaces the positional arguments.

        Return a handle; `handle.remove()` removes the hook.
        """
        return _add(self._forward_pre_hooks, hook, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every `forward`; a value that it returns replaces the output.

        Return a handle; `handle.remove()` removes the hook.
        """
        options = {"prepend": prepend, "with_kwargs": with_kwargs, "always_call": always_call}
        return _add(self._forward_hooks, hook, **options)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Both are tuples, with None for arguments that are not tensors. A tuple that the hook returns replaces
        `grad_input`.
        """
        return _add(self._backward_hooks, hook, prepend=prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = per_thread.state
        around, caller = state.scope, state.module
        # Nodes made during the call store its path (`Node.scope`): names only, so that a graph keeps no module alive.
        name = "" if caller is None else _path_in(caller, self)
        state.scope = (around, name, self.__class__.__name__, self.__dict__.get("training"))
        state.module = self
        try:
            if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks):
                return self.forward(*args, **kwargs)
            return _call_with_hooks(self, args, kwargs)
        finally:
            state.scope, state.module = around, caller


def _path_in(caller, module):
    """Return the path of `module` in `caller`, whose forward calls it; the name of its type if it is not a part of
    `caller`."""
    # Cache the path: a search at every call would make a step of n layers cost n * n.
    remembered = module.__dict__.get("_called_as")
    if remembered is not None and caller._modules.get(remembered) is module:
        return remembered
    for name, child in caller._modules.items():
        if child is module:
            module.__dict__["_called_as"] = name
            return name
    # The path often goes through a ModuleList, which is not called itself.
    paths = (path for path, below in caller.named_modules() if below is module)
    return min(paths, key=lambda path: path.count("."), default=type(module).__name__)


def _call_with_hooks(module, args, kwargs):
    """Run the forward of `module` with its hooks around it."""
    for hook in [*module._forward_pre_hooks.values()]:
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    full = list(module._backward_hooks.values())
    backward = BackwardHook(module, full) if full else None
    if backward:
        args = backward.setup_input_hook(args)
    result = module.forward(*args, **kwargs)
    for hook in [*module._forward_hooks.values()]:
        output = hook(module, args, result)
        result = result if output is None else output
    if backward is None:
        return result
    if not isinstance(result, (Tensor, tuple)):
        warnings.warn(
            "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors"
            f" but received {type(result)}",
            stacklevel=4,
        )
    return backward.setup_output_hook(result)
