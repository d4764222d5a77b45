"""RMSprop. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html"""

from __future__ import annotations

import numpy as np

from autolab.optim.kernels import (
    add_product,
    add_quotient,
    add_scaled,
    array_of,
    move_towards,
    scale,
)
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_range, check_ranges, settings


class RMSprop(PerParameter):
    """p -= lr * grad / (sqrt(v) + eps), where v is a running mean of the squared gradient (Tieleman and Hinton, 2012).

    centered: subtract the squared mean gradient from v (Graves, 2013). momentum: as in SGD, but of the scaled gradient.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        arguments = locals()
        check_range("learning rate", lr)
        check_ranges(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        first = ("lr", "momentum", "alpha", "eps", "centered")  # in PyTorch's order
        super().__init__(params, settings(self, arguments, first))

    def _state_names(self, group):
        momentum, centered = group["momentum"] > 0, group["centered"]
        return (
            "square_avg",
            *(["momentum_buffer"] if momentum else []),
            *(["grad_avg"] if centered else []),
        )

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        lr, alpha = group["lr"], group["alpha"]
        grad = decayed(group, parameter, p, grad)
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
