"""Dropout layers. Source: https://docs.pytorch.org/docs/stable/nn.html#dropout-layers"""

from __future__ import annotations

from autolab.nn import functional as F
from autolab.nn.functional.basic import check_probability
from autolab.nn.modules.layer import Layer


class _DropoutNd(Layer, function=F.dropout, settings="p training inplace"):
    p: float = 0.5
    inplace: bool = False
    _shares_init = True

    def _set_up(self, settings):
        super()._set_up(settings)
        check_probability(self.p)

    def extra_repr(self) -> str:
        """Return the probability and whether the layer works in place."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, function=F.dropout):
    """In training, set each element to zero with probability p and scale the others by 1/(1-p); else return the input.

    Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors" (2012).

    Example:

        >>> layer = nn.Dropout(0.5)
        >>> layer.eval()(torch.ones(3))
        tensor([1., 1., 1.])
        >>> sorted(set(layer.train()(torch.ones(1000)).tolist()))
        [0.0, 2.0]
    """


class Dropout2d(_DropoutNd, function=F.dropout2d):
    """In training, set whole channels of an input (N, C, H, W) to zero."""
