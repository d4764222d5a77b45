"""Convert parameters to one vector and back.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parameters_to_vector.html
"""

from __future__ import annotations

from collections.abc import Iterable

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.utils._shared import typename


def _check_device(parameter, others):
    if parameter.device != others:
        raise fail(
            TypeError,
            "Found two parameters on different devices, this is currently not supported.",
            "Move the whole module to one device with .to(device).",
        )


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the parameters flattened and joined into one vector, in order."""
    parameters = list(parameters)
    for parameter in parameters:
        _check_device(parameter, parameters[0].device)
    return autolab.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to slices of `vec`, in order: the inverse of `parameters_to_vector`."""
    if not isinstance(vec, Tensor):
        raise fail(
            TypeError,
            f"expected torch.Tensor, but got: {typename(vec)}",
            "Pass what parameters_to_vector returned.",
        )
    start, device = 0, None
    for parameter in parameters:
        device = parameter.device if device is None else device
        _check_device(parameter, device)
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
