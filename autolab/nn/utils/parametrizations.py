"""Ready parametrizations. Source: https://docs.pytorch.org/docs/2.13/nn.html#module-torch.nn.utils"""

from autolab.nn.utils.spectral_norm import parametrization as spectral_norm

__all__ = ["spectral_norm"]
