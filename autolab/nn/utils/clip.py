"""Clip gradients. Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_norm_.html"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor


def _listed(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients in place, so that their total norm is at most `max_norm`. Return the norm before scaling.

    Raise RuntimeError if the norm is nan or inf and `error_if_nonfinite`.

    Example:

        >>> x = torch.tensor([3., 4.], requires_grad=True)
        >>> (x * x / 2).sum().backward()
        >>> nn.utils.clip_grad_norm_([x], max_norm=1.)
        tensor(5.)
        >>> x.grad
        tensor([0.6000, 0.8000])
    """
    generator = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if generator and not parameters:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
        )
    order, grads = float(norm_type), [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return autolab.tensor(0.0)
    norm = autolab.linalg.vector_norm
    total = norm(autolab.stack([norm(g, order) for g in grads]), order)
    if error_if_nonfinite and not total.isfinite():
        raise fail(
            RuntimeError,
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`",
            "Some gradient is nan or inf: look for a division by 0 or a logarithm of 0.",
        )
    factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return total


@no_grad()
def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Limit every element of every gradient, in place, to [-clip_value, clip_value]."""
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(min=-float(clip_value), max=float(clip_value))
