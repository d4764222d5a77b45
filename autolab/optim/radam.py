"""RAdam. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RAdam.html"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from autolab.optim.kernels import add_product, array_of, move_towards, scale
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_adam_like, number, refuse
from autolab.engine.core.tensor import Tensor


class RAdam(PerParameter):
    """Adam that uses its running mean of squares only when enough gradients are in it, and then times a rectification.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (2019). decoupled_weight_decay: shrink p
    itself (as AdamW does).
    """

    _later_settings: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_adam_like(lr, betas, eps, weight_decay)
        refuse(self, foreach=foreach, capturable=capturable, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _kept(self, group):
        return "exp_avg", "exp_avg_sq"

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        lr, (beta1, beta2), kind = number(group["lr"]), group["betas"], p.dtype.type
        grad = decayed(group, parameter, p, grad)
        mean, square = array_of(state["exp_avg"]), array_of(state["exp_avg_sq"])
        move_towards(mean, grad, 1 - beta1)
        scale(square, beta2)
        add_product(square, grad, grad, 1 - beta2)
        correction2 = 1 - beta2**step
        update = mean / kind(1 - beta1**step) * kind(lr)
        longest = (
            2 / (1 - beta2) - 1
        )  # how many gradients are in the mean of squares, in the end and now
        length = longest - 2 * step * beta2**step / correction2
        if length > 5.0:
            rectification = (
                (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            ) ** 0.5
            inverse = kind(1) / (np.sqrt(square) + kind(group["eps"]))
            update = update * (inverse * kind(correction2**0.5)) * kind(rectification)
        p -= update
