"""Adamax. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adamax.html"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from autolab.optim.kernels import add_quotient, array_of, move_towards, scale
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_adam_like, number, refuse
from autolab.engine.core.tensor import Tensor


class Adamax(PerParameter):
    """p -= lr * m / u: Adam with u = max(beta2 * u, |grad| + eps), the largest recent gradient, in place of the root.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014), section 7.
    """

    _later_settings: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
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

    def _kept(self, group):
        return "exp_avg", "exp_inf"

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        beta1, beta2 = group["betas"]
        grad = decayed(group, parameter, p, grad)
        mean, largest = array_of(state["exp_avg"]), array_of(state["exp_inf"])
        move_towards(mean, grad, 1 - beta1)
        scale(largest, beta2)
        size = np.abs(grad)
        size += p.dtype.type(group["eps"])
        np.maximum(largest, size, out=largest)
        add_quotient(p, mean, largest, -(number(group["lr"]) / (1 - beta1**step)))
