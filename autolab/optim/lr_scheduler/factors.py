"""Schedules that are a formula of the epoch: a factor for the initial or for the present learning rate.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from autolab.engine.core.errors import fail
from autolab.optim.lr_scheduler.base import LRScheduler, per_group, restore_callable, saved_callable
from autolab.engine.core.tensor import Tensor
from autolab.optim.optimizer import Optimizer


def _one_each(lr_lambda, optimizer):
    return per_group(
        lr_lambda, optimizer, lambda n, given: f"Expected {n} lr_lambdas, but got {given}"
    )


class LambdaLR(LRScheduler):
    """The initial lr times `lr_lambda(epoch)`, one function for all groups or a list.

    Raises ValueError when the list has not one function for each group.

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
        self.lr_lambdas = _one_each(lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As the base class; of the functions only callable objects can be saved (their attributes)."""
        return {
            **self._state_without("lr_lambdas"),
            "lr_lambdas": [saved_callable(f) for f in self.lr_lambdas],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; plain functions stay those of this scheduler."""
        self.__dict__.update(
            (key, value) for key, value in state_dict.items() if key != "lr_lambdas"
        )
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            restore_callable(function, saved)

    def get_lr(self) -> list[float | Tensor]:
        """The initial lr times the function's value."""
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

    def get_lr(self) -> list[float | Tensor]:
        """The lr, times gamma when the epoch is a multiple of step_size."""
        self._warn_outside_step()
        return (
            self._current()
            if self.last_epoch == 0 or self.last_epoch % self.step_size
            else self._times(self.gamma)
        )

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


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

    def get_lr(self) -> list[float | Tensor]:
        """The lr, times gamma when the epoch is a milestone."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        milestones = sorted(self.milestones.elements())
        return [
            base * self.gamma ** bisect_right(milestones, self.last_epoch) for base in self.base_lrs
        ]


class ExponentialLR(LRScheduler):
    """lr times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """The lr times gamma."""
        self._warn_outside_step()
        return self._current() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The initial lr times a factor that goes in total_iters equal stairs from start_factor to end_factor.

    Raises ValueError for factors that are not between 0 and 1 (a start of 0 could not be multiplied up again).
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

    def get_lr(self) -> list[float | Tensor]:
        """The next lr, from the present one (so that it combines with other schedulers)."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        return self._times(
            1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        )

    def _get_closed_form_lr(self):
        rise, done = self.end_factor - self.start_factor, min(self.total_iters, self.last_epoch)
        return [
            base * (self.start_factor + rise * done / self.total_iters) for base in self.base_lrs
        ]


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

    def get_lr(self) -> list[float | Tensor]:
        """The next lr, from the present one (so that it combines with other schedulers)."""
        self._warn_outside_step()
        low, period, epoch = self.eta_min, self.T_max, self.last_epoch
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and epoch > 0:
            return [
                low + (base - low) * (1 + math.cos(epoch * math.pi / period)) / 2
                for base in self.base_lrs
            ]
        if (epoch - 1 - period) % (2 * period) == 0:
            return [
                group["lr"] + (base - low) * (1 - math.cos(math.pi / period)) / 2
                for base, group in zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / period)) / (
            1 + math.cos(math.pi * (epoch - 1) / period)
        )
        return [ratio * (group["lr"] - low) + low for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        fraction = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * fraction / 2 for base in self.base_lrs]
