"""Resilient backpropagation. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Rprop.html"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.optim.kernels import add_product, array_of
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter
from autolab.optim.settings import check_lr, number, refuse
from autolab.engine.core.tensor import Tensor


class Rprop(PerParameter):
    """p -= s * sign(grad), each element with a step s of its own: longer while the sign stays, shorter when it turns.

    etas: the two factors (shorter, longer); step_sizes: smallest and largest s. Only for gradients of the whole data,
    for noise turns signs. Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning" (1993).
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
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise fail(
                ValueError,
                f"Invalid eta values: {etas[0]}, {etas[1]}",
                "The first makes steps shorter, the second longer.",
            )
        refuse(self, capturable=capturable, foreach=foreach, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _kept(self, group):
        return "prev", "step_size"

    def _start(self, group, parameter):
        state = super()._start(group, parameter)
        state["step_size"] = autolab.full_like(state["prev"], number(group["lr"]))
        return state

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        (shorter, longer), (smallest, largest) = group["etas"], group["step_sizes"]
        before, size = array_of(state["prev"]), array_of(state["step_size"])
        agreement = np.sign(grad * before)
        factor = np.ones_like(before)
        factor[agreement > 0] = longer
        factor[agreement < 0] = shorter
        size *= factor
        np.maximum(size, p.dtype.type(smallest), out=size)
        np.minimum(size, p.dtype.type(largest), out=size)
        before[...] = grad
        before[agreement < 0] = (
            0  # the sign turned: stay this time, and let the next step count as the first
        )
        # a NaN has none, and its parameter stays
        sign = np.sign(np.where(before == before, before, before.dtype.type(0)))
        add_product(p, sign, size, -1.0)
