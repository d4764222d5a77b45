"""Distributions of integers. Source: https://docs.pytorch.org/docs/2.13/distributions.html"""

from __future__ import annotations

from collections.abc import Iterable

import autolab
from autolab.distributions.distribution import (
    REAL,
    REAL_VECTOR,
    Constraint,
    Distribution,
    broadcast_all,
)
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn.functional import binary_cross_entropy_with_logits, softmax

_BETWEEN = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda x: (0 <= x) & (x <= 1))
_SIMPLEX = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))


class _FromProbsOrLogits(Distribution):
    """A distribution defined by either `probs` or `logits`; the other one is computed on first use."""

    probs: Tensor
    logits: Tensor

    @staticmethod
    def _check_one(probs, logits):
        if (probs is None) == (logits is None):
            message = "Either `probs` or `logits` must be specified, but not both."
            raise fail(
                ValueError, message, "Logits are what a network gives, before sigmoid or softmax."
            )

    def __getattr__(self, name):
        own = vars(self)
        if name not in ("probs", "logits") or own.keys().isdisjoint(("probs", "logits")):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        # the cached value needs a graph even if first read under no_grad
        with autolab.enable_grad():
            if name == "probs":
                own[name] = self._to_probs(self.logits)
            else:
                eps = autolab.finfo(self.probs.dtype).eps
                own[name] = self._to_logits(self.probs.clamp(min=eps, max=1 - eps))
        return own[name]


class Bernoulli(_FromProbsOrLogits):
    """The distribution of 1 with probability `probs`, else 0; `logits` are log(probs / (1 - probs)).

    Example:

        >>> torch.distributions.Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor(1.))
        tensor(-1.3863)
    """

    arg_constraints = {"probs": _BETWEEN, "logits": REAL}
    support = Constraint("Boolean()", lambda x: (x == 0) | (x == 1))
    _to_probs = staticmethod(autolab.sigmoid)
    _to_logits = staticmethod(lambda probs: probs.log() - (-probs).log1p())

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._check_one(probs, logits)
        (parameter,) = broadcast_all(logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", parameter)
        super().__init__(parameter.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Return the mean."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """Return the variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw zeros and ones of shape sample_shape + batch_shape, without history."""
        with autolab.no_grad():
            return autolab.bernoulli(self.probs.expand(self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of `value`."""
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """Return the expected value of -log_prob."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(_FromProbsOrLogits):
    """The distribution of the number i with probability `probs[..., i]` (divided by their sum); `logits` are
    log(probs).

    Example:

        >>> policy = torch.distributions.Categorical(torch.tensor([0.5, 0.25, 0.25]))
        >>> policy.log_prob(torch.tensor(1))
        tensor(-1.3863)
    """

    arg_constraints = {"probs": _SIMPLEX, "logits": REAL_VECTOR}
    _to_probs = staticmethod(lambda logits: softmax(logits, dim=-1))
    _to_logits = staticmethod(autolab.log)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._check_one(probs, logits)
        name, parameter = ("probs", probs) if logits is None else ("logits", logits)
        if parameter.dim() < 1:  # type: ignore[union-attr]
            message = f"`{name}` parameter must be at least one-dimensional."
            raise fail(ValueError, message, "The last dimension holds one number for each event.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = parameter.shape[-1]  # type: ignore[union-attr]
        super().__init__(parameter.shape[:-1], validate_args=validate_args)  # type: ignore[union-attr]

    @property
    def support(self):
        """Return the constraint that every draw satisfies."""
        last = self._num_events - 1
        name = f"IntegerInterval(lower_bound=0, upper_bound={last})"
        return Constraint(name, lambda x: (x % 1 == 0) & (0 <= x) & (x <= last))

    @property
    def mode(self) -> Tensor:
        """Return the most probable number."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw numbers of shape sample_shape + batch_shape, without history."""
        shape = self._shape(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        count = autolab.Size(sample_shape).numel()
        return autolab.multinomial(rows, count, True).T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of `value`."""
        self._check_value(value)
        value, logits = autolab.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the expected value of -log_prob."""
        logits = self.logits.clamp(min=autolab.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)
