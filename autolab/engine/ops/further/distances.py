"""Distances between two tensors (dist), and between every pair of points of two sets (cdist).

Source: https://docs.pytorch.org/docs/2.13/generated/torch.cdist.html
"""

from __future__ import annotations

from ...autograd.autocast import in_float32
from ...core.dtype import FROM_NUMPY
from ...exact.arguments import check_tensors
from ..checks import refuse_if
from ..functions import composite
from ..norm import vector_norm


@composite(method=True)
def dist(input, other, p=2):
    """Return the p-norm of input - other. Raise RuntimeError for integers. Source: torch.dist."""
    return vector_norm(input - other, p)


@composite()
@in_float32
def cdist(x1, x2, p=2.0):
    """Return the p-norm distances between every row of x1 (…, n, d) and every row of x2 (…, m, d): (…, n, m). Raise
    RuntimeError for different widths and for integers. Source: torch.cdist."""
    check_tensors("cdist", x1=x1, x2=x2)
    for name, x in {"X1": x1, "X2": x2}.items():
        refuse_if(
            x.ndim < 2,
            f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D",
            "One row is one point.",
        )
        kind = FROM_NUMPY[x._array.dtype].short
        refuse_if(
            x._array.dtype.kind not in "fc",
            f"cdist only supports floating-point dtypes, {name} got: {kind}",
            "A distance is a root; convert whole numbers with .float().",
        )
    sizes = x1.shape[-1], x2.shape[-1]
    refuse_if(
        sizes[0] != sizes[1],
        f"X1 and X2 must have the same number of columns. X1: {sizes[0]} X2: {sizes[1]}",
        "A distance is between points of one space.",
    )
    refuse_if(p < 0, "cdist only supports non-negative p values", "p is the order of a norm.")
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
