"""Small functions that PyTorch composes from others, and aliases.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from __future__ import annotations

from ...exact.refusals import check_dims
from .. import arithmetic, joining, pointwise  # noqa: F401 (what is named below is registered first)
from ..checks import refuse_if
from ..functions import METHODS, NAMESPACES, composite

_TORCH = NAMESPACES[""]


@composite(method=True)
def rot90(input, k=1, dims=(0, 1)):
    """Return `input` rotated by k times 90 degrees in the plane of two dimensions, from the first towards the second.
    Source: torch.rot90."""
    refuse_if(
        len(dims) != 2,
        f"expected total rotation dims == 2, but got dims = {len(dims)}",
        "A plane has two.",
    )
    a, b = check_dims(dims, input.ndim)
    k %= 4
    if k % 2:
        return input.flip((b if k == 1 else a,)).transpose(a, b)
    return input.flip((a, b)) if k else input.clone()


@composite(method=True)
def conj(input):
    """Return the tensor itself, because its numbers are real. Source: torch.conj."""
    return input


_TORCH["row_stack"] = _TORCH["vstack"]
_TORCH["square_"] = METHODS["square_"]
METHODS["negative_"] = _TORCH["negative_"] = METHODS["neg_"]
for _name, _of in {
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "negative": "neg",
}.items():
    _TORCH[_name] = _TORCH[_of]
