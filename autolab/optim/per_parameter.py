"""Optimizers whose rule treats one parameter at a time: its state, its count of steps, weight decay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autolab
from autolab.optim.kernels import scale, scaled_sum
from autolab.optim.optimizer import Optimizer, zero_step
from autolab.optim.settings import number


class PerParameter(Optimizer):
    """Base class of optimizers that change each parameter by its own gradient and state; `_update` is their rule."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew; returns its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or self._start(group, parameter)
            self._update(group, state, count_step(state), parameter, grad)
        return loss

    def _kept(self, group):
        """The names of what is kept for each parameter in arrays of its shape, which begin as zeros."""
        return ()

    def _start(self, group, parameter):
        state = self.state[parameter]
        if "step" not in state:
            state["step"] = zero_step()
        for name in self._kept(group):
            state[name] = autolab.zeros_like(parameter.detach())
        return state

    def _update(self, group, state, step, parameter, grad):
        """Changes `parameter` in its `step`-th step, from its gradient (an array) and `state`, which changes, too."""
        raise NotImplementedError


def count_step(state):
    """Add one to the 0-d tensor `state["step"]` and return it as a Python number."""
    step = state["step"]
    step._storage.version += 1
    one = step.dtype.scalar(1)
    if step._storage.array is None:
        step._array = step._array + one
    else:  # its memory was looked into (saved, loaded, detached): count there
        step._array += one
    return step._array.item()


def decayed(group, parameter, p, grad):
    """The gradient with weight decay added to it. Decay that is decoupled shrinks the parameter's array `p` instead."""
    if group["weight_decay"] == 0:
        return grad
    if group.get("decoupled_weight_decay"):
        parameter._storage.version += 1  # in PyTorch an operation of its own
        scale(p, 1 - number(group["lr"]) * group["weight_decay"])
        return grad
    return scaled_sum(grad, p, group["weight_decay"])
