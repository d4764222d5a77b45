"""The base class of learning-rate schedules: stepping, warnings, and saved state.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import warnings
from typing import Any

from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.optim.optimizer import Optimizer

_HOW = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
    "to do this will result in PyTorch skipping the first value of the learning rate schedule."
)


def values_of(optimizer, key):
    """Return the setting `key` of each group."""
    return [group[key] for group in optimizer.param_groups]


def check_optimizer(optimizer):
    """Raise TypeError unless `optimizer` is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise fail(
            TypeError,
            f"{type(optimizer).__name__} is not an Optimizer",
            "The scheduler changes its param_groups' lr.",
        )


def per_group(name, values, optimizer, message=None):
    """Return one value of the setting `name` for each group, from a number for all or a list of the right length."""
    n = len(optimizer.param_groups)
    if not isinstance(values, (list, tuple)):
        return [values] * n
    given = len(values)
    if given != n:
        message = message or (
            "{name} must have the same length as optimizer.param_groups. "
            "{name} has {given} values, param_groups has {n}."
        )
        message = message.format(name=name, n=n, given=given)
        raise fail(ValueError, message, "One value for each parameter group.")
    return list(values)


def refuse_epoch(scheduler, epoch):
    """Raise NotImplementedError for `step(epoch)`, which PyTorch deprecates."""
    if epoch is not None:
        note = (
            "Call step() without an epoch after every epoch; load_state_dict() goes to another one."
        )
        raise unsupported(f"{type(scheduler).__name__}.step", "epoch", note)


class LRScheduler:
    """Base class: `step()` after every epoch sets each group's lr to the result of the subclass's `get_lr`."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        # the first schedule makes the optimizer record its steps
        if "_is_scheduled" not in vars(optimizer):
            vars(optimizer).update(_is_scheduled=True, _opt_called=False)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr)
            elif "initial_lr" not in group:
                raise fail(
                    KeyError,
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)",
                    "Load the optimizer's state_dict first.",
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """Return the current learning rate of each group."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """Return the next learning rate of each group. Subclasses define it; `step` calls it."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rates. Call it after `optimizer.step()`; it warns if it is called first."""
        refuse_epoch(self, epoch)
        if self._step_count == 1 and not vars(self.optimizer).get("_opt_called"):
            warnings.warn(f"{_ORDER} See more details at {_HOW}", UserWarning, stacklevel=2)
        self._step_count += 1
        self.last_epoch += 1
        self._take()

    def _take(self):
        """Set the learning rate of each group, and store them all."""
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            group["lr"] = lr
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _current(self):
        return values_of(self.optimizer, "lr")

    def _times(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The base class's name before PyTorch 2.0, for schedules written then."""
