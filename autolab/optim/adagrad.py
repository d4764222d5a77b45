"""Adagrad. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adagrad.html"""

from __future__ import annotations

from typing import Any, ClassVar
from collections.abc import Callable

import numpy as np

import autolab
from autolab.optim.kernels import add_product, add_quotient, array_of, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT, count_step, zero_step
from autolab.optim.settings import check_lr, check_range, number, refuse
from autolab.engine.core.tensor import Tensor


class Adagrad(Optimizer):
    """p -= lr * grad / (sqrt(sum of all squared gradients) + eps) (Duchi et al., 2011).

    lr falls as lr / (1 + (step - 1) * lr_decay).
    """

    _later_settings: ClassVar = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        for name, value in (
            ("lr_decay", lr_decay),
            ("weight_decay", weight_decay),
            ("initial_accumulator_value", initial_accumulator_value),
            ("epsilon", eps),
        ):
            check_range(f"{name} value", value)
        refuse(self, foreach=foreach, differentiable=differentiable, fused=fused)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(parameter)

    def _start(self, parameter):
        state = self.state[parameter]
        state["step"] = zero_step()
        state["sum"] = autolab.full_like(parameter.detach(), self.defaults["initial_accumulator_value"])
        return state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew and is returned its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or self._start(parameter)
            step = count_step(state)
            p, total = array_of(parameter), array_of(state["sum"])
            if group["weight_decay"] != 0:
                grad = scaled_sum(grad, p, group["weight_decay"])
            add_product(total, grad, grad)
            spread = np.sqrt(total)
            spread += p.dtype.type(group["eps"])
            add_quotient(p, grad, spread, -(number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])))
        return loss
