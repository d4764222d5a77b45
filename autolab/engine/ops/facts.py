"""Questions to a tensor that compute nothing with it: is_nonzero, is_inference, unravel_index.

Source: https://docs.pytorch.org/docs/2.13/torch.html#tensors
"""

from __future__ import annotations

import numpy as np

from ..core.errors import fail
from .functions import NAMESPACES, composite
from ..core.tensor import Tensor

_TORCH = NAMESPACES[""]


@composite(method=True)
def is_nonzero(input):
    """Whether the only element is not 0. Raises RuntimeError unless there is one element. Source: torch.is_nonzero."""
    return bool(input)


@composite()
def is_inference(input):
    """Whether the tensor was made under `inference_mode`. Source: torch.is_inference."""
    return input.is_inference()


@composite()
def unravel_index(indices, shape):
    """Positions counted over all elements as positions along each dimension of `shape`: a tuple of tensors like
    `indices`.

    Raises TypeError unless `indices` are whole numbers. Source: torch.unravel_index."""
    if not isinstance(indices, Tensor) or not indices.dtype.is_integer:
        kind = indices.dtype if isinstance(indices, Tensor) else type(indices).__name__
        message = f"expected 'indices' to be integer dtype, but got {kind}"
        raise fail(TypeError, message, "Positions are a tensor of whole numbers.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    steps = [int(np.prod(sizes[k + 1 :], dtype=np.int64)) for k in range(len(sizes))]
    table = _TORCH["tensor"]([steps, sizes], dtype=indices.dtype, device=indices.device)
    return (indices.unsqueeze(-1).floor_divide(table[0]) % table[1]).unbind(-1)


@composite()
def detach_(input):
    """`input.detach_()`. Source: torch.detach_."""
    return input.detach_()
