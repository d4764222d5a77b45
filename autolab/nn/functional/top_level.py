"""Functions of `nn.functional` that PyTorch also has at its top level: `torch.cosine_similarity`, `torch.dropout`.

Source: https://docs.pytorch.org/docs/2.13/torch.html"""

from __future__ import annotations

from autolab.engine.core.tensor import Tensor
from autolab.engine.exact import signatures
from autolab.nn import functional as F
from autolab.nn.functional import cosine_similarity  # noqa: F401


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `F.dropout`; the argument `train` is required."""
    return F.dropout(input, p, train)


signatures.put_in_front({"f": globals()})
