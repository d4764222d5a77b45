"""Adafactor. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adafactor.html"""

from __future__ import annotations

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import wrap
from autolab.optim.optimizer import ParamsT, zero_step
from autolab.optim.per_parameter import PerParameter
from autolab.optim.settings import check_at_least, settings


class Adafactor(PerParameter):
    """Adam without momentum, where the running mean of a matrix's squared gradients is stored as a column times a row.

    A matrix of n x m numbers thus needs n + m numbers of state. d: the largest root mean square of an update. Shazeer
    and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost" (2018).
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        arguments = locals()
        check_at_least(0.0, lr=lr)
        if beta2_decay > 0:
            message = f"beta2_decay should be <= 0 but is: {beta2_decay}"
            raise fail(ValueError, message, "Step t takes t ** beta2_decay of the new square.")
        check_at_least(0.0, epsilon1=eps[0] or 0.0, epsilon2=eps[1])
        check_at_least(1.0, **{"Clipping threshold d": d})
        check_at_least(0.0, weight_decay=weight_decay)
        super().__init__(params, settings(self, arguments))

    def _start(self, group, parameter):
        state, shape = self.state[parameter], list(parameter.shape)
        state["step"] = zero_step()
        zeros = parameter.detach().new_zeros
        if len(shape) > 1:
            state["row_var"] = zeros([*shape[:-1], 1])
            state["col_var"] = zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = zeros(shape)
        return state

    def _update(self, group, state, step, parameter, grad):
        with no_grad():
            self._adapt(group, state, step, parameter, wrap(grad, parameter.dtype))

    def _adapt(self, group, state, step, p, grad):
        lr, new, (eps1, eps2) = group["lr"], step ** group["beta2_decay"], group["eps"]
        eps1 = autolab.finfo(p.dtype).eps if eps1 is None else eps1
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            row, column = state["row_var"], state["col_var"]
            for mean, dim in ((row, -1), (column, -2)):
                squares = grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim))
                mean.lerp_(squares, new)
            variance = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance = state["variance"].lerp_(grad * grad, new).clone()
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        mean_square = update.norm(2).item() / (update.numel() ** 0.5 * group["d"])
        p.add_(update, alpha=-size / max(1.0, mean_square))
