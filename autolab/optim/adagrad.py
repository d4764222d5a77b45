"""Adagrad. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adagrad.html"""

from __future__ import annotations

import numpy as np

import autolab
from autolab.optim.kernels import add_product, add_quotient, array_of
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_range, check_ranges, settings


class Adagrad(PerParameter):
    """p -= lr * grad / (sqrt(sum of all squared gradients) + eps) (Duchi et al., 2011).

    lr decreases as lr / (1 + (step - 1) * lr_decay).
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        arguments = locals()
        check_range("learning rate", lr)
        check_ranges(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        first = ("lr", "lr_decay", "eps")  # in PyTorch's order
        super().__init__(params, settings(self, arguments, first))
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(group, parameter)

    def _state_names(self, group):
        return ("sum",)

    def _start(self, group, parameter):
        state = super()._start(group, parameter)
        state["sum"] = autolab.full_like(state["sum"], self.defaults["initial_accumulator_value"])
        return state

    def _update(self, group, state, step, parameter, grad):
        p, total = array_of(parameter), array_of(state["sum"])
        grad = decayed(group, parameter, p, grad)
        add_product(total, grad, grad)
        spread = np.sqrt(total)
        spread += p.dtype.type(group["eps"])
        add_quotient(p, grad, spread, -(group["lr"] / (1 + (step - 1) * group["lr_decay"])))
