"""Adamax. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adamax.html"""

from __future__ import annotations

from typing import Any, ClassVar
from collections.abc import Callable

import numpy as np

from autolab.optim.kernels import add_quotient, array_of, move_towards, scale, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT, count_step, start_state
from autolab.optim.settings import check_adam_like, number, refuse
from autolab.engine.core.tensor import Tensor


class Adamax(Optimizer):
    """p -= lr * m / u: Adam with u = max(beta2 * u, |grad| + eps), the largest recent gradient, in place of the root.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014), section 7.
    """

    _later_settings: ClassVar = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_adam_like(lr, betas, eps, weight_decay)
        refuse(self, foreach=foreach, differentiable=differentiable, capturable=capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew and is returned its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or start_state(self.state[parameter], parameter, "exp_avg", "exp_inf")
            self._update(group, state, count_step(state), array_of(parameter), grad)
        return loss

    def _buffers(self, group):
        return 2

    @staticmethod
    def _update(group, state, step, p, grad):
        beta1, beta2 = group["betas"]
        if group["weight_decay"] != 0:
            grad = scaled_sum(grad, p, group["weight_decay"])
        mean, largest = array_of(state["exp_avg"]), array_of(state["exp_inf"])
        move_towards(mean, grad, 1 - beta1)
        scale(largest, beta2)
        size = np.abs(grad)
        size += p.dtype.type(group["eps"])
        np.maximum(largest, size, out=largest)
        add_quotient(p, mean, largest, -(number(group["lr"]) / (1 - beta1**step)))
