"""Small functions that PyTorch composes of others, and second names.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from __future__ import annotations

from ...exact.refusals import check_dim
from .. import arithmetic, joining, pointwise  # noqa: F401 (what is named below is registered first)
from ..checks import refuse_if
from ..functions import METHODS, NAMESPACES, composite

_TORCH = NAMESPACES[""]


@composite(method=True)
def rot90(input, k=1, dims=(0, 1)):
    """Return `input` turned by k times 90 degrees in the plane of two dimensions, from the first towards the second.
    Source: torch.rot90."""
    ndim, plane = input._array.ndim, "A plane has two."
    message = f"expected total rotation dims == 2, but got dims = {len(dims)}"
    refuse_if(len(dims) != 2, message, plane)
    refuse_if(ndim < 2, f"expected total dims >= 2, but got total dims = {ndim}", plane)
    a, b = (check_dim(d, ndim) for d in dims)
    refuse_if(
        a == b,
        f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
        plane,
    )
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return input.flip((a, b))
    return input.flip((b if k == 1 else a,)).transpose(a, b)


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
