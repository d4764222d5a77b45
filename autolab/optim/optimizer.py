"""The base class of optimizers: parameter groups and state.

Source: https://docs.pytorch.org/docs/2.13/optim.html#base-class
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np

import autolab
from autolab.engine.core import observe
from autolab.engine.autograd.modes import enable_grad
from autolab.engine.devices.backend import two_devices
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.optim.settings import check_plain
from autolab.utils._shared import reset_grads, typename

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]]
"""The parameters that an optimizer accepts: tensors, or groups with their own settings."""


def _observed(step):
    """Return `step`, which tells the observer when it begins and ends. It also records that it was called, because
    schedulers check that."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        self._opt_called = True
        watcher = observe.observer
        if watcher is None:
            return step(self, *args, **kwargs)
        watcher.step(self, False)
        try:
            return step(self, *args, **kwargs)
        finally:
            watcher.step(self, True)

    return run


class Optimizer:
    """Base class of optimizers: it stores parameters in groups with their own settings. Subclasses define `step`.

    params: tensors, or dicts with "params" and settings. Raise TypeError or ValueError for a value that cannot be
    optimized.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _observed(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        if isinstance(params, Tensor):
            raise fail(
                TypeError,
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params),
                "Put it into a list: [tensor].",
            )
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise fail(
                ValueError,
                "optimizer got an empty parameter list",
                "Does the model have parameters? A generator such as model.parameters() can be used only once.",
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Older versions of PyTorch saved fewer settings, and step counts as Python numbers.
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
            for setting in group.items():
                check_plain(*setting)
            for p in group["params"]:
                entry = self.state.get(p, {})
                if isinstance(entry.get("step"), (int, float)):
                    entry["step"] = zero_step().add_(entry["step"])

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"

    # parameter groups ----------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dict with "params" and settings; missing settings take the defaults."""
        if not isinstance(param_group, dict):
            raise fail(
                TypeError,
                f"param_group must be a dict, but got {type(param_group)}",
                'Write {"params": tensors, "lr": 0.1}.',
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise fail(
                TypeError,
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                "in sets will change between runs. Please use a list instead.",
                "State is saved by position.",
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise fail(
                    TypeError,
                    "optimizer can only optimize Tensors, but one of the params is "
                    + typename(parameter),
                    "Only tensors have gradients: pass model.parameters(), without names.",
                )
            if not (parameter.is_leaf or parameter.retains_grad):
                raise fail(
                    ValueError,
                    "can't optimize a non-leaf Tensor",
                    "This tensor was computed from others, so a step on it would be forgotten at the next computation.",
                )
        if len(set(params)) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if not set(params).isdisjoint(p for group in self.param_groups for p in group["params"]):
            raise fail(
                ValueError,
                "some parameters appear in more than one parameter group",
                "It would be stepped twice.",
            )
        param_group["params"] = params
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        for setting in param_group.items():
            check_plain(*setting)
        self.param_groups.append(param_group)

    # state ---------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return {"state": {number: state}, "param_groups": [...]}; parameters are numbered in order."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append({**packed, "params": [numbers[id(p)] for p in group["params"]]})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load state and settings from the result of `state_dict`. Raise ValueError if the groups do not match."""
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise fail(
                ValueError,
                "loaded state dict has a different number of parameter groups",
                f"Saved were {len(saved)}, this optimizer has {len(groups)}.",
            )
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved)):
            raise fail(
                ValueError,
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
                "The optimizer was saved for another model.",
            )
        numbers, parameters = (
            [p for group in listed for p in group["params"]] for listed in (saved, groups)
        )
        by_number = dict(zip(numbers, parameters))
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            parameter = by_number.get(key)
            state[key if parameter is None else parameter] = (
                value if parameter is None else _converted_state(parameter, value)
            )
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
        self.__setstate__({"state": state, "param_groups": saved})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear all gradients, or fill them with zeros, because backward() adds to existing gradients."""
        reset_grads(self, (p for group in self.param_groups for p in group["params"]), set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one optimization step from the current gradients. Subclasses define it."""
        raise NotImplementedError

    @staticmethod
    def _loss(closure):
        """Call `closure` with gradients enabled and return its result; None without a closure."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _with_grad(self):
        """Yield (group, parameter, raw gradient) for every parameter that has a gradient; to maximize, the gradient is
        negated.

        Meanwhile the parameter's device is the current one."""
        items = [
            (group, p, g)
            for group in self.param_groups
            for p in group["params"]
            if (g := p.grad) is not None
        ]
        watcher = observe.observer
        # This also covers the caller's arithmetic: inf and NaN in a gradient are not errors of this step.
        with np.errstate(all="ignore"):
            for group, parameter, grad in items:
                self._check_state_device(parameter)
                if watcher is not None:
                    watcher.update(self, group, parameter, False)
                with parameter._storage.device.backend:
                    yield group, parameter, -grad._array if group.get("maximize") else grad._array
                if watcher is not None:
                    watcher.update(self, group, parameter, True)

    def _check_state_device(self, parameter):
        """Raise PyTorch's error if a parameter was moved to another device after its state was made."""
        device = parameter._storage.device
        for name, value in self.state.get(parameter, {}).items():
            if isinstance(value, Tensor) and value.dim() and value._storage.device is not device:
                note = f"The optimizer keeps '{name}' on {value.device}: make the optimizer after model.to('{device}')."
                raise two_devices(device, value._storage.device, note)


def _converted_state(parameter, value, key=None):
    """Return a saved state value with its tensors converted to the parameter's dtype and device (`step` is
    unchanged)."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        kind = parameter if parameter.is_floating_point() else value
        return value.to(device=parameter.device, dtype=kind.dtype)
    if isinstance(value, dict):
        return {k: _converted_state(parameter, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_converted_state(parameter, v) for v in value)  # type: ignore[call-arg]
    return value


def zero_step():
    """Return a step count of 0 for a new parameter: a 0-d float tensor, as in PyTorch."""
    wide = autolab.get_default_dtype() is autolab.float64
    return autolab.tensor(0.0, dtype=autolab.float64 if wide else autolab.float32, device="cpu")
