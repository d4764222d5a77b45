"""Cross and outer products of vectors.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import warnings

from ...exact.refusals import check_dim
from ..checks import refuse_if
from ..functions import composite
from ..shape import view_op


@composite(namespace="linalg", name="cross")
def linalg_cross(input, other, *, dim=-1):
    """Return the cross product of vectors of three numbers along `dim`. Raise RuntimeError for other sizes. Source:
    torch.linalg.cross."""
    refuse_if(
        input.ndim != other.ndim,
        "linalg.cross: inputs must have the same number of dimensions.",
        "Add dimensions by unsqueeze.",
    )
    check_dim(dim, input.ndim)
    sizes = input.shape[dim], other.shape[dim]
    refuse_if(
        sizes != (3, 3),
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}",
        "Only in three dimensions two vectors have one perpendicular direction.",
    )
    a, b = ([x.roll(-k, dim) for k in (1, 2)] for x in (input, other))
    return a[0] * b[1] - a[1] * b[0]


@composite(method=True)
def cross(input, other, dim=None):
    """Return `torch.linalg.cross`; by default along the first dimension of size 3. Source: torch.cross."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        refuse_if(
            3 not in input.shape, "no dimension of size 3 in input", "Vectors of three numbers."
        )
        dim = input.shape.index(3)
    return linalg_cross(input, other, dim=dim)


@composite(method=True)
def outer(input, vec2):
    """Return the products of all pairs of entries of two vectors. Source: torch.outer."""
    for name, x in (("self", input), ("vec2", vec2)):
        refuse_if(
            x.ndim != 1,
            f"outer: Expected 1-D argument {name}, but got {x.ndim}-D",
            "outer takes two vectors.",
        )
    return view_op.call(input, (input.numel(), 1)) * vec2
