"""RAdam. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RAdam.html"""

from __future__ import annotations

from typing import Any, ClassVar
from collections.abc import Callable

import numpy as np

from autolab.optim.kernels import add_product, array_of, move_towards, scale, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT, count_step, start_state
from autolab.optim.settings import check_adam_like, number, refuse
from autolab.engine.core.tensor import Tensor


class RAdam(Optimizer):
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
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. `closure` computes the loss anew and is returned its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            state = self.state[parameter] or start_state(self.state[parameter], parameter, "exp_avg", "exp_avg_sq")
            self._update(group, state, count_step(state), array_of(parameter), grad)
            if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
                parameter._storage.version += 1  # PyTorch changes it twice: decay, then step
        return loss

    def _buffers(self, group):
        return 2

    @staticmethod
    def _update(group, state, step, p, grad):
        lr, (beta1, beta2), kind = number(group["lr"]), group["betas"], p.dtype.type
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                scale(p, 1 - lr * group["weight_decay"])
            else:
                grad = scaled_sum(grad, p, group["weight_decay"])
        mean, square = array_of(state["exp_avg"]), array_of(state["exp_avg_sq"])
        move_towards(mean, grad, 1 - beta1)
        scale(square, beta2)
        add_product(square, grad, grad, 1 - beta2)
        correction2 = 1 - beta2**step
        update = mean / kind(1 - beta1**step) * kind(lr)
        longest = 2 / (1 - beta2) - 1  # how many gradients are in the mean of squares, in the end and now
        length = longest - 2 * step * beta2**step / correction2
        if length > 5.0:
            rectification = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            inverse = kind(1) / (np.sqrt(square) + kind(group["eps"]))
            update = update * (inverse * kind(correction2**0.5)) * kind(rectification)
        p -= update
