"""A schedule that lowers the learning rate when a given number stops improving.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
from typing import SupportsFloat

from autolab.engine.core.errors import fail
from autolab.optim.lr_scheduler.base import (
    LRScheduler,
    check_optimizer,
    per_group,
    refuse_epoch,
)
from autolab.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """lr times `factor` if a given number has not improved for more than `patience` epochs.

    mode "min" or "max": whether smaller or larger is better; threshold ("rel" or "abs"): the least improvement that
    counts; cooldown: epochs without a further reduction.

    Example:

        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> for loss in [3., 2., 2.]:
        ...     schedule.step(loss)
        >>> schedule.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise fail(ValueError, "Factor should be < 1.0.", "It makes the learning rate smaller.")
        check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        message = "expected {n} {name}, got {given}"
        self.min_lrs = per_group("min_lrs", min_lr, optimizer, message)
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = self._current()
        for name, value, known in (
            ("mode", mode, ("min", "max")),
            ("threshold mode", threshold_mode, ("rel", "abs")),
        ):
            if value not in known:
                raise fail(ValueError, f"{name} {value} is unknown!", f"It is one of {known}.")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Pass the number of this epoch (a loss, an accuracy); the lr is lowered if it has not improved for too
        long."""
        refuse_epoch(self, epoch)
        current = float(metrics)
        self.last_epoch += 1
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()

    def _reduce_lr(self):
        groups = self.optimizer.param_groups
        for group, smallest in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, smallest)
            if old - new > self.eps:
                group["lr"] = new

    @property
    def in_cooldown(self) -> bool:
        """Return whether the last reduction is too recent for another one."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        relative, margin = self.threshold_mode == "rel", self.threshold
        if self.mode == "min":
            return a < (best * (1.0 - margin) if relative else best - margin)
        return a > (best * (margin + 1.0) if relative else best + margin)
