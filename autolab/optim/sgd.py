"""Gradient descent. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.SGD.html"""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import wrap
from autolab.optim.kernels import add_scaled, array_of, scale, scaled_sum
from autolab.optim.optimizer import Optimizer, ParamsT
from autolab.optim.settings import check_not_negative, settings


class SGD(Optimizer):
    """p -= lr * d, where d is the gradient plus weight_decay * p; with momentum, d is replaced by a running sum of d.

    buffer = momentum * buffer + (1 - dampening) * d (the first buffer is d itself); nesterov uses d + momentum *
    buffer. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).

    Example:

        >>> x = torch.tensor(3., requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=0.1)
        >>> (x * x).backward()
        >>> optimizer.step()
        >>> x
        tensor(2.4000, requires_grad=True)
        >>> optimizer.zero_grad()
        >>> x.grad is None
        True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        arguments = locals()
        check_not_negative("learning rate", lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise fail(
                ValueError,
                "Nesterov momentum requires a momentum and zero dampening",
                "Set momentum, e.g. to 0.9.",
            )
        super().__init__(params, settings(self, arguments))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step. `closure` computes the loss again; return its value."""
        loss = self._loss(closure)
        for group, parameter, grad in self._with_grad():
            p = array_of(parameter)
            if group["weight_decay"] != 0:
                grad = scaled_sum(grad, p, group["weight_decay"])
            if group["momentum"] != 0:
                grad = self._with_momentum(group, parameter, grad)
            add_scaled(p, grad, -group["lr"])
        return loss

    def _with_momentum(self, group, parameter, grad):
        state, momentum = self.state[parameter], group["momentum"]
        if state.get("momentum_buffer") is None:
            state["momentum_buffer"] = wrap(grad.copy(), parameter.dtype)
            buffer = state["momentum_buffer"]._array
        else:
            buffer = array_of(state["momentum_buffer"])
            scale(buffer, momentum)
            add_scaled(buffer, grad, 1 - group["dampening"])
        return scaled_sum(grad, buffer, momentum) if group["nesterov"] else buffer
