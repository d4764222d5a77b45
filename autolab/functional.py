"""Functions that PyTorch writes in Python (`torch.functional`); all are in `torch`, too.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from . import (
    atleast_1d,
    broadcast_tensors,
    cdist,
    einsum,
    meshgrid,
    norm,
    split,
    tensordot,
    unique,
)
from .engine import absent as _absent

__all__ = [
    "atleast_1d", "broadcast_tensors", "cdist", "einsum", "meshgrid", "norm", "split",
    "tensordot", "unique",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.functional")
