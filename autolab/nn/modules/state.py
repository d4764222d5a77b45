"""Saving a module's state to a dict and loading it back.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from autolab.engine.autograd.modes import no_grad
from autolab.engine.autograd.hooks import RemovableHandle
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.parameter import Parameter, is_lazy

_EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` found missing and what it could not place."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class ModuleState:
    """The part of `Module` that writes and reads state dicts."""

    _version: int
    _modules: dict[str, Any]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def get_extra_state(self) -> Any:
        """Return more than parameters and buffers for the state dict; override it together with `set_extra_state`."""
        raise _never_called("get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned when the state dict was written."""
        raise _never_called("set_extra_state")

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """An OrderedDict of all parameters and persistent buffers, keys like "0.weight".

        The tensors are detached but share memory with the module; `keep_vars=True` gives the parameters themselves.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/"
                "main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination") if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise fail(
                    RuntimeError,
                    "state_dict post-hook must return None",
                    "Change the dict in place.",
                )
            destination = result
        return destination

    def _own_state(self):
        """Own parameters and persistent buffers, by name."""
        state = {name: value for name, value in self._parameters.items() if value is not None}
        state.update(
            (name, value)
            for name, value in self._buffers.items()
            if value is not None and name not in self._non_persistent_buffers_set
        )
        return state

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects anything."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when the dict is complete; it returns None."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return RemovableHandle.add(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists, and returns None."""
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,
        assign: bool = False,
    ) -> _IncompatibleKeys:
        """Copy `state_dict` into this module's parameters and buffers.

        With `strict` every key must match. With `assign` the given tensors become the parameters instead of being
        copied. Returns the named tuple `(missing_keys, unexpected_keys)`. Raises RuntimeError naming every missing
        and unexpected key and every wrong shape; nothing has been copied then (PyTorch copies what fits, and raises).
        """
        if not isinstance(state_dict, Mapping):
            raise fail(
                TypeError,
                f"Expected state_dict to be dict-like, got {type(state_dict)}.",
                "Pass what state_dict() returned.",
            )
        loading = _Loading(state_dict, assign)
        loading.look(self, OrderedDict(state_dict), "")
        if not loading.errors and (loading.post_hooks or not loading.wrong_keys(strict)):
            loading.finish()  # hooks that run after loading may still forgive wrong keys
        errors = loading.wrong_keys(strict) + loading.errors
        if errors:
            raise fail(
                RuntimeError,
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                ),
                "The dict was saved from a module built differently: compare its keys and shapes with state_dict().",
            )
        return loading.keys

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own entries. Override it to read older versions (`local_metadata["version"]`).

        What is to be copied goes to the list `local_metadata["later"]`, where there is one: all is checked first.
        """
        later = local_metadata.get("later")
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                self,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = self._own_state()
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                given, problem = _fitting(key, current, state_dict[key])
                copy = partial(
                    self._load_one,
                    name,
                    key,
                    current,
                    given,
                    local_metadata.get("assign_to_params_buffers", False),
                )
                if problem is None and later is not None:
                    later.append(copy)
                    continue
                problem = problem or copy()
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE
        takes_extra = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes_extra and extra in state_dict:
            take = partial(self.set_extra_state, state_dict[extra])
            take() if later is None else later.append(take)
        elif strict and takes_extra != (extra in state_dict):
            (missing_keys if takes_extra else unexpected_keys).append(extra)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra:
                    continue
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_one(self, name, key, current, given, assign):
        """Put `given` into the parameter or buffer `name`. Returns what went wrong, or None."""
        try:
            with no_grad():
                if not assign:
                    if not is_lazy(given):
                        current.copy_(given)
                    return None
                if isinstance(current, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(current.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=current.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {current.size()} '
                f"and whose dimensions in the checkpoint are {given.size()}, an exception occurred : "
                f"{error.args}."
            )
        return None


def _never_called(method):
    return fail(
        RuntimeError,
        f"Reached a code path in Module.{method}() that should never be called. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.",
        f"Override {method} in your module before calling it.",
    )


def _fitting(key, current, given):
    """(`given` in the shape of `current`, None), or (None, why it does not fit)."""
    if not isinstance(given, Tensor):
        return None, (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(given)}"
        )
    if is_lazy(current):
        return given, None
    if current.shape == () and given.shape == (1,):
        given = given[0]  # scalars were saved with shape (1,) before PyTorch 0.4
    if given.shape != current.shape:
        return None, (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
            f"current model is {current.shape}."
        )
    return given, None


class _Loading:
    """One `load_state_dict`: a walk over the module tree that finds what is wrong and what is to be copied, then the
    copying."""

    def __init__(self, state_dict, assign):
        self.metadata = getattr(state_dict, "_metadata", None)
        self.assign = assign
        self.errors, self.later, self.post_hooks = [], [], []
        self.keys = _IncompatibleKeys([], [])

    def look(self, module, state_dict, prefix):
        metadata = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        metadata["later"] = self.later
        module._load_from_state_dict(state_dict, prefix, metadata, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                self.look(
                    child,
                    {k: v for k, v in state_dict.items() if k.startswith(child_prefix)},
                    child_prefix,
                )
        self.post_hooks += [(module, hook) for hook in module._load_state_dict_post_hooks.values()]

    def wrong_keys(self, strict):
        """What `strict` has to say about the keys."""
        titled = (
            (("Missing", self.keys.missing_keys), ("Unexpected", self.keys.unexpected_keys))
            if strict
            else ()
        )
        return [
            "{} key(s) in state_dict: {}. ".format(title, ", ".join(f'"{name}"' for name in names))
            for title, names in titled
            if names
        ]

    def finish(self):
        self.errors += [problem for problem in (copy() for copy in self.later) if problem]
        for module, hook in self.post_hooks:
            if hook(module, self.keys) is not None:
                raise fail(
                    AssertionError,
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace.",
                    "Change the two lists of incompatible_keys.",
                )
