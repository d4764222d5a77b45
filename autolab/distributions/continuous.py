"""Distributions of real numbers and vectors. Source: https://docs.pytorch.org/docs/2.13/distributions.html"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

import autolab
from autolab.distributions.distribution import (
    POSITIVE,
    REAL,
    REAL_VECTOR,
    Constraint,
    Distribution,
    broadcast_all,
)
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported


def _standard_normal(shape, like):
    return autolab.empty(shape, dtype=like.dtype, device=like.device).normal_()


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Example:

        >>> normal = torch.distributions.Normal(0., 1.)
        >>> normal.log_prob(torch.tensor(0.))
        tensor(-0.9189)
    """

    has_rsample = True
    arg_constraints = {"loc": REAL, "scale": POSITIVE}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Return the mean."""
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Tensor:
        """Return the standard deviation."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Return the variance."""
        return self.scale.pow(2)

    def sample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw a tensor of shape sample_shape + batch_shape, without history."""
        shape = self._shape(sample_shape)
        with autolab.no_grad():
            return autolab.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw loc + noise * scale, so that gradients reach loc and scale."""
        return self.loc + _standard_normal(self._shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`."""
        self._check_value(value)
        squares = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return squares - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Tensor:
        """Return the expected value of -log_prob."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""

    has_rsample = True

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        """Return the constraints on `low` and `high`."""
        low, high = self.low, self.high
        return {
            "low": Constraint(f"LessThan(upper_bound={high})", lambda x: x < high),
            "high": Constraint(f"GreaterThan(lower_bound={low})", lambda x: x > low),
        }

    @property
    def support(self):
        """Return the constraint that every draw satisfies."""
        name = f"Interval(lower_bound={self.low}, upper_bound={self.high})"
        return Constraint(name, lambda x: (self.low <= x) & (x <= self.high))

    @property
    def mean(self) -> Tensor:
        """Return the mean."""
        return (self.high + self.low) / 2

    @property
    def stddev(self) -> Tensor:
        """Return the standard deviation."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """Return the variance."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw low + noise * (high - low), so that gradients reach low and high."""
        shape = self._shape(sample_shape)
        noise = autolab.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`."""
        self._check_value(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - self.entropy()

    def entropy(self) -> Tensor:
        """Return the expected value of -log_prob."""
        return (self.high - self.low).log()


def _is_positive_definite(matrix):
    return autolab.isclose(matrix, matrix.mT, atol=1e-6).all() & (
        autolab.linalg.eigvalsh(matrix) > 0
    ).all(-1)


def _is_lower_cholesky(matrix):
    return (matrix.tril() == matrix).all((-2, -1)) & (matrix.diagonal(0, -2, -1) > 0).all(-1)


class MultivariateNormal(Distribution):
    """The multivariate normal distribution with mean vector `loc` and a covariance matrix.

    scale_tril: a lower triangular L with covariance L L^T, instead of the covariance. Raise NotImplementedError for
    precision_matrix.
    """

    has_rsample = True
    support = REAL_VECTOR
    arg_constraints = {
        "loc": REAL_VECTOR,
        "covariance_matrix": Constraint("PositiveDefinite()", _is_positive_definite),
        "scale_tril": Constraint("LowerCholesky()", _is_lower_cholesky),
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if precision_matrix is not None:
            note = "Pass its inverse as covariance_matrix."
            raise unsupported("MultivariateNormal", "precision_matrix", note)
        note = "loc is a vector of n numbers, the matrix is n x n."
        if (covariance_matrix is None) == (scale_tril is None):
            message = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            raise fail(ValueError, message, note)
        if loc.dim() < 1:
            raise fail(ValueError, "loc must be at least one-dimensional.", note)
        name, matrix = "scale_tril", scale_tril
        if matrix is None:
            name, matrix = "covariance_matrix", covariance_matrix
        if matrix.dim() < 2:  # type: ignore[union-attr]
            kind = name.replace("tril", "tril matrix")
            message = (
                f"{kind} must be at least two-dimensional, with optional leading batch dimensions"
            )
            raise fail(ValueError, message, note)
        batch = np.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])  # type: ignore[union-attr]
        self.loc = loc.expand(*batch, -1)
        setattr(self, name, matrix.expand(*batch, -1, -1))  # type: ignore[union-attr]
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._factor = autolab.linalg.cholesky(matrix) if scale_tril is None else scale_tril

    def __getattr__(self, name):
        if name not in ("scale_tril", "covariance_matrix"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        matrix = self._factor if name == "scale_tril" else self._factor @ self._factor.mT
        return matrix.expand(*self._batch_shape, -1, -1)

    @property
    def mean(self) -> Tensor:
        """Return the mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        """Return the variance of each element."""
        return self._factor.pow(2).sum(-1).expand(self._shape(()))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw loc + L noise, so that gradients reach the parameters."""
        noise = _standard_normal(self._shape(sample_shape), self.loc)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self._factor.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at `value`."""
        self._check_value(value)
        distance = autolab.linalg.solve(self._factor, (value - self.loc).unsqueeze(-1))
        squares = distance.squeeze(-1).pow(2).sum(-1)
        size = self._event_shape[0]
        return -0.5 * (size * math.log(2 * math.pi) + squares) - self._half_log_det()

    def entropy(self) -> Tensor:
        """Return the expected value of -log_prob."""
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + self._half_log_det()).expand(self._batch_shape)
