"""RMSprop. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html"""

from __future__ import annotations

from typing import Any, ClassVar
from collections.abc import Callable

import numpy as np

import autolab
from autolab.optim.kernels import add_product, add_quotient, add_scaled, array_of, move_towards, scale, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT, count_step, zero_step
from autolab.optim.settings import check_lr, check_range, number, refuse
from autolab.engine.core.tensor import Tensor


class RMSprop(Optimizer):
    """p -= lr * grad / (sqrt(v) + eps), v a running mean of the squared gradient (Tieleman and Hinton, 2012).

    centered: subtract the squared mean gradient from v (Graves, 2013). momentum: as in SGD, of the scaled gradient.
    """

    _later_settings: ClassVar = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        for name, value in (("epsilon", eps), ("momentum", momentum), ("weight_decay", weight_decay), ("alpha", alpha)):
            check_range(f"{name} value", value)
        refuse(self, capturable=capturable, foreach=foreach, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew and is returned its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or self._start(group, parameter)
            count_step(state)
            self._update(group, state, array_of(parameter), grad)
        return loss

    def _start(self, group, parameter):
        state = self.state[parameter]
        state["step"] = zero_step()
        for name, wanted in (
            ("square_avg", True),
            ("momentum_buffer", group["momentum"] > 0),
            ("grad_avg", group["centered"]),
        ):
            if wanted:
                state[name] = autolab.zeros_like(parameter.detach())
        return state

    @staticmethod
    def _update(group, state, p, grad):
        lr, alpha = number(group["lr"]), group["alpha"]
        if group["weight_decay"] != 0:
            grad = scaled_sum(grad, p, group["weight_decay"])
        square = array_of(state["square_avg"])
        scale(square, alpha)
        add_product(square, grad, grad, 1 - alpha)
        if group["centered"]:
            mean = array_of(state["grad_avg"])
            move_towards(mean, grad, 1 - alpha)
            square = square.copy()
            add_product(square, mean, mean, -1.0)
        spread = np.sqrt(square)
        spread += p.dtype.type(group["eps"])
        if group["momentum"] > 0:
            buffer = array_of(state["momentum_buffer"])
            scale(buffer, group["momentum"])
            add_quotient(buffer, grad, spread)
            add_scaled(p, buffer, -lr)
        else:
            add_quotient(p, grad, spread, -lr)
