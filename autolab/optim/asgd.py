"""Averaged gradient descent. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.ASGD.html"""

from __future__ import annotations

from typing import Any, ClassVar
from collections.abc import Callable

import autolab
from autolab.optim.kernels import add_scaled, array_of, scale, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT, count_step, zero_step
from autolab.optim.settings import check_lr, check_range, number, refuse
from autolab.engine.core.tensor import Tensor


class ASGD(Optimizer):
    """SGD whose lr falls as eta = lr / (1 + lambd * lr * step) ** alpha; from step t0 on, state["ax"] averages p.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging" (1992).
    """

    _later_settings: ClassVar = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _counts: ClassVar = ("step", "eta", "mu")

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew and is returned its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or self._start(group, parameter)
            self._update(group, state, count_step(state), array_of(parameter), grad)
            parameter._storage.version += 1  # PyTorch changes it twice: decay, then step
        return loss

    def _buffers(self, group):
        return 1

    def _start(self, group, parameter):
        state = self.state[parameter]
        place = parameter.device  # PyTorch keeps these three beside the parameter, not on the CPU
        state["step"] = zero_step().to(place)
        state["eta"] = autolab.full_like(state["step"], number(group["lr"]))
        state["mu"] = autolab.ones_like(state["step"])
        state["ax"] = autolab.zeros_like(parameter.detach())
        return state

    @staticmethod
    def _update(group, state, step, p, grad):
        lr, lambd = number(group["lr"]), group["lambd"]
        if group["weight_decay"] != 0:
            grad = scaled_sum(grad, p, group["weight_decay"])
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
