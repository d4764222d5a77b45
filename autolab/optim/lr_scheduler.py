"""Learning rates that change as training goes on.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from contextlib import contextmanager

from autolab.engine.errors import fail
from autolab.engine.tensor import Tensor
from autolab.optim.optimizer import Optimizer

_HOW = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_EPOCH_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


def _values(optimizer, key):
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def _set_lr(group, lr):
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise fail(
            TypeError, f"{type(optimizer).__name__} is not an Optimizer", "The scheduler changes its param_groups' lr."
        )


def _per_group(values, optimizer, message):
    """One value for each group; `message(n, given)` is the error when a list has another length."""
    n = len(optimizer.param_groups)
    if not isinstance(values, (list, tuple)):
        return [values] * n
    if len(values) != n:
        raise fail(ValueError, message(n, len(values)), "One value for each parameter group.")
    return list(values)


class LRScheduler:
    """Base class: `step()` after every epoch sets each group's lr to what `get_lr` of the subclass says."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise fail(
                    KeyError,
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)",
                    "Load the optimizer's state_dict first.",
                )
        self.base_lrs = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rate of each group, as it is now."""
        return self._last_lr

    def get_lr(self):
        """The next learning rate of each group. Subclasses define it; `step` calls it."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Set the next learning rates. Call it after `optimizer.step()`; warns when it comes first."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                "to do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                f"details at {_HOW}",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(_EPOCH_DEPRECATED, UserWarning, stacklevel=2)
        with self._inside_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if epoch is None or closed is None else closed()
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _set_lr(group, lr)
        self._last_lr = _values(self.optimizer, "lr")

    @contextmanager
    def _inside_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _current(self):
        return _values(self.optimizer, "lr")

    def _times(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class LambdaLR(LRScheduler):
    """The initial lr times `lr_lambda(epoch)`, one function for all groups or a list."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = _per_group(lr_lambda, optimizer, lambda n, given: f"Expected {n} lr_lambdas, but got {given}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """As the base class; of the functions only callable objects can be saved (their attributes)."""
        state = {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}
        return {
            **state,
            "lr_lambdas": [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas],
        }

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned; plain functions stay those of this scheduler."""
        self.__dict__.update((key, value) for key, value in state_dict.items() if key != "lr_lambdas")
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                function.__dict__.update(saved)

    def get_lr(self):
        """The initial lr times the function's value."""
        self._warn_outside_step()
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class StepLR(LRScheduler):
    """lr times gamma every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The lr, times gamma when the epoch is a multiple of step_size."""
        self._warn_outside_step()
        return self._current() if self.last_epoch == 0 or self.last_epoch % self.step_size else self._times(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """lr times gamma at each epoch of `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The lr, times gamma when the epoch is a milestone."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        milestones = sorted(self.milestones.elements())
        return [base * self.gamma ** bisect_right(milestones, self.last_epoch) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """lr times gamma every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The lr times gamma."""
        self._warn_outside_step()
        return self._current() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """lr falls from its initial value to eta_min along half a cosine of T_max epochs, then rises again.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016), without the restarts.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The next lr, from the present one (so that it combines with other schedulers)."""
        self._warn_outside_step()
        low, period, epoch = self.eta_min, self.T_max, self.last_epoch
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and epoch > 0:
            return [low + (base - low) * (1 + math.cos(epoch * math.pi / period)) / 2 for base in self.base_lrs]
        if (epoch - 1 - period) % (2 * period) == 0:
            return [
                group["lr"] + (base - low) * (1 - math.cos(math.pi / period)) / 2
                for base, group in zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / period)) / (1 + math.cos(math.pi * (epoch - 1) / period))
        return [ratio * (group["lr"] - low) + low for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        fraction = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * fraction / 2 for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """lr rises from max_lr / div_factor to max_lr, falls to the start / final_div_factor; momentum does the opposite.

    Step it after every batch. Smith and Topin, "Super-Convergence" (2017). Raises ValueError for settings that make
    no cycle.
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise fail(
                ValueError, f"Expected float between 0 and 1 pct_start, but got {pct_start}", "The share of the rise."
            )
        if anneal_strategy not in ("cos", "linear"):
            raise fail(
                ValueError,
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}",
                "The shape of the curve.",
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = self._format("max_lr", max_lr)
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _format(self, name, values):
        return _per_group(
            values,
            self.optimizer,
            lambda n, given: (
                f"{name} must have the same length as optimizer.param_groups. "
                f"{name} has {given} values, param_groups has {n}."
            ),
        )

    def _start_momentum(self, base_momentum, max_momentum, last_epoch):
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise fail(
                ValueError,
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
                "Pass cycle_momentum=False.",
            )
        self.use_beta1 = "betas" in defaults
        largest, smallest = self._format("max_momentum", max_momentum), self._format("base_momentum", base_momentum)
        if last_epoch == -1:
            for group, high, low in zip(self.optimizer.param_groups, largest, smallest):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def _between(self, start, end, fraction):
        if self._anneal_func_type == "linear":
            return (end - start) * fraction + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)

    def get_lr(self):
        """The lr of this step; sets the momentum too. Raises ValueError after the last step."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise fail(
                ValueError,
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                "The cycle is over.",
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        fraction = (step - start) / (phase["end_step"] - start)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], fraction))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction)
                self._set_momentum(group, momentum)
        return lrs


def _total_steps(total_steps, epochs, steps_per_epoch):
    note = "The cycle has to know how long it is."
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise fail(ValueError, "You must define either total_steps OR (epochs AND steps_per_epoch)", note)
    if total_steps is not None:
        numbers = {"total_steps": total_steps}
    else:
        numbers = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in numbers.items():
        if value <= 0 or not isinstance(value, int):
            raise fail(ValueError, f"Expected positive integer {name}, but got {value}", note)
    return math.prod(numbers.values())


def _phases(total_steps, pct_start, three_phase):
    rise = {
        "end_step": float(pct_start * total_steps) - 1,
        "start_lr": "initial_lr",
        "end_lr": "max_lr",
        "start_momentum": "max_momentum",
        "end_momentum": "base_momentum",
    }
    fall = {
        "end_step": total_steps - 1,
        "start_lr": "max_lr",
        "end_lr": "min_lr",
        "start_momentum": "base_momentum",
        "end_momentum": "max_momentum",
    }
    if not three_phase:
        return [rise, fall]
    back = {**fall, "end_step": float(2 * pct_start * total_steps) - 2, "end_lr": "initial_lr"}
    return [rise, back, {**fall, "start_lr": "initial_lr", "start_momentum": "max_momentum"}]


class ReduceLROnPlateau(LRScheduler):
    """lr times `factor` when a watched number has not improved for more than `patience` epochs.

    mode "min" or "max": which way is better; threshold ("rel" or "abs"): by how much at least; cooldown: epochs of
    rest.
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1.0:
            raise fail(ValueError, "Factor should be < 1.0.", "It makes the learning rate smaller.")
        _check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _per_group(min_lr, optimizer, lambda n, given: f"expected {n} min_lrs, got {given}")
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = self._current()
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode, threshold, threshold_mode):
        if mode not in ("min", "max"):
            raise fail(ValueError, f"mode {mode} is unknown!", "It is 'min' or 'max'.")
        if threshold_mode not in ("rel", "abs"):
            raise fail(ValueError, f"threshold mode {threshold_mode} is unknown!", "It is 'rel' or 'abs'.")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self):
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics, epoch=None):
        """Note the number of this epoch (a loss, an accuracy); lower the lr when it has not improved for too long."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(_EPOCH_DEPRECATED, UserWarning, stacklevel=2)
        self.last_epoch = epoch
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
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise fail(
                    RuntimeError,
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups.",
                    "Append the new group's smallest lr to scheduler.min_lrs.",
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, smallest in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, smallest)
            if old - new > self.eps:
                _set_lr(group, new)

    @property
    def in_cooldown(self):
        """Whether the scheduler still rests after a reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        if self.threshold_mode == "rel":
            return a < best * (1.0 - self.threshold) if self.mode == "min" else a > best * (self.threshold + 1.0)
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
