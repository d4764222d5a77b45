"""Optimizers that update one parameter at a time: its state, its step count, weight decay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autolab
from autolab.optim.kernels import scale, scaled_sum
from autolab.optim.optimizer import Optimizer, zero_step


class PerParameter(Optimizer):
    """Base class of optimizers that change each parameter by its own gradient and state; `_update` defines the rule."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step. `closure` computes the loss again; return its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or self._start(group, parameter)
            self._update(group, state, count_step(state), parameter, grad)
        return loss

    def _state_names(self, group):
        """Return the names of the state arrays of each parameter, which have its shape and start as zeros."""
        return ()

    def _start(self, group, parameter):
        state = self.state[parameter]
        if "step" not in state:
            state["step"] = zero_step()
        for name in self._state_names(group):
            state[name] = autolab.zeros_like(parameter.detach())
        return state

    def _update(self, group, state, step, parameter, grad):
        """Update `parameter` in its `step`-th step from its gradient (an array) and `state`; change `state`, too."""
        raise NotImplementedError


def count_step(state):
    """Add one to the 0-d tensor `state["step"]` and return it as a Python number."""
    step = state["step"]
    step._storage.version += 1
    one = step.dtype.scalar(1)
    if step._storage.array is None:
        step._array = step._array + one
    else:  # its memory was used elsewhere (saved, loaded, detached): count there
        step._array += one
    return step._array.item()


def decayed(group, parameter, p, grad):
    """Return the gradient with weight decay added to it. If the decay is decoupled, shrink the parameter's array `p`
    instead."""
    if group["weight_decay"] == 0:
        return grad
    if group.get("decoupled_weight_decay"):
        parameter._storage.version += 1  # in PyTorch, this is a separate operation
        scale(p, 1 - group["lr"] * group["weight_decay"])
        return grad
    return scaled_sum(grad, p, group["weight_decay"])
