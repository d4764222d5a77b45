"""Adadelta. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adadelta.html"""

from __future__ import annotations

import numpy as np

from autolab.engine.core.errors import fail
from autolab.optim.kernels import add_product, add_scaled, array_of, scale
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_range, check_ranges, settings


class Adadelta(PerParameter):
    """p -= lr * d, where d = grad * sqrt(u + eps) / sqrt(v + eps), and v and u are running means of grad² and d².

    d thus has the parameter's unit, and lr is a factor near 1. Zeiler, "ADADELTA: An Adaptive Learning Rate Method"
    (2012).
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        arguments = locals()
        check_range("learning rate", lr)
        if not 0.0 <= rho <= 1.0:
            raise fail(
                ValueError,
                f"Invalid rho value: {rho}",
                "rho is how much of the old mean stays: from 0 to 1.",
            )
        check_ranges(epsilon=eps, weight_decay=weight_decay)
        first = ("lr", "rho", "eps", "weight_decay", "maximize", "capturable")  # in PyTorch's order
        super().__init__(params, settings(self, arguments, first))

    def _state_names(self, group):
        return "square_avg", "acc_delta"

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        rho, eps = group["rho"], p.dtype.type(group["eps"])
        grad = decayed(group, parameter, p, grad)
        square, moved = array_of(state["square_avg"]), array_of(state["acc_delta"])
        scale(square, rho)
        add_product(square, grad, grad, 1 - rho)
        delta = np.sqrt(moved + eps)
        delta /= np.sqrt(square + eps)
        delta *= grad
        scale(moved, rho)
        add_product(moved, delta, delta, 1 - rho)
        add_scaled(p, delta, -group["lr"])
