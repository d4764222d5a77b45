"""Utilities for parameters (`torch.nn.utils`). Source: https://docs.pytorch.org/docs/2.13/nn.html#utilities"""

from autolab.engine import absent as _absent
from autolab.nn.utils.clip import (  # noqa: F401
    clip_grad_norm_,
    clip_grad_value_,
)
from autolab.nn.utils.convert import parameters_to_vector, vector_to_parameters  # noqa: F401
from autolab.nn.utils import parametrize, rnn  # noqa: F401
from autolab.nn.utils.spectral_norm import spectral_norm  # noqa: F401

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "parametrize", "rnn", "spectral_norm", "vector_to_parameters",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.nn.utils")
