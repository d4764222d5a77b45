"""Spectral normalisation: a weight divided by its largest singular value, which power iterations estimate.

`parametrizations.spectral_norm` is PyTorch's present one; `nn.utils.spectral_norm` its first, which GAN tutorials use
and whose parameters have other names. Miyato et al., "Spectral Normalization for Generative Adversarial Networks"
(2018).
Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.spectral_norm.html
"""

from __future__ import annotations

from typing import Any

from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.functional import normalize
from autolab.nn.modules.conv import ConvTranspose1d, ConvTranspose2d
from autolab.nn.modules.module import Module
from autolab.nn.utils.parametrize import register_parametrization


def _as_matrix(weight, dim):
    return weight.movedim(dim, 0).flatten(1)


def _random_unit(weight, size, eps):
    return normalize(weight.detach().new_empty(size).normal_(0, 1), dim=0, eps=eps)


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations, dim, eps):
        super().__init__()
        self.dim, self.eps, self.n_power_iterations = dim % weight.dim(), eps, n_power_iterations
        if weight.dim() > 1:
            matrix = _as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, _random_unit(weight, size, eps))
            self._iterate(matrix, 15)

    @no_grad()
    def _iterate(self, matrix, count):
        for _ in range(count):
            self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.T.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = _as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies: the next forward changes the buffers before the backward of this one.
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def _prepared(module, name, n_power_iterations, dim):
    """Return (the weight, the dimension of its outputs)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        message = f"Module '{module}' has no parameter or buffer with name '{name}'"
        raise fail(ValueError, message, "See named_parameters() for the names.")
    if n_power_iterations <= 0:
        message = f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        raise fail(ValueError, message, "One iteration for each forward is enough.")
    transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d))
    return weight, (int(transposed) if dim is None else dim)


def parametrization(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide `module.<name>` by its largest singular value. Returns the module (`parametrizations.spectral_norm`)."""
    weight, dim = _prepared(module, name, n_power_iterations, dim)
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide `module.<name>` by its largest singular value before every forward. Returns the module.

    The module trains the parameter `<name>_orig`. New code uses `parametrizations.spectral_norm`.
    """
    weight, dim = _prepared(module, name, n_power_iterations, dim)
    with no_grad():
        sizes = _as_matrix(weight, dim).shape
        vectors = [_random_unit(weight, size, eps) for size in sizes]
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    for suffix, vector in zip(("_u", "_v"), vectors):
        module.register_buffer(name + suffix, vector)

    def normalise(module: Any, _: Any) -> None:
        weight, u, v = (getattr(module, name + end) for end in ("_orig", "_u", "_v"))
        matrix = _as_matrix(weight, dim)
        if module.training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(normalize(matrix.T.mv(u), dim=0, eps=eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=eps))
        setattr(module, name, weight / u.clone().dot(matrix.mv(v.clone())))

    module.register_forward_pre_hook(normalise)
    return module
