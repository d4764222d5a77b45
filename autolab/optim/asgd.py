"""Averaged gradient descent. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.ASGD.html"""

from __future__ import annotations

from typing import ClassVar

import autolab
from autolab.optim.kernels import add_scaled, array_of, scale
from autolab.optim.optimizer import ParamsT, zero_step
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_lr, check_range, number, refuse
from autolab.engine.core.tensor import Tensor


class ASGD(PerParameter):
    """SGD whose lr falls as eta = lr / (1 + lambd * lr * step) ** alpha; from step t0 on, state["ax"] averages p.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging" (1992).
    """

    _later_settings: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _counts: ClassVar = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("weight_decay value", weight_decay)
        refuse(self, foreach=foreach, differentiable=differentiable, capturable=capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _kept(self, group):
        return ("ax",)

    def _start(self, group, parameter):
        state = self.state[parameter]
        state["step"] = zero_step().to(
            parameter.device
        )  # PyTorch keeps the numbers beside the parameter, not on the CPU
        state["eta"] = autolab.full_like(state["step"], number(group["lr"]))
        state["mu"] = autolab.ones_like(state["step"])
        return super()._start(group, parameter)

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        lr, lambd = number(group["lr"]), group["lambd"]
        grad = decayed(group, parameter, p, grad)
        parameter._storage.version += 1  # PyTorch changes it twice: decay, then step
        eta, mu = state["eta"].item(), state["mu"].item()
        scale(p, 1 - lambd * eta)
        add_scaled(p, grad, -eta)
        average = array_of(state["ax"])
        if mu != 1:
            average += (p - average) * p.dtype.type(mu)
        else:
            average[...] = p
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
