r"""Formula cards of convolution, pooling and normalisation: the computation of one node, in words and TeX, with its
sizes.

In every card x is the input, w the weight (\gamma in a normalisation), b the bias (\beta), y the result, and \bar{y}
the gradient that arrives at y. Indices count from 0: n images, c channels in, o channels out, then positions.

Sources: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016); Ioffe and Szegedy, "Batch
Normalization" (2015); https://docs.pytorch.org/docs/2.13/nn.html for the sizes of results.
"""

from __future__ import annotations

from .convolution import convolution
from .sizes import Line, Sizes, per_side
from .normalization import batch_norm
from .pooling import avg_pool, max_pool

__all__ = ["OPS", "Line", "Sizes", "card", "per_side"]

_CARDS = {
    "convolution": convolution,
    "max_pool2d": max_pool,
    "max_pool2d_with_indices": max_pool,
    "avg_pool2d": avg_pool,
    "_adaptive_avg_pool2d": avg_pool,
    "native_batch_norm": batch_norm,
}
OPS = frozenset(_CARDS)
"""Names of the operations that have a card."""


def card(sizes: Sizes) -> list[Line]:
    """Return the lines of the card, forward first. Raises KeyError for an operation without a card."""
    return _CARDS[sizes.op](sizes)
