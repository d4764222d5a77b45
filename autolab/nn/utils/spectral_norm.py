"""Spectral normalisation: divide a weight by its largest singular value, estimated by power iterations.

Miyato et al., "Spectral Normalization for Generative Adversarial Networks" (2018).
Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.spectral_norm.html
"""

from __future__ import annotations

from typing import Any

from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.nn.functional import normalize
from autolab.nn.modules.conv import ConvTranspose1d, ConvTranspose2d
from autolab.nn.parameter import Parameter
from autolab.nn.modules.module import Module


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide `module.<name>` by its largest singular value before every forward. Return the module.

    The parameter `<name>_orig` is trained. dim: the dimension of the outputs; by default 0, or 1 for a transposed
    convolution.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Parameter):
        message = f"Module '{module}' has no parameter or buffer with name '{name}'"
        raise fail(ValueError, message, "See named_parameters() for the names.")
    if n_power_iterations <= 0:
        message = f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        raise fail(
            ValueError, message, "Use at least 1; one iteration per forward pass is usually enough."
        )
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d)))
    as_matrix = lambda weight: weight.movedim(dim, 0).flatten(1)
    unit = lambda vector: normalize(vector, dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    for suffix, size in zip(("_u", "_v"), as_matrix(weight.detach()).shape):
        vector = unit(weight.detach().new_empty(size).normal_(0, 1))
        module.register_buffer(name + suffix, vector)

    def normalise(module: Any, _: Any) -> None:
        weight, u, v = (getattr(module, name + end) for end in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight)
        if module.training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(unit(matrix.T.mv(u)))
                    u.copy_(unit(matrix.mv(v)))
        # Use copies, because the next forward changes the buffers before this backward pass runs.
        setattr(module, name, weight / u.clone().dot(matrix.mv(v.clone())))

    module.register_forward_pre_hook(normalise)
    return module
