"""Schedules made of schedules: one after the other, or several at once.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from autolab.engine.core.errors import fail
from autolab.optim.lr_scheduler.base import LRScheduler, set_lr, values_of
from autolab.optim.lr_scheduler.plateau import ReduceLROnPlateau
from autolab.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """What both share: the checks of the schedules given, and their states inside the state."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers, optimizer):
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise fail(
                    TypeError,
                    f"{name} at index {i} should have `optimizer` as its attribute.",
                    f"A {type(scheduler).__name__} is no scheduler.",
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise fail(
                    ValueError,
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.",
                    "Step it by itself, with the number that it watches.",
                )
            if optimizer != scheduler.optimizer:
                raise fail(
                    ValueError,
                    f"{name} expects all schedulers to belong to the same optimizer, but "
                    f"got scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, "
                    f"which is different from {type(optimizer).__name__}.",
                    "Make all of them for one optimizer.",
                )

    def state_dict(self) -> dict[str, Any]:
        """As the base class, with the state of each schedule under "_schedulers"."""
        return {
            **self._state_without("_schedulers"),
            "_schedulers": [s.state_dict() for s in self._schedulers],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(
            (key, value) for key, value in state_dict.items() if key != "_schedulers"
        )
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(_Combined):
    """The first schedule up to the first milestone (an epoch), then the second from its own epoch 0, and so on.

    Raises ValueError unless there is one milestone fewer than schedules, all of one optimizer.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise fail(
                ValueError,
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler.",
                "Pass a list of schedulers.",
            )
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise fail(
                ValueError,
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}",
                "A milestone lies between two schedulers.",
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule took its first step when it was made: undo them all, then take that of the one whose turn it is.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: object = None) -> None:
        """Set schedules, also those inside others, back to before their first step."""
        schedule = self if sched is None else sched
        if hasattr(schedule, "_schedulers"):
            for inner in schedule._schedulers:
                self.recursive_undo(inner)
        elif hasattr(schedule, "last_epoch"):
            schedule.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """One step of the schedule whose turn it is."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules at once: each multiplies the learning rate that the one before it left.

    Raises ValueError for an empty list and for schedules of different optimizers.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise fail(
                ValueError,
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.",
                "Pass a list of schedulers.",
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = values_of(schedulers[-1].optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """One step of every schedule, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self._schedulers[-1].optimizer, "lr")
