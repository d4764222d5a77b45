"""Save a module's state to a dict, and load it again.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from functools import partial
from typing import Any

from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of `load_state_dict`: missing keys, and keys that belong to no parameter or buffer."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class ModuleState:
    """The part of `Module` that writes and reads state dicts."""

    _version: int
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return an OrderedDict of all parameters and persistent buffers, with keys like "0.weight".

        The tensors are detached but share memory with the module; `keep_vars=True` returns the parameters themselves.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                options = {"prefix": f"{prefix}{name}.", "keep_vars": keep_vars}
                module.state_dict(destination=destination, **options)
        return destination

    def _own_state(self):
        """Return the module's own parameters and persistent buffers by name, without submodules."""
        hidden = self._non_persistent_buffers_set
        persistent = {n: value for n, value in self._buffers.items() if n not in hidden}
        tables = {**self._parameters, **persistent}
        return {name: value for name, value in tables.items() if value is not None}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,
        assign: bool = False,
    ) -> _IncompatibleKeys:
        """Copy `state_dict` into this module's parameters and buffers.

        With `strict`, every key must match. Return the named tuple `(missing_keys, unexpected_keys)`. Raise
        RuntimeError with every missing or unexpected key and every wrong shape; then nothing is copied (PyTorch copies
        the matching entries, and raises).
        """
        if not isinstance(state_dict, Mapping):
            raise fail(
                TypeError,
                f"Expected state_dict to be dict-like, got {type(state_dict)}.",
                "Pass what state_dict() returned.",
            )
        if assign:
            raise unsupported("load_state_dict", "assign", "The values are copied.")
        loading = _Loading(getattr(state_dict, "_metadata", None))
        loading.plan(self, OrderedDict(state_dict), "")
        errors = (loading.wrong_keys() if strict else []) + loading.errors
        if not errors:
            errors = [problem for problem in (copy() for copy in loading.copies) if problem]
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

        If `local_metadata` has a list "later", append the copies to it instead of making them, so that all entries are
        checked first.
        """
        later = local_metadata.get("later")
        own = self._own_state()
        for name, current in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys += [key] * strict
                continue
            given, problem = _fitting(key, current, state_dict[key])
            copy = partial(_copied, key, current, given)
            if problem is None and later is not None:
                later.append(copy)
            elif problem := problem or copy():
                error_msgs.append(problem)
        for key in state_dict if strict else ():
            first, dot, _ = key[len(prefix) :].partition(".")
            if key.startswith(prefix) and first not in (self._modules if dot else own):
                unexpected_keys.append(key)


def _copied(key, current, given):
    """Copy `given` into the parameter or buffer `current`. Return an error text, or None."""
    try:
        with no_grad():
            current.copy_(given)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {current.size()} '
            f"and whose dimensions in the checkpoint are {given.size()}, an exception occurred : "
            f"{error.args}."
        )
    return None


def _fitting(key, current, given):
    """Return (`given` in the shape of `current`, None), or (None, the reason why the shapes do not match)."""
    if not isinstance(given, Tensor):
        return None, (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(given)}"
        )
    if current.shape == () and given.shape == (1,):
        given = given[0]  # before PyTorch 0.4, scalars were saved with shape (1,)
    if given.shape != current.shape:
        return None, (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
            f"current model is {current.shape}."
        )
    return given, None


class _Loading:
    """One call of `load_state_dict`: it visits all modules, and collects errors and the copies to make."""

    def __init__(self, metadata):
        self.metadata = metadata or {}
        self.errors, self.copies = [], []
        self.keys = _IncompatibleKeys([], [])

    def plan(self, module, state_dict, prefix):
        """Check the entries of `module` and its submodules."""
        metadata = {**self.metadata.get(prefix[:-1], {}), "later": self.copies}
        module._load_from_state_dict(state_dict, prefix, metadata, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                start = f"{prefix}{name}."
                below = {key: v for key, v in state_dict.items() if key.startswith(start)}
                self.plan(child, below, start)

    def wrong_keys(self):
        """Return PyTorch's text about missing and unexpected keys."""
        titled = zip(("Missing", "Unexpected"), self.keys)
        return [
            "{} key(s) in state_dict: {}. ".format(title, ", ".join(f'"{name}"' for name in names))
            for title, names in titled
            if names
        ]
