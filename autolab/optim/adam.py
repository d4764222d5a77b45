"""Adam and AdamW. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adam.html"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.engine.core.errors import fail
from autolab.optim.kernels import add_product, add_quotient, array_of, move_towards, scale
from autolab.optim.optimizer import ParamsT
from autolab.optim.per_parameter import PerParameter, decayed
from autolab.optim.settings import check_range, settings


class Adam(PerParameter):
    """p -= lr * m / (sqrt(v) + eps), where m and v are bias-corrected running means of the gradient and its square.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014). amsgrad: v never decreases (Reddi et al., 2018).
    decoupled_weight_decay: shrink p itself instead of adding weight_decay * p to the gradient.

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> optimizer = torch.optim.Adam([x], lr=0.1)
        >>> (x * x).backward()
        >>> optimizer.step()
        >>> x
        tensor(2.9000, requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        betas = tuple(betas)  # type: ignore[assignment]
        arguments = locals()
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        for i in (0, 1):
            check_range(f"beta parameter at index {i}", betas[i], 1.0)
        check_range("weight_decay value", weight_decay)
        if not all(isinstance(b, float) for b in betas):
            raise fail(
                ValueError,
                "betas must be either both floats or both Tensors",
                "Write for example (0.9, 0.999).",
            )
        super().__init__(params, settings(self, arguments))

    def _state_names(self, group):
        return "exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])

    def _update(self, group, state, step, parameter, grad):
        p = array_of(parameter)
        lr, (beta1, beta2) = group["lr"], group["betas"]
        grad = decayed(group, parameter, p, grad)
        mean, square = array_of(state["exp_avg"]), array_of(state["exp_avg_sq"])
        move_towards(mean, grad, 1 - beta1)
        scale(square, beta2)
        add_product(square, grad, grad, 1 - beta2)
        if group["amsgrad"]:
            largest = array_of(state["max_exp_avg_sq"])
            square = np.maximum(largest, square, out=largest)
        spread = np.sqrt(square)
        spread /= p.dtype.type((1 - beta2**step) ** 0.5)
        spread += p.dtype.type(group["eps"])
        add_quotient(p, mean, spread, -(lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2017).

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> optimizer = torch.optim.AdamW([x], lr=0.1)
        >>> (x * x).backward()
        >>> optimizer.step()
        >>> x
        tensor(2.8970, requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
        }
        options |= {"differentiable": differentiable, "fused": fused}
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, decoupled_weight_decay=True, **options
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True  # also after it loads the state of an Adam
