"""Schedules that rise and fall, such as cycles and restarts; step them after every batch.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
from collections.abc import Callable
from autolab.engine.core.errors import fail
from autolab.engine.exact.refusals import unsupported
from autolab.optim.lr_scheduler.base import (
    LRScheduler,
    check_optimizer,
    per_group,
)
from autolab.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """lr falls from its initial value to eta_min along half a cosine, then restarts: after T_0 epochs, then T_0 *
    T_mult, …

    `step(epoch)` accepts a fraction of an epoch (epoch + batch / batches). Raise ValueError for settings without a
    valid period. Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        checks = [
            (T_0 > 0 and isinstance(T_0, int), f"Expected positive integer T_0, but got {T_0}"),
            (
                T_mult >= 1 and isinstance(T_mult, int),
                f"Expected integer T_mult >= 1, but got {T_mult}",
            ),
            (
                isinstance(eta_min, (float, int)),
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}",
            ),
        ]
        for holds, message in checks:
            if not holds:
                note = "T_0 epochs until the first restart, each period T_mult times longer, eta_min the smallest lr."
                raise fail(ValueError, message, note)
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the lr at T_cur of a period of T_i."""
        self._warn_outside_step()
        fraction = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * fraction / 2 for base in self.base_lrs]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may be a fraction or an earlier epoch. Raise ValueError below
        0."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._take()

    def _jump(self, epoch):
        if epoch < 0:
            raise fail(
                ValueError, f"Expected non-negative epoch, but got {epoch}", "Epochs count from 0."
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:  # after n whole periods, that is, T_0 * (1 + T_mult + T_mult**2 + …) epochs
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class _Cycle(LRScheduler):
    """The base of schedules that move the momentum against the learning rate. Adam's momentum is its first beta."""

    def _momenta(self, base_momentum, max_momentum):
        """Return (smallest, largest) momentum of each group. Raise ValueError if the optimizer has no momentum."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise fail(
                ValueError,
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
                "Pass cycle_momentum=False.",
            )
        self.use_beta1 = "betas" in defaults
        smallest = per_group("base_momentum", base_momentum, self.optimizer)
        return smallest, per_group("max_momentum", max_momentum, self.optimizer)

    def _start_momentum(self, smallest, largest):
        for group, low, high in zip(self.optimizer.param_groups, smallest, largest):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Cycle):
    """lr rises from base_lr to max_lr in step_size_up steps and falls back in step_size_down steps, repeatedly.

    Step it after every batch. mode: "triangular"; "triangular2" (half the height each cycle); "exp_range" (the height
    times gamma ** step). Momentum moves the other way between max_momentum and base_momentum. Smith, "Cyclical Learning
    Rates for Training Neural Networks" (2015). Raise ValueError for an unknown mode and for an optimizer without
    momentum.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                group["lr"] = lr
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if scale_fn is not None:
            raise unsupported("CyclicLR", "scale_fn", "Use LambdaLR for a curve of your own.")
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise fail(
                ValueError,
                "mode is invalid and scale_fn is None",
                f"mode is 'triangular', 'triangular2' or 'exp_range', not {mode!r}.",
            )
        self.mode, self.gamma = mode, gamma
        self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._momenta(base_momentum, max_momentum)
            if last_epoch == -1:
                self._start_momentum(self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs
        self._scale_fn_custom = None  # PyTorch's saved states have this entry

    def _scale(self, cycle):
        """Return the height of this step's cycle, as a fraction of max_lr - base_lr."""
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (cycle - 1) if self.mode == "triangular2" else self.gamma**self.last_epoch

    def get_lr(self) -> list[float]:
        """Return the lr of this step; set the momentum too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self._scale(cycle)
        if self.cycle_momentum:
            momenta = zip(self.base_momentums, self.max_momentums)
            for group, (low, high) in zip(self.optimizer.param_groups, momenta, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]


class OneCycleLR(_Cycle):
    """lr rises from max_lr / div_factor to max_lr, then falls to the start / final_div_factor; momentum does the
    opposite.

    Step it after every batch. Smith and Topin, "Super-Convergence" (2017). Raise ValueError for settings without a
    valid cycle.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if three_phase:
            raise unsupported("OneCycleLR", "three_phase", "Two phases do nearly the same.")
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start)
        message = ""
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            message = f"Expected float between 0 and 1 pct_start, but got {pct_start}"
        elif anneal_strategy not in ("cos", "linear"):
            message = (
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if message:
            raise fail(
                ValueError, message, "They give the length of the rise and the shape of the curve."
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momenta = self._momenta(base_momentum, max_momentum)
            if last_epoch == -1:
                self._start_momentum(*momenta)
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, fraction):
        if self._anneal_func_type == "linear":
            return (end - start) * fraction + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)

    def get_lr(self) -> list[float]:
        """Return the lr of this step; set the momentum too. Raise ValueError after the last step."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise fail(
                ValueError,
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                "The cycle is over.",
            )
        rise, fall = self._schedule_phases
        start, phase = (0.0, rise) if step <= rise["end_step"] else (rise["end_step"], fall)
        fraction = (step - start) / (phase["end_step"] - start)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], fraction))
            if self.cycle_momentum:
                momentum = self._between(
                    group[phase["start_momentum"]], group[phase["end_momentum"]], fraction
                )
                self._set_momentum(group, momentum)
        return lrs


def _total_steps(total_steps, epochs, steps_per_epoch):
    numbers = {"total_steps": total_steps}
    if total_steps is None:
        numbers = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    message = "You must define either total_steps OR (epochs AND steps_per_epoch)"
    for name, value in numbers.items():
        if value is not None:
            message = f"Expected positive integer {name}, but got {value}"
        if not isinstance(value, int) or value <= 0:
            raise fail(ValueError, message, "The cycle has to know how long it is.")
    return math.prod(numbers.values())


def _phases(total_steps, pct_start):
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    rise = "initial_lr", "max_lr", "max_momentum", "base_momentum"
    fall = "max_lr", "min_lr", "base_momentum", "max_momentum"
    ends = float(pct_start * total_steps) - 1, total_steps - 1
    return [dict(zip(names, (end, *phase))) for end, phase in zip(ends, (rise, fall))]
