"""Probability distributions (`torch.distributions`): the five that reinforcement learning and autoencoders need.

Source: https://docs.pytorch.org/docs/2.13/distributions.html
"""

from autolab.distributions.continuous import MultivariateNormal, Normal, Uniform
from autolab.distributions.discrete import Bernoulli, Categorical
from autolab.distributions.distribution import Distribution
from autolab.engine import absent as _absent

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "MultivariateNormal", "Normal", "Uniform",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.distributions")
