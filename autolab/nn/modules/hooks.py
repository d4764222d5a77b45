"""Hooks of modules: registering them, and a forward call that runs them.

Same order as PyTorch: forward pre-hooks, the forward itself, forward hooks, and around both an identity
`BackwardHookFunction` whose node tells when gradients reach the module's outputs and leave its inputs.
Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.hooks import RemovableHandle
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported

from .backward_hooks import BackwardHook

Hooks: TypeAlias = OrderedDict[int, Any]


def _add(table, hook, prepend=False, with_kwargs=None):
    """Put `hook` into `table`, note it in the dict `with_kwargs` if there is one, and return its handle."""
    handle = RemovableHandle(table, extra_dict=[] if with_kwargs is None else [with_kwargs])
    table[handle.id] = hook
    if with_kwargs is not None:
        with_kwargs[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class ModuleHooks:
    """The part of `Module` that keeps hooks and runs them around `forward`."""

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Hooks
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks

    def _init_hooks(self):
        for name in (
            "_backward_pre_hooks",
            "_backward_hooks",
            "_forward_hooks",
            "_forward_hooks_with_kwargs",
            "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs",
        ):
            object.__setattr__(self, name, OrderedDict())

    def register_forward_pre_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args)` before every `forward`; a returned value replaces the positional arguments.

        With `with_kwargs=True` the hook is `hook(module, args, kwargs)` and returns None or `(args, kwargs)`.
        Returns a handle; `handle.remove()` takes the hook away.
        """
        flags = self._forward_pre_hooks_with_kwargs if with_kwargs else None
        return _add(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every `forward`; a returned value replaces the output.

        With `with_kwargs=True` the hook is `hook(module, args, kwargs, output)`. Returns a handle; `handle.remove()`
        takes the hook away. Raises NotImplementedError for `always_call`.
        """
        if always_call:
            raise unsupported(
                "register_forward_hook", "always_call", "Write try and finally around the call."
            )
        flags = self._forward_hooks_with_kwargs if with_kwargs else None
        return _add(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when gradients reach the outputs; a returned tuple replaces them."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Both are tuples with None for what is not a tensor. A returned tuple replaces `grad_input`.
        """
        return _add(self._backward_hooks, hook, prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = per_thread.state
        around, caller = state.scope, state.module
        # Nodes made meanwhile remember this call (`Node.scope`): names only, so that a graph keeps no module alive.
        name = "" if caller is None else _name_in(caller, self)
        state.scope = (around, name, self.__class__.__name__, self.__dict__.get("training"))
        state.module = self
        try:
            if not (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
            ):
                return self.forward(*args, **kwargs)
            return _call_with_hooks(self, args, kwargs)
        finally:
            state.scope, state.module = around, caller


def _name_in(caller, module):
    """Return the path of `module` in `caller`, whose forward calls it; its type's name when it is not part of it."""
    # Searching every time would make a step of n layers cost n * n.
    remembered = module.__dict__.get("_called_as")
    if remembered is not None and caller._modules.get(remembered) is module:
        return remembered
    for name, child in caller._modules.items():
        if child is module:
            module.__dict__["_called_as"] = name
            return name
    # Most often a ModuleList, which is not called itself, is in between.
    paths = (path for path, below in caller.named_modules() if below is module)
    return min(paths, key=lambda path: path.count("."), default=type(module).__name__)


def _call_with_hooks(module, args, kwargs):
    """Run the forward of `module` with its hooks around it."""
    args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
    full, pre = list(module._backward_hooks.values()), list(module._backward_pre_hooks.values())
    backward = BackwardHook(module, full, pre) if full or pre else None
    if backward:
        args = backward.setup_input_hook(args)
    result = module.forward(*args, **kwargs)
    for number, hook in [*module._forward_hooks.items()]:
        extra = (kwargs,) if number in module._forward_hooks_with_kwargs else ()
        output = hook(module, args, *extra, result)
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


def _run_forward_pre_hooks(module, args, kwargs):
    """Return the arguments as the forward pre-hooks leave them."""
    for number, hook in [*module._forward_pre_hooks.items()]:
        if number not in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
            continue
        both = hook(module, args, kwargs)
        if both is None:
            continue
        if not (isinstance(both, tuple) and len(both) == 2):
            raise fail(
                RuntimeError,
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {both}.",
                "A hook registered with with_kwargs=True replaces both or neither.",
            )
        args, kwargs = both
    return args, kwargs
