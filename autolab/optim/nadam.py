"""NAdam. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.NAdam.html"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import autolab
from autolab.optim.kernels import add_quotient, array_of, move_towards, add_product, scale
from autolab.optim.optimizer import ParamsT, zero_step
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_adam_like, check_range, number, refuse
from autolab.engine.core.tensor import Tensor


class NAdam(PerParameter):
    """Adam with Nesterov's momentum: the step looks one gradient ahead, with a momentum mu that grows towards beta1.

    Dozat, "Incorporating Nesterov Momentum into Adam" (2016). decoupled_weight_decay: shrink p itself (as AdamW does).
    """

    _later_settings: ClassVar = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _counts: ClassVar = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_adam_like(lr, betas, eps, weight_decay)
        check_range("momentum_decay value", momentum_decay)
        refuse(self, foreach=foreach, capturable=capturable, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _kept(self, group):
        return "exp_avg", "exp_avg_sq"

    def _start(self, group, parameter):
        state = self.state[parameter]
        state["step"] = zero_step()
        state["mu_product"] = autolab.ones_like(state["step"])
        return super()._start(group, parameter)

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        lr, (beta1, beta2), decay = number(group["lr"]), group["betas"], group["momentum_decay"]
        grad = decayed(group, parameter, p, grad)
        parameter._storage.version += 1  # PyTorch takes two operations for the step itself
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        mu_product = state["mu_product"].mul_(mu).item()
        mean, square = array_of(state["exp_avg"]), array_of(state["exp_avg_sq"])
        move_towards(mean, grad, 1 - beta1)
        scale(square, beta2)
        add_product(square, grad, grad, 1 - beta2)
        spread = np.sqrt(square / p.dtype.type(1 - beta2**step))
        spread += p.dtype.type(group["eps"])
        add_quotient(p, grad, spread, -lr * (1.0 - mu) / (1.0 - mu_product))
        add_quotient(p, mean, spread, -lr * mu_next / (1.0 - mu_product * mu_next))
