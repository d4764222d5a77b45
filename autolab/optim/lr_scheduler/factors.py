"""Schedules given by a formula of the epoch: a factor of the initial or of the current learning rate.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from autolab.engine.core.errors import fail
from autolab.optim.lr_scheduler.base import LRScheduler, per_group
from autolab.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """The initial lr times `lr_lambda(epoch)`, one function for all groups or a list.

    Raise ValueError unless the list has one function for each group.

    Example:

        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        message = "Expected {n} {name}, but got {given}"
        self.lr_lambdas = per_group("lr_lambdas", lr_lambda, optimizer, message)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state. For callable objects it has their attributes, for plain functions None."""
        saved = [None if isinstance(f, FunctionType) else vars(f).copy() for f in self.lr_lambdas]
        state = super().state_dict()
        del state["lr_lambdas"]
        return {**state, "lr_lambdas": saved}  # in PyTorch's order

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`; plain functions stay unchanged."""
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            vars(function).update(saved or {})

    def get_lr(self) -> list[float]:
        """Return the initial lr times the function's value."""
        self._warn_outside_step()
        return [
            base * factor(self.last_epoch)
            for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class StepLR(LRScheduler):
    """lr times gamma every `step_size` epochs.

    Example:

        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(4):
        ...     print(schedule.get_last_lr())
        ...     optimizer.step()
        ...     schedule.step()
        [1.0]
        [1.0]
        [0.5]
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the lr, times gamma if the epoch is a multiple of step_size."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._current()
        return self._times(self.gamma)


class MultiStepLR(LRScheduler):
    """lr times gamma at each epoch of `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the lr, times gamma if the epoch is a milestone."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._times(self.gamma ** self.milestones[self.last_epoch])


class ExponentialLR(LRScheduler):
    """lr times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the lr times gamma."""
        self._warn_outside_step()
        return self._current() if self._is_initial else self._times(self.gamma)


class LinearLR(LRScheduler):
    """The initial lr times a factor that goes from start_factor to end_factor in total_iters equal steps.

    Raise ValueError for factors that are not between 0 and 1 (with a start of 0, the lr could not grow by a factor).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        note = "Factors are shares of the optimizer's lr."
        if start_factor > 1.0 or start_factor <= 0:
            raise fail(
                ValueError,
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
                note,
            )
        if end_factor > 1.0 or end_factor < 0:
            raise fail(
                ValueError, "Ending multiplicative factor expected to be between 0 and 1.", note
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next lr, computed from the current one, so that schedules can be combined."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._times(1.0 + rise / before)


class CosineAnnealingLR(LRScheduler):
    """lr falls from its initial value to eta_min along half a cosine of T_max epochs, then rises again.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016), without the restarts.

    Example:

        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> for epoch in range(2):
        ...     optimizer.step()
        ...     schedule.step()
        ...     print(schedule.get_last_lr())
        [0.5]
        [0.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: float, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next lr, computed from the current one, so that schedules can be combined."""
        self._warn_outside_step()
        low, period, epoch = self.eta_min, self.T_max, self.last_epoch
        if self._is_initial:
            return self._current()
        cos = lambda x: math.cos(math.pi * x / period)
        if self._step_count == 1 and epoch > 0:
            return [
                low + (base - low) * (1 + math.cos(epoch * math.pi / period)) / 2
                for base in self.base_lrs
            ]
        if (epoch - 1 - period) % (2 * period) == 0:
            rise = [(base - low) * (1 - cos(1)) / 2 for base in self.base_lrs]
            return [
                group["lr"] + r for r, group in zip(rise, self.optimizer.param_groups, strict=True)
            ]
        ratio = (1 + cos(epoch)) / (1 + cos(epoch - 1))
        return [ratio * (group["lr"] - low) + low for group in self.optimizer.param_groups]
