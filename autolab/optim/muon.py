"""Muon. Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Muon.html"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import wrap
from autolab.optim.optimizer import Optimizer, ParamsT
from autolab.optim.settings import check_at_least


def _rounded(x):
    """Return float32 numbers rounded to the eight significant bits of bfloat16, which PyTorch uses here."""
    shifted = x * 65537.0
    return shifted - (shifted - x)


def _orthogonal(matrix, coefficients, steps, eps):
    """Return an approximation of U V^T, where `matrix` = U S V^T, by Newton-Schulz iterations (Keller Jordan, 2024)."""
    a, b, c = coefficients
    turned = matrix.size(0) > matrix.size(1)
    x = _rounded(matrix.T if turned else matrix)
    x = _rounded(x / _rounded(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        update = _rounded(b * gram + c * (gram @ gram))
        x = _rounded(a * x + update @ x)
    return x.T if turned else x


class Muon(Optimizer):
    """p -= lr * O, where O is the orthogonal matrix nearest to the running mean of the gradient; for matrices only.

    Use AdamW for biases, embeddings and the last layer. adjust_lr_fn: "original" scales lr by sqrt(max(1, rows /
    columns)), "match_rms_adamw" by 0.2 * sqrt(max(rows, columns)). Raise ValueError for parameters that do not have two
    dimensions. Jordan, "Muon: An optimizer for hidden layers in neural networks" (2024).
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = {
            name: value for name, value in locals().items() if name not in ("self", "params")
        }
        defaults.pop("__class__")
        check_at_least(0.0, lr=lr, momentum=momentum, **{"weight decay": weight_decay})
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            message = f"Adjust learning rate function {adjust_lr_fn} is not supported"
            raise fail(ValueError, message, "It is 'original' or 'match_rms_adamw'.")
        super().__init__(params, defaults)
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.dim() != 2:
                message = (
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                )
                raise fail(ValueError, f"{message}{p.size()}", "Give it to AdamW instead.")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step. `closure` computes the loss again; return its value."""
        loss = self._loss(closure)
        for group, parameter, array in self._with_grad():
            grad, momentum = wrap(array, parameter.dtype), group["momentum"]
            lr, (rows, columns) = group["lr"], parameter.shape
            ratio = math.sqrt(max(1, rows / columns))
            if group["adjust_lr_fn"] == "match_rms_adamw":
                ratio = 0.2 * math.sqrt(max(rows, columns))
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = autolab.zeros_like(grad)
            buffer = state["momentum_buffer"]
            with no_grad():
                buffer.lerp_(grad, 1 - momentum)
                update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
                settings = group["ns_coefficients"], group["ns_steps"], group["eps"]
                parameter.mul_(1 - lr * group["weight_decay"])
                parameter.add_(_orthogonal(update, *settings), alpha=-lr * ratio)
        return loss
