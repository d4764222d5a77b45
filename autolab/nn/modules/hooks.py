"""Hooks of modules: registering them (on one module or on all), and a forward call that honours them.

Same order as PyTorch: forward pre-hooks, the forward itself, forward hooks, and around both an identity
`BackwardHookFunction` whose node tells when gradients reach the module's outputs and leave its inputs.
Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from autolab.engine.core.grad_mode import per_thread
from autolab.engine.autograd.hooks import RemovableHandle
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor

from .backward_hooks import BackwardHook


class _GlobalHooks:
    """The hooks common to all modules."""

    def __init__(self):
        self.forward_pre = OrderedDict()
        self.forward = OrderedDict()
        self.forward_with_kwargs = OrderedDict()
        self.forward_always_called = OrderedDict()
        self.backward_pre = OrderedDict()
        self.backward = OrderedDict()
        self.backward_is_full = None
        self.buffer_registration = OrderedDict()
        self.module_registration = OrderedDict()
        self.parameter_registration = OrderedDict()


GLOBAL = _GlobalHooks()


def _add(table, hook, extra=(), prepend=False):
    """Put `hook` into `table`, flag it in every dict of `extra` whose flag is true, return its handle."""
    handle = RemovableHandle(table, extra_dict=[flags for flags, _ in extra])
    table[handle.id] = hook
    for flags, wanted in extra:
        if wanted:
            flags[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; what it returns replaces the arguments."""
    return _add(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any],
    *,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module; what it returns replaces the output."""
    return _add(
        GLOBAL.forward,
        hook,
        [(GLOBAL.forward_with_kwargs, with_kwargs), (GLOBAL.forward_always_called, always_call)],
    )


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradient reaches the outputs of any module."""
    return _add(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradient of any module's inputs is known."""
    return _add_global_backward(hook, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The deprecated kind of `register_module_full_backward_hook`: sees only the last node of the module."""
    return _add_global_backward(hook, full=False)


def _add_global_backward(hook, full):
    if GLOBAL.backward_is_full is (not full):
        raise fail(
            RuntimeError,
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them.",
            "Use register_module_full_backward_hook everywhere.",
        )
    GLOBAL.backward_is_full = full
    return _add(GLOBAL.backward, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered; what it returns is registered instead."""
    return _add(GLOBAL.buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a submodule is registered."""
    return _add(GLOBAL.module_registration, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered."""
    return _add(GLOBAL.parameter_registration, hook)


def registered(hooks, module, name, value):
    """`value`, or what the last registration hook that returned something made of it."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


Hooks: TypeAlias = OrderedDict[int, Any]


class ModuleHooks:
    """The part of `Module` that keeps hooks and runs them around `forward`."""

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Hooks
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Hooks
    _forward_hooks_always_called: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks

    def _init_hooks(self):
        set_plain = functools.partial(object.__setattr__, self)
        for name in (
            "_backward_pre_hooks",
            "_backward_hooks",
            "_forward_hooks",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ):
            set_plain(name, OrderedDict())
        set_plain("_is_full_backward_hook", None)

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
        return _add(
            self._forward_pre_hooks,
            hook,
            [(self._forward_pre_hooks_with_kwargs, with_kwargs)],
            prepend,
        )

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every `forward`; a returned value replaces the output.

        With `with_kwargs=True` the hook is `hook(module, args, kwargs, output)`. With `always_call=True` it runs
        even when the forward raised. Returns a handle; `handle.remove()` takes the hook away.
        """
        flags = [
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        ]
        return _add(self._forward_hooks, hook, flags, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when gradients reach the outputs; a returned tuple replaces them."""
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Both are tuples with None for what is not a tensor. A returned tuple replaces `grad_input`.
        """
        return self._add_backward(hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: sees only the last node of the module. Use `register_full_backward_hook`."""
        return self._add_backward(hook, full=False)

    def _add_backward(self, hook, full, prepend=False):
        if self._is_full_backward_hook is (not full):
            raise fail(
                RuntimeError,
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them.",
                "Use register_full_backward_hook everywhere.",
            )
        self._is_full_backward_hook = full
        return _add(self._backward_hooks, hook, prepend=prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = per_thread.state
        around, caller = state.scope, state.module
        # Nodes made meanwhile remember this call (`Node.scope`): names only, so that a graph keeps no module alive.
        name, training = (
            "" if caller is None else _name_in(caller, self),
            self.__dict__.get("training"),
        )
        state.scope = (around, name, self.__class__.__name__, training)
        state.module = self
        try:
            if not (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or GLOBAL.forward
                or GLOBAL.forward_pre
                or GLOBAL.backward
                or GLOBAL.backward_pre
            ):
                return self.forward(*args, **kwargs)
            call = _HookedCall(self, args, kwargs)
            try:
                return call.run()
            except Exception:
                call.run_always_called()
                raise
        finally:
            state.scope, state.module = around, caller


def _name_in(caller, module):
    """The path of `module` in `caller`, whose forward calls it; its type's name when it is no part of it."""
    remembered = module.__dict__.get(
        "_called_as"
    )  # searching every time makes a step of n layers cost n * n
    if remembered is not None and caller._modules.get(remembered) is module:
        return remembered
    for name, child in caller._modules.items():
        if child is module:
            module.__dict__["_called_as"] = name
            return name
    level, seen = [("", caller)], {id(caller)}
    while level:  # breadth first: most often a ModuleList, which nobody calls, is in between
        below = []
        for prefix, parent in level:
            for name, child in parent._modules.items():
                if child is module:
                    return prefix + name
                if child is not None and id(child) not in seen:
                    seen.add(id(child))
                    below.append((f"{prefix}{name}.", child))
        level = below
    return type(module).__name__


class _HookedCall:
    """One forward call of a module that has hooks."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs, self.result = module, args, kwargs, None
        self.done = set()

    def run(self):
        module = self.module
        self._forward_pre_hooks()
        own_is_full = module._is_full_backward_hook
        full = _chosen(
            GLOBAL.backward,
            GLOBAL.backward_is_full is True,
            module._backward_hooks,
            own_is_full is True,
        )
        legacy = _chosen(
            GLOBAL.backward,
            GLOBAL.backward_is_full is False,
            module._backward_hooks,
            own_is_full is False,
        )
        pre = [*GLOBAL.backward_pre.values(), *module._backward_pre_hooks.values()]
        backward = BackwardHook(module, full, pre) if full or pre else None
        if backward:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._forward_hooks()
        if backward:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors"
                    f" but received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = backward.setup_output_hook(self.result)
        if legacy:
            self._legacy_backward_hooks(legacy)
        return self.result

    def _forward_pre_hooks(self):
        module = self.module
        for number, hook in [*GLOBAL.forward_pre.items(), *module._forward_pre_hooks.items()]:
            if number not in module._forward_pre_hooks_with_kwargs:
                args = hook(module, self.args)
                if args is not None:
                    self.args = args if isinstance(args, tuple) else (args,)
                continue
            both = hook(module, self.args, self.kwargs)
            if both is None:
                continue
            if not (isinstance(both, tuple) and len(both) == 2):
                raise fail(
                    RuntimeError,
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {both}.",
                    "A hook registered with with_kwargs=True replaces both or neither.",
                )
            self.args, self.kwargs = both

    def _forward_hooks(self):
        module = self.module
        for number, hook in [*GLOBAL.forward.items(), *module._forward_hooks.items()]:
            if (
                number in module._forward_hooks_always_called
                or number in GLOBAL.forward_always_called
            ):
                self.done.add(number)
            self._forward_hook(number, hook)

    def _forward_hook(self, number, hook):
        module = self.module
        if number in module._forward_hooks_with_kwargs or number in GLOBAL.forward_with_kwargs:
            output = hook(module, self.args, self.kwargs, self.result)
        else:
            output = hook(module, self.args, self.result)
        if output is not None:
            self.result = output

    def run_always_called(self):
        """After an error: run the `always_call` hooks that did not have their turn."""
        module = self.module
        for owner, table, wanted in (
            ("global module", GLOBAL.forward, GLOBAL.forward_always_called),
            ("module", module._forward_hooks, module._forward_hooks_always_called),
        ):
            for number, hook in table.items():
                if number not in wanted or number in self.done:
                    continue
                try:
                    self._forward_hook(number, hook)
                except Exception as error:
                    warnings.warn(
                        f"{owner} forward hook with ``always_call=True`` raised an exception that was "
                        f"silenced as another error was raised in forward: {error}",
                        stacklevel=3,
                    )

    def _legacy_backward_hooks(self, hooks):
        tensor = self.result
        while not isinstance(tensor, Tensor):
            tensor = (
                next(v for v in tensor.values() if isinstance(v, Tensor))
                if isinstance(tensor, dict)
                else tensor[0]
            )
        node = tensor.grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(WrappedHook(hook, self.module))
        problem = _legacy_problem(self.args, self.result, node)
        if problem:
            warnings.warn(problem, FutureWarning, stacklevel=4)


def _chosen(first, use_first, second, use_second):
    return [*(first.values() if use_first else ()), *(second.values() if use_second else ())]


def _legacy_problem(inputs, result, node):
    """Why a deprecated backward hook on `node` sees less than the module's gradients, or None."""

    def all_tensors(value):
        return isinstance(value, tuple) and all(isinstance(v, Tensor) for v in value)

    outputs = (result,) if isinstance(result, Tensor) else result
    advice = " Please use register_full_backward_hook to get the documented behavior."
    if not all_tensors(outputs):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            "is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_output." + advice
        )
    if not all_tensors(inputs):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_input." + advice
        )
    output_nodes = {t.grad_fn for t in outputs} - {None}
    if not output_nodes or (len(output_nodes) == 1 and node not in output_nodes):
        return (
            "Using a non-full backward hook when outputs are nested in python data structure is deprecated and "
            "will be removed in future versions. This hook will be missing some grad_output."
        )
    if len(output_nodes) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated "
            "and will be removed in future versions. This hook will be missing some grad_output."
            + advice
        )
    if {t.grad_fn for t in inputs} - {None} != {n for n, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and "
            "will be removed in future versions. This hook will be missing some grad_input."
            + advice
        )
    return None


class WrappedHook:
    """A hook that remembers its module weakly, so that the hook does not keep the module alive."""

    def __init__(self, hook, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise fail(
                RuntimeError,
                "You are trying to call the hook of a dead Module!",
                "The module was deleted while its hook was still registered.",
            )
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise fail(
                    RuntimeError,
                    "You are trying to revive the hook of a dead Module!",
                    "Copy or pickle the module together with its hook.",
                )
            self.module = weakref.ref(state["module"])
